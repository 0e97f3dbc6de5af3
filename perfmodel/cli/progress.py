"""A progress bar on a terminal's standard error, for what takes over a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

SHOWN_AFTER: Final = 1.0
"""Seconds after which the bar appears."""

T = TypeVar("T")


def tracked(what: str, items: Sequence[T]) -> Iterator[T]:
    """Yield items behind a bar of how many are done."""
    with progress_bar(what) as tell:
        for done, each in enumerate(items):
            tell(done, len(items))
            yield each


@contextmanager
def progress_bar(what: str, counted: bool = True) -> Iterator[Callable[[float, float], None]]:
    """Give a function that is told how much of how much is done.

    Nothing is shown in the first second, or where standard error is no terminal; at the end the
    bar is gone. A bar that is not `counted` shows the share instead of both numbers.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn() if counted else TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
    task = bar.add_task(what, total=None)
    # By a timer, so that a single long step shows as well.
    timer = threading.Timer(SHOWN_AFTER, bar.start)
    timer.daemon = True
    timer.start()

    def tell(done: float, total: float) -> None:
        bar.update(task, completed=done, total=total)

    try:
        yield tell
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
