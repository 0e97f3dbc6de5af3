"""What following a kernel finds: loops, memory accesses and blocks, with when they run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from perfmodel.cuda.addresses.sums import Sum
from perfmodel.cuda.addresses.values import BASE, CARRIED, DATUM
from perfmodel.cuda.parse.memory_parts import part_key
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Node, names
from perfmodel.records import record


class NotFollowedError(PerfmodelError):
    """A kernel whose control flow has no formula; it can be emulated all the same."""


@record
class LoopRun:
    """A loop as it runs."""

    index: int
    """In the control flow's list."""
    variable: str
    """Counts iterations from 0."""
    trips: Node | None
    """Iterations of the thread that has most; None if data decides."""
    parent: str | None
    """Variable of the loop around it."""


@record
class MemoryAccess:
    """One memory instruction, where it runs."""

    at: int
    """The instruction."""
    address: Sum | None
    """None if it is not followed."""
    guard: Node
    """Condition for a thread to make it."""
    loop: str | None
    """Variable of the innermost loop around it."""
    sources: frozenset[int]
    """Loads that its address comes from."""
    part: int = 0
    """Which of the instruction's `memory_parts` it is."""
    coordinates: tuple[Sum, ...] = ()
    """Of a tensor copy."""
    stored: frozenset[int] = frozenset()
    """Loads that what it stores, or adds and returns, comes from."""

    @property
    def key(self) -> int:
        """Number by which emulation counts it."""
        return part_key(self.at, self.part)


@record
class BlockRun:
    """A basic block, where it runs: for threads for which `guard` holds, in every iteration."""

    block: int
    guard: Node
    loop: str | None


@dataclass(slots=True)
class Followed:
    """What following a kernel found."""

    loops: list[LoopRun] = field(default_factory=list)
    accesses: list[MemoryAccess] = field(default_factory=list)
    blocks: list[BlockRun] = field(default_factory=list)

    def iterations(self, loop: str | None, trips: Mapping[str, float]) -> float:
        """Return how often a loop's body runs in all, once outside of loops.

        `trips` are the iterations of each loop; 0 counts as 1.
        """
        return math.prod(max(trips[own], 1.0) for own in self.nest(loop))

    def nest(self, loop: str | None) -> list[str]:
        """Return the variables of a loop and of those around it, from the inside out."""
        parents = {own.variable: own.parent for own in self.loops}
        found: list[str] = []
        while loop is not None:
            found.append(loop)
            loop = parents.get(loop)
        return found


def is_data(node: Node) -> bool:
    """Say whether data decides a condition or an index, or where buffers lie."""
    return any(name.startswith((DATUM, CARRIED, BASE)) for name in names(node))
