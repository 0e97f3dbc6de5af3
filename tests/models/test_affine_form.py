"""Forms that show an index to be affine: every point lies on the plane; the others are refused."""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, Number, Operation, evaluate, parse
from perfmodel.models.derivation import figure, recording
from perfmodel.models.grid.affine import index_variables, plane
from perfmodel.models.grid.affine_form import surely_affine
from perfmodel.models.grid.geometry import block_shape

Moving = list[tuple[str, int, Any]]

WARPS: Final[Moving] = [("threadIdx.x", 1, 32), ("threadIdx.x", 32, 8)]
"""The digits of a block of 256 threads: lane and warp."""
AROUND: Final[Moving] = [("blockIdx.x", 1, 100), ("k", 1, 4)]

DIFFERENT: Final = np.array([3, 16])
"""A number of two configurations."""
RECORDED: Final = (np.array([1]), np.array([8]), np.array([-3]))
"""What other launches may have in the place of a recorded number."""


@pytest.mark.parametrize(
    "text",
    [
        "threadIdx.x // 32",  # the warp
        "threadIdx.x % 32",  # the lane
        "threadIdx.x // 256",  # no thread gets there
        "(threadIdx.x % 32 + 64*k + 5) % 64",  # 31 + 5 < 64, and k moves by multiples
        "(32 - threadIdx.x % 32) // 64",  # from 32 down to 1
        "ceil_div(N, 3)*threadIdx.x - blockIdx.x*different + k*recorded",
        "(recorded*N + 32*blockIdx.x) // 32",  # 32 times a block, whatever the constant is
        "where(recorded < N, threadIdx.x, 3*k)",
        "where(N < 5, k*k, k)",  # N is 100
        "threadIdx.x // (N // 3 - 1)",  # 100 // 3 - 1 is 32
        "threadIdx.y // 3 + blockIdx.z",  # not moving
        "floor(N/7)*threadIdx.x",
        "min(N, recorded)*k + (N & 3)",
        "(k*0 + N) % 7",
    ],
)
def test_what_has_an_affine_form_is_told(text: str) -> None:
    # by hand: lane (0 to 31) and 32 times the warp add up to threadIdx.x; reasons are next to each
    assert told(parse(text), WARPS + AROUND)


@pytest.mark.parametrize(
    "text",
    [
        "threadIdx.x // 3",  # 32 is no multiple of 3
        "threadIdx.x % 48",
        "(threadIdx.x % 32 + 1) // 32",  # lane 31 passes 32
        "(threadIdx.x % 32 - 1) // 32",  # lane 0 passes 0
        "(2 - k) // 8",  # from 2 down to -1
        "(threadIdx.x % 32 + recorded) % 64",  # a constant that may pass
        "(different*threadIdx.x) // 32",
        "threadIdx.x // different",
        "threadIdx.x // recorded",
        "threadIdx.x % 0",
        "loop % 64",  # a loop of a recorded length
        "min(blockIdx.x, 50)",
        "blockIdx.x*k",
        "N // (k + 1)",
        "threadIdx.x & 31",
        "random(k, 8)",
        "shuffled(k, 4)",
        "where(k < 2, k, 0)",
        "where(recorded < N, threadIdx.x, k*k)",
        "where(recorded < N, 32, 48)*threadIdx.x // 32",  # a slope that launches decide
        "where(recorded < N, 32*k, 48*k) // 32",
        "k*(N/7)",  # points are no whole numbers
        "k*0.1",
        "abs(k)",
        "k + unknown",
    ],
)
def test_what_has_no_such_form_is_left_to_points(text: str) -> None:
    # by hand: not affine, or in some launches only, or by an operator that the form does not follow
    assert not told(parse(text), [*WARPS, *AROUND, ("loop", 1, figure("trips", np.array([8])))])


def told(node: Node, moving: Moving) -> bool:
    """Say whether an expression's form shows it to be affine, of a launch of some numbers."""
    values = {"N": 100, "different": DIFFERENT, "recorded": figure("recorded", RECORDED[0])}
    return surely_affine(node, values, moving)


def _layouts() -> st.SearchStrategy[Moving]:
    """Return block shapes as digits, and two loops, of few values each."""
    radices = st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=3)

    def moving(radices: list[int], gap: int, trips: int, blocks: int) -> Moving:
        digits: Moving = []
        weight = 1
        for radix in radices:
            digits.append(("threadIdx.x", weight, radix))
            weight *= radix * gap
        return [*digits, ("k", 1, trips), ("blockIdx.x", 1, blocks)]

    return st.builds(
        moving, radices, st.sampled_from([1, 1, 2]), st.integers(0, 3), st.integers(1, 3)
    )


def _expressions() -> st.SearchStrategy[Node]:
    numbers = st.integers(-2, 6).map(Number)
    divisors = st.one_of(st.sampled_from([2, 3, 4, 6, 8]).map(Number), st.just(Name("N")))
    fixed = st.sampled_from(["N", "different", "recorded", "threadIdx.y"]).map(Name)
    moving = st.sampled_from(["threadIdx.x", "threadIdx.x", "k", "blockIdx.x"]).map(Name)
    tests = st.builds(_of("<"), fixed, numbers)
    terms = st.one_of(moving, st.builds(_of("*"), moving, st.one_of(divisors, fixed)))
    sums = st.one_of(terms, st.builds(_of("+"), terms, st.one_of(numbers, terms)))
    chosen = st.builds(_of("where"), tests, sums, sums)

    def larger(parts: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        divided = [st.builds(_of(operator), parts, divisors) for operator in ("//", "%")]
        return st.one_of(
            *divided,
            *divided,
            *(st.builds(_of(operator), parts, parts) for operator in ("+", "-", "*")),
            st.builds(_of("neg"), parts),
            st.builds(_of("where"), tests, parts, parts),
        )

    return st.recursive(st.one_of(sums, chosen), larger, max_leaves=3)


def _of(operator: str) -> Any:
    return lambda *operands: Operation(operator, operands)


@settings(max_examples=600, deadline=None)
@given(_expressions(), _layouts(), st.integers(1, 20))
def test_every_point_of_an_affine_form_lies_on_its_plane(
    node: Node, moving: Moving, number: int
) -> None:
    # Independent: the expression at all points of all variables, for several launches.
    known: dict[str, Any] = {"N": number, "different": DIFFERENT}
    if not surely_affine(node, {**known, "recorded": figure("recorded", RECORDED[0])}, moving):
        return
    for other in RECORDED:
        try:
            check_all_points(node, {**known, "recorded": other}, moving)
        except PerfmodelError as error:
            if "divides by zero" not in str(error):
                raise


def check_all_points(node: Node, values: dict[str, Any], moving: Moving) -> None:
    """Check that the expression is what its steps from the origin say, everywhere."""
    count = len(moving)
    everywhere = [*itertools.product(*(range(max(extent, 1)) for _, _, extent in moving))]
    points = np.vstack([np.zeros((1, count)), np.eye(count), everywhere]).astype(np.int64)
    targets: dict[str, Any] = {"threadIdx.y": 0}
    for column, (target, weight, _) in zip(points.T, moving, strict=True):
        targets[target] = targets.get(target, 0) + weight * column[:, None]
    found = np.broadcast_to(np.asarray(evaluate(node, {**values, **targets})), (len(points), 2))
    strides = found[1 : count + 1] - found[0]
    inside = points[count + 1 :]
    np.testing.assert_array_equal(found[count + 1 :], found[0] + inside @ strides)


def test_a_recorded_loop_of_unknown_length_is_no_digit() -> None:
    # by hand: k is a digit of 32*warp + k where the loop is shorter than a warp, which 8 shows, but
    # not of every launch if it is recorded; multiples of 32 divide however long it is
    for extent, expected in ((8, True), (figure("trips", np.array([8])), False)):
        moving = [("threadIdx.x", 32, 8), ("k", 1, extent)]
        assert surely_affine(parse("(threadIdx.x + k) // 32"), {}, moving) is expected
        assert surely_affine(parse("(threadIdx.x + 64*k) // 32"), {}, moving)


def test_no_decision_is_recorded_of_what_its_form_shows() -> None:
    # by definition: checks at points are decisions, on which a recorded launch depends
    variables = index_variables(block_shape((256, 1, 1)), (4, 1, 1), {"k": 8})
    with recording() as decisions:
        pitch = figure("pitch", np.array([1000]))
        found = plane(parse("pitch*k + threadIdx.x % 32"), {"pitch": pitch}, variables)
        assert found.affine
        assert decisions == []
        assert plane(parse("pitch*k + (threadIdx.x & 31)"), {"pitch": pitch}, variables).affine
        assert decisions != []


def test_configurations_that_agree_on_a_number_are_one() -> None:
    # by hand: 32 for both is 32; of 32 and 48, only the first divides the lanes of a warp
    node = parse("threadIdx.x // part")
    assert surely_affine(node, {"part": np.array([32, 32])}, WARPS)
    assert not surely_affine(node, {"part": np.array([32, 48])}, WARPS)
    assert not surely_affine(node, {"part": np.array([32.0])}, WARPS)  # perhaps no whole number
