"""Quotients as products; expected values are those of the programs with quotients."""

import numpy as np

from perfmodel.prediction.compiled.array_code import array_function
from perfmodel.prediction.compiled.lowering import Guard, Program
from perfmodel.prediction.compiled.reciprocals import by_reciprocals
from perfmodel.prediction.compiled.scalars import Scalars
from perfmodel.prediction.compiled.writer import uses

do = Scalars()
A, B = (do.made("float", (do.made("input", (name,), "i"),), "f") for name in "ab")
ONE_OF_NINE = do.apply("divide", A, 9.0)
RATE = do.apply("divide", A, B)
WHOLE = do.apply("floor", do.apply("divide", do.apply("subtract", A, 1.0), 9.0))


def test_quotients_that_are_rounded_stay() -> None:
    # by hand: of four divisions two are by 9 and by b, and one by b is compared with a number; the
    # one that is rounded down, of multiples of 9 too, and the compared one stay
    compared = do.apply("greater", do.apply("divide", B, A), 1.0)
    outputs = do.apply("add", ONE_OF_NINE, RATE), WHOLE
    given = Program(("a", "b"), (Guard(compared, False),), (), outputs)
    made = by_reciprocals(given)
    numbers = [s.operands for s in uses(made) if s.operator == "divide"]
    assert len(numbers) == 3
    assert [one for one, _ in numbers].count(1.0) == 1
    columns = np.arange(1, 2001), np.random.default_rng(3).integers(1, 3000, 2000)
    (held, ours), (expected, theirs) = (array_function(each)(*columns) for each in (made, given))
    np.testing.assert_array_equal(held, expected)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-15, atol=0)
    np.testing.assert_array_equal(ours[1], theirs[1])


def test_nothing_is_made_anew_that_has_no_quotient() -> None:
    # property: what guards and outputs share is worked out once
    product = do.apply("multiply", A, B)
    given = Program(("a", "b"), (), (), (product, WHOLE))
    assert by_reciprocals(given).outputs == given.outputs
