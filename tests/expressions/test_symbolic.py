"""Expressions as sympy mathematics, and that sympy stays unimported until then."""

import subprocess
import sys

import pytest
import sympy
from expression_trees import DIVISIONS, points, trees
from hypothesis import assume, given, settings

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate, parse, to_sympy

above_zero = points.map(lambda values: {name: abs(n) + 1 for name, n in values.items()})


@settings(max_examples=40, deadline=None)
@given(trees(("+", "-", "*", *DIVISIONS), max_leaves=6), above_zero)
def test_sympy_gives_the_same_integers(tree, values):  # independent: sympy's exact arithmetic
    try:
        expected = evaluate(tree, values)
        expression = to_sympy(tree)
    except PerfmodelError:
        assume(False)
    symbols = {symbol: values[symbol.name] for symbol in expression.free_symbols}
    assert expression.subs(symbols) == expected


@pytest.mark.parametrize(
    "written",
    [
        "n << k",
        "n >> k",
        "n / k + 1.5",
        "ceil(n / k) + floor(-n / k)",
        "log2(n) + sqrt(k)",
        "n ** 2 + 2 ** k",
        "where(n, k, 1) + (n < k)",
        "not n < k or n == 1 and k != 2",
        "n // k if n % k else abs(k - n)",
    ],
)
def test_formulas_agree_with_sympy(written):  # independent: sympy's arithmetic
    tree = parse(written)
    expression = to_sympy(tree)
    for n in (1, 3, 8):
        for k in (1, 2, 5):
            point = {symbol: {"n": n, "k": k}[symbol.name] for symbol in expression.free_symbols}
            found = expression.subs(point)
            number = float(bool(found) if found in (True, False) else found)
            expected = float(evaluate(tree, {"n": n, "k": k}))
            assert number == pytest.approx(expected, rel=1e-12)


def test_bit_operations_are_undefined_functions():
    assert str(to_sympy(parse("a & b | c ^ 1"))) == "bitor(bitand(a, b), bitxor(c, 1))"


def test_assumptions():
    (index,) = to_sympy(parse("threadIdx.x")).free_symbols
    assert index.is_nonnegative
    assert index.is_positive is None  # it is zero in every block
    (size,) = to_sympy(parse("n")).free_symbols
    assert size.is_positive
    assert size.is_integer is None


@pytest.mark.parametrize(
    "written",
    ["((9 * x) ** 64) ** 64", "9 ** (64 ** 60)", "1 << 9 * 10 ** 9", "1 / 0 < x", "x % 0"],
)
def test_what_sympy_cannot_hold_is_refused(written):
    with pytest.raises(PerfmodelError) as caught:
        to_sympy(parse(written))
    assert "\n" not in str(caught.value)


def test_many_operands_are_quick():
    many = ", ".join(f"x{i} * y{i}" for i in range(100))
    assert isinstance(to_sympy(parse(f"max({many})")), sympy.Max)


def test_importing_does_not_import_sympy():
    program = "import sys, perfmodel.expressions; print('sympy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
