"""Loops as code has them: what runs once is no loop, and what runs often is unrolled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.access import Access
from perfmodel.kernels.instance import Instance

LOADS_IN_FLIGHT: Final = 16
"""Loads of a loop that a warp has in flight before it uses the first, unless the kernel says.

nvcc 13.0 unrolls a loop of unknown length four times and again four times; the products' machine
code issues 14 to 16 loads before it waits (cuobjdump of
measurements/suite, foundation/program/foundation.cu).
"""


def loops_of(instance: Instance, accesses: Iterable[Access]) -> list[str | None]:
    """Return the loops with whose other loads a thread waits for accesses: their own, as a rule.

    A loop within a loop that runs once leaves no branch in the code: its loads go out with those of
    the loop around it, if that has any, as the x of one vector do with the rows of a matrix.
    """
    kernel = instance.kernel
    shared = {b.name for b in kernel.buffers if b.space == "shared"}
    loads = {a.loop for a in kernel.accesses if a.kind == "load" and a.buffer not in shared}
    own = [access.loop for access in accesses]
    found = {loop: _waited_in(instance, loop, loads) for loop in set(own)}
    return [found[loop] for loop in own]


def _waited_in(instance: Instance, own: str | None, loads: set[str | None]) -> str | None:
    """Return the loop that loads of a loop go out with; `loads` are the loops that have any."""
    found = own
    for loop in reversed(instance.kernel.loop_nest(own)):
        if loop.parent is None or np.any(np.asanyarray(instance.trips[loop.variable]) != 1):
            break
        if loop.parent in loads:
            found = loop.parent
    return found


def runs_once(instance: Instance) -> list[np.ndarray]:
    """Return for each loop within a loop where it runs once: `loops_of` wants it alike.

    Blocks that copy ahead wait at none of them.
    """
    return [
        np.asanyarray(instance.trips[loop.variable]) == 1
        for loop in instance.kernel.loops
        if loop.parent is not None
    ]


def loop_unroll(instance: Instance, loop: str | None, loads: int) -> tuple[Array, Array]:
    """Return how often a loop runs, in those around it, and how many times it is unrolled.

    Below 1 where an iteration waits for its loads more than once; `loads` of the loop share those
    that a warp has in flight. What is outside all loops runs once.
    """
    times = instance.turns(loop)
    stated = instance.loads_in_flight
    in_flight = LOADS_IN_FLIGHT if stated is None else stated
    unroll = np.maximum(np.asanyarray(in_flight) / loads, 1.0) if loop else np.ones(1)
    abreast = next((p.abreast for p in instance.kernel.paces if p.loop == loop), None)
    if abreast is not None:
        unroll = np.atleast_1d(np.asanyarray(instance.number(abreast), dtype=float))
    own = times
    if loop is not None and stated is None and abreast is None:  # an outer loop starts it over
        own = np.asanyarray(instance.trips[loop], dtype=float)
    return times, np.minimum(unroll, np.maximum(own, 1.0))
