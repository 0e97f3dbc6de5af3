"""Where commands write: text or JSON to standard output; files, which are named."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfmodel.reports.lines import Piece
    from perfmodel.reports.page.svg import Picture

_PIPE_WIDTH: Final = 100


def show(report: "Piece") -> None:
    """Print a report to standard output.

    On a terminal it has the terminal's width and colours (none under ``NO_COLOR``); in a pipe it
    is plain text of COLUMNS characters, or 100, without spaces at the ends of lines.
    """
    if sys.stdout.isatty():
        import shutil  # late, for the time that it takes

        width = shutil.get_terminal_size().columns
        write(_text(report, width, _terminal_styles()))
    else:
        write(_plain(report))


def show_meanwhile(report: "Piece") -> None:
    """Print a report to standard error while a command goes on; a progress bar stays below it."""
    say(_plain(report))


def write(text: str) -> None:
    """Write text to standard output, with "?" for what its encoding lacks."""
    encoding = _encoding()
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _plain(report: "Piece") -> str:
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and 0 < int(columns) <= 1000 else _PIPE_WIDTH
    return _text(report, width, {})


def _text(report: "Piece", width: int, styles: Mapping[str, str]) -> str:
    from perfmodel.reports.lines import Look

    look = Look(ascii_only=not _encoding().lower().startswith("utf"), styles=styles)
    return "".join(f"{line.rstrip()}\n" for line in report.lines(width, look))


def _terminal_styles() -> dict[str, str]:
    """Return the styles that the terminal has: none on a dumb one, no colours if unwanted."""
    from perfmodel.reports.lines import COLOURS, STYLES

    if os.environ.get("TERM", "").lower() in ("dumb", "unknown"):
        return {}
    if sys.platform == "win32":
        os.system("")  # an old console then takes the codes
    return STYLES if os.environ.get("NO_COLOR") else STYLES | COLOURS


def print_json(value: Any) -> None:
    """Print a value as JSON (RFC 8259: no NaN, no infinity) to standard output."""
    import json  # late, for the time that it takes

    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def say(text: str) -> None:
    """Print a line to standard error, unless that is closed."""
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def wrote(*paths: str | Path) -> None:
    """Name files that a command has written, a line each on standard error."""
    for path in paths:
        say(f"wrote {path}")


def save_drawing(figure: "Figure | Picture", path: str | Path) -> None:
    """Write a figure to a file and name it; see `perfmodel.reports.page.svg.save_figure`."""
    from perfmodel.reports.page.svg import save_figure

    save_figure(figure, path)
    wrote(path)
