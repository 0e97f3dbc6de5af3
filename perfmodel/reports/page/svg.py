"""Figures as SVG for a page: colours that follow light and dark, and marks that tell what they are.

What matplotlib writes is taken as it is but for its styles: they become attributes, with the
colours of ``templates/palette.css``, and its names of parts, of which a page has several.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from markupsafe import Markup

from perfmodel.records import record
from perfmodel.reports import figure_style
from perfmodel.reports.figure_style import Drawing, Mark, check_figure_path, written
from perfmodel.text_files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TEMPLATES: Final = Path(__file__).parent / "templates"

_SVG: Final = "{http://www.w3.org/2000/svg}"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
_REFERRED: Final = (_SVG + "path", _SVG + "pattern")
"""What others refer to by its id: a marker's shape, a hatch."""
_COLOURS: Final = {
    figure_style.BLUE: "l1",
    figure_style.GREEN: "l2",
    figure_style.VERMILION: "dram",
    figure_style.ROSE: "rose",
    figure_style.AMBER: "amber",
    figure_style.OTHER: "other",
    figure_style.INK: "ink",
    figure_style.GREY: "dim",
    figure_style.FAINT: "rule",
    figure_style.BAND: "band",
    "#ffffff": "paper",
    "#000000": "ink",
}
"""Colours of figures by what the palette calls them."""
_DOTS: Final = 160
"""Dots per inch of a PNG."""
_XML: Final = '<?xml version="1.0" encoding="utf-8"?>\n'


@record
class Picture:
    """A picture that a report shows; files and ids are called by its name.

    The description says the same with the numbers for who cannot see it; `narrow` is for phones,
    where the wide drawing would be too small to read.
    """

    name: str
    title: str
    description: str
    wide: Drawing
    narrow: Drawing | None = None


def inline(shown: Picture) -> Markup:
    """Return a picture as part of a page whose style has the palette; of two widths one shows."""
    layouts = {"wide": shown.wide, "narrow": shown.narrow} if shown.narrow else {"": shown.wide}
    texts = []
    for layout, drawing in layouts.items():
        root = _document(drawing, f"{shown.name}-{layout}".rstrip("-"), f"picture {layout}".strip())
        # A title element would come up as a tooltip all over the picture.
        root.attrib |= {"role": "group", "aria-label": f"{shown.title}. {shown.description}"}
        texts.append(ElementTree.tostring(root, encoding="unicode"))
    return Markup("".join(texts))


def standalone(shown: Picture) -> str:
    """Return a picture as a file of its own: wide, on a background, with its style."""
    root = _document(shown.wide, shown.name, "picture alone")
    width, height = root.attrib["viewBox"].split()[2:]
    # A figure's sizes are points, also on paper.
    root.attrib |= {"width": f"{width}pt", "height": f"{height}pt"}
    paper = Element(_SVG + "rect", {"width": width, "height": height, "fill": "var(--paper)"})
    told = (("title", shown.title), ("desc", shown.description))
    first = [_element(tag, text) for tag, text in told if text]
    root[:] = [*first, _element("style", stylesheet("palette.css")), paper, *root]
    return ElementTree.tostring(root, encoding="unicode") + "\n"


@cache
def stylesheet(name: str) -> str:
    """Return a file of the templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _document(drawing: Drawing, name: str, class_: str) -> Element:
    ElementTree.register_namespace("", _SVG.strip("{}"))
    root = ElementTree.fromstring(drawing.svg)
    box = root.attrib["viewBox"]
    root.attrib.clear()
    # What matplotlib draws in black has no fill of its own.
    root.attrib |= {"id": name, "class": class_, "viewBox": box, "fill": "var(--ink)"}
    for each in list(root.iter()):
        each.text, each.tail = (text if text and text.strip() else None for text in (each.text, ""))
        for child in list(each):
            if child.tag in (_SVG + "metadata", _SVG + "style", _SVG + "clipPath"):
                each.remove(child)
        if each is not root:
            _restyle(each, name, drawing.marks.get(each.attrib.get("id", "")))
    return root


def _restyle(each: Element, name: str, mark: Mark | None) -> None:
    """Turn an element's style into attributes, and its id into that of a mark, or of this figure.

    Policies of pages forbid styles in attributes.
    """
    given = each.attrib
    given.pop("clip-path", None)
    for part in filter(None, given.pop("style", "").split(";")):
        given |= dict(_attributes(*(word.strip() for word in part.split(":", 1))))
    if given.get("transform", "").startswith("rotate(-0 "):
        del given["transform"]
    if link := given.pop(_LINK, ""):
        given["href"] = f"#{name}-{link[1:]}" if link.startswith("#") else link
    own = given.pop("id", "")
    if mark is not None:
        given["class"] = f"{'mark' * bool(mark.told)}{' launch' * bool(mark.launch)}".strip()
        if mark.launch:
            given["data-launch"] = str(mark.launch)
        if mark.told:
            given |= {"tabindex": "0", "role": "img", "aria-label": mark.told}
            each.insert(0, _element("title", mark.told))
    elif each.tag in _REFERRED and own:
        given["id"] = f"{name}-{own}"
    for key, value in given.items():
        shown = f"var(--{_COLOURS[value]})" if value in _COLOURS else value
        given[key] = shown.replace("url(#", f"url(#{name}-")


def _attributes(key: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield the attributes that say what a property of a style does."""
    if key == "font-family":  # the page's own
        return
    if key == "font":
        size = re.search(r"([\d.]+)px", value)
        assert size is not None
        yield "font-size", size[1]
        if re.match(r"(bold|[6-9]00)\b", value):
            yield "font-weight", "bold"
    elif key in ("fill", "stroke") and value in _COLOURS:
        yield key, f"var(--{_COLOURS[value]})"
    else:
        yield key, value


def _element(tag: str, text: str) -> Element:
    made = Element(_SVG + tag)
    made.text = text
    return made


def save_figure(shown: "Figure | Picture", path: str | Path) -> None:
    """Write a figure or a picture to a file whose suffix says the format; all of it or nothing.

    Raises `PerfmodelError` as `check_figure_path`, or if the file cannot be written.
    """
    path = check_figure_path(path)
    kind = path.suffix.lower().removeprefix(".")
    if not isinstance(shown, Picture):
        shown = Picture("figure", _title(shown), "", Drawing(shown))
    if kind == "svg":
        write_file(path, (_XML + standalone(shown)).encode())
    else:
        write_file(path, written(shown.wide.figure, kind, dpi=_DOTS))


def _title(figure: "Figure") -> str:
    """Return what stands above a figure."""
    titles = (axes.get_title(loc) for axes in figure.axes for loc in ("left", "center"))
    return figure.get_suptitle() or next(filter(None, titles), "")
