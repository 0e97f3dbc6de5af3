"""The worked examples of CONTRIBUTING.md, word for word, in a copy of the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from blocks import Block
from blocks import blocks as blocks_of

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def section(title: str) -> str:
    """Return the text of a section of the page."""
    _, _, rest = PAGE.partition(f"\n## {title}\n")
    assert rest, title
    return rest.partition("\n## ")[0]


def blocks(title: str) -> Iterator[Block]:
    """Yield the code blocks of a section, in order."""
    for block in blocks_of(section(title)):
        assert block.path or block.language == "sh", block.text
        yield block


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with a copy of the package, and commands that run it."""
    shutil.copytree(
        ROOT / "perfmodel", tmp_path / "perfmodel", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, module in (("perfmodel", "perfmodel"), ("pytest", "pytest -n 0 -p no:cacheprovider")):
        command = commands / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        command.chmod(0o755)
    return tmp_path


def followed(title: str, folder: Path) -> str:
    """Do what a section says, and return what its commands print."""
    printed = ""
    for block in blocks(title):
        if block.reason:
            continue
        if block.path is None:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block.text],
                capture_output=True,
                text=True,
                cwd=folder,
                env=os.environ
                | {"PYTHONPATH": str(folder), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
                check=False,
            )
            assert done.returncode == 0, (block.text, done.stdout, done.stderr)
            printed += done.stdout
        else:
            path = folder / block.path
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_text("utf-8") + "\n" if block.added and path.exists() else ""
            path.write_text(before + block.text, "utf-8")
    return printed


def test_a_kernel(copy: Path) -> None:
    printed = followed("Add a kernel", copy)
    assert "triad on h100-sxm" in printed
    assert "__global__ void triad" in printed
    assert "1 passed" in printed


def test_a_gpu(copy: Path) -> None:
    printed = followed("Add a GPU", copy)
    assert "copy on l40s" in printed
    assert "inherited from rtx-a6000: not measured on this GPU" in " ".join(printed.split())


def test_the_gpu_of_the_page_is_that_of_the_repository() -> None:
    (block,) = (block for block in blocks("Add a GPU") if block.path)
    assert block.text == (ROOT / "docs" / "devices" / "l40s.toml").read_text("utf-8")


def test_a_mechanism(copy: Path) -> None:
    assert "4 passed" in followed("Add a mechanism", copy)


def test_set_up_has_the_commands_of_ci() -> None:
    # .ci/run is what CI runs: its linters and types are those that the page tells
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    for command in ("ruff check .", "ruff format --check .", "mypy", "lint-imports"):
        assert f".venv/bin/{command}" in ci
        assert f".venv/bin/{command}" in section("Set up")
