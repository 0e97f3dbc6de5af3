"""Programs of launches like some; expected values are those of the programs that they are of."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.prediction.compiled.array_code import array_function
from perfmodel.prediction.compiled.lowering import Guard, Program
from perfmodel.prediction.compiled.programs import Form
from perfmodel.prediction.compiled.scalars import Scalars
from perfmodel.prediction.compiled.usual import of_launches, parting, screen, small_truths
from perfmodel.prediction.compiled.writer import uses

do = Scalars()
SIZE, TILE = (do.made("input", (name,), "i") for name in ("size", "tile"))
LARGE = do.apply("greater", SIZE, 100)
ODD = do.apply("equal", do.apply("remainder", SIZE, 2), 1)
TIME = do.where(
    LARGE,
    do.where(ODD, do.cast(SIZE, "f"), do.apply("divide", SIZE, TILE)),
    do.apply("log", SIZE),
)
PROGRAM = Program(("size", "tile"), (), (), (TIME,))


def test_what_nearly_all_decide_alike() -> None:
    sizes = np.arange(60, 1000)  # half of them odd, 41 up to 100
    launches = {"size": sizes, "tile": np.full(940, 8)}
    made = of_launches(PROGRAM, launches, {}, [LARGE, ODD])
    assert not any(scalar.operator == "log" for scalar in uses(made))
    held, (times,) = array_function(made)(*launches.values())
    np.testing.assert_array_equal(held, sizes > 100)
    _, (expected,) = array_function(PROGRAM)(*launches.values())
    np.testing.assert_array_equal(times[held], expected[held])
    # up to the next power of two, and no number below 1
    others = np.array([0, 1024, 1025]), np.full(3, 8)
    assert array_function(made)(*others)[0].tolist() == [False, True, False]


def test_ranges_of_other_inputs() -> None:
    made = of_launches(PROGRAM, {"size": np.arange(200, 300)}, {"tile": (8, 16)}, [])
    sizes, tiles = np.array([250, 250, 250]), np.array([7, 8, 17])
    assert array_function(made)(sizes, tiles)[0].tolist() == [False, True, False]


def test_small_truths() -> None:
    # by hand: one comparison of an input; a remainder of one, compared
    assert small_truths(PROGRAM, 1) == []
    assert small_truths(PROGRAM, 2) == [LARGE]
    assert set(small_truths(PROGRAM, 3)) == {LARGE, ODD}


def test_guards_that_part_launches_are_asked_first() -> None:
    # by hand: of three guards too long for a screen one fails for half of the launches and one for
    # every eighth; the third does as well, and takes most of the program
    def long(number: Any, count: int) -> Any:
        for step in range(count):
            number = do.apply("add", number, step)
        return number

    half = do.apply("equal", do.apply("remainder", long(SIZE, 40), 2), 0)
    eighth = do.apply("greater", do.apply("remainder", long(TILE, 40), 8), 0)
    most = do.apply("greater", do.apply("remainder", long(TILE, 400), 8), 0)
    guards = tuple(Guard(each, True) for each in (LARGE, half, eighth, most))
    program = Program(("size", "tile"), guards, (), (TIME,))
    columns = np.arange(200, 264), np.arange(64)
    assert screen(program).guards == guards[:1]
    assert parting(program, columns).guards == guards[:3]
    assert parting(program, (columns[0], np.ones(64, dtype=int))).guards == guards[:2]
    form: Form[Any] = Form(program, None)  # type: ignore[arg-type]
    few = form.asked
    assert few is form.screen
    assert form.parted(columns) is form.asked is not few
