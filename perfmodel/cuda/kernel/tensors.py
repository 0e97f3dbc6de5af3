"""Tensor copies as accesses: boxes of a tensor whose layout PTX does not show.

How the boxes lie in memory is in the tensor map, which the host makes. Which box a copy takes is in
its coordinates. So boxes are taken to lie one behind the other, one for each set of coordinates:
the same bytes are moved, and the same box comes again where it does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.instructions import Interpreter
from perfmodel.cuda.addresses.launch import Base
from perfmodel.cuda.addresses.records import MemoryAccess
from perfmodel.cuda.addresses.sums import Sum, constant
from perfmodel.cuda.addresses.values import BASE, Datum
from perfmodel.cuda.emulate.run import Emulation
from perfmodel.cuda.kernel.accesses import Placed
from perfmodel.cuda.kernel.parts import data_factors
from perfmodel.cuda.parse.memory_instructions import Moved

_MOST_BOXES: Final = 1 << 26
_PIECE: Final = 16
"""[B] that the size of a box is a multiple of (CUDA driver API, cuTensorMapEncodeTiled)."""


def tensor_copy(
    access: MemoryAccess, what: Moved, bases: dict[str, Base], follower: Interpreter
) -> Placed:
    """Return a tensor copy with a base of its own; its offset counts boxes until `with_box`."""
    names = () if access.address is None else sorted(access.address.names)
    start = next((n.removeprefix(BASE) for n in names if n.startswith(BASE)), f"at_{access.at}")
    name = f"{BASE}tensor__{start}"
    if name not in bases:
        bases[name] = Base(f"tensor-{start.rpartition('_param_')[2]}", "global", None)
    offset = _box_number(access.coordinates, follower.algebra, follower.data)
    return Placed(access, name, offset, what, counted=True)


def with_box(p: Placed, emulation: Emulation) -> Placed:
    """Return a tensor copy with its offset in bytes; any other access as it is."""
    count = emulation.counts.get(p.access.key)
    if not p.access.coordinates or p.offset is None or count is None or not count.requests:
        return p
    box = -(-count.width * count.lanes // count.requests // _PIECE) * _PIECE
    return replace(p, offset=p.offset * max(box, _PIECE))


def _box_number(
    coordinates: Sequence[Sum], algebra: Algebra, data: Mapping[str, Datum]
) -> Sum | None:
    """Return a number for each set of coordinates; None where data or too many boxes decide."""
    found, boxes = constant(0), 1
    for coordinate in coordinates:
        if data_factors(coordinate, data):
            return None
        step = math.gcd(*coordinate.terms.values()) or 1
        part = Sum({factors: count // step for factors, count in coordinate.terms.items()})
        reach = algebra.range(part)
        if reach.low < 0:
            return None
        found = found + part * boxes
        boxes *= reach.high + 1
        if boxes > _MOST_BOXES:
            return None
    return found
