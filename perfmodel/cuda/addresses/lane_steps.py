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
from perfmodel.cuda.addresses.sums import written
from perfmodel.cuda.parse.syntax import Function
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate, names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.requests.coalescing import SECTOR

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
    try:
        places = evaluate(node, dict.fromkeys(names(node), 0) | dict(values))
    except PerfmodelError:  # has no value there
        return 0
    apart = np.diff(np.broadcast_to(np.asarray(places, dtype=np.int64), (WARP_SIZE,)))
    return math.gcd(SECTOR, *(int(d) for d in apart))
