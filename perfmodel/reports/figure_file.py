"""Figures as files: SVG that follows a reader's light or dark, PNG and PDF as matplotlib writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from perfmodel.reports.figure_style import Drawing, check_figure_path, written
from perfmodel.reports.page.svg import Picture, standalone
from perfmodel.text_files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS: Final = 160
"""Dots per inch of a PNG."""
_XML: Final = '<?xml version="1.0" encoding="utf-8"?>\n'


def save_figure(shown: Figure | Picture, path: str | Path) -> None:
    """Write a figure or a picture to a file whose suffix says the format; all of it or nothing.

    Raises
    ------
    PerfmodelError
        As `check_figure_path`, or if the file cannot be written.
    """
    path = check_figure_path(path)
    kind = path.suffix.lower().removeprefix(".")
    if not isinstance(shown, Picture):
        shown = Picture("figure", _title(shown), "", Drawing(shown))
    if kind == "svg":
        write_file(path, (_XML + standalone(shown)).encode())
    else:
        write_file(path, written(shown.wide.figure, kind, dpi=_DOTS))


def _title(figure: Figure) -> str:
    """Return what stands above a figure."""
    titles = (axes.get_title(loc) for axes in figure.axes for loc in ("left", "center"))
    return figure.get_suptitle() or next(filter(None, titles), "")
