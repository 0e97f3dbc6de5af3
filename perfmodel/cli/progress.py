"""A progress bar on a terminal's standard error, for what takes over a second."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

SHOWN_AFTER: Final = 1.0
"""Seconds after which the bar appears."""

T = TypeVar("T")


def tracked(items: Sequence[T]) -> Iterator[T]:
    """Yield launches behind a bar of how many are predicted."""
    with progress_bar("predicting") as tell:
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
    import threading  # late, for the time that it takes

    bar = _Bar(what, counted)
    # By a timer, so that a single long step shows as well.
    timer = threading.Timer(SHOWN_AFTER, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.tell
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


class _Bar:
    """A bar that rich draws, imported when it is shown."""

    def __init__(self, what: str, counted: bool) -> None:
        self._what, self._counted = what, counted
        self._done, self._total = 0.0, 0.0
        self._drawn: Progress | None = None

    def show(self) -> None:
        """Draw it from now on."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        drawn = Progress(
            TextColumn(self._what),
            BarColumn(),
            MofNCompleteColumn() if self._counted else TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            transient=True,
        )
        drawn.add_task(self._what, total=self._total or None, completed=self._done)  # type: ignore[arg-type]
        drawn.start()
        self._drawn = drawn

    def tell(self, done: float, total: float) -> None:
        """Say how much of how much is done."""
        self._done, self._total = done, total
        if self._drawn is not None:
            self._drawn.update(self._drawn.task_ids[0], completed=done, total=total)

    def stop(self) -> None:
        """Remove it."""
        if self._drawn is not None:
            self._drawn.stop()
