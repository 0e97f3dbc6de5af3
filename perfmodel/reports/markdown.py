"""Blocks of Markdown: tables, code, and text that stays text whatever characters it has."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from perfmodel.reports.tables import Table

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~#!$&])")


def document(blocks: Iterable[str]) -> str:
    """Return a file of blocks, an empty line between them; empty blocks are left out."""
    return "\n\n".join(filter(None, blocks)) + "\n"


def table(shown: Table) -> str:
    """Return the rows of a table; a line break in a cell becomes one of HTML."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    sides = "|".join("---:" if shown.side(i) == "r" else "---" for i in range(len(shown.columns)))
    rows = (["<br>".join(map(escaped, cell.split("\n"))) for cell in row] for row in shown.rows)
    return "\n".join([line(map(escaped, shown.columns)), f"|{sides}|", *map(line, rows)])


def section(shown: Table, level: int) -> Iterator[str]:
    """Yield a table under its title, with its notes."""
    yield f"{'#' * level} {escaped(shown.title)}"
    if shown.rows:
        yield table(shown)
    yield from map(escaped, shown.note.split("\n"))


def escaped(text: str) -> str:
    """Return text on one line with what Markdown and HTML would read as theirs escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def fenced(text: str, language: str = "") -> str:
    """Return a code block, fenced longer than any fence in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
