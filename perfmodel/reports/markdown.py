"""Pieces of Markdown: tables, and text that stays text whatever characters it has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~#!$&])")

_BAR: Final = re.compile(r"(?<!\\)\|")


def table(headers: Sequence[str], align: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table and an empty one.

    Parameters
    ----------
    headers, rows
        Markdown; a bar in a cell becomes a space unless it is escaped.
    align
        "l" or "r" for each column.
    """

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(_BAR.sub(' ', cell) for cell in cells)} |"

    yield line(headers)
    yield "|" + "|".join("---:" if side == "r" else "---" for side in align) + "|"
    for row in rows:
        yield line(row)
    yield ""


def escaped(text: str) -> str:
    """Return text on one line with what Markdown and HTML would read as theirs escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def fenced(text: str, language: str = "") -> Iterator[str]:
    """Yield a code block, fenced longer than any fence in it, and an empty line."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield text
    yield fence
    yield ""
