"""Where commands write: text by rich to standard output, or JSON."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import RenderableType

_PIPE_WIDTH: Final = 100


def show(report: RenderableType) -> None:
    """Print a report to standard output.

    On a terminal it has the terminal's width and colours (none under ``NO_COLOR``); in a pipe it
    is plain text of COLUMNS characters, or 100, without spaces at the ends of lines.
    """
    from rich.console import Console

    console = partial(Console, highlight=False, markup=False, emoji=False)
    if sys.stdout.isatty():
        console().print(report)
        return
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and 0 < int(columns) <= 1000 else _PIPE_WIDTH
    plain = console(width=width, color_system=None, force_terminal=False)
    with plain.capture() as captured:
        plain.print(report)
    lines = captured.get().split("\n")
    sys.stdout.write("\n".join(line.rstrip() for line in lines))


def print_json(value: Any) -> None:
    """Print a value as JSON (RFC 8259: no NaN, no infinity) to standard output."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")
