"""A canvas of points, y downwards, on which pictures are drawn part by part."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
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
    """A drawing of a width, as high as what is drawn; all places and sizes are points."""

    made: Drawing
    axes: "Axes"
    width: float
    charts: "list[tuple[Axes, Sequence[float]]]"

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

    def chart(self, place: Sequence[float]) -> "Axes":
        """Return axes of their own at left, top, width and height."""
        axes = self.made.figure.add_axes((0, 0, 1, 1), label=str(len(self.charts)))
        self.charts.append((axes, place))
        return axes

    def end(self, height: float) -> None:
        """Cut the drawing below what was drawn."""
        self.made.figure.set_size_inches(self.width / 72, height / 72)
        self.axes.set(ylim=(height, 0))
        for axes, (left, top, wide, tall) in self.charts:
            width, bottom = self.width, 1 - (top + tall) / height
            axes.set_position((left / width, bottom, wide / width, tall / height))

    def text(self, x: float, y: float, text: str, **style: Any) -> Any:
        """Write a text whose middle is at a height."""
        given: dict[str, Any] = {"size": SMALL, "va": "center", "color": INK} | style
        return self.axes.text(x, y, text, **given)

    def paragraph(self, y: float, text: str, **style: Any) -> float:
        """Write a text over the whole width, in as many lines as it needs; return what follows."""
        size, bold = style.get("size", SMALL), style.get("weight") == "bold"
        letters = int((self.width - 2 * MARGIN) / _wide("m", size * _BOLD if bold else size))
        for row in wrap(text, letters, break_long_words=False, break_on_hyphens=False):
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
def canvas(width: float) -> Iterator[Canvas]:
    """Give an empty canvas, whose height `Canvas.end` says."""
    with drawing(width, width) as made:
        axes = made.figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, width))
        axes.set_axis_off()
        yield Canvas(made, axes, width, [])


def _wide(text: str, size: float) -> float:
    return len(text) * _LETTER * size
