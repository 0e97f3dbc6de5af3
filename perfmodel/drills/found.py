"""Found: a number with where it comes from."""

from __future__ import annotations

from collections.abc import Callable

from perfmodel.drills.sources import Expression
from perfmodel.errors import PerfmodelError
from perfmodel.records import record

Value = Callable[[Expression], float | int]
"""Gives the value of an expression of the step that is being worked out."""


@record
class Found:
    """A number with where it comes from."""

    value: float | int | str
    unit: str = ""  # what it comes in, if the step names no other
    origin: str = ""
    rows: tuple[tuple[str, ...], ...] = ()  # a table: its head, then its rows; empty for most


def whole(value: float) -> int:
    """Return a number that must be whole."""
    if value != int(value):
        raise PerfmodelError(f"{value} must be a whole number here")
    return int(value)
