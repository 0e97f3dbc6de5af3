"""Ranges of a program's scalars: between which numbers each of them lies, surely.

The arithmetic of NumPy's numbers is monotone, rounding too, so the ends of a range go by the same
operators as the numbers in it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import ceil, floor, inf, isnan
from typing import Any, Final

from perfmodel.prediction.compiled.scalars import Scalar

Range = tuple[float, float]
"""Least and largest value; a scalar with a range is never NaN. Truth values are 0 and 1."""

WHOLE: Final = 2**63
"""Whole numbers from here on wrap."""
_ANY: Final = (-WHOLE, WHOLE - 1)
_Decides = Callable[[Range, Range], bool]
_DECIDED: Final[Mapping[str, tuple[_Decides, _Decides]]] = {
    "less": (lambda a, b: a[1] < b[0], lambda a, b: a[0] >= b[1]),
    "less_equal": (lambda a, b: a[1] <= b[0], lambda a, b: a[0] > b[1]),
    "greater": (lambda a, b: a[0] > b[1], lambda a, b: a[1] <= b[0]),
    "greater_equal": (lambda a, b: a[0] >= b[1], lambda a, b: a[1] < b[0]),
    "equal": (lambda a, b: a[0] == a[1] == b[0] == b[1], lambda a, b: a[1] < b[0] or b[1] < a[0]),
    "not_equal": (
        lambda a, b: a[1] < b[0] or b[1] < a[0],
        lambda a, b: a[0] == a[1] == b[0] == b[1],
    ),
}
"""When a comparison is surely true, and when it surely is not."""
COMPARISONS: Final = frozenset(_DECIDED)


def decided(name: str, first: Range | None, second: Range | None) -> bool | None:
    """Return what a comparison of numbers in two ranges gives; None where they do not tell."""
    if first is None or second is None:
        return None
    true, false = _DECIDED[name]
    return True if true(first, second) else False if false(first, second) else None


def range_of(scalar: Scalar, operands: Sequence[Range | None]) -> Range | None:
    """Return the range of a scalar whose operands have these; None if it may be any number."""
    if scalar.kind == "b":
        return 0, 1
    anything = _ANY if scalar.kind == "i" else None
    given = operands[1:] if scalar.operator == "where" else operands
    work = _WORK.get(scalar.operator)
    known = [each for each in given if each is not None]
    if work is None or len(known) < len(given):
        return anything
    try:
        found = work(*known)
    except (ArithmeticError, ValueError):
        return anything
    if found is None or any(map(isnan, found)):
        return anything
    if scalar.kind == "i" and not -WHOLE <= found[0] <= found[1] < WHOLE:
        return anything
    return found


def range_of_constant(value: Any) -> Range | None:
    """Return a constant's range; None of what is not a number."""
    return None if isnan(value) else (value, value)


def _at_ends(work: Callable[..., Any]) -> Callable[..., Range | None]:
    """Return the range of an operator that is monotone in each of its operands."""

    def of(*operands: Range) -> Range | None:
        ends = [work(*each) for each in product(*operands)]
        return None if any(map(isnan, ends)) else (min(ends), max(ends))

    return of


def _divided(work: Callable[..., Any]) -> Callable[..., Range | None]:
    """Return the range of a division by numbers above 0."""
    of = _at_ends(work)
    return lambda first, second: of(first, second) if second[0] > 0 else None


def _remainder(first: Range, second: Range) -> Range | None:
    if second[0] <= 0:
        return None
    return first if first[0] >= 0 and first[1] < second[0] else (0, second[1])


def _absolute(given: Range) -> Range:
    low, high = given
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _in_common(first: Range, second: Range) -> Range | None:
    """Return the range of the bits that two numbers have in common."""
    above = [each[1] for each in (first, second) if each[0] >= 0]
    return (0, min(above)) if above else None


def _rounded(work: Callable[[float], int]) -> Callable[[Range], Range]:
    """Return the range of a rounding: infinity stays."""
    return lambda given: tuple(e if abs(e) == inf else float(work(e)) for e in given)  # type: ignore[return-value]


_WORK: Final[Mapping[str, Callable[..., Range | None]]] = {
    "add": _at_ends(operator.add),
    "subtract": _at_ends(operator.sub),
    "multiply": _at_ends(operator.mul),
    "divide": _divided(operator.truediv),
    "floor_divide": _divided(operator.floordiv),
    "remainder": _remainder,
    "negative": _at_ends(operator.neg),
    "absolute": _absolute,
    "and": _in_common,
    "minimum": _at_ends(min),
    "maximum": _at_ends(max),
    "floor": _rounded(floor),
    "ceil": _rounded(ceil),
    "float": lambda given: (float(given[0]), float(given[1])),
    "integer": lambda given: (int(given[0]), int(given[1])),
    "where": lambda first, second: (min(first[0], second[0]), max(first[1], second[1])),
}
