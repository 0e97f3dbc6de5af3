"""How figures look, and how they become files: colours, fonts and formats."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perfmodel.records import record
from perfmodel.text_files import check_target

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

FORMATS: Final = (".svg", ".png", ".pdf")

# Colours that people with any colour blindness tell apart: Okabe and Ito, Color Universal Design,
# 2008.
BLUE: Final = "#0072b2"
GREEN: Final = "#009e73"
VERMILION: Final = "#d55e00"
ROSE: Final = "#cc79a7"
AMBER: Final = "#e69f00"
INK: Final = "#222222"
GREY: Final = "#767676"
FAINT: Final = "#dddddd"
BAND: Final = "#e7ebee"
OTHER: Final = "#8795a1"

LEVEL_COLOURS: Final = {"l1": BLUE, "l2": GREEN, "dram": VERMILION}
LEVEL_MARKERS: Final = {"l1": "o", "l2": "s", "dram": "D"}

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Markers that stay apart in black and white and at small sizes."""

STYLE: Final[dict[Any, Any]] = {
    "font.family": "sans-serif",
    "font.size": 10.0,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "white",
    "figure.facecolor": "white",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    # Text stays text: it can be searched, and tests can read it.
    "svg.fonttype": "none",
    # The same figure gives the same file.
    "svg.hashsalt": "perfmodel",
}
"""Settings of matplotlib under which figures are drawn and saved."""


@record
class Mark:
    """What a page tells who points at a part of a drawing, and of which launch it is.

    `told` is empty where a part only belongs to a launch, and `launch` 0 where it is of none.
    """

    told: str
    launch: int = 0


@record(slots=False)
class Drawing:
    """A figure, and the marks of those of its parts that have one, by their ids."""

    figure: "Figure"
    marks: dict[str, Mark] = field(default_factory=dict)

    @cached_property
    def svg(self) -> str:
        """What matplotlib writes of it, without a background."""
        return written(self.figure, "svg", transparent=True).decode()

    def mark(self, artist: "Artist", told: str, launch: int = 0) -> None:
        """Say what a part is."""
        name = f"mark{len(self.marks)}"
        self.marks[name] = Mark(told, launch)
        artist.set_gid(name)


@contextmanager
def new_figure(width: float, height: float, **settings: Any) -> "Iterator[Figure]":
    """Give an empty figure of so many inches, to be drawn in the style of all figures."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        yield Figure(figsize=(width, height), **settings)


@contextmanager
def drawing(width: float, height: float) -> Iterator[Drawing]:
    """Give an empty drawing of so many points, which a page shows as CSS pixels."""
    import matplotlib

    # Names of kernels and GPUs are text, dollars or not.
    with (
        new_figure(width / 72, height / 72, dpi=72) as figure,
        matplotlib.rc_context({"text.parse_math": False}),
    ):
        yield Drawing(figure)


def check_figure_path(path: str | Path) -> Path:
    """Return where a figure is to be written; see `perfmodel.text_files.check_target`."""
    return check_target(path, "figure", FORMATS)


def written(figure: "Figure", kind: str, **settings: Any) -> bytes:
    """Return a figure as a file of a format, without the date."""
    import matplotlib

    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    file = BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(file, format=kind, metadata=undated, **settings)
    return file.getvalue()
