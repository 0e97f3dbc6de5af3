"""Numbers that guards bound: of which threads, blocks and iterations they are the digits.

Guards compare sums. Where a sum is a mixed-radix number, a guard holds from one value of it up to
before another.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node
from perfmodel.models.agreement import agreed, check_alike
from perfmodel.models.derivation import glimpse, skippable
from perfmodel.models.grid.affine import Plane, Variable, plane
from perfmodel.records import record


@record
class BoundedNumber:
    """A mixed-radix number, fastest digit first, that guards bound: `start` to before `stop`."""

    digits: Sequence[Variable]
    start: Array
    stop: Array
    bounded: Mapping[str, Array]


def bounded_numbers(
    tests: Sequence[Node],
    values: Mapping[str, Any],
    variables: Sequence[Variable],
    facts: list[Array],
) -> list[BoundedNumber] | None:
    """Return the mixed-radix numbers that tests bound, and add to what was gone by."""
    numbers: dict[tuple[str, ...], BoundedNumber] = {}
    for test in tests:
        f = plane(test, values, variables)
        if not f.affine:
            return None
        always = _always(f, variables)
        facts.append(always)
        if skippable(always):
            continue
        moves = {v.name: (f.strides[v.name] != 0) & (v.extent > 1) for v in variables}
        moving = [
            v for v in variables if np.any(f.strides[v.name] != 0) and not skippable(v.extent <= 1)
        ]
        facts += [np.sign(f.strides[v.name]) * (v.extent > 1) for v in moving]
        reach = [np.where(v.extent > 1, np.abs(f.strides[v.name]), 0) for v in moving]
        if len(moving) > 1:
            columns = np.stack(np.broadcast_arrays(*map(np.atleast_1d, reach)))
            facts += [*np.argsort(columns, axis=0, kind="stable")]
        moving.sort(key=lambda v: np.max(np.abs(glimpse(f.strides[v.name]))))
        limits = _bounds(f, moving, facts)
        if limits is None:
            check_alike(facts)  # others may be solved alone
            moving = _rows_of(f, moving, numbers.values())
            limits = _bounds(f, moving, facts) if moving else None
        if limits is None:
            check_alike(facts)
            return None
        start, stop = limits
        bounded = {v.name: moves[v.name] & ~always for v in moving}
        key = tuple(bounded)
        known = numbers.get(key)
        if known is not None:
            start, stop = np.maximum(start, known.start), np.minimum(stop, known.stop)
            bounded = {name: where | known.bounded[name] for name, where in bounded.items()}
        numbers[key] = BoundedNumber(moving, start, stop, bounded)
    return _merged(list(numbers.values()))


def _merged(numbers: Sequence[BoundedNumber]) -> list[BoundedNumber]:
    """Return the numbers, but those that are the slowest digits of others bound these instead."""
    found = [*numbers]
    for number in sorted(numbers, key=lambda n: -len(n.digits)):  # whom others join, before these
        names = [v.name for v in number.digits]
        for at, other in enumerate(found):
            inner, outer = other.digits[: -len(names)], other.digits[-len(names) :]
            if inner and [v.name for v in outer] == names:
                size = math.prod(v.extent for v in inner)
                start = np.maximum(other.start, number.start * size)
                stop = np.minimum(other.stop, number.stop * size)
                both = {n: where | other.bounded[n] for n, where in number.bounded.items()}
                found[at] = BoundedNumber(other.digits, start, stop, {**other.bounded, **both})
                found = [n for n in found if n is not number]
                break
    return found


def _rows_of(
    f: Plane, order: Sequence[Variable], numbers: Iterable[BoundedNumber]
) -> list[Variable]:
    """Return the digits of rows that a test lets through, if only in part; none of other tests.

    The fastest digits are a place in a row, a number that another test bounds by the row's length.
    """
    for number in numbers:
        inner, rows = order[: len(number.digits)], order[len(number.digits) :]
        if not rows or [v.name for v in inner] != [v.name for v in number.digits]:
            continue
        step = f.strides[inner[0].name]
        whole, reach = (step < 0) & (number.start == 0), np.asanyarray(1.0)
        for v in inner:
            whole = whole & (f.strides[v.name] == step * reach)
            reach = reach * v.extent
        if agreed(whole & (f.strides[rows[0].name] == step * number.stop)):
            return [*rows]
    return []


def _always(f: Plane, variables: Sequence[Variable]) -> Array:
    """Say where a test holds for every value of every variable."""
    least = f.offset
    for v in variables:
        least = least + np.minimum(f.strides[v.name], 0) * np.maximum(v.extent - 1, 0)
    return np.asanyarray(least > 0)


def _bounds(f: Plane, order: Sequence[Variable], facts: list[Array]) -> tuple[Array, Array] | None:
    """Return which values make `f` positive, if `order`, fastest first, counts mixed radix."""
    if not order:
        holds = np.asanyarray((f.offset > 0) * 1.0)
        return 0.0 * holds, holds
    step = f.strides[order[0].name]
    if np.any(step == 0) or np.any(np.sign(step) != np.sign(np.ravel(step)[0])):
        return None
    unit = np.abs(step)
    sign = np.sign(step)
    reach: Array = np.asanyarray(1.0)
    for v in order:
        # A variable of one value never moves, whatever its stride would be.
        uneven = (sign * f.strides[v.name] != unit * reach) & (v.extent > 1)
        facts.append(uneven)
        if np.any(uneven):
            return None
        reach = reach * v.extent
    if np.all(sign < 0):
        stop = np.clip(np.ceil(f.offset / unit), 0, reach)
        return 0.0 * stop, stop
    start = np.clip(np.floor(-f.offset / unit) + 1, 0, reach)
    return start, reach + 0.0 * start
