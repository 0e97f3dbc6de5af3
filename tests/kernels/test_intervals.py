"""Ranges of expressions contain all that evaluation gives, and are as narrow as they need be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.expressions import evaluate, parse
from perfmodel.kernels.intervals import Interval, Ranges

RANGES = {"i": Interval(0, 15), "j": Interval(-3, 4), "n": Interval(10, 10)}
PLACES = {"i": np.arange(0, 16)[:, None], "j": np.arange(-3, 5), "n": 10}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # by hand
        ("i*n + j", (-3, 154)),
        ("i - i", (-15, 15)),
        ("i % 32", (0, 15)),
        ("(i + 100) % 32", (4, 19)),
        ("i % 10", (0, 9)),
        ("j % 8", (0, 7)),
        ("i // 4", (0, 3)),
        ("ceil_div(j, 2)", (-1, 2)),
        ("-i", (-15, 0)),
        ("i & 7", (0, 7)),
        ("i ^ 16", (0, 31)),
        ("i << 2", (0, 60)),
        ("j >> 1", (-2, 2)),
        ("abs(j)", (0, 4)),
        ("abs(j - 10)", (6, 13)),
        ("min(i, j)", (-3, 4)),
        ("max(i, j, 2)", (2, 15)),
        ("where(i > 3, i, j)", (-3, 15)),
        ("i > 3", (0, 1)),
        ("i > 15", (0, 0)),
        ("j < 5 and i >= 0", (1, 1)),
        ("not (i == 16 or n != 10)", (1, 1)),
        ("where(n <= 10, i, j - 100)", (0, 15)),  # a condition that ranges decide
        ("j & 3", (0, 3)),  # whatever the sign of j
        ("(i + 1)**2", (1, 256)),
    ],
)
def test_ranges(expression: str, expected: tuple[int, int]) -> None:
    assert Ranges(RANGES).of(parse(expression)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # by hand
        ("i - i", (0, 0)),
        ("(j - i*4)*n + i*40", (-30, 40)),
        ("(i + j) - (i - j)", (-6, 8)),
        ("i*j - j*i", (-105, 105)),
        ("(i % 4 + j) + 3", (0, 10)),
    ],
)
def test_what_comes_again_in_a_sum_cancels(expression: str, expected: tuple[int, int]) -> None:
    assert Ranges(RANGES).cancelled(parse(expression)) == expected


@pytest.mark.parametrize(
    "expression", ["i // j", "i % j", "i << j", "j**2", "m", "m + 1", "sqrt(i)", "1.5"]
)
def test_unknown_ranges(expression: str) -> None:
    assert Ranges(RANGES).of(parse(expression)) is None


@pytest.mark.parametrize(
    ("guard", "expression", "expected"),
    [
        # by hand
        ("i < n", "i*n", (0, 90)),
        ("n > i", "i", (0, 9)),
        ("i < n and j >= 0", "i + j", (0, 13)),
        ("0 < i <= 3", "i", (1, 3)),
        ("i == 5", "i", (5, 5)),
        ("i + 1 < n", "i", (0, 8)),
        ("2 + i < n", "i", (0, 7)),
        ("i - 1 < n", "i", (0, 10)),
        ("i*4 < n", "i*4 + 3", (3, 11)),
        ("4*i >= 9", "i", (3, 15)),
        ("i*n + j < 20", "i*n + j", (-3, 19)),
        ("i + j < 5", "(n + i) + j", (7, 14)),  # a part of a sum, however it is put together
        ("i + j < 5 and n*i < 60", "n*i + j + n + i", (7, 64)),
        ("i + i < 5", "i + j + i", (-3, 8)),
        ("not i < n", "i", (0, 15)),
        ("i < n or j < 0", "i", (0, 15)),
        ("i < m", "i", (0, 15)),
        ("m < n", "m", None),
        ("m < n and m >= 0", "m", (0, 9)),
    ],
)
def test_guards_narrow(guard: str, expression: str, expected: tuple[int, int] | None) -> None:
    ranges = Ranges(RANGES)
    ranges.assume(parse(guard))
    found = ranges.of(parse(expression))
    assert found == expected or (expected is None and found is not None and found.low < -(2**62))


@pytest.mark.parametrize(
    ("guard", "expression", "expected"),
    [
        # by hand: i + j is at most 4, and i + 4*j at most 9
        ("i + j < 5", "64*i + 3 + j*64", (-189, 259)),
        ("i + j < 5", "n*(i + j)", (-30, 40)),
        ("i + j < 5", "7 - 2*i - 2*j", (-1, 13)),
        ("i + j < 5", "64*i + 32*j", (-96, 1088)),  # no multiple
        ("i + j*4 < n", "8*j + i*2 + i*j", (-69, 78)),
        ("i + i*j - j*i < 5", "3*i + 3*j", (-9, 57)),
    ],
)
def test_multiples_of_narrowed_sums(guard: str, expression: str, expected: tuple[int, int]) -> None:
    ranges = Ranges(RANGES)
    ranges.assume(parse(guard))
    assert ranges.cancelled(parse(expression)) == expected


TERMS = st.sampled_from(["i", "j", "n", "i*n", "j*3", "j*n", "2"])
SUMS = st.recursive(TERMS, lambda inner: st.builds("({} + {})".format, inner, inner), max_leaves=5)
COMPARED = st.builds("{} {} {}".format, SUMS, st.sampled_from(["<", "<=", ">", ">="]), SUMS)


EXPRESSIONS = st.recursive(
    st.sampled_from(["i", "j", "n", "0", "1", "2", "5"]),
    lambda inner: st.one_of(
        st.builds(
            "({} {} {})".format,
            inner,
            st.sampled_from(["+", "-", "*", "&", "|", "^", "<", "==", "and"]),
            inner,
        ),
        st.builds("({} {} (1 + abs({})))".format, inner, st.sampled_from(["//", "%"]), inner),
        st.builds("({} {} min(abs({}), 3))".format, inner, st.sampled_from(["<<", ">>"]), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("ceil_div({}, 1 + abs({}))".format, inner, inner),
        st.builds("where({}, {}, {})".format, inner, inner, inner),
        st.builds("(-{})".format, inner),
        st.builds("abs({})".format, inner),
        st.builds("({})**2".format, inner),
    ),
    max_leaves=8,
)
GUARDS = st.lists(
    st.builds(
        "{} {} {}".format, EXPRESSIONS, st.sampled_from(["<", "<=", ">", ">=", "=="]), EXPRESSIONS
    ),
    min_size=1,
    max_size=3,
).map(" and ".join)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(EXPRESSIONS, SUMS),
    st.one_of(GUARDS, st.lists(COMPARED, min_size=1, max_size=3).map(" and ".join)),
)
def test_ranges_contain_all_values(expression: str, guard: str) -> None:
    """Property, against the evaluation of every point: no value is outside the range."""
    node, condition = parse(expression, integer=True), parse(guard, integer=True)
    ranges = Ranges(RANGES)
    ranges.assume(condition)
    shape = (16, 8)
    holds = np.broadcast_to(evaluate(condition, PLACES), shape) != 0
    values = np.broadcast_to(evaluate(node, PLACES), shape)[holds].astype(np.int64)
    for found in (ranges.of(node), ranges.cancelled(node)):
        if found is not None and values.size:
            assert found.low <= values.min()
            assert values.max() <= found.high
