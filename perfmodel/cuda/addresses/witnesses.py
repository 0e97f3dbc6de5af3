"""Arithmetic that is asked again: what points of a launch show need not be worked out by ranges.

Whether ``i < n`` is open, two threads tell, one for which it holds and one for which it does not;
that a sum has not one value in a launch, two threads at which it differs. Ranges, which hold all
values, cannot say otherwise.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.conditions import FALSE, TRUE, decided
from perfmodel.cuda.addresses.sums import Sum, written
from perfmodel.expressions import Name, Node, Operation, substitute, text
from perfmodel.expressions.nodes import COMPARISONS
from perfmodel.kernels.intervals import Interval

_MOST_POINTS: Final = 10
_LARGEST: Final = 2**62
"""Of values of expressions, past which ranges say nothing."""
_LONGEST: Final = 200
"""Parts of an expression that is worked out at points."""
_WHOLE: Final = COMPARISONS | {
    *("+", "-", "*", "//", "%", "neg", "abs", "min", "max", "ceil_div"),
    *("&", "|", "^", "and", "or", "not", "where"),
}
"""Operators that give whole numbers of whole numbers."""
_FUNCTIONS: Final[dict[str, Any]] = {
    "where": lambda condition, a, b: a if condition else b,
    "ceil_div": lambda a, b: -(-a // b),
}
"""Those that Python does not have; all others are written as Python has them."""

Work = Callable[..., int]


class AskedAgain(Algebra):
    """Arithmetic that answers as `Algebra` does, by points where these are enough.

    Where `noted` is a dictionary, it notes there the smallest questions that others ask of ranges,
    with their answers: where all of these are the same, the larger question's is too.
    """

    def __init__(self, ranges: Mapping[str, Interval]) -> None:
        super().__init__(ranges)
        self.noted: dict[tuple[str, tuple[Any, ...]], Any] | None = None

    def compared(self, operator: str, a: Sum, b: Sum) -> Node:
        """Return a comparison of signed values as a condition."""
        difference = _difference(a, b)
        values = self._values(difference)
        answers = {decided(operator, value, value) for value in values}
        if len(answers) < 2:
            # What a wider range decides, one within it does.
            holds = decided(operator, *self._by_terms(difference))
            if holds is None:
                holds = decided(operator, *self.range(difference))
            if holds is not None:
                return TRUE if holds else FALSE
            if len(set(values)) < 2:
                return super().compared(operator, a, b)
        return Operation(operator, (written(a), written(b)))

    def number(self, value: Sum) -> int | None:
        """Return the value that a sum has for all threads of this launch, if it has one."""
        return None if len(set(self._values(value))) > 1 else super().number(value)

    def within(self, value: Sum, low: int | None, high: int | None) -> bool:
        """Say whether a sum is surely from `low` to `high`; None is no limit."""
        least, most = self._by_terms(value)
        if (low is None or least >= low) and (high is None or most <= high):
            return True
        outside = any(
            (low is not None and v < low) or (high is not None and v > high)
            for v in self._values(value)
        )
        return not outside and super().within(value, low, high)

    def _values(self, value: Sum) -> Sequence[int]:
        """Return values of a sum at some points of the launch; none where that takes more."""
        names, work = _worked_out(value)
        try:
            ranges = [self._ranges[name] for name in names]
        except KeyError:
            return ()
        if work is None or any(r.low > r.high for r in ranges):
            return ()
        lows, highs = [r.low for r in ranges], [r.high for r in ranges]
        points = [lows, highs]
        for place, (low, high) in enumerate(ranges):
            if low != high:
                points.append([*lows[:place], high, *lows[place + 1 :]])
        try:
            values = [work(*point) for point in points[:_MOST_POINTS]]
        except ArithmeticError:
            return ()
        return values if all(-_LARGEST <= v <= _LARGEST for v in values) else ()


def _noting(name: str) -> Callable[..., Any]:
    plain = getattr(AskedAgain, name)

    def asked(self: AskedAgain, *arguments: Any) -> Any:
        noted, self.noted = self.noted, None
        try:
            answer = plain(self, *arguments)
        finally:
            self.noted = noted
        if noted is not None:
            noted[name, arguments] = answer
        return answer

    return asked


for _name in ("compared", "within", "number", "is_open", "range", "concrete"):
    setattr(AskedAgain, _name, _noting(_name))


@lru_cache(maxsize=1 << 12)
def _difference(a: Sum, b: Sum) -> Sum:
    return a - b


@lru_cache(maxsize=1 << 12)
def _worked_out(value: Sum) -> tuple[tuple[str, ...], Work | None]:
    """Return the names in a sum, and what works it out of their values; None where none does."""
    names = tuple(sorted(value.names))
    long = sum(getattr(f, "size", 1) for f in value.factors) > _LONGEST
    if long or not all(map(_is_whole, value.factors)):
        return names, None
    places: dict[str, Node] = {name: Name(f"a{i}") for i, name in enumerate(names)}
    terms = (
        "*".join([str(times), *(f"({text(substitute(factor, places))})" for factor in factors)])
        for factors, times in value.terms.items()
    )
    parameters = ", ".join(text(name) for name in places.values())
    work: Any = eval(f"lambda {parameters}: {' + '.join(terms) or '0'}", _FUNCTIONS)
    return names, work


def _is_whole(node: Node) -> bool:
    """Say whether Python works an expression out in whole numbers."""
    if isinstance(node, Operation):
        return node.operator in _WHOLE and all(map(_is_whole, node.operands))
    return isinstance(node, Name) or isinstance(node.value, int)
