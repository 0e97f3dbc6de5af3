"""Arrays of one float by Python's numbers, against arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.expressions import parse
from perfmodel.expressions.evaluate import evaluate_arrays
from perfmodel.expressions.float_numbers import evaluate_one
from perfmodel.expressions.nodes import COMPARISONS, Number, names
from tests.expressions.test_evaluate import EXACT_FLOAT, NAMES, small, trees, variables

ONE = st.floats(-50, 50).map(lambda value: np.array([value]))
VALUES = st.one_of(ONE, ONE.map(lambda array: array.reshape(())), st.floats(-50, 50))


@settings(max_examples=300, deadline=None)
@given(
    trees(
        (*EXACT_FLOAT, *COMPARISONS, "%", "**", "min", "max", "ceil_div"),
        ("neg", "abs", "not", "sqrt", "floor", "ceil", "log2"),
        st.one_of(variables, small, st.floats(-5, 100).map(Number)),
    ),
    st.fixed_dictionaries(dict.fromkeys(NAMES, VALUES)),
)
def test_one_float_gives_what_arrays_give(tree, values):
    """Independent: NumPy's functions, to the last bit and in type."""
    found = evaluate_one(tree, values)
    if found is not None:  # else left to arrays, which may refuse it
        expected = evaluate_arrays(tree, {name: values[name] for name in names(tree)})
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape == (1,)
        np.testing.assert_array_equal(found, expected)


def test_usual_expressions_are_worked_out():
    # by hand: 2 * 3 + 1; floor(3.5) // 2; what a condition leaves out may have no value
    one = {"n": np.array([3.0]), "k": 0.5, "m": np.array(0.0)}
    written = ["2*n + 1", "floor(n + k) // 2", "where(m > 0, n/m, 8)", "n > 2 and not k > 1"]
    found = [evaluate_one(parse(text), one) for text in written]
    assert [array.tolist() for array in found] == [[7.0], [1], [8.0], [True]]
    assert [array.dtype.kind for array in found] == [*"fifb"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n/k", {"n": np.array([1.0]), "k": 0.0}),
        ("log2(n)", {"n": np.array([-1.0])}),
        ("sqrt(n)", {"n": np.array([-1.0])}),
        ("n*n", {"n": np.array([1e200])}),
        ("floor(n)", {"n": np.array([1e30])}),
        ("n + 1", {"n": np.array([np.nan])}),
        ("n + 1", {"n": np.array([1, 2])}),
        ("n + 1", {"n": np.array([1])}),
        ("n + 1", {"n": 1.0}),
        ("n + 1", {}),
        ("random(n, 4)", {"n": np.array([1.0])}),
    ],
)
def test_the_rest_is_left_to_arrays(text, values):
    # property: no value, more than one, or whole numbers, which stay exact there
    assert evaluate_one(parse(text), values) is None
