"""What following a kernel asks of a launch's ranges, so that another launch may answer the same.

Following takes decisions by ranges alone: whether ``i < n`` can fail, what divides a product. A
launch whose ranges answer all questions like an earlier one's goes the same way, to the same
addresses and conditions, in which arguments and dimensions are names. Asking again takes a part of
the time of following.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.sums import Sum
from perfmodel.cuda.addresses.witnesses import AskedAgain
from perfmodel.expressions import Name, Number, Operation, names
from perfmodel.expressions.nodes import COMPARISONS
from perfmodel.kernels.intervals import Interval
from perfmodel.records import record

_CHANGING: Final = frozenset({"add_variable", "asks"})
"""Methods of the algebra after which others may be answered otherwise."""
_SMALL: Final = frozenset({"supposing", "range", "within", "concrete", "number", "compared"})
_COMPOSED: Final = frozenset(
    {
        *("quotient", "remainder", "masked", "joined", "exclusive", "unsigned", "chosen"),
        *("compared_unsigned", "extreme", "again", "condition"),
    }
)
"""Those that are made of smaller ones."""
_WORDS: Final = COMPARISONS | {"min", "max"}
"""Words that are arguments, and no names."""


@record
class Question:
    """One question and its answer."""

    name: str
    """Method of the algebra."""
    arguments: tuple[Any, ...]
    answer: Any
    about: frozenset[str] | None
    """The names whose ranges the answer depends on; None where that may be any."""
    changed: Mapping[str, Interval]
    """Ranges that it changed."""


@dataclass(slots=True)
class Asked:
    """Questions in their order, with the answers; not `sure` where one of them had none."""

    ranges: Mapping[str, Interval] = field(default_factory=dict)
    """Those of the launch, before the first question."""
    questions: list[Question] = field(default_factory=list)
    sure: bool = True
    inside: dict[int, Sequence[Question]] = field(default_factory=dict)
    """What questions are made of, by their place, as far as that was noted."""


class NotingAlgebra(Algebra):
    """Arithmetic that notes what it is asked."""

    def __init__(self, ranges: Mapping[str, Interval]) -> None:
        super().__init__(ranges)
        self.asked = Asked(dict(ranges))
        self.inside = False
        self.lately: set[tuple[str, tuple[Any, ...]]] = set()


def _noting(name: str) -> Callable[..., Any]:
    plain = getattr(Algebra, name)

    def asked(self: NotingAlgebra, *arguments: Any) -> Any:
        if self.inside:
            return plain(self, *arguments)
        self.inside = True
        noted = self.asked
        noted.sure, sure = False, noted.sure
        before = dict(self.ranges) if name in _CHANGING else {}
        try:
            answer = plain(self, *arguments)
        finally:
            self.inside = False
        noted.sure = sure
        changed: dict[str, Interval] = {}
        if name in _CHANGING:
            self.lately.clear()
            changed = {n: r for n, r in self.ranges.items() if before.get(n) != r}
        elif (name, arguments) in self.lately:
            return answer  # the same as before
        else:
            self.lately.add((name, arguments))
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


for _name in _CHANGING | _SMALL | _COMPOSED:
    setattr(NotingAlgebra, _name, _noting(_name))


def answers_alike(algebra: AskedAgain, asked: Asked) -> bool:
    """Ask an algebra again, and say whether all answers are the same.

    Where nothing that a question is about has another range, its answer is.
    """
    before = dict(asked.ranges)
    unlike = _unlike(algebra.ranges, before)
    try:
        for place, question in enumerate(asked.questions):
            if question.about is not None and unlike.isdisjoint(question.about):
                continue
            if not _answered_alike(algebra, asked, place, unlike):
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


def _answered_alike(algebra: AskedAgain, asked: Asked, place: int, unlike: set[str]) -> bool:
    """Say whether a question has the same answer, by those that it is made of if they do."""
    question = asked.questions[place]
    if question.name not in _COMPOSED:
        return bool(_answer(algebra, question) == question.answer)
    inside = asked.inside.get(place)
    if inside and all(
        (q.about is not None and unlike.isdisjoint(q.about)) or _answer(algebra, q) == q.answer
        for q in inside
    ):
        return True
    if inside is not None:  # of no use: what it is made of has numbers of a launch
        asked.inside[place] = ()
        return bool(_answer(algebra, question) == question.answer)
    noted: dict[tuple[str, tuple[Any, ...]], Any] = {}
    algebra.noted = noted
    try:
        alike = bool(_answer(algebra, question) == question.answer)
    finally:
        algebra.noted = None
    if alike:
        asked.inside[place] = [
            Question(name, arguments, answer, _about(arguments), {})
            for (name, arguments), answer in noted.items()
        ]
    return alike


def _answer(algebra: AskedAgain, question: Question) -> Any:
    return getattr(algebra, question.name)(*question.arguments)


def _unlike(ranges: Mapping[str, Interval], others: Mapping[str, Interval]) -> set[str]:
    """Return the names whose ranges differ."""
    return {name for name, _ in ranges.items() ^ others.items()}
