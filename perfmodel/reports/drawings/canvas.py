"""A canvas of points, y downwards, on which pictures are drawn part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from perfmodel.records import record
from perfmodel.reports.figure_style import GREY, INK, Drawing, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE: Final = 600.0
NARROW: Final = 332.0
"""Widths of pictures; the second is for phones [points]."""
MARGIN: Final = 10.0
SMALL: Final = 9.5
LINE: Final = 15.0
"""Distance of lines of text [points]."""
_BELOW: Final = 4.0
"""Room below a legend [points]."""
_BOLD: Final = 1.12
"""Width of a bold letter over another."""
_LETTER: Final = 0.56
"""Mean width of a letter over the size of the font."""


@record
class Canvas:
    """A drawing of so many points; all places and sizes are points."""

    made: Drawing
    axes: Axes
    width: float
    height: float

    @property
    def narrow(self) -> bool:
        """Whether it is for phones."""
        return self.width < 500

    def box(self, place: Sequence[float], told: str = "", **style: Any) -> Any:
        """Draw a rectangle at left, top, width and height; `told` is what it says of itself."""
        from matplotlib.patches import Rectangle

        x, y, width, height = place
        given: dict[str, Any] = {"linewidth": 0.0, "facecolor": "none"} | style
        patch = self.axes.add_patch(Rectangle((x, y), width, height, **given))
        if told:
            self.made.mark(patch, told)
        return patch

    def line(self, xs: Sequence[float], ys: Sequence[float], **style: Any) -> Any:
        """Draw a line through points."""
        given: dict[str, Any] = {"color": GREY, "linewidth": 0.8} | style
        (line,) = self.axes.plot(xs, ys, **given)
        return line

    def text(self, x: float, y: float, text: str, **style: Any) -> Any:
        """Write a text whose middle is at a height."""
        given: dict[str, Any] = {"size": SMALL, "va": "center", "color": INK} | style
        return self.axes.text(x, y, text, **given)

    def paragraph(self, y: float, text: str, **style: Any) -> float:
        """Write a text over the whole width, in as many lines as it needs; return what follows."""
        size, bold = style.get("size", SMALL), style.get("weight") == "bold"
        for row in lines_of(text, self.width - 2 * MARGIN, size, bold):
            self.text(MARGIN, y, row, **style)
            y += max(LINE, size * 1.35)
        return y

    def legend(self, y: float, parts: Sequence[tuple[dict[str, Any], str]]) -> float:
        """Draw what boxes of a style stand for, in rows; return what follows."""
        x = MARGIN
        for style, text in parts:
            wide = 18 + _wide(text, SMALL) + 14
            if x > MARGIN and x + wide > self.width:
                x, y = MARGIN, y + LINE
            self.box((x, y - 5, 12, 10), **style)
            self.text(x + 18, y, text)
            x += wide
        return y + LINE + _BELOW


@contextmanager
def canvas(width: float, height: float) -> Iterator[Canvas]:
    """Give an empty canvas of so many points."""
    with drawing(width, height) as made:
        axes = made.figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        yield Canvas(made, axes, width, height)


def paragraph_height(text: str, width: float, size: float = SMALL, bold: bool = False) -> float:
    """Return the height of a text over the whole width of a canvas."""
    return len(lines_of(text, width - 2 * MARGIN, size, bold)) * max(LINE, size * 1.35)


def lines_of(text: str, width: float, size: float = SMALL, bold: bool = False) -> list[str]:
    """Return a text in lines that are no wider than so many points."""
    size = size * _BOLD if bold else size
    found = [""]
    for word in text.split():
        longer = f"{found[-1]} {word}".strip()
        if found[-1] and _wide(longer, size) > width:
            found.append(word)
        else:
            found[-1] = longer
    return found


def legend_height(texts: Sequence[str], width: float) -> float:
    """Return the height of a legend with these texts."""
    x, rows = MARGIN, 1
    for text in texts:
        wide = 18 + _wide(text, SMALL) + 14
        if x > MARGIN and x + wide > width:
            x, rows = MARGIN, rows + 1
        x += wide
    return rows * LINE + _BELOW


def _wide(text: str, size: float) -> float:
    return len(text) * _LETTER * size
