"""SVG: elements with escaped text, marks that tell what they are, and pictures in two widths.

Colours are classes of ``templates/palette.css``, so that a picture follows light and dark, on the
page and as a file of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from markupsafe import Markup

TEMPLATES: Final = Path(__file__).parent / "templates"

WIDE: Final = 880.0
NARROW: Final = 330.0
"""Widths of the two layouts, in CSS pixels: for screens and paper, and for phones."""

FONT: Final = 12.0
_MARGIN: Final = 16.0
"""Around a picture that is a file of its own [CSS px]."""
_ADVANCE: Final = 0.62
"""Mean width of a character over the font's size; sans-serif fonts need 0.5 to 0.6."""

Value = str | float | None


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing of one width.

    Attributes
    ----------
    width, height : float
        [CSS px]
    body : Markup
    """

    width: float
    height: float
    body: Markup


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that a report shows, in two layouts.

    Attributes
    ----------
    name : str
        Unique in its report; files and ids are called so.
    title : str
        What it shows.
    description : str
        The same for who cannot see it, with the numbers.
    wide, narrow : Drawing
    """

    name: str
    title: str
    description: str
    wide: Drawing
    narrow: Drawing


def picture(
    name: str,
    title: str,
    description: str,
    draw: Callable[[float], Drawing],
    wide: float = WIDE,
) -> Picture:
    """Return a picture that is drawn once for each width."""
    return Picture(name, title, description, draw(wide), draw(NARROW))


def element(tag: str, *children: Markup | str, **attributes: Value) -> Markup:
    """Return an element; text and values are escaped, attributes of None left out.

    Underscores in names of attributes stand for hyphens, and one at the end for nothing.
    """
    written = "".join(
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _shown(value))
        for name, value in attributes.items()
        if value is not None
    )
    content = Markup("").join(children)
    if not content:
        return Markup(f"<{tag}{written}/>")
    return Markup(f"<{tag}{written}>") + content + Markup(f"</{tag}>")


def group(*children: Markup, **attributes: Value) -> Markup:
    """Return a group of elements."""
    return element("g", *children, **attributes)


def mark(told: str, *children: Markup, **attributes: Value) -> Markup:
    """Return elements that tell what they are, to a mouse, a keyboard and a screen reader."""
    attributes |= {
        "class": f"mark {attributes.pop('class_', '') or ''}".strip(),
        "tabindex": "0",
        "role": "img",
        "aria_label": told,
    }
    return element("g", element("title", told), *children, **attributes)


def label(x: float, y: float, content: str, size: float = FONT, **attributes: Value) -> Markup:
    """Return a text, its baseline at `y`; ``anchor`` may be "middle" or "end"."""
    anchor = attributes.pop("anchor", None)
    return element("text", content, x=x, y=y, font_size=size, text_anchor=anchor, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Value) -> Markup:
    """Return a line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def rectangle(x: float, y: float, width: float, height: float, **attributes: Value) -> Markup:
    """Return a rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def width_of(content: str, size: float = FONT, bold: bool = False) -> float:
    """Return about how wide a text is, rather too much [CSS px]."""
    return len(content) * size * _ADVANCE * (1.12 if bold else 1)


def cut(content: str, width: float, size: float = FONT) -> str:
    """Return a text that fits a width, its end replaced by an ellipsis if need be."""
    if width_of(content, size) <= width:
        return content
    return content[: max(1, int(width / (size * _ADVANCE)) - 1)] + "…"


@dataclass(frozen=True, slots=True)
class LogAxis:
    """A logarithmic axis: values `low` to `high` at `start` to `end` [CSS px]."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> Iterator[float]:
        """Yield powers of ten on the axis, and two and five times them where they are few."""
        tens = list(self.decades())
        if len(tens) > 3:
            yield from tens
            return
        first = 10.0 ** math.floor(math.log10(self.low))
        for ten in dict.fromkeys([first, *tens]):
            for step in (1, 2, 5):
                if self.low <= step * ten <= self.high:
                    yield step * ten

    def decades(self) -> Iterator[float]:
        """Yield the powers of ten on the axis."""
        for power in range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1):
            yield 10.0**power


def inline(shown: Picture) -> Markup:
    """Return a picture as part of a page whose style has the palette: both widths, one visible."""
    return Markup("").join(
        _document(shown, drawing, f"{shown.name}-{layout}", f"picture {layout}")
        for layout, drawing in (("wide", shown.wide), ("narrow", shown.narrow))
    )


def standalone(shown: Picture) -> str:
    """Return a picture as a file of its own: wide, on a background, with its style."""
    width, height = shown.wide.width + 2 * _MARGIN, shown.wide.height + 2 * _MARGIN
    style = Markup("<style>{}</style>").format(Markup(stylesheet("palette.css")))
    paper = rectangle(0, 0, width, height, class_="paper")
    inset = group(shown.wide.body, transform=f"translate({_MARGIN:g} {_MARGIN:g})")
    framed = Drawing(width, height, style + paper + inset)
    return str(_document(shown, framed, shown.name, "picture alone", alone=True)) + "\n"


@cache
def stylesheet(name: str) -> str:
    """Return a file of the templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _document(
    shown: Picture, drawing: Drawing, name: str, class_: str, alone: bool = False
) -> Markup:
    width, height = _shown(drawing.width), _shown(drawing.height)
    given: dict[str, Value] = {"id": name, "class": class_, "viewBox": f"0 0 {width} {height}"}
    if alone:
        given |= {"xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height}
        told = element("title", shown.title) + element("desc", shown.description)
        return element("svg", told, drawing.body, **given)
    # A title element would come up as a tooltip all over the picture.
    given |= {"role": "group", "aria_label": f"{shown.title}. {shown.description}"}
    return element("svg", drawing.body, **given)


def _shown(value: Value) -> str:
    """Return an attribute's value; numbers to a hundredth of a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
