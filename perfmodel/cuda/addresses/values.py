"""What registers hold: sums, conditions, and data, of which only the origin is known."""

from __future__ import annotations

from typing import Final, TypeAlias

from perfmodel.cuda.addresses.sums import Sum
from perfmodel.expressions import Name, Number, Operation
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

    sources: frozenset[int] = frozenset()
    """Instructions of these loads."""


Value: TypeAlias = Sum | Number | Name | Operation | Unknown
"""An integer, a condition, or something else."""


@record
class Datum:
    """An integer or a condition that data decides."""

    instruction: int
    """The instruction that makes it."""
    sources: frozenset[int]
    """Loads that it comes from; empty for a number that is computed but not followed."""
    low: int
    high: int
    """Range of its type."""
    computed: bool = False
    """Whether a loop computes it from turn to turn: data decides, but it is not just what was
    read."""
    shuffled: bool = False
    """Whether it differs at all places that it is read at."""


def base_name(symbol: str) -> str:
    """Return the name that stands for the address of a variable in expressions."""
    cleaned = "".join(c if c.isalnum() or c == "_" else "_" for c in symbol)
    return f"{BASE}{cleaned}"
