"""What following a kernel asks of a launch's ranges, so that another launch may answer the same.

Following takes decisions by ranges alone: whether ``i < n`` can fail, what divides a product. A
launch whose ranges answer all questions like an earlier one's goes the same way, to the same
addresses and conditions, in which arguments and dimensions are names. Asking again takes a part of
the time of following.

What points of a launch show need not be worked out by ranges again. Whether ``i < n`` is open, two
threads tell, one for which it holds and one for which it does not; that a sum has not one value in
a launch, two threads at which it differs. Ranges, which hold all values, cannot say otherwise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.conditions import FALSE, TRUE, decided
from perfmodel.cuda.addresses.sums import Sum, written
from perfmodel.expressions import Name, Node, Number, Operation, names, substitute, text
from perfmodel.expressions.nodes import COMPARISONS
from perfmodel.kernels.intervals import Interval
from perfmodel.records import record

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
    """Arithmetic that answers as `Algebra` does, by points where these are enough."""

    def compared(self, operator: str, a: Sum, b: Sum) -> Node:
        """Return a comparison of signed values as a condition."""
        difference = a - b
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


_CHANGING: Final = frozenset({"add_variable", "asks"})
"""Methods of the algebra after which others may be answered otherwise."""
_ANSWERING: Final = frozenset(
    {
        *("supposing", "range", "within", "concrete", "number", "compared", "compared_unsigned"),
        *("quotient", "remainder", "masked", "joined", "exclusive", "unsigned", "chosen"),
        *("extreme", "again", "condition"),
    }
)
"""Those whose answers follow from ranges."""
_WORDS: Final = COMPARISONS | {"min", "max"}
"""Words that are arguments, and no names."""


@record
class Question:
    """One question and its answer."""

    name: str  # method of the algebra
    arguments: tuple[Any, ...]
    answer: Any
    # The names whose ranges the answer depends on; None where that may be any.
    about: frozenset[str] | None
    changed: Mapping[str, Interval]  # ranges that it changed


@dataclass(slots=True)
class Asked:
    """Questions in their order, with the answers; not `sure` where one of them had none."""

    # Those of the launch, before the first question.
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    sure: bool = True


class NotingAlgebra(Algebra):
    """Arithmetic that notes what it is asked."""

    def __init__(self, ranges: Mapping[str, Interval]) -> None:
        super().__init__(ranges)
        self.asked = Asked(dict(ranges))
        self.inside = False


def _noting(name: str) -> Callable[..., Any]:
    plain = getattr(Algebra, name)

    def asked(self: NotingAlgebra, *arguments: Any) -> Any:
        if self.inside:
            return plain(self, *arguments)
        self.inside = True
        noted = self.asked
        noted.sure, sure = False, noted.sure
        before = dict(self.ranges)
        try:
            answer = plain(self, *arguments)
        finally:
            self.inside = False
        noted.sure = sure
        changed = {n: r for n, r in self.ranges.items() if before.get(n) != r}
        about = None if name in _CHANGING else _about(arguments)
        noted.questions.append(Question(name, arguments, answer, about, changed))
        return answer

    return asked


def _about(arguments: tuple[Any, ...]) -> frozenset[str] | None:
    found: frozenset[str] = frozenset()
    for each in arguments:
        if isinstance(each, Sum):
            found |= each.names
        elif isinstance(each, (Number, Name, Operation)):
            found |= names(each)
        elif each is not None and not isinstance(each, int) and each not in _WORDS:
            return None
    return found


for _name in _CHANGING | _ANSWERING:
    setattr(NotingAlgebra, _name, _noting(_name))


def answers_alike(algebra: AskedAgain, asked: Asked) -> bool:
    """Ask an algebra again, and say whether all answers are the same.

    Where nothing that a question is about has another range, its answer is.
    """
    before = dict(asked.ranges)
    unlike = _unlike(algebra.ranges, before)
    try:
        for question in asked.questions:
            if question.about is not None and unlike.isdisjoint(question.about):
                continue
            if getattr(algebra, question.name)(*question.arguments) != question.answer:
                return False
            if question.name == "add_variable":
                before.update(question.changed)
                unlike.discard(question.arguments[0])
            elif question.about is None:
                before.update(question.changed)
                unlike = _unlike(algebra.ranges, before)
    except Exception:  # whatever stops a question is answered by following
        return False
    return True


def _unlike(ranges: Mapping[str, Interval], others: Mapping[str, Interval]) -> set[str]:
    """Return the names whose ranges differ."""
    return {name for name, _ in ranges.items() ^ others.items()}
