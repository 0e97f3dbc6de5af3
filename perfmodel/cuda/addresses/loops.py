"""Loops: what a register holds in iteration k, and how many iterations there are."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.conditions import conjuncts
from perfmodel.cuda.addresses.sums import Sum, applied, by_factor, constant, plus, single, written
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, Number, Operation, evaluate, names, substitute
from perfmodel.kernels.intervals import Interval
from perfmodel.records import record

MOST_TRIPS: Final = 1 << 40
"""Iterations that are believed; a loop of more never ends."""

_TRIED: Final = 1 << 20
"""Iterations of a loop that has no closed form that are tried one by one."""
_ALL_TRIED: Final = 1 << 18
"""Blocks, threads and iterations of loops around whose counts of iterations are all computed."""
_ORDER: Final = frozenset({"<", "<=", ">", ">="})
_ENDS: Final = 64
"""Of a range that is too long for that: the values at either end that are."""


@record
class Recurrence:
    """A register that a loop changes."""

    start: Sum  # its value when the loop begins
    carried: Name  # its value at the start of any iteration
    update: Sum  # its value at the end of that iteration


def solved(
    recurrences: Mapping[str, Recurrence], variable: Name, changing: Iterable[str], algebra: Algebra
) -> dict[str, Sum]:
    """Return the value of registers at the start of iteration `variable`, where it has a formula.

    Values of the names `changing` differ from iteration to iteration.
    """
    carried = {r.carried.name for r in recurrences.values()}
    moving = carried | set(changing)
    found: dict[str, Sum] = {}
    for register, r in recurrences.items():
        value = _solved(r, variable, moving)
        if value is None and r.update.names & moving == {r.carried.name}:
            value = _solved(algebra.asks(_without_sign, r), variable, moving)
        if value is not None:
            found[register] = value
    # What is copied from another register is that one's value an iteration ago.
    known = {
        recurrences[register].carried.name: written(value) for register, value in found.items()
    }
    for register, r in recurrences.items():
        if register in found or not r.update.names & moving <= known.keys():
            continue
        now = algebra.again(substitute(written(r.update), known))
        before = at_iteration(now, variable, single(variable) - 1, algebra)
        first = at_iteration(now, variable, constant(-1), algebra)
        if first == r.start:
            found[register] = before
        else:
            again = Operation("==", (variable, Number(0)))
            found[register] = algebra.chosen(again, r.start, before)
    return found


def at_iteration(value: Sum, variable: Name, iteration: Sum, algebra: Algebra) -> Sum:
    """Return a value with an iteration put in for the loop's variable."""
    if variable.name not in value.names:
        return value
    return algebra.again(substitute(written(value), {variable.name: written(iteration)}))


def _solved(r: Recurrence, variable: Name, moving: set[str]) -> Sum | None:
    step = r.update - single(r.carried)
    if not step.names & moving:
        return r.start + step * single(variable)
    if not (r.update + single(r.carried)).names & moving:
        # c - x: every other iteration the start, and what it is taken from.
        other = r.update + single(r.carried) - r.start
        odd = single(variable % 2)
        return r.start + odd * (other - r.start)
    for operator, power in (("<<", "*"), (">>", "//")):
        by = _factor(r, power)
        if by is not None and by > 1 and by & by - 1 == 0:
            shift = single(variable) * (by.bit_length() - 1)
            if operator == "<<":
                return r.start * applied("<<", constant(1), shift)
            return applied(">>", r.start, shift)
    return None


def _without_sign(r: Recurrence, algebra: Algebra) -> Recurrence:
    """Return a recurrence that keeps what is from 0 to its start there, as its update shows.

    So ``n / 2``, which a compiler makes ``(n + (n >>> 31)) >> 1``, is a shift.
    """
    low, high = algebra.range(r.start)
    if low < 0:
        return r
    supposed = algebra.supposing(r.carried.name, 0, high)
    update = supposed.again(written(r.update))
    least, most = supposed.range(update)
    return Recurrence(r.start, r.carried, update) if least >= 0 and most <= high else r


def _factor(r: Recurrence, operator: str) -> int | None:
    """Return c of an update ``x*c`` or ``x // c``."""
    if len(r.update.terms) != 1:
        return None
    ((factors, times),) = r.update.terms.items()
    if operator == "*":
        return times if factors == (r.carried,) else None
    if times != 1 or len(factors) != 1 or not isinstance(factors[0], Operation):
        return None
    node = factors[0]
    if node.operator != "//" or not isinstance(node.operands[1], Number):
        return None
    dividend, by = node.operands[0], int(node.operands[1].value)
    if dividend == r.carried:
        return by
    # An unsigned shift: the register is never negative.
    if isinstance(dividend, Operation) and dividend.operator == "%":
        return by if dividend.operands[0] == r.carried else None
    return None


def trips(
    goes_on: Node, variable: Name, entered: Iterable[Node], algebra: Algebra, sure: bool = True
) -> Sum | None:
    """Return how many iterations a loop has, the first being sure; None if no formula says.

    `goes_on` is the condition, in iteration `variable`, for another to follow; `entered` are those
    that hold where the loop is entered, which it is for `sure`, or not. Raises `PerfmodelError` if
    it is surely entered and never ends.
    """
    if isinstance(goes_on, Number):
        if goes_on.value and not sure:
            return None
        if goes_on.value:
            raise PerfmodelError("a loop never ends: its condition holds whatever happens in it")
        return constant(1)
    if isinstance(goes_on, Operation) and goes_on.operator == "and":
        parts = [trips(part, variable, entered, algebra) for part in goes_on.operands]
        if all(part is not None for part in parts):
            least = parts[0]
            for part in parts[1:]:
                least = algebra.extreme("min", least, part)  # type: ignore[arg-type]
            return least
        return _tried(goes_on, variable, algebra)
    if variable.name not in names(goes_on):
        return None
    goes_on = algebra.asks(_without_wrap, goes_on, variable)
    more = _further(goes_on, variable, algebra)
    if more is None:
        return _tried(goes_on, variable, algebra)
    minus_one = {variable.name: Number(-1)}
    rotated = algebra.condition(substitute(goes_on, minus_one)) in list(entered)
    # Entered only if the condition held: at least one iteration, whatever the formula's range.
    if not rotated:
        more = algebra.extreme("max", more, constant(0))
    return more + 1


def _further(goes_on: Node, variable: Name, algebra: Algebra) -> Sum | None:
    """Return the iterations after the first, if the condition compares something linear."""
    if not isinstance(goes_on, Operation) or len(goes_on.operands) != 2:
        return None
    a, b = (algebra.again(operand) for operand in goes_on.operands)
    operator = goes_on.operator
    if operator in (">", ">="):
        a, b, operator = b, a, {">": "<", ">=": "<="}[operator]
    distance = b - a
    if operator == "<=":
        distance, operator = distance + 1, "<"
    parts = _linear(distance, variable)
    if parts is None:
        return None
    start, slope = parts
    falls = algebra.within(slope, None, -1)
    if operator == "<" and falls:
        # distance = start + slope*k > 0 for k below start / -slope.
        by = -slope
        return algebra.quotient(plus(start, by, constant(-1)), by)
    if operator == "!=" and falls:
        return algebra.quotient(start, -slope)
    if operator == "!=" and algebra.within(slope, 1, None):
        return algebra.quotient(-start, slope)
    return None


def _without_wrap(goes_on: Node, variable: Name, algebra: Algebra) -> Node:
    """Return ``x % 2**b < n`` as ``x < n`` where x grows and the loop ends before it wraps.

    As long as the loop goes on x is below n, so the next is at most n + step, with which it ends.
    """
    if not isinstance(goes_on, Operation) or goes_on.operator not in ("<", "<="):
        return goes_on
    rest, bound = goes_on.operands
    if not isinstance(rest, Operation) or rest.operator != "%":
        return goes_on
    value, by = (algebra.again(operand) for operand in rest.operands)
    parts = _linear(value, variable)
    if parts is None or by.number is None:
        return goes_on
    start, step = (algebra.range(part) for part in parts)
    most = algebra.range(algebra.again(bound)).high + step.high
    if step.low <= 0 or start.low < 0 or max(start.high, most) >= by.number:
        return goes_on
    return Operation(goes_on.operator, (written(value), bound))


def _linear(value: Sum, variable: Name) -> tuple[Sum, Sum] | None:
    """Return a and b of ``a + b*variable``, or None."""
    slope, start = by_factor(value.terms, variable)
    parts = Sum(start), Sum(slope)
    if any(variable.name in part.names for part in parts) or not slope:
        return None
    return parts


def _tried(goes_on: Node, variable: Name, algebra: Algebra) -> Sum | None:
    """Return the iterations of a loop whose condition all threads share, by trying."""
    numbers: dict[str, Node] = {}
    for name in names(goes_on) - {variable.name}:
        value = algebra.number(single(Name(name)))
        if value is None:
            return None
        numbers[name] = Number(value)
    condition = substitute(goes_on, numbers)
    first, size = 0, 64
    while first < _TRIED:
        try:
            held = np.broadcast_to(
                np.asarray(evaluate(condition, {variable.name: np.arange(first, first + size)})),
                (size,),
            ).astype(bool)
        except PerfmodelError:
            if size == 1:
                return None
            size //= 2  # a shift by more than 62, say, that never comes
            continue
        if not held.all():
            return constant(first + int(np.argmin(held)) + 1)
        first += size
        size = min(size * 2, _TRIED)
    return None


def extent(count: Sum, algebra: Algebra) -> Interval:
    """Return the least and greatest count of iterations of any thread.

    Ranges of a sum's terms lose what they have in common: a chunk of ``min(start + length, n) -
    start`` would be as long as the whole. So the values of all variables are tried, and where these
    are too many, those of the longest range at both its ends and evenly in between. If several are
    too long, the greatest is that of threads at the corners of all ranges and of many drawn ones.
    """
    known = algebra.range(count)
    if known.low == known.high:
        return known
    expression = written(algebra.concrete(count))
    ranges = [(n, algebra.range(single(Name(n)))) for n in sorted(names(expression))]
    ranges.sort(key=lambda r: r[1].high - r[1].low)
    every = _every(ranges)
    try:
        tried = np.asarray(evaluate(expression, _some(ranges) if every is None else every))
    except PerfmodelError:
        return known
    least, most = max(known.low, int(tried.min())), max(known.low, int(tried.max()))
    return Interval(known.low if every is None else least, min(known.high, most))


def _every(ranges: Sequence[tuple[str, Interval]]) -> dict[str, Array] | None:
    """Return all values of variables, an axis each, or of the last evenly spread ones.

    None where these are too many.
    """
    values: dict[str, Array] = {}
    left = _ALL_TRIED
    for axis, (name, (low, high)) in enumerate(ranges):
        if high - low >= left and (axis < len(ranges) - 1 or left < 4 * _ENDS):
            return None
        shape = [1] * len(ranges)
        shape[axis] = -1
        values[name] = _spread(low, high, left).reshape(shape)
        left //= high - low + 1
    return values


def _some(ranges: Sequence[tuple[str, Interval]]) -> dict[str, Array]:
    """Return values of variables at the corners of all ranges, and many drawn ones."""
    draw = np.random.default_rng(0).integers
    ends = product(*({low, low + 1, high - 1, high} for _, (low, high) in ranges))
    corners = np.array(list(islice(ends, _ALL_TRIED >> 4)), dtype=np.int64)
    values: dict[str, Array] = {}
    for axis, (name, (low, high)) in enumerate(ranges):
        drawn = draw(low, high + 1, _ALL_TRIED >> 3)
        values[name] = np.clip(np.concatenate([corners[:, axis], drawn]), low, high)
    return values


def _spread(low: int, high: int, most: int) -> Array:
    """Return all values of a range, or if they are too many those at its ends and some between."""
    if high - low < most:
        return np.arange(low, high + 1)
    ends = (np.arange(low, low + _ENDS), np.arange(high - _ENDS + 1, high + 1))
    between = np.linspace(low, high, most - 2 * _ENDS).astype(np.int64)
    return np.unique(np.concatenate([*ends, between]))


def continued(
    goes_on: Node, variable: Name, entered: Iterable[Node], count: Sum, algebra: Algebra
) -> Node:
    """Return when a thread takes part in iteration `variable`.

    It has `count` iterations; `goes_on` and `entered` as for `trips`.
    """
    compares = (isinstance(p, Operation) and p.operator in _ORDER for p in conjuncts(goes_on))
    if all(compares):  # linear in the variable: what fails once fails from then on
        # The condition itself reads best: i + k*step < n.
        at_start = algebra.condition(substitute(goes_on, {variable.name: Number(-1)}))
        known = list(entered)
        if all(part in known for part in conjuncts(at_start)):
            before = {variable.name: variable - 1}
            return algebra.condition(substitute(goes_on, before))
    return algebra.compared("<", single(variable), count)
