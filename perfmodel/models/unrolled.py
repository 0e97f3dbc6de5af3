"""Loops that code has and a description has not: what runs once is no loop."""

from __future__ import annotations

import numpy as np

from perfmodel.kernels.access import Access
from perfmodel.kernels.instance import Instance


def loop_of(instance: Instance, access: Access) -> str | None:
    """Return the loop with whose other loads a thread waits for an access: its own, as a rule.

    A loop within a loop that runs once leaves no branch in the code: its loads go out with those of
    the loop around it, if that has any, as the x of one vector do with the rows of a matrix.
    """
    found = access.loop
    loads = {a.loop for a in instance.kernel.accesses if a.kind == "load"}
    for loop in reversed(instance.kernel.loop_nest(access.loop)):
        if loop.parent is None or np.any(np.asarray(instance.trips[loop.variable]) != 1):
            break
        if loop.parent in loads:
            found = loop.parent
    return found


def runs_once(instance: Instance) -> list[np.ndarray]:
    """Return for each loop within a loop where it runs once: `loop_of` wants it alike."""
    return [
        np.asarray(instance.trips[loop.variable]) == 1
        for loop in instance.kernel.loops
        if loop.parent is not None
    ]
