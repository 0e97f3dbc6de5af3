"""Loops as code has them: what runs once is no loop, and what runs often is unrolled."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.access import Access
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.kernel import Kernel

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
    own = [access.loop for access in accesses]
    found = {loop: _waited_in(instance, loop) for loop in set(own)}
    return [found[loop] for loop in own]


def _waited_in(instance: Instance, own: str | None) -> str | None:
    """Return the loop that loads of a loop go out with."""
    found = own
    for variable, around in _deciding(instance.kernel, own):
        if np.any(np.asanyarray(instance.trips[variable]) != 1):
            break
        found = around or found
    return found


def _deciding(kernel: Kernel, own: str | None) -> tuple[tuple[str, str | None], ...]:
    """Return the loops around something that decide whether loads go out with others, inmost first.

    Each with the loop around it where that has loads: beyond the last of those nothing is decided.
    """
    shared = {b.name for b in kernel.buffers if b.space == "shared"}
    loads = {a.loop for a in kernel.accesses if a.kind == "load" and a.buffer not in shared}
    nest = [loop for loop in reversed(kernel.loop_nest(own)) if loop.parent is not None]
    while nest and nest[-1].parent not in loads:
        nest.pop()
    return tuple((n.variable, n.parent if n.parent in loads else None) for n in nest)


def runs_once(instance: Instance) -> list[np.ndarray]:
    """Return of each loop that `loops_of` decides by where it runs once: it wants that alike.

    Blocks that copy ahead wait at none of them.
    """
    kernel = instance.kernel
    deciding = (_deciding(kernel, access.loop) for access in kernel.accesses)
    names = dict.fromkeys(variable for loops in deciding for variable, _ in loops)
    return [np.asanyarray(instance.trips[name]) == 1 for name in names]


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
