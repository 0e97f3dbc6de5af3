"""Loops that code has and a description has not: what runs once is no loop."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perfmodel.kernels.access import Access
from perfmodel.kernels.instance import Instance


def loops_of(instance: Instance, accesses: Iterable[Access]) -> list[str | None]:
    """Return the loops with whose other loads a thread waits for accesses: their own, as a rule.

    A loop within a loop that runs once leaves no branch in the code: its loads go out with those of
    the loop around it, if that has any, as the x of one vector do with the rows of a matrix.
    """
    loads = {a.loop for a in instance.kernel.accesses if a.kind == "load"}
    own = [access.loop for access in accesses]
    found = {loop: _waited_in(instance, loop, loads) for loop in set(own)}
    return [found[loop] for loop in own]


def _waited_in(instance: Instance, own: str | None, loads: set[str | None]) -> str | None:
    """Return the loop that loads of a loop go out with; `loads` are the loops that have any."""
    found = own
    for loop in reversed(instance.kernel.loop_nest(own)):
        if loop.parent is None or np.any(np.asarray(instance.trips[loop.variable]) != 1):
            break
        if loop.parent in loads:
            found = loop.parent
    return found


def runs_once(instance: Instance) -> list[np.ndarray]:
    """Return for each loop within a loop where it runs once: `loops_of` wants it alike."""
    return [
        np.asarray(instance.trips[loop.variable]) == 1
        for loop in instance.kernel.loops
        if loop.parent is not None
    ]
