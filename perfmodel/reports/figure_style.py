"""How figures look, and how they become files: colours, fonts, formats, whole files only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perfmodel.errors import PerfmodelError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS: Final = ("svg", "png", "pdf")

# Colours that people with any colour blindness tell apart: Okabe and Ito, Color Universal Design,
# 2008.
BLUE: Final = "#0072b2"
GREEN: Final = "#009e73"
VERMILION: Final = "#d55e00"
INK: Final = "#222222"
GREY: Final = "#767676"
FAINT: Final = "#dddddd"

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


def check_figure_path(path: str | Path) -> Path:
    """Return where a figure is to be written, after checking that it can be.

    Raises
    ------
    PerfmodelError
        If the suffix is none of `FORMATS`, the directory does not exist, or the path is one.
    """
    path = Path(path)
    allowed = ", ".join(f".{name}" for name in FORMATS[:-1]) + f" or .{FORMATS[-1]}"
    if path.suffix.lower().removeprefix(".") not in FORMATS:
        has = f"not {path.suffix!r}" if path.suffix else "but it has no suffix"
        raise PerfmodelError(f"figure file {str(path)!r} must end in {allowed}, {has}")
    if path.is_dir():
        raise PerfmodelError(f"figure file {str(path)!r} is a directory: give a file's name")
    if not path.parent.is_dir():
        raise PerfmodelError(
            f"figure file {str(path)!r}: no directory {str(path.parent)!r}; create it first"
        )
    return path


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure to a file whose suffix says the format; all of it or nothing.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or Path
        Ends in .svg, .png or .pdf; an existing file is replaced.

    Raises
    ------
    PerfmodelError
        As `check_figure_path`, or if the file cannot be written.
    """
    import tempfile

    import matplotlib

    path = check_figure_path(path)
    kind = path.suffix.lower().removeprefix(".")
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    temporary: str | None = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.stem[:40]}-", suffix=f".{kind}", delete=False
        ) as file:
            temporary = file.name
            with matplotlib.rc_context(STYLE):
                figure.savefig(file, format=kind, dpi=160, metadata=undated)
        # Temporary files are private; a figure is as readable as any new file.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise PerfmodelError(
            f"figure file {str(path)!r} cannot be written: {error.strerror or error}"
        ) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
