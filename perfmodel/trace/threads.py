"""Two threads: compiled loops and NumPy let go of the interpreter, so both cores work."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Any, Final, TypeVar

Found = TypeVar("Found")

THREADS: Final = 2
WORTH_A_THREAD: Final = 4096
"""Accesses for which it is worth to start threads."""


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


def shares(n: int, accesses: int) -> list[tuple[int, int]]:
    """Return the ends of equal shares of `n` things for the threads; one if accesses are few."""
    parts = THREADS if accesses >= WORTH_A_THREAD else 1
    edges = [n * i // parts for i in range(parts + 1)]
    return list(pairwise(edges))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)
