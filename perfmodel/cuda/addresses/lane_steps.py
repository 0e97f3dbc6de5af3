"""How far apart the lanes of a warp load: whether they come to new sectors in the same iteration.

A thread that goes along a row asks for a new sector of 32 bytes every so often, and finds the rest
in L1. A warp waits when any of its lanes does. Rows whole sectors apart do so together; of rows an
odd number of words apart each word is new to some lane.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from perfmodel.cuda.addresses.launch import KernelLaunch, coordinates
from perfmodel.cuda.addresses.records import CARRIED, DATUM, Followed, MemoryAccess
from perfmodel.cuda.addresses.sums import Sum, written
from perfmodel.cuda.parse.syntax import Function
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, evaluate, names
from perfmodel.expressions.scalars import LARGEST_INTEGER
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.requests.coalescing import SECTOR

_ALONG: Final = ("threadIdx.y", "threadIdx.z")
"""Zero for lanes along x."""
_ELSEWHERE: Final = frozenset({"shared", "local", "param", "const"})


def lane_steps(
    function: Function, found: Followed, launch: KernelLaunch, known: Mapping[str, Any]
) -> dict[str | None, int]:
    """Return what divides the distances between lanes of each loop's loads [B], a sector at most.

    0 where data decides where lanes load.

    `known` are the values of the kernel's parameters, and of the launch's sizes.
    """
    values = {**known, **coordinates("threadIdx", np.arange(WARP_SIZE), launch.block)}
    steps: dict[str | None, list[int]] = {}
    for access in found.accesses:
        instruction = function.instructions[access.at]
        if instruction.opcode in ("ld", "ldu") and not _ELSEWHERE & instruction.stems:
            steps.setdefault(access.loop, []).append(_step(access, values))
    return {loop: math.gcd(SECTOR, *each) if all(each) else 0 for loop, each in steps.items()}


def _step(access: MemoryAccess, values: Mapping[str, Any]) -> int:
    """Return what divides the distances between lanes of one load; 0 where data decides."""
    if access.address is None:
        return 0
    node = written(access.address)
    if any(name.startswith((DATUM, CARRIED)) for name in names(node)):
        return 0
    # Where all lanes begin, and the iteration, make no difference.
    known = _apart(access.address, values)
    if known is not None:
        return math.gcd(SECTOR, known)
    try:
        places = evaluate(node, dict.fromkeys(names(node), 0) | dict(values))
    except PerfmodelError:  # has no value there
        return 0
    apart = np.diff(np.broadcast_to(np.asarray(places, dtype=np.int64), (WARP_SIZE,)))
    return math.gcd(SECTOR, *(int(d) for d in apart))


def _apart(address: Sum, values: Mapping[str, Any]) -> int | None:
    """Return how far apart neighbouring lanes are, of an address that is a polynomial; else None.

    That is what `evaluate` gives where lanes lie along x, and nothing overflows on the way.
    """
    lanes = values["threadIdx.x"]
    if int(lanes[-1]) != WARP_SIZE - 1 or int(values["blockDim.x"]) < WARP_SIZE:
        return None
    step = most = 0
    for factors, times in address.terms.items():
        part, size, along = times, abs(times), 0
        for factor in factors:
            if not isinstance(factor, Name):
                return None
            if factor.name == "threadIdx.x":
                along += 1
                size *= WARP_SIZE
                continue
            value = 0 if factor.name in _ALONG else values.get(factor.name, 0)
            if type(value) is not int or value < 0:
                return None
            part *= value
            size *= max(value, 1)
        if along > 1:
            return None
        step += part if along else 0
        most += size
    return step if most <= LARGEST_INTEGER else None
