"""Least and greatest value of an integer expression, for the threads for which a guard holds.

Interval arithmetic in Python integers. What comes out always contains the true range; None where
nothing can be said. A guard narrows any part of an expression that it compares: under
``i < n``, ``i*stride + offset`` is at most ``(n - 1)*stride + offset``.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.expressions import Name, Node, Number, Operation, evaluate, names
from perfmodel.expressions.nodes import COMPARISONS

_LARGEST_SHIFT: Final = 62
# Intervals past this are of no use: evaluation refuses such integers.
_LARGEST: Final = 2**62
# Where nothing is known; past what is of use, and still of 64 bits after a step or two.
_NOWHERE: Final = 3 * 2**61
_MOST_TERMS: Final = 256
"""Of a sum, in which others are looked for."""


class Interval(NamedTuple):
    """Integers from `low` to `high`, both included; empty if `low` is greater."""

    low: int
    high: int


class Ranges:
    """Ranges of expressions over variables of known range, narrowed by guards."""

    def __init__(self, variables: Mapping[str, Interval]) -> None:
        self._variables = variables
        self._narrowed: dict[Node, Interval] = {}
        self._known: dict[Node, Interval | None] = {}
        self._sums: dict[Node, tuple[int, frozenset[Node]]] = {}

    def of(self, node: Node) -> Interval | None:
        """Return an interval that contains all values of an expression, if one is known."""
        if node not in self._known:
            found = self._compute(node)
            narrowed = self._narrowed.get(node)
            if narrowed is not None:
                found = narrowed if found is None else _meet(found, narrowed)
            if found is not None and (found.low < -_LARGEST or found.high > _LARGEST):
                found = None
            self._known[node] = found
        return self._known[node]

    def cancelled(self, node: Node) -> Interval | None:
        """Return the same of a sum, with what comes again in it taken together.

        So are multiples of sums that a guard has narrowed: ``64*i + 64*j`` where ``i + j < n``.
        """
        times = self._factors(node)
        if times is None:
            return None
        for narrowed in self._narrowed:
            some = self._factors(narrowed) or {}
            each = [(times.get(part, 0), factor) for part, factor in some.items()]
            if len(each) > 1 and all(type(n) is int for pair in each for n in pair):
                factor = each[0][0] // (each[0][1] or 1)
                if factor and all(whole == factor * own for whole, own in each):
                    times = {part: n for part, n in times.items() if part not in some}
                    times[narrowed] = factor
        found = Interval(0, 0)
        for part, factor in times.items():
            own = self.of(part)
            if own is None:
                return None
            a, b = own.low * factor, own.high * factor
            found = Interval(found.low + _least(a, b), found.high + _greatest(a, b))
        return found

    def _factors(self, node: Node) -> dict[Node, Any] | None:
        """Return what a sum adds up, each with how often; None of too long ones."""
        times: dict[Node, Any] = {}
        left: list[tuple[Node, Any]] = [(node, 1)]
        for _ in range(_MOST_TERMS):
            if not left:
                break
            part, factor = left.pop()
            if isinstance(part, Operation) and part.operator in ("+", "-"):
                first, second = part.operands
                left += [(first, factor), (second, factor if part.operator == "+" else -factor)]
                continue
            if isinstance(part, Operation) and part.operator == "*":
                first, second = sorted(part.operands, key=lambda o: _constant(self.of(o)) is None)
                if (constant := _constant(self.of(first))) is not None:
                    left.append((second, factor * constant))
                    continue
            times[part] = times.get(part, 0) + factor
        return None if left else times

    def assume(self, guard: Node) -> None:
        """Narrow what a condition compares, as far as it is an ``and`` of comparisons."""
        if isinstance(guard, Operation) and guard.operator == "and":
            for part in guard.operands:
                self.assume(part)
        elif isinstance(guard, Operation) and guard.operator in _COMPARISONS:
            a, b = guard.operands
            left, right = self.of(a), self.of(b)
            below, above = _COMPARISONS[guard.operator]
            if right is not None:
                self._narrow(
                    a,
                    None if above is None else right.low + above,
                    None if below is None else right.high - below,
                )
            if left is not None:
                self._narrow(
                    b,
                    None if below is None else left.low + below,
                    None if above is None else left.high - above,
                )

    def _narrow(self, node: Node, low: int | None, high: int | None) -> None:
        """Note bounds of an expression, and what follows from them for its parts."""
        low, high = -_NOWHERE if low is None else low, _NOWHERE if high is None else high
        found = Interval(low, high)
        self._narrowed[node] = _meet(self._narrowed.get(node, found), found)
        self._known.clear()
        if isinstance(node, Operation) and node.operator in ("+", "-", "*"):
            a, b = (_constant(self.of(operand)) for operand in node.operands)
            first, second = node.operands
            if node.operator == "+" and b is not None:
                self._narrow(first, low - b, high - b)
            elif node.operator == "+" and a is not None:
                self._narrow(second, low - a, high - a)
            elif node.operator == "-" and b is not None:
                self._narrow(first, low + b, high + b)
            elif node.operator == "*" and b is not None and b > 0:
                self._narrow(first, -(-low // b), high // b)
            elif node.operator == "*" and a is not None and a > 0:
                self._narrow(second, -(-low // a), high // a)

    def _compute(self, node: Node) -> Interval | None:
        if isinstance(node, Number):
            return Interval(node.value, node.value) if isinstance(node.value, int) else None
        if isinstance(node, Name):
            return self._variables.get(node.name)
        if node.operator == "where":
            return self._chosen(*node.operands)
        if node.operator in _TRUTHS:
            return self._truth(node)
        parts = [self.of(operand) for operand in node.operands]
        operands = [part for part in parts if part is not None]
        if len(operands) < len(parts):
            return None
        # A guard that no thread meets leaves nothing to compute with.
        if any(part.low > part.high for part in operands):
            return Interval(1, 0)
        found = _operate(node.operator, operands)
        grouped = self._grouped(node) if node.operator == "+" and found is not None else None
        return found if found is None or grouped is None else _meet(found, grouped)

    def _grouped(self, node: Node) -> Interval | None:
        """Return the range of a sum by the sums among its terms that guards have narrowed."""
        size, inside = self._sums_of(node)
        if size > _MOST_TERMS:  # shared parts may double without end
            return None
        fewer = [each for each in self._narrowed if 1 < self._sums_of(each)[0] < size]
        if inside.issuperset(fewer):  # those that it is written with narrow it by its operands
            return None
        left, found = _terms(node), Interval(0, 0)
        groups: list[Node] = []
        for narrowed in fewer:
            some = _terms(narrowed)
            if all(left.count(term) >= some.count(term) for term in some):
                groups.append(narrowed)
                for term in some:
                    left.remove(term)
        if not groups:
            return None
        for part in (self.of(each) for each in (*groups, *left)):
            if part is None:
                return None
            found = Interval(found.low + part.low, found.high + part.high)
        return found

    def _sums_of(self, node: Node) -> tuple[int, frozenset[Node]]:
        """Return of how many terms an expression is the sum, and the sums that it is written with.

        It is one of them itself; an expression that is no sum is of one term.
        """
        if not isinstance(node, Operation) or node.operator != "+":
            return 1, frozenset()
        if node not in self._sums:
            terms, sums = zip(*map(self._sums_of, node.operands), strict=True)
            self._sums[node] = sum(terms), frozenset((node,)).union(*sums)
        return self._sums[node]

    def _chosen(self, condition: Node, chosen: Node, other: Node) -> Interval | None:
        recorded = self._recorded(condition)
        if recorded is not None:
            one, two = self.of(chosen), self.of(other)
            if one is not None and two is not None:
                return _of_either(recorded, one, two)
        decided = _constant(self.of(condition))
        if decided is not None:
            return self.of(chosen if decided else other)
        return _hull(self.of(chosen), self.of(other))

    def _recorded(self, node: Node) -> Any:
        """Return the value of what is one for all threads, if it is recorded: not decided by."""
        each = {name: self._variables.get(name) for name in names(node)}
        values = {n: r.low for n, r in each.items() if r is not None and r.low is r.high}
        if len(values) < len(each) or all(type(value) is int for value in values.values()):
            return None
        return evaluate(node, values)

    def _truth(self, node: Operation) -> Interval:
        """Return 1 or 0 for a condition that ranges decide, from 0 to 1 for others."""
        parts = [self.of(operand) for operand in node.operands]
        if node.operator in _BY_RANGE:
            first, second = parts[0], parts[-1]
            if first is None or second is None:
                return _OPEN
            return _BY_RANGE[node.operator](first, second)
        truths = [_OPEN if part is None else _truth_of(part) for part in parts]
        if node.operator == "not":
            return Interval(1 - truths[0].high, 1 - truths[0].low)
        most = min if node.operator == "and" else max
        return Interval(most(t.low for t in truths), most(t.high for t in truths))


def _terms(node: Node) -> list[Node]:
    """Return what a sum adds up; an expression that is none is its own."""
    if isinstance(node, Operation) and node.operator == "+":
        return [term for operand in node.operands for term in _terms(operand)]
    return [node]


def _truth_of(part: Interval) -> Interval:
    """Return whether a number is not 0."""
    never, always = part.low == 0 == part.high, part.low > 0 or part.high < 0
    return Interval(int(always), int(not never))


def _less(a: Interval, b: Interval) -> Interval:
    return Interval(int(a.high < b.low), int(a.low < b.high))


def _less_equal(a: Interval, b: Interval) -> Interval:
    return Interval(int(a.high <= b.low), int(a.low <= b.high))


def _equal(a: Interval, b: Interval) -> Interval:
    together = a.low <= b.high and b.low <= a.high
    return Interval(int(a.low == a.high == b.low == b.high), int(together))


def _operate(operator: str, operands: list[Interval]) -> Interval | None:
    a, b = operands[0], operands[-1]
    match operator:
        case "+":
            return Interval(a.low + b.low, a.high + b.high)
        case "-":
            return Interval(a.low - b.high, a.high - b.low)
        case "neg":
            return Interval(-a.high, -a.low)
        case "*":
            return _corners(a, b, lambda x, y: x * y)
        case "//" if b.low > 0:
            return _corners(a, b, lambda x, y: x // y)
        case "ceil_div" if b.low > 0:
            return _corners(a, b, lambda x, y: -(-x // y))
        case "%" if b.low > 0:
            if b.low == b.high and a.low // b.low == a.high // b.low:
                return Interval(a.low % b.low, a.high % b.low)
            return Interval(0, _least(b.high - 1, a.high) if a.low >= 0 else b.high - 1)
        case "random" | "shuffled" if b.low > 0:
            return Interval(0, b.high - 1)
        case "<<" if b.low >= 0 and b.high <= _LARGEST_SHIFT:
            return _corners(a, b, lambda x, y: x << y)
        case ">>" if b.low >= 0 and b.high <= _LARGEST_SHIFT:
            return _corners(a, b, lambda x, y: x >> y)
        case "&" if a.low >= 0 and b.low >= 0:
            return Interval(0, _least(a.high, b.high))
        case "&" if a.low >= 0 or b.low >= 0:
            return Interval(0, a.high if a.low >= 0 else b.high)
        case "|" | "^" if a.low >= 0 and b.low >= 0:
            return Interval(0, (1 << int(_greatest(a.high, b.high)).bit_length()) - 1)
        case "&" | "|" | "^":
            most = 1 << max(int(x).bit_length() for x in (a.low, a.high, b.low, b.high))
            return Interval(-most, most - 1)
        case "min":
            lows, highs = zip(*operands, strict=True)
            return Interval(_least(*lows), _least(*highs))
        case "max":
            lows, highs = zip(*operands, strict=True)
            return Interval(_greatest(*lows), _greatest(*highs))
        case "abs":
            nearest = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
            return Interval(nearest, max(abs(a.low), abs(a.high)))
        case "**" if a.low >= 0 and b.low >= 0 and b.high <= 8:
            return Interval(a.low**b.low, a.high**b.high)
    return None


def _least(*numbers: Any) -> Any:
    """Return the least of whole numbers, Python's or recorded ones."""
    return min(numbers) if all(type(n) is int for n in numbers) else reduce(np.minimum, numbers)


def _greatest(*numbers: Any) -> Any:
    return max(numbers) if all(type(n) is int for n in numbers) else reduce(np.maximum, numbers)


def _meet(a: Interval, b: Interval) -> Interval:
    return Interval(_greatest(a.low, b.low), _least(a.high, b.high))


def _hull(a: Interval | None, b: Interval | None) -> Interval | None:
    if a is None or b is None:
        return None
    return Interval(_least(a.low, b.low), _greatest(a.high, b.high))


def _of_either(condition: Any, chosen: Interval, other: Interval) -> Interval:
    """Return the range of a choice that a launch decides."""
    low: Any = np.where(condition, chosen.low, other.low)
    if chosen.low is chosen.high and other.low is other.high:
        return Interval(low, low)
    high: Any = np.where(condition, chosen.high, other.high)
    return Interval(low, high)


def _corners(a: Interval, b: Interval, function: Callable[[int, int], int]) -> Interval:
    """Return the range of a function that is monotone in each operand, the other being fixed."""
    results = [function(x, y) for x in a for y in b]
    return Interval(_least(*results), _greatest(*results))


def _constant(interval: Interval | None) -> int | None:
    return interval.low if interval is not None and interval.low == interval.high else None


_OPEN: Final = Interval(0, 1)
_BY_RANGE: Final[dict[str, Callable[[Interval, Interval], Interval]]] = {
    "<": _less,
    ">": lambda a, b: _less(b, a),
    "<=": _less_equal,
    ">=": lambda a, b: _less_equal(b, a),
    "==": _equal,
    "!=": lambda a, b: Interval(1 - _equal(a, b).high, 1 - _equal(a, b).low),
}
_TRUTHS: Final = COMPARISONS | {"and", "or", "not"}

# By how much, at least, the left side is below and above the right one.
_COMPARISONS: Final[dict[str, tuple[int | None, int | None]]] = {
    "<": (1, None),
    "<=": (0, None),
    ">": (None, 1),
    ">=": (None, 0),
    "==": (0, 0),
}
