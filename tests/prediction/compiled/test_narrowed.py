"""Programs of launches in ranges; expected values are those of the programs that they are of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from perfmodel.prediction.compiled.array_code import array_function
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.lowering import Guard, Program
from perfmodel.prediction.compiled.narrowed import narrowed
from perfmodel.prediction.compiled.scalars import Scalar, Scalars
from perfmodel.prediction.compiled.writer import uses

do = Scalars()
A, B = (do.made("input", (name,), "i") for name in "ab")
RANGES = {"a": (-50, 1000), "b": (1, 64)}


def program(
    *outputs: Any, guards: tuple[Guard, ...] = (), products: tuple[Any, ...] = ()
) -> Program:
    return Program(("a", "b"), guards, products, outputs)


def check(made: Program, given: Program, least: int = -50, most: int = 1000) -> np.ndarray:
    """Check that a program gives the same as another where it holds, and return where that is."""
    random = np.random.default_rng(7)
    columns = random.integers(least - 20, most + 20, 500), random.integers(1, 70, 500)
    with np.errstate(all="ignore"):
        (held, ours), (of_all, theirs) = (array_function(each)(*columns) for each in (made, given))
    assert not (held & ~of_all).any()
    for pair in zip(ours, theirs, strict=True):
        one, other = (np.broadcast_to(each, len(held))[held] for each in pair)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        assert not np.signbit(one[one == 0]).any()
    return np.asarray(held)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_whole_quotients_by_floats(name: str) -> None:
    given = program(do.apply(name, A, B), do.apply(name, do.apply("negative", A), B))
    made = narrowed(given, RANGES, {})
    assert check(made, given).any()
    assert not any(s.operator in ("floor_divide", "remainder") for s in uses(made))


def test_quotients_next_to_whole_ones() -> None:
    # one less than a multiple, up to the largest that is taken: Python's own quotients
    given = program(do.apply("floor_divide", A, B))
    made = array_function(narrowed(given, {"a": (-(2**52), 2**52), "b": (1, 2**40)}, {}))
    random = np.random.default_rng(8)
    b = random.integers(1, 2**40, 5000)
    multiple = (2**52 // b) * b
    for a in (multiple, multiple - 1, 1 - multiple, -multiple):
        _, (found,) = made(a, b)
        assert found.tolist() == [int(x) // int(y) for x, y in zip(a, b, strict=True)]


def test_arithmetic_of_whole_numbers() -> None:
    low = do.apply("minimum", do.apply("subtract", A, B), 7)
    high = do.apply("maximum", do.apply("absolute", do.apply("negative", low)), 3)
    where = do.where(do.apply("less", A, B), do.apply("multiply", low, -2), high)
    whole = do.cast(do.apply("divide", do.apply("absolute", A), B), "i")
    given = program(low, high, where, whole, do.apply("and", do.apply("absolute", A), B))
    assert check(narrowed(given, RANGES, {}), given).any()


def test_the_lowest_bit() -> None:
    bit = do.apply("and", B, do.apply("negative", B))
    given = program(do.apply("floor_divide", A, bit))
    made = narrowed(given, RANGES, {})
    assert check(made, given).any()
    assert not any(s.operator == "floor_divide" for s in uses(made))


def test_overflow_that_ranges_exclude_is_not_looked_for() -> None:
    product = do.apply("multiply", A, B)
    given = program(product, products=(product,))
    assert not narrowed(given, RANGES, {}).products
    assert narrowed(given, {"a": (1, 2**40), "b": (1, 2**40)}, {}).products


def test_launches_that_decide_alike() -> None:
    small, odd = do.apply("less", A, 100), do.apply("equal", do.apply("remainder", A, 2), 1)
    other = do.where(odd, do.apply("power", do.cast(A, "f"), 3.0), do.cast(B, "f"))
    given = program(do.where(small, do.apply("divide", A, B), other))
    made = narrowed(given, RANGES, {small: True, odd: True})
    held = check(made, given)
    assert held.any()
    assert not any(scalar.operator in ("power", "remainder", "where") for scalar in uses(made))
    # whether a number is odd matters to no small one, so both kinds are held for
    columns = np.array([-60, -50, 98, 99, 100, 1001]), np.full(6, 5)
    assert array_function(made)(*columns)[0].tolist() == [False, True, True, True, False, False]


def test_guards_that_none_meets() -> None:
    guard = Guard(do.apply("greater", A, 2000), True)
    assert isinstance(guard.value, Scalar)
    with pytest.raises(NoProgramError):
        narrowed(program(B, guards=(guard,)), RANGES, {})
