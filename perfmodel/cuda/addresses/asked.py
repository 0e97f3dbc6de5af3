"""What following a kernel asks of a launch's ranges, so that another launch may answer the same.

Following takes decisions by ranges alone: whether ``i < n`` can fail, what divides a product. A
launch whose ranges answer all questions like an earlier one's goes the same way, to the same
addresses and conditions, in which arguments and dimensions are names. Asking again takes a part of
the time of following.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.kernels.intervals import Interval

_QUESTIONS: Final = (
    *("add_variable", "supposing", "range", "within", "concrete", "number", "quotient"),
    *("remainder", "masked", "joined", "exclusive", "unsigned", "compared", "compared_unsigned"),
    *("chosen", "extreme", "again", "condition", "asks"),
)
"""Methods of the algebra."""
_CHANGING: Final = frozenset({"add_variable", "asks"})
"""Those after which others may be answered otherwise."""


@dataclass(slots=True)
class Asked:
    """Questions in their order, with the answers; not `sure` where one of them had none."""

    questions: list[tuple[str, tuple[Any, ...], Any]] = field(default_factory=list)
    sure: bool = True


class NotingAlgebra(Algebra):
    """Arithmetic that notes what it is asked."""

    def __init__(self, ranges: Mapping[str, Interval]) -> None:
        super().__init__(ranges)
        self.asked = Asked()
        self.inside = False
        self.lately: set[tuple[str, tuple[Any, ...]]] = set()

    @classmethod
    def of(cls, algebra: Algebra) -> NotingAlgebra:
        """Return arithmetic over the same ranges that notes what it is asked from now on."""
        return cls(algebra.ranges)


def _noting(name: str) -> Callable[..., Any]:
    plain = getattr(Algebra, name)

    def asked(self: NotingAlgebra, *arguments: Any) -> Any:
        if self.inside:
            return plain(self, *arguments)
        self.inside = True
        noted = self.asked
        noted.sure, sure = False, noted.sure
        try:
            answer = plain(self, *arguments)
        finally:
            self.inside = False
        noted.sure = sure
        if name in _CHANGING:
            self.lately.clear()
        elif (name, arguments) in self.lately:
            return answer  # the same as before
        else:
            self.lately.add((name, arguments))
        noted.questions.append((name, arguments, answer))
        return answer

    return asked


for _name in _QUESTIONS:
    setattr(NotingAlgebra, _name, _noting(_name))


def answers_alike(algebra: Algebra, questions: Sequence[tuple[str, tuple[Any, ...], Any]]) -> bool:
    """Ask an algebra again, and say whether all answers are the same."""
    try:
        return all(
            getattr(algebra, name)(*arguments) == answer for name, arguments, answer in questions
        )
    except Exception:  # whatever stops a question is answered by following
        return False
