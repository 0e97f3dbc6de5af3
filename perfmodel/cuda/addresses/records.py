"""What registers hold as a kernel is followed, and what is found: blocks, loops, accesses."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from perfmodel.cuda.addresses.sums import Sum
from perfmodel.cuda.parse.memory_parts import part_key
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, Number, Operation, evaluate, names
from perfmodel.records import record

DATUM: Final = "datum__"
"""How the names of data start; C leaves names with two underscores to compilers."""
CARRIED: Final = "carried__"
"""How the names start of what a loop changes, while that is not solved."""
BASE: Final = "base__"
"""How the names of the places start that addresses start at."""
ALIGNED: Final = 256
"""Multiples that buffers start at [B]: cudaMalloc's, as the CUDA C++ Programming Guide says."""


@record
class Unknown:
    """A value that is no integer, or not followed: the loads that it comes from."""

    sources: frozenset[int] = frozenset()  # instructions of these loads


Value: TypeAlias = Sum | Number | Name | Operation | Unknown
"""An integer, a condition, or something else."""


@record
class Datum:
    """An integer or a condition that data decides."""

    instruction: int  # the instruction that makes it
    # Loads that it comes from; empty for a number that is computed but not followed.
    sources: frozenset[int]
    # Range of its type.
    low: int
    high: int
    # Whether data decides it, but it is not just what was read: a loop computes it from turn to
    # turn, or something else that is not followed is in it.
    computed: bool = False
    shuffled: bool = False  # whether it differs at all places that it is read at


def base_name(symbol: str) -> str:
    """Return the name that stands for the address of a variable in expressions."""
    cleaned = "".join(c if c.isalnum() or c == "_" else "_" for c in symbol)
    return f"{BASE}{cleaned}"


class NotFollowedError(PerfmodelError):
    """A kernel whose control flow has no formula; it can be emulated all the same."""


@record
class LoopRun:
    """A loop as it runs."""

    index: int  # in the control flow's list
    variable: str  # counts iterations from 0
    trips: Node | None  # iterations of the thread that has most; None if data decides
    parent: str | None  # variable of the loop around it


@record
class MemoryAccess:
    """One memory instruction, where it runs."""

    at: int  # the instruction
    address: Sum | None  # None if it is not followed
    guard: Node  # condition for a thread to make it
    loop: str | None  # variable of the innermost loop around it
    sources: frozenset[int]  # loads that its address comes from
    part: int = 0  # which of the instruction's `memory_parts` it is
    coordinates: tuple[Sum, ...] = ()  # of a tensor copy
    # Loads that what it stores, or adds and returns, comes from.
    stored: frozenset[int] = frozenset()

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

    def decided_trips(self, known: Mapping[str, Any]) -> dict[str, int]:
        """Return the iterations of the loops for which numbers that are `known` decide them."""
        return {
            loop.variable: int(np.max(evaluate(loop.trips, known)))
            for loop in self.loops
            if loop.trips is not None and names(loop.trips) <= known.keys()
        }

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
