"""Values of expressions: arrays against single points, single points against Python, refusals."""

import math
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from expression_trees import BITS, COMPARISONS, DIVISIONS, NAMES, points, small, trees, variables
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Number, Operation, evaluate, names, parse, text
from perfmodel.expressions.evaluate import evaluate_arrays
from perfmodel.expressions.float_arrays import evaluate_floats

INTEGER = ("+", "-", "*", *DIVISIONS, *BITS, "<<", ">>")
EXACT_FLOAT = ("+", "-", "*", "/", "//")  # IEEE rounds these alike everywhere


def python_value(written, values):
    """Python's own value of text that this test made."""
    scope = {
        "n": values["n"],
        "k": values["k"],
        "threadIdx": SimpleNamespace(x=values["threadIdx.x"]),
        "blockIdx": SimpleNamespace(y=values["blockIdx.y"]),
        "ceil_div": lambda a, b: (a + b - (1 if b > 0 else -1)) // b,
        "__builtins__": {"min": min, "max": max, "abs": abs},
    }
    return eval(written, scope)


def subtrees(tree):
    """All parts, operands first, so that nothing enormous is computed before it is noticed."""
    for operand in getattr(tree, "operands", ()):
        yield from subtrees(operand)
    yield tree


def has_no_value(tree, values):
    """Whether some part of the tree divides by zero, shifts too far or passes 2**62."""
    for part in subtrees(tree):
        if getattr(part, "operator", None) in ("<<", ">>"):
            amount = part.operands[1]
            if has_no_value(amount, values) or not 0 <= python_value(text(amount), values) <= 62:
                return True
        try:
            if abs(python_value(text(part), values)) > 2**62:
                return True
        except (ZeroDivisionError, ValueError, OverflowError):
            return True
    return False


@settings(max_examples=300, deadline=None)
@given(trees(INTEGER, lazy=False), points)
def test_integers_are_pythons(tree, values):  # independent: Python's eval
    try:
        found = evaluate(tree, values)
    except PerfmodelError:
        assert has_no_value(tree, values)
    else:
        assert found == python_value(text(tree), values)


def assert_elements_are_scalars(tree, columns):
    """The array result holds the scalar results; it is refused exactly if one of them is."""
    size = len(columns[NAMES[0]])
    expected = []
    for element in range(size):
        point = {name: column[element].item() for name, column in columns.items()}
        try:
            expected.append(evaluate(tree, point))
        except PerfmodelError:
            with pytest.raises(PerfmodelError):
                evaluate(tree, columns)
            return
    found = evaluate(tree, columns)
    if isinstance(found, np.ndarray):
        np.testing.assert_array_equal(found, expected)
    else:
        assert expected == [found] * size


def columns_of(elements):
    size = 4
    return st.fixed_dictionaries(
        {name: st.lists(elements, min_size=size, max_size=size).map(np.array) for name in NAMES}
    )


@settings(max_examples=300, deadline=None)
@given(trees(INTEGER), columns_of(st.integers(-40, 40)))
def test_integer_arrays_agree_with_scalars(tree, columns):  # independent: the scalar evaluation
    assert_elements_are_scalars(tree, columns)


@settings(deadline=None)
@given(trees(("+", "-", "*", "<<"), max_leaves=6), columns_of(st.integers(-(2**33), 2**33)))
def test_large_integer_arrays_agree_with_scalars(tree, columns):  # independent: scalars
    assert_elements_are_scalars(tree, columns)


@settings(max_examples=200, deadline=None)
@given(
    trees(
        EXACT_FLOAT,
        ("neg", "abs", "sqrt", "floor", "ceil"),
        st.one_of(variables, small, st.floats(0, 100).map(Number)),
        max_leaves=7,
    ),
    columns_of(st.floats(-50, 50, width=32)),
)
def test_float_arrays_agree_with_scalars(tree, columns):  # independent: the scalar evaluation
    assert_elements_are_scalars(tree, columns)


floats = st.lists(st.floats(-50, 50), min_size=3, max_size=3).map(np.array)


@settings(max_examples=300, deadline=None)
@given(
    trees(
        (*EXACT_FLOAT, *COMPARISONS, "%", "**"),
        ("neg", "abs", "not", "sqrt", "floor", "ceil", "log2"),
        st.one_of(variables, small, st.floats(-5, 100).map(Number)),
    ),
    st.fixed_dictionaries(dict.fromkeys(NAMES, st.one_of(floats, st.just(np.array(2.5))))),
)
def test_chains_of_floats_agree_with_arrays_part_by_part(tree, columns):
    """Independent: the evaluation part by part, to the last bit and in type."""
    with np.errstate(all="raise", under="ignore"):
        found = evaluate_floats(tree, columns)
    if found is None:  # left to the evaluation part by part, which may refuse it
        return
    with mock.patch("perfmodel.expressions.evaluate.evaluate_floats", return_value=None):
        expected = evaluate_arrays(tree, {name: columns[name] for name in names(tree)})
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_usual_floats_make_a_chain():
    """By hand: a part used twice, truth values that count, rounding, and a condition."""
    tree = parse("where(n > 2, (n + k) * 2, 0) + floor(n + k) % 3 + (n < k) * 4")
    columns = {"n": np.array([1.0, 3.0]), "k": np.array([1.5, 2.0])}
    with np.errstate(all="raise", under="ignore"):
        found = evaluate_floats(tree, columns)
        assert evaluate_floats(parse("n / (n - 3)"), columns) is None
    assert found.tolist() == [0 + 2 + 4, 10 + 2 + 0]


@pytest.mark.parametrize(
    ("written", "expected"),  # by hand
    [
        ("7 // -2", -4),
        ("-7 % 4", 1),
        ("7 % -4", -1),
        ("ceil_div(-7, 2)", -3),
        ("1 / 4", 0.25),
        ("floor(-0.5)", -1),
        ("ceil(0.5)", 1),
        ("log2(8)", 3.0),
        ("sqrt(2.25)", 1.5),
        ("2 ** -1", 0.5),
        ("2 ** 62", 2**62),
        ("4 ** 0.5", 2.0),
        ("(2 < 3) + (3 < 4)", 2),
        ("-(2 < 3)", -1),
        ("1 < 2 < 3", True),
        ("1 and 2", True),
        ("not 0", True),
        ("5 ^ 3", 6),
        ("-1 & 255", 255),
        ("-5 >> 1", -3),
        ("where(1 < 2, 5, 1 // 0)", 5),
        ("1 > 2 and 1 // 0 > 0", False),
        ("1 < 2 or 1 // 0 > 0", True),
    ],
)
def test_values(written, expected):
    found = evaluate(parse(written), {})
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("written", ["x + y", "x - -y", "x * y", "x << y", "x ** y", "-(x + y)"])
@pytest.mark.parametrize("wrap", [int, lambda value: np.array([1, value])])
def test_overflow_is_refused(written, wrap):
    values = {"x": wrap(2**61 + 1), "y": wrap(2**61)}
    if "<<" in written or "**" in written:
        values = {"x": wrap(2**32), "y": wrap(32)}  # 2**64 and more: int64 wraps to 0
    with pytest.raises(PerfmodelError, match=r"overflows"):
        evaluate(parse(written), values)


@pytest.mark.parametrize("wrap", [int, lambda value: np.array([1, value])])
def test_the_largest_integer_is_exact(wrap):
    values = {"x": wrap(2**31), "y": wrap(2**62 - 1)}
    assert np.max(evaluate(parse("x * x"), values)) == 2**62
    assert np.max(evaluate(parse("y + 1"), values)) == 2**62
    with pytest.raises(PerfmodelError, match="overflows"):
        evaluate(parse("x * x + 1"), values)
    with pytest.raises(PerfmodelError, match="overflows"):
        evaluate(parse("2 * x * x - 1 - (x * x - 2)"), values)


@pytest.mark.parametrize("x", [2**62 + 1, -(2**63), np.array([2**63], np.uint64), [2**70]])
def test_inputs_past_the_largest_integer_are_refused(x):
    with pytest.raises(PerfmodelError, match=r"2\*\*62"):
        evaluate(Name("x"), {"x": x})


def test_narrow_types_do_not_wrap():
    x = np.array([200, 255], np.uint8)
    np.testing.assert_array_equal(evaluate(parse("-x * x"), {"x": x}), [-40_000, -65_025])
    half = np.array([2048.0], np.float16)
    assert evaluate(parse("x * x"), {"x": half})[0] == 2.0**22


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: np.array([1, value])])
@pytest.mark.parametrize(
    ("written", "x", "reason"),
    [
        ("1 / x", 0, "'1 / x' divides by zero"),
        ("1 // x", 0, "divides by zero"),
        ("5 % x", 0, "divides by zero"),
        ("ceil_div(5, x)", 0, "divides by zero"),
        ("x ** -1", 0, "divides by zero"),
        ("1 << x", 63, "shifts"),
        ("1 >> x", -1, "shifts"),
        ("x & 1", 1.5, "whole numbers"),
        ("x << 1", 1.5, "whole numbers"),
        ("log2(x)", 0, "log2"),
        ("sqrt(x)", -1, "root"),
        ("x ** 0.5", -1, "root"),
        ("x * x", 1e300, "largest float"),
        ("x ** 2", 1e300, "largest float"),
        ("floor(x)", 1e300, "overflows"),
        ("x - x", math.inf, "undefined"),
        ("x", math.nan, "NaN"),
    ],
)
def test_what_has_no_value_is_refused(wrap, written, x, reason):
    with pytest.raises(PerfmodelError, match=reason) as caught:
        evaluate(parse(written), {"x": wrap(x)})
    assert "\n" not in str(caught.value)


def test_conditions_guard_each_element():  # by hand
    n = np.array([0, 2, 5])
    np.testing.assert_array_equal(
        evaluate(parse("where(n > 0, 10 // n, -1)"), {"n": n}), [-1, 5, 2]
    )
    np.testing.assert_array_equal(
        evaluate(parse("n > 0 and 10 % n == 0"), {"n": n}), [False, True, True]
    )
    np.testing.assert_array_equal(
        evaluate(parse("n == 0 or 10 % n == 1"), {"n": n}), [True, False, False]
    )
    with pytest.raises(PerfmodelError, match="zero"):  # guarded in one place, not in the other
        evaluate(parse("where(n > 0, 10 // n, -1) + 10 // n"), {"n": n})
    with pytest.raises(PerfmodelError, match="zero"):
        evaluate(parse("where(n > 1, 10 // n, 10 // n)"), {"n": n})


def test_arrays_broadcast_and_results_are_fresh():
    row, column = np.arange(3), np.arange(2)[:, None]
    assert evaluate(parse("a * 3 + b"), {"a": column, "b": row}).tolist() == [[0, 1, 2], [3, 4, 5]]
    for written in ("a", "floor(a)", "where(a > 0, a, a)"):
        found = evaluate(parse(written), {"a": row})
        assert not np.shares_memory(found, row)
    assert evaluate(parse("a + 1"), {"a": np.zeros((0, 2), int)}).shape == (0, 2)
    with pytest.raises(PerfmodelError, match=r"broadcast together, not .*\(3,\)"):
        evaluate(parse("a + b"), {"a": row, "b": np.arange(2)})


def test_kinds_of_values():
    assert type(evaluate(parse("x + 1"), {"x": np.int32(1)})) is int
    assert type(evaluate(parse("x + 1"), {"x": np.array(1.0)})) is float
    assert evaluate(parse("x + 1"), {"x": [1, 2]}).tolist() == [2, 3]
    assert evaluate(parse("x + 1"), {"x": True}) == 2
    assert evaluate(parse("x + 1"), {"x": np.array([True, False])}).tolist() == [2, 1]
    assert evaluate(parse("1 + 1"), {"x": np.arange(3)}) == 2
    for wrong in ("text", None, 1j, [[1], [1, 2]], [1, None]):
        with pytest.raises(PerfmodelError, match="variable 'x'"):
            evaluate(Name("x"), {"x": wrong})


def test_missing_values_suggest_the_nearest():
    with pytest.raises(PerfmodelError, match=r"'width' has no value; did you mean 'widht'\?"):
        evaluate(parse("where(0, width, 1)"), {"widht": 1})


@pytest.mark.parametrize("x", [1, np.arange(2)])
def test_repeated_parts_are_computed_once(x):
    # 2**50 operations as a tree; only sharing finishes.
    tree = Name("x")
    for _ in range(50):
        tree = Operation("max", (tree, tree))
    np.testing.assert_array_equal(evaluate(tree, {"x": x}), x)


@pytest.mark.parametrize("x", [1, np.array([0, 1])])
def test_errors_in_enormous_expressions_are_short(x):
    tree = Name("x")
    for _ in range(70):
        tree = Operation("+", (tree, tree))
    with pytest.raises(PerfmodelError, match=r"^an expression overflows"):
        evaluate(tree, {"x": x})
