"""Arithmetic that is asked again, against arithmetic that is asked for the first time.

Expected (property): the same answers, whatever the ranges; and a list of answers is the same just
where a launch's own questions have them.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.asked import Asked, AskedAgain, NotingAlgebra, answers_alike
from perfmodel.cuda.addresses.sums import Sum, constant, sum_of
from perfmodel.expressions import Name, Node, Number, Operation
from perfmodel.kernels.intervals import Interval

NAMES = ("a", "b", "c", "d")
OPERATORS = ("+", "-", "*", "//", "%", "min", "max", "where")


def _operation(operator: str, a: Node, b: Node) -> Node:
    if operator in ("//", "%"):
        return Operation(operator, (a, Number(7)))
    if operator == "where":
        return Operation("where", (Operation("<", (a, b)), a, b))
    return Operation(operator, (a, b))


def _summed(node: Node) -> Sum:
    try:
        return sum_of(node)
    except RecursionError:  # parts that are put together without end: no way is kept of them
        reject()


sums = st.recursive(
    st.one_of(st.sampled_from([Name(n) for n in NAMES]), st.integers(-9, 9).map(Number)),
    lambda inner: st.builds(_operation, st.sampled_from(OPERATORS), inner, inner),
    max_leaves=5,
).map(_summed)
ranges = st.fixed_dictionaries(
    {
        name: st.builds(
            lambda low, more: Interval(low, low + more),
            st.integers(-30, 300),
            st.one_of(st.just(0), st.integers(0, 1000)),
        )
        for name in NAMES
    }
)
COMPARISONS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
questions = st.one_of(
    st.tuples(st.just("compared"), COMPARISONS, sums, sums),
    st.tuples(st.just("within"), sums, st.integers(-50, 50), st.integers(0, 2000)),
    st.tuples(st.just("number"), sums),
    st.tuples(st.just("quotient"), sums, st.sampled_from([1, 3, 4, 32])),
    st.tuples(st.just("remainder"), sums, st.sampled_from([1, 3, 4, 32])),
    st.tuples(st.just("extreme"), st.sampled_from(["min", "max"]), sums, sums),
    st.tuples(st.just("joined"), sums, sums),
    st.tuples(st.just("masked"), sums, st.sampled_from([7, 24, -4]).map(constant), st.just(32)),
    st.tuples(st.just("unsigned"), sums, st.sampled_from([16, 32, 64])),
    st.tuples(st.just("compared_unsigned"), COMPARISONS, sums, sums, st.just(32)),
)


def _answer(algebra: Algebra, question: tuple[Any, ...]) -> Any:
    name, *arguments = question
    try:
        return getattr(algebra, name)(*arguments)
    except RecursionError:
        reject()


@settings(max_examples=400, deadline=None)
@given(questions, ranges)
def test_asked_again_it_answers_as_at_first(
    question: tuple[Any, ...], within: dict[str, Interval]
) -> None:
    expected = _answer(Algebra(within), question)
    assert _answer(AskedAgain(within), question) == expected


def _asked(questions_: list[tuple[Any, ...]], within: dict[str, Interval]) -> Asked:
    noting = NotingAlgebra(within)
    for question in questions_:
        _answer(noting, question)
    return noting.asked


@settings(max_examples=200, deadline=None)
@given(st.lists(questions, min_size=1, max_size=4), st.lists(ranges, min_size=2, max_size=6))
def test_answers_are_alike_where_each_is(
    some: list[tuple[Any, ...]], launches: list[dict[str, Interval]]
) -> None:
    asked = _asked(some, launches[0])
    expected = [_answer(Algebra(launches[0]), each) for each in some]
    for within in launches:
        own = [_answer(Algebra(within), each) for each in some]
        assert answers_alike(AskedAgain(within), asked) == (own == expected)


def test_questions_of_unchanged_ranges_are_not_asked() -> None:
    # by hand: n is another, which only the second question is about
    n, x = (Sum({(Name(name),): 1}) for name in "nx")
    first = {"n": Interval(100, 100), "x": Interval(0, 9)}
    asked = _asked([("compared", "<", x, constant(5)), ("compared", "<", x, n)], first)
    told: list[str] = []

    class Told(AskedAgain):
        def compared(self, operator: str, a: Sum, b: Sum) -> Node:
            told.append(str(b.number))
            return super().compared(operator, a, b)

    assert answers_alike(Told({**first, "n": Interval(50, 50)}), asked)
    assert told == ["None"]
    assert not answers_alike(Told({**first, "n": Interval(5, 5)}), asked)


def test_a_variable_that_following_adds_has_its_range_again() -> None:
    # by hand: k is below 8 in both launches, and n, of which it is open, in neither
    k, n = (Sum({(Name(name),): 1}) for name in "kn")
    some = [("add_variable", "k", 0, 7), ("compared", "<", k, constant(8)), ("compared", "<", k, n)]
    asked = _asked(some, {"n": Interval(4, 4)})
    assert answers_alike(AskedAgain({"n": Interval(5, 5)}), asked)
    assert not answers_alike(AskedAgain({"n": Interval(9, 9)}), asked)
