"""Tutorials are notebooks that the site's build runs: valid, committed without outputs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import nbformat
import pytest

TUTORIALS: Final = Path(__file__).parents[2] / "docs" / "tutorials"
BOOKS: Final = sorted(TUTORIALS.glob("*.ipynb"))
INDEX: Final = (TUTORIALS / "index.md").read_text("utf-8")


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def python(cell: nbformat.NotebookNode) -> ast.Module:
    """Return a cell's Python, without what only a notebook knows."""
    lines, continued = [], False
    for line in cell.source.splitlines():
        notebook = continued or line.lstrip().startswith(("!", "%"))
        continued = notebook and line.endswith("\\")
        lines.append("" if notebook else line)
    return ast.parse("\n".join(lines))


def test_the_index_lists_every_notebook() -> None:
    assert [path.stem for path in BOOKS] == sorted(
        line for line in INDEX.splitlines() if (TUTORIALS / f"{line}.ipynb").is_file()
    )
    assert all(f"({path.name})" in INDEX for path in BOOKS)


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_is_valid_and_has_no_outputs(path: Path) -> None:
    book = read(path)
    nbformat.validate(book)
    assert book.metadata.kernelspec.name == "python3"
    for cell in code_cells(path):
        assert cell.outputs == []
        assert cell.execution_count is None
        assert "execution" not in cell.metadata


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_every_solution_is_folded_and_follows_its_exercise(path: Path) -> None:
    cells = read(path).cells
    exercises = cells[next(i for i, c in enumerate(cells) if "## Exercises" in c.source) :]
    solutions = [c for c in exercises if "hide-cell" in c.metadata.get("tags", [])]
    assert len(solutions) == sum(
        c.source.count(f"**{n}.**") for c in exercises for n in range(1, 9)
    )
    assert len(solutions) >= 2
    for cell in solutions:
        assert cell.metadata.mystnb.code_prompt_show == "Show the solution"


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_what_the_text_says_is_asserted(path: Path) -> None:
    asserts = {
        id(cell): any(isinstance(node, ast.Assert) for node in ast.walk(python(cell)))
        for cell in code_cells(path)
    }
    solutions = [c for c in code_cells(path) if "hide-cell" in c.metadata.get("tags", [])]
    assert sum(asserts.values()) >= len(asserts) / 3
    assert solutions
