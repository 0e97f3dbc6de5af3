"""Programs of pairs as machine code; expected values are those of programs on arrays."""

from __future__ import annotations

from sys import platform

import numpy as np
import pytest

from perfmodel.prediction.compiled.array_code import array_function
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.lowering import Guard, Program
from perfmodel.prediction.compiled.scalars import Scalars

pytest.importorskip("llvmlite")
if platform not in ("linux", "darwin"):
    pytest.skip("no LLVM that finds the C library's functions", allow_module_level=True)

from perfmodel.prediction.compiled import pair_code
from perfmodel.prediction.compiled.pair_code import PairFunction

do = Scalars()
SIZE, TILE = (do.made("input", (name,), "i") for name in ("size", "tile"))
SIZES, TILES = (
    {"size": np.arange(1, 40) * 7},
    {"tile": np.array([8, 16, 24, 32, 64, 96, 128, 0, 7])},
)


def function_of(program: Program) -> PairFunction:
    try:
        return PairFunction(program, TILES)
    except NoProgramError as error:
        if "expected type" in str(error):
            pytest.skip("an LLVM of before its version 15")
        raise


@pytest.mark.parametrize("together", [1 << 10, 5])  # all launches at once, or side by side
def test_pairs_of_which_a_program_holds(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_code, "_TOGETHER", together)
    rounds = do.apply("ceil", do.apply("divide", SIZE, TILE))
    even = do.apply("equal", do.apply("remainder", SIZE, 2), 0)
    wide = do.apply("greater", TILE, 20)
    time = do.where(even, do.apply("log", rounds), do.apply("multiply", rounds, do.cast(wide, "f")))
    guards = (
        Guard(do.apply("less", SIZE, 200), True),
        Guard(do.apply("greater", TILE, 0), True),
        Guard(do.apply("equal", do.apply("remainder", SIZE, TILE), 5), False),
    )
    program = Program(("size", "tile"), guards, (do.apply("multiply", SIZE, TILE),), (time,))
    found = np.full((39, 9), np.nan)
    function_of(program).put(found, SIZES)
    with np.errstate(all="ignore"):
        held, (times,) = array_function(program)(SIZES["size"][:, None], TILES["tile"])
    assert 0 < held.sum() < held.size
    np.testing.assert_array_equal(np.isnan(found), ~held)
    np.testing.assert_allclose(found[held], times[held], rtol=1e-14)


@pytest.mark.parametrize("near", [1.0, 1.3, np.inf])
@pytest.mark.parametrize("most", [None, 3.0])
@pytest.mark.parametrize("in_order", [False, True])
def test_bounds_of_numbers_over_the_limit(near: float, most: float | None, in_order: bool) -> None:
    # property: a number within the limit is exact, and what stands for others is over it too
    number = do.apply("divide", SIZE, do.apply("maximum", TILE, 1))
    bound = do.apply("floor", number)
    guard = Guard(do.apply("equal", do.apply("remainder", SIZE, TILE), 5), False)
    function = function_of(Program(("size", "tile"), (guard,), (), (bound, number)))
    if in_order:
        function.put_in_order(SIZES)
    exact, found = np.full((2, 39, 9), np.nan)
    function.put(exact, SIZES)
    limits = np.full(39, np.inf if most is None else most)
    function.put(found, SIZES, None if most is None else limits, near)
    limits = np.minimum(limits, near * np.nanmin(exact, axis=1))[:, None]
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    within = exact <= limits
    np.testing.assert_array_equal(found[within], exact[within])
    assert np.all((found > limits) | within | np.isnan(exact))
    assert sorted(function.columns) == [*range(9)]
    if in_order:  # by hand: what is divided by more is less; from ten times the least on all alike
        assert TILES["tile"][function.columns[:5]].tolist() == [128, 96, 64, 32, 24]


def test_what_is_known_stays() -> None:
    program = Program(("size", "tile"), (), (), (do.apply("divide", SIZE, TILE),))
    function = function_of(program)
    found = np.zeros((39, 9))
    found[3, 1:] = np.nan
    function.put(found, SIZES)
    np.testing.assert_allclose(found[3, 1:7], 28 / TILES["tile"][1:7])
    found[3, 1:] = 0
    assert not found.any()


def test_a_number_of_the_launch_alone() -> None:
    with pytest.raises(NoProgramError):
        PairFunction(Program(("size", "tile"), (), (), (do.cast(SIZE, "f"),)), TILES)
