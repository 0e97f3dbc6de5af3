"""Text in lines of a width, with the styles of a terminal or none.

Reports are pieces that give their lines; to import rich takes as long as a prediction.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final, Protocol

from perfmodel.records import record

_WORD: Final = re.compile(r"\s*\S+\s*")
_TAB: Final = 8
_CONTROLS: Final = dict.fromkeys(map(ord, "\a\b\v\f\r\x1b"))
_STYLED: Final = re.compile("\x1b\\[[0-9]+m")
STYLES: Final = {"bold": "1", "dim": "2"}
"""Styles of a terminal, by what ECMA-48 (Select Graphic Rendition) calls them."""
COLOURS: Final = {"red": "31", "green": "32", "blue": "34"}


@record
class Look:
    """How text is shown: with ASCII only or not, and with which styles, by their numbers."""

    ascii_only: bool = False
    styles: Mapping[str, str] = field(default_factory=dict)

    def styled(self, text: str, style: str) -> str:
        """Return text between the codes of a style, if it has any."""
        code = self.styles.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


PLAIN: Final = Look()


class Piece(Protocol):
    """A part of a report."""

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Return its lines, at most `width` columns wide."""


class Cell(Piece, Protocol):
    """A piece that has a width of its own."""

    def sizes(self) -> tuple[int, int]:
        """Return the width at which it still reads well, and the one at which nothing wraps."""


@record
class Words:
    """Text that wraps at words: what looks like markup is none."""

    text: str
    style: str = ""

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Return its lines; a word that is longer is broken."""
        given = self.text.translate(_CONTROLS).split("\n")
        wrapped = (part for line in given for part in _wrapped(line.expandtabs(_TAB), width))
        return [look.styled(part, self.style) for part in wrapped]

    def sizes(self) -> tuple[int, int]:
        """Return the widths of its longest word and of its longest line."""
        most = max((cells(line) for line in self.text.splitlines()), default=0)
        least = max(map(cells, self.text.split()), default=most)
        return least, most


@record
class Indented:
    """A piece, so many columns from the left."""

    piece: Cell
    by: int

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Return the lines of the piece with spaces before them."""
        inner = self.piece.lines(max(width - self.by, 1), look)
        return [" " * self.by + line for line in inner]

    def sizes(self) -> tuple[int, int]:
        """Return its least and its full width."""
        least, most = self.piece.sizes()
        return least + self.by, most + self.by


@record
class Stack:
    """Pieces below each other; "" is an empty line."""

    parts: tuple[Piece | str, ...]

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Return the lines of all."""
        pieces = (Words(part) if isinstance(part, str) else part for part in self.parts)
        return [line for piece in pieces for line in piece.lines(width, look)]


def stack(*parts: Piece | str) -> Stack:
    """Return pieces below each other."""
    return Stack(parts)


def plain(text: str, style: str = "") -> Words:
    """Return text as it is."""
    return Words(text, style)


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes, its styles none."""
    if "\x1b" in text:
        text = _STYLED.sub("", text)
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _wrapped(line: str, width: int) -> Iterator[str]:
    """Yield the lines of a text without line breaks, without spaces at their ends."""
    start = used = 0  # where the line begins in the text, and its columns so far
    for found in _WORD.finditer(line):
        word, at = found.group(), found.start()
        needed = cells(word.rstrip())
        if needed <= width - used:
            used += cells(word)
            continue
        for piece in [word] if needed <= width else _broken(word, width):
            if at:
                yield line[start:at].rstrip()
                start = at
            used = cells(piece)
            at += len(piece)
    yield line[start:].rstrip()


def _broken(word: str, width: int) -> Iterator[str]:
    """Yield the parts of a word that is wider than a line."""
    start = used = 0
    for place, character in enumerate(word):
        wide = cells(character)
        if used + wide > width and used:
            yield word[start:place]
            start, used = place, 0
        used += wide
    yield word[start:]
