"""Addressing: what decides which addresses an access asks for, worked out once."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, evaluate, names
from perfmodel.kernels.access import Access
from perfmodel.kernels.instance import Instance
from perfmodel.models.grid.affine import Variable, index_variables
from perfmodel.models.grid.geometry import BlockShape
from perfmodel.records import record


@record
class Addressing:
    """What decides the addresses of an access, for configurations of one block shape and width."""

    instance: Instance
    access: Access
    shape: BlockShape
    index: Node  # in elements
    guards: tuple[Node, ...]  # those that threads, blocks or loops decide
    taken: Array  # whether the other guards let the access through, 0 or 1
    trips: Mapping[str, Any]  # of the loops around it
    element: int  # bytes
    width: int  # bytes that a lane moves at once
    pieces: int  # how often to move an element
    from_shared: bool  # whether it loads from shared memory
    variables: tuple[Variable, ...]  # of the index: threads, blocks and loops

    @property
    def buffer_bytes(self) -> float:
        """Bytes of the buffer, of the largest configuration."""
        return float(np.max(self.instance.lengths[self.access.buffer])) * self.element

    @property
    def values(self) -> Mapping[str, Any]:
        """Numbers of the names that are the same for all threads."""
        return self.instance.known


def addressing(instance: Instance, position: int, shape: BlockShape) -> Addressing:
    """Return what decides the addresses of the access at a position of a kernel's."""
    kernel = instance.kernel
    access = kernel.accesses[position]
    element = int(np.max(instance.element_bytes[access.buffer]))
    moved = element * int(np.max(instance.vectors[position]))
    # An element of an odd size moves as several accesses of its largest power of two.
    width = math.gcd(moved, 16)
    values = instance.known
    every = [instance.expression(g) for g in (kernel.guard, access.guard) if g is not None]
    taken = np.ones(1)
    for guard in (g for g in every if names(g) <= values.keys()):
        taken = taken * np.asanyarray(evaluate(guard, values), dtype=float)
    trips = {loop.variable: instance.trips[loop.variable] for loop in kernel.loop_nest(access.loop)}
    return Addressing(
        instance,
        access,
        shape,
        index=instance.expression(access.index),
        guards=tuple(g for g in every if not names(g) <= values.keys()),
        taken=taken,
        trips=trips,
        element=element,
        width=width,
        pieces=moved // width,
        from_shared=access.kind == "load" and kernel.buffer(access.buffer).space == "shared",
        variables=index_variables(shape, instance.grid, trips),
    )
