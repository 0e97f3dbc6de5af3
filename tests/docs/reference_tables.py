"""Tables of the reference pages: their rows, keys and examples."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

PAGES: Final = Path(__file__).parents[2] / "docs" / "reference"


def section(page: str, title: str) -> str:
    """Return the text under a heading of a page, up to the next heading of any level."""
    text = (PAGES / f"{page}.md").read_text("utf-8")
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, (page, title)
    return found[1]


def rows(page: str, title: str) -> list[list[str]]:
    """Return the cells of the tables under a heading, without their heads."""
    lines = [line for line in section(page, title).splitlines() if line.startswith("|")]
    cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    heads = {i - 1 for i, row in enumerate(cells) if set("".join(row)) == {"-"}}
    return [row for i, row in enumerate(cells) if i not in heads and set("".join(row)) != {"-"}]


def keys(page: str, title: str) -> list[str]:
    """Return the first cells of the tables under a heading that are code."""
    return [row[0].strip("`") for row in rows(page, title) if row[0].startswith("`")]


def examples(page: str, title: str) -> dict[str, Any]:
    """Return the last cells of a table with five columns, as TOML reads them, by key."""
    cells = {row[0].strip("`"): row[4] for row in rows(page, title) if len(row) == 5}
    return {
        key: tomllib.loads(f"x = {cell.strip('`')}")["x"]
        for key, cell in cells.items()
        if cell.startswith("`")
    }
