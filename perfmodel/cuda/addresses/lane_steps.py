"""How far apart the lanes of a warp load: whether they come to new sectors in the same iteration.

A thread that goes along a row asks for a new sector of 32 bytes every so often, and finds the rest
in L1. A warp waits when any of its lanes does. Rows whole sectors apart do so together; of rows an
odd number of words apart each word is new to some lane.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np

from perfmodel.cuda.addresses.launch import Dimensions, KernelLaunch, coordinates
from perfmodel.cuda.addresses.records import CARRIED, DATUM, Followed, MemoryAccess
from perfmodel.cuda.addresses.sums import Sum, written
from perfmodel.cuda.parse.syntax import Function
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, evaluate
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
    steps: dict[str | None, list[int]] = {}
    for access in found.accesses:
        instruction = function.instructions[access.at]
        if instruction.opcode in ("ld", "ldu") and not _ELSEWHERE & instruction.stems:
            steps.setdefault(access.loop, []).append(_step(access, known, launch.block))
    return {loop: math.gcd(SECTOR, *each) if all(each) else 0 for loop, each in steps.items()}


def _step(access: MemoryAccess, known: Mapping[str, Any], block: Dimensions) -> int:
    """Return what divides the distances between lanes of one load; 0 where data decides."""
    if access.address is None:
        return 0
    of = access.address.names
    if any(name.startswith((DATUM, CARRIED)) for name in of):
        return 0
    # Where all lanes begin, and the iteration, make no difference.
    apart = _apart(access.address, known) if block[0] >= WARP_SIZE else None
    if apart is not None:
        return math.gcd(SECTOR, apart)
    lanes = {name for name in of if name.startswith("threadIdx.")}
    numbers = tuple((name, known.get(name, 0)) for name in sorted(of - lanes))
    return _apart_at(access.address, numbers, block)


@lru_cache(maxsize=1024)
def _apart_at(address: Sum, numbers: tuple[tuple[str, Any], ...], block: Dimensions) -> int:
    """Return what divides the distances between lanes, of any address; 0 where it has no value."""
    values = {**dict(numbers), **coordinates("threadIdx", np.arange(WARP_SIZE), block)}
    node = written(address)
    try:
        places = evaluate(node, values)
    except PerfmodelError:  # has no value there
        return 0
    apart = np.diff(np.broadcast_to(np.asarray(places, dtype=np.int64), (WARP_SIZE,)))
    return math.gcd(SECTOR, *(int(d) for d in apart))


def _apart(address: Sum, known: Mapping[str, Any]) -> int | None:
    """Return how far apart neighbouring lanes are, of an address that is a polynomial; else None.

    That is what `evaluate` gives where lanes lie along x, and nothing overflows on the way.
    """
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
            value = 0 if factor.name in _ALONG else known.get(factor.name, 0)
            if type(value) is not int or value < 0:
                return None
            part *= value
            size *= max(value, 1)
        if along > 1:
            return None
        step += part if along else 0
        most += size
    return step if most <= LARGEST_INTEGER else None
