"""Two threads: compiled loops and NumPy let go of the interpreter, so both cores work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any, Final, TypeVar

Found = TypeVar("Found")

THREADS: Final = 2


def in_threads(function: Callable[..., Found], jobs: Sequence[tuple[Any, ...]]) -> list[Found]:
    """Return what a function makes of the arguments of each job, in their order."""
    if len(jobs) == 1:
        return [function(*jobs[0])]
    running = [_pool(THREADS).submit(function, *job) for job in jobs]
    try:
        return [job.result() for job in running]
    finally:
        # Also when interrupted: what they write to is used again.
        for job in running:
            job.cancel()
        wait(running)


def halves(n: int, least: int) -> list[tuple[int, int]]:
    """Return the ends of parts of `n` things for the threads; one part if there are few."""
    parts = THREADS if n >= least else 1
    edges = [n * i // parts for i in range(parts + 1)]
    return list(zip(edges[:-1], edges[1:], strict=True))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)
