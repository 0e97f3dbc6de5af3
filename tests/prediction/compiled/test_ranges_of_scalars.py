"""Ranges of scalars; expected values are NumPy's, of numbers drawn from the operands' ranges."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.prediction.compiled.ranges import (
    COMPARISONS,
    WHOLE,
    decided,
    range_of,
    range_of_constant,
)
from perfmodel.prediction.compiled.scalars import OPERATORS, Scalars

scalars = Scalars()
WHOLES = [scalars.made("input", (name,), "i") for name in "ab"]
FLOATS = [scalars.cast(whole, "f") for whole in WHOLES]
OF_TWO = ("add", "subtract", "multiply", "minimum", "maximum")
OF_ONE = ("negative", "absolute")


def drawn(name: str, kind: str, limits: int = 30) -> None:
    """Check an operator's results on many numbers of many ranges."""
    random = np.random.default_rng(5)
    inputs = {"i": WHOLES, "f": FLOATS}[kind]
    scalar = scalars.apply(name, *inputs[: 1 if name in (*OF_ONE, "floor", "ceil") else 2])
    for _ in range(50):
        ends = np.sort(random.integers(-limits, limits, (2, 2)), axis=1) / (1 if kind == "i" else 4)
        ranges = [tuple(pair.tolist()) for pair in ends]
        found = range_of(scalar, ranges[: len(scalar.operands)])
        if found is None:
            continue
        if kind == "i":
            numbers = [
                random.integers(int(low), int(high), 40, endpoint=True) for low, high in ends
            ]
        else:
            numbers = [random.uniform(low, high, 40) for low, high in ends]
        with np.errstate(all="ignore"):
            values = OPERATORS[name].function(*numbers[: len(scalar.operands)])
        assert found[0] <= values.min()
        assert values.max() <= found[1]


@pytest.mark.parametrize("name", [*OF_TWO, *OF_ONE, "floor_divide", "remainder", "and"])
def test_whole_numbers(name: str) -> None:
    drawn(name, "i")


@pytest.mark.parametrize("name", [*OF_TWO, *OF_ONE, "divide", "floor", "ceil"])
def test_floats(name: str) -> None:
    drawn(name, "f")


def test_whole_numbers_that_wrap_may_be_any() -> None:
    product = scalars.apply("multiply", *WHOLES)
    assert range_of(product, [(1, 2**40)] * 2) == (-WHOLE, WHOLE - 1)


def test_division_by_what_may_be_0_gives_any_float() -> None:
    assert range_of(scalars.apply("divide", *FLOATS), [(0.0, 1.0), (0.0, 1.0)]) is None
    assert range_of_constant(float("nan")) is None


@pytest.mark.parametrize("name", sorted(COMPARISONS))
def test_comparisons_that_ranges_decide(name: str) -> None:
    # independent: every pair of whole numbers of the ranges, compared by NumPy
    random = np.random.default_rng(6)
    for _ in range(200):
        first, second = (
            tuple(pair) for pair in np.sort(random.integers(0, 6, (2, 2)), axis=1).tolist()
        )
        numbers = (np.arange(low, high + 1) for low, high in (first, second))
        truths = OPERATORS[name].function.outer(*numbers)
        every = True if truths.all() else False if not truths.any() else None
        assert decided(name, first, second) in (every, None)
        if first[1] < second[0] or second[1] < first[0]:  # apart, they are decided
            assert decided(name, first, second) is every
