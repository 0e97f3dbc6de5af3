"""How far apart the lanes of a warp load: whether they come to new sectors in the same iteration.

A thread that goes along a row asks for a new sector of 32 bytes every so often, and finds the rest
in L1. A warp waits when any of its lanes does. Rows whole sectors apart do so together; of rows an
odd number of words apart each word is new to some lane.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.addresses.launch import Dimensions, KernelLaunch, coordinates
from perfmodel.cuda.addresses.records import CARRIED, DATUM, Followed, MemoryAccess
from perfmodel.cuda.addresses.sums import Factors, Sum, written
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.syntax import Function
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, evaluate, names
from perfmodel.expressions.scalars import LARGEST_INTEGER
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.requests.coalescing import SECTOR

_LANES: Final = "threadIdx."


def lane_steps(
    function: Function, found: Followed, launch: KernelLaunch, known: Mapping[str, Any]
) -> dict[str | None, int]:
    """Return what divides the distances between lanes of each loop's loads [B], a sector at most.

    0 where data decides where lanes load.

    `known` are the values of the kernel's parameters, and of the launch's sizes.
    """
    steps: dict[str | None, list[int]] = {}
    for access in _loads(found.accesses, function):
        steps.setdefault(access.loop, []).append(_step(access, known, launch.block))
    return {loop: math.gcd(SECTOR, *each) if all(each) else 0 for loop, each in steps.items()}


@once
def _loads(accesses: Sequence[MemoryAccess], function: Function) -> list[MemoryAccess]:
    """Return the loads from global memory among accesses."""
    found = []
    for access in accesses:
        instruction = function.instructions[access.at]
        if instruction.opcode in ("ld", "ldu") and instruction.space in ("global", None):
            found.append(access)
    return found


def _step(access: MemoryAccess, known: Mapping[str, Any], block: Dimensions) -> int:
    """Return what divides the distances between lanes of one load; 0 where data decides."""
    if access.address is None:
        return 0
    of = access.address.names
    if any(name.startswith((DATUM, CARRIED)) for name in of):
        return 0
    # Where all lanes begin, and the iteration, make no difference.
    offsets = _offsets(access.address, known, block)
    if offsets is None:
        offsets = _places(written(access.address), _numbers(of, known), block)
    return 0 if offsets is None else math.gcd(SECTOR, *np.diff(offsets).tolist())


def _numbers(names: Collection[str], known: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return what names stand for in all lanes: what nobody knows makes no difference."""
    return tuple((n, known.get(n, 0)) for n in sorted(names) if not n.startswith(_LANES))


@lru_cache(maxsize=1024)
def _places(node: Node, numbers: tuple[tuple[str, Any], ...], block: Dimensions) -> Array | None:
    """Return an index in each lane of a warp; None where it has no value."""
    values = {**dict(numbers), **coordinates("threadIdx", np.arange(WARP_SIZE), block)}
    try:
        places = evaluate(node, values)
    except PerfmodelError:
        return None
    return np.broadcast_to(np.asarray(places, dtype=np.int64), (WARP_SIZE,))


def _offsets(address: Sum, known: Mapping[str, Any], block: Dimensions) -> Array | None:
    """Return what `_places` does for an address, term by term: what lanes differ by is kept.

    None where a number on the way might be too large.
    """
    found: Array = np.zeros(WARP_SIZE, dtype=np.int64)
    most = 0
    for factors, times in address.terms.items():
        lanes: list[Array] = []
        part = times
        for factor in factors:
            if isinstance(factor, Name) and not factor.name.startswith(_LANES):
                part *= known.get(factor.name, 0)
                continue
            place = _places(factor, _numbers(names(factor), known), block)
            if place is None:
                return None
            lanes.append(place)
        if type(part) is not int:
            return None
        largest = math.prod(max(int(np.abs(each).max()), 1) for each in lanes)
        most += largest * abs(times) * _largest(factors, known)
        if most > LARGEST_INTEGER:
            return None
        if lanes:  # all lanes alike make no difference
            found = found + part * reduce(np.multiply, lanes)
    return found


def _largest(factors: Factors, known: Mapping[str, Any]) -> int:
    """Return the largest number that some factors of a product have among them."""
    values = (known.get(f.name, 0) for f in factors if isinstance(f, Name))
    return math.prod(max(abs(int(value)), 1) for value in values)
