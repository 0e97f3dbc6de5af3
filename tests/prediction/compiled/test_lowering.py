"""Lowering: NumPy's functions, recorded and written as code on numbers and on arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.expressions import evaluate, parse
from perfmodel.models.derivation import definition, figure, recording
from perfmodel.prediction.compiled.array_code import array_function
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.calls import ROWS
from perfmodel.prediction.compiled.lowering import Moved, program
from perfmodel.prediction.compiled.programs import Form
from perfmodel.prediction.compiled.python_code import python_function
from perfmodel.prediction.compiled.writer import uses

TABLE = np.array([1.0, 4.0, 9.0]), np.array([0.0, 2.0, -1.0])


@definition(replaces=True)
def cubed(where, others, numbers):
    found = np.array(np.broadcast_arrays(where, others, numbers)[1])
    found[where] = numbers[where] ** 3
    return found


# Functions of two arrays; expected values are NumPy's own.
FUNCTIONS = {
    "arithmetic": lambda a, b: (a + b) * a - b / (a * a + 1.0),
    "whole": lambda a, b: np.floor(a) // (np.abs(np.ceil(b)) + 1) % 7,
    "integers": lambda a, b: (a.astype(np.int64) & 12) | (b.astype(np.int64) % 5),
    "choices": lambda a, b: np.where((a > b) & ~(b > 2.0) | (a == 1.0), a, np.maximum(b, 0.5)),
    "truths": lambda a, b: (a > b) + (b > 1.0) * 2.0,
    "powers": lambda a, b: (np.abs(a) + 0.5) ** 1.5 + np.sqrt(np.abs(b)) + np.log2(a * a + 1.0),
    "table": lambda a, b: np.interp(a, *TABLE) + np.interp(b, *TABLE),
    "axis": lambda a, b: np.stack([a, b, a - b]).max(axis=0) + np.sum(np.stack([a, b]), axis=0),
    "order": lambda a, b: np.sort(np.stack([a, b, b - a]), axis=0)[1],
    "places": lambda a, b: np.argsort(np.stack([a, b, b * 2.0]), axis=0, kind="stable")[0] * 1.0,
    "taken": lambda a, b: np.take_along_axis(
        np.stack([a, b, b * 2.0]), np.argsort(np.stack([b, a, a - b]), axis=0, kind="stable"), 0
    )[2],
    "neighbours": lambda a, b: np.diff(np.stack([a, b, b * 2.0 - a]), axis=0)[1],
    "digits": lambda a, b: np.round(a / 3.0, 2) - np.round(b / 7.0),
    "squares": lambda a, b: (a - b) ** 2,
    "clip": lambda a, b: np.clip(a, -1.0, np.abs(b) + 1.0),
    "call": lambda a, b: cubed(a > b, b, a),
}
NUMBERS = st.floats(-20, 20).map(lambda x: round(x * 4) / 4)


def vectors(found):
    """Return a program as machine code, or on arrays where there is no LLVM."""
    return Form(found, None).of_many


def recorded(work, a: float, b: float):
    with recording() as decisions:
        inputs = [figure("a", np.array([a])), figure("b", np.array([b]))]
        found = work(*inputs)
    return program([i.node for i in inputs], [found.node], decisions)


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=15, deadline=None)
@given(a=NUMBERS, b=NUMBERS, others=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=6))
def test_functions_on_other_numbers(name: str, a: float, b: float, others) -> None:
    work = FUNCTIONS[name]
    found = recorded(work, a, b)
    one = python_function(found)
    columns = [np.array(column) for column in zip(*others, strict=True)]
    expected = work(*columns)
    for pair, value in zip(others, expected, strict=True):
        assert one(*pair)[0] == pytest.approx(value, rel=1e-14, abs=1e-14)
    for many in (array_function(found), vectors(found)):
        held, (outputs,) = many(*columns)
        assert held.all()
        np.testing.assert_allclose(outputs, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", ["neighbours", "digits", "squares", "order"])
def test_no_function_is_called_for_what_scalars_do(name: str) -> None:
    assert "call" not in {s.operator for s in uses(recorded(FUNCTIONS[name], 3.0, 1.0))}


def test_a_decision_is_a_guard() -> None:
    def work(a, b):
        return a + 1.0 if np.any(a > b) else b * 2.0

    found = recorded(work, 3.0, 1.0)
    assert python_function(found)(5.0, 2.0) == (6.0,)
    assert python_function(found)(1.0, 2.0) is None
    held, _ = array_function(found)(np.array([5.0, 1.0]), np.array([2.0, 2.0]))
    assert held.tolist() == [True, False]


def test_a_figure_of_another_value_is_worked_out_again() -> None:
    # by hand: 3*a + b, of which b is the same, and the decision is another guard
    def work(a, b, factor):
        return (a * factor if np.any(a > factor) else a) + b

    with recording() as decisions:
        a, b, factor = (figure(n, np.array([v])) for n, v in (("a", 4.0), ("b", 1.0), ("f", 2.0)))
        found = work(a, b, factor).node
    moved = Moved(found, factor.node, 3.0)
    both = program([a.node, b.node], [found, moved], decisions)
    one = python_function(both)
    assert one(5.0, 1.0) == (11.0, 16.0)
    assert one(2.5, 1.0) is None  # by 3 it would be decided otherwise
    assert len(both.guards) == 2


def test_an_expression_that_scalars_have_not_is_worked_out_on_plain_numbers() -> None:
    # independent: the same on arrays; a hash has no operator
    node = parse("random(3*a + b, 1000) + b")

    def work(a, b):
        return evaluate(node, {"a": a.astype(np.int64), "b": b.astype(np.int64)})

    one = python_function(recorded(work, 3.0, 1.0))
    for a, b in [(3.0, 1.0), (17.0, 5.0), (1e6, 0.0)]:
        assert one(a, b) == (work(np.array([a]), np.array([b])).item(),)


def test_what_is_called_with_the_same_numbers_is_called_once() -> None:
    found = recorded(lambda a, b: cubed(a > b, b, a) + 2.0 * cubed(a > b, b, a), 3.0, 1.0)
    calls = {s for s in uses(found) if s.operator == "call"}
    assert len(calls) == 1
    assert python_function(found)(2.0, 1.0) == (24.0,)


def test_division_by_nothing_is_numpys() -> None:
    one = python_function(recorded(lambda a, b: a / b, 3.0, 1.0))
    with np.errstate(all="ignore"):
        assert one(1.0, 0.0) == (np.inf,)
        assert one(-1.0, 0.0) == (-np.inf,)
        assert np.isnan(one(0.0, 0.0)[0])
    assert one(1.0, 3.0) == (1.0 / 3.0,)


def test_launches_that_decide_differently_leave_no_guard() -> None:
    # by hand: the longer way is right for both, as it is of a batch
    def work(a):
        return np.where(a > 2.0, a * 10.0, a) if np.any(a > 2.0) else a

    with recording() as decisions:
        inputs = figure("a", np.resize([1.0, 3.0], ROWS))
        found = work(inputs)
    made = program([inputs.node], [found.node], decisions)
    assert made.guards == ()
    assert [python_function(made)(x) for x in (1.0, 2.5)] == [(1.0,), (25.0,)]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_expressions_of_kernels(m: int, n: int) -> None:
    # independent: the grammar's own evaluation
    tree = parse("where(m % 3 == 0, ceil_div(m, n) * 2 ** 5, min(m, n) // 7) + floor(m / 3)")

    def work(m, n):
        return evaluate(tree, {"m": m, "n": n})

    with recording() as decisions:
        inputs = [figure("m", np.array([12])), figure("n", np.array([5]))]
        found = work(*inputs)
    made = program([i.node for i in inputs], [found.node], decisions)
    assert python_function(made)(m, n) == (work(m, n),)


def test_whole_numbers_that_overflow_hold_for_nothing() -> None:
    tree = parse("m * m * n")
    with recording() as decisions:
        inputs = [figure("m", np.array([12])), figure("n", np.array([5]))]
        found = evaluate(tree, {"m": inputs[0], "n": inputs[1]})
    made = program([i.node for i in inputs], [found.node], decisions)
    assert python_function(made)(2**31, 3) is None
    held, _ = array_function(made)(np.array([2**31, 5]), np.array([3, 3]))
    assert held.tolist() == [False, True]


def test_rows_that_nobody_recorded_make_no_program() -> None:
    with recording() as decisions:
        inputs = figure("a", np.arange(1.0, ROWS + 1))
        found = inputs + np.arange(ROWS)
    with pytest.raises(NoProgramError):
        program([inputs.node], [found.node], decisions)


def test_what_reads_past_a_node_is_nan() -> None:
    with recording():
        number = figure("rate", 3.0)
        assert np.isnan(np.asarray(number))
        assert float(number) == 3.0
