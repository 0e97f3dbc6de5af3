"""Where commands write: text by rich to standard output, or JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
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


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Lend a progress bar on standard error: none in a pipe, and none in the first second."""
    if not sys.stderr.isatty():
        yield lambda done, total, note: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    bar = Progress(*columns, console=console, transient=True)
    started = monotonic()
    try:
        task = bar.add_task(what, total=1, note="")

        def step(done: int, total: int, note: str) -> None:
            bar.update(task, completed=done, total=max(total, 1), note=note)
            if monotonic() - started > 1 and not bar.live.is_started:
                bar.start()

        yield step
    finally:
        bar.stop()
