"""Strides of indices: what is affine in fact is found, what is not is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.expressions import parse
from perfmodel.models.agreement import DisagreementError
from perfmodel.models.grid.affine import (
    Plane,
    index_variables,
    nearly_plane,
    plane,
    plane_within_a_step,
)
from perfmodel.models.grid.geometry import block_shape


def probe(
    text: str,
    block: tuple[int, int, int] = (1024, 1, 1),
    grid: tuple[int, int, int] = (8, 4, 1),
    trips: dict[str, int] | None = None,
    **values: object,
) -> Plane:
    trips = {"k": 64} if trips is None else trips
    return plane(parse(text), values, index_variables(block_shape(block), grid, trips))


def strides(found: Plane) -> dict[str, float]:
    return {name: float(s[0]) for name, s in found.strides.items() if s[0] != 0}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-(2**40), 2**40), min_size=4, max_size=4), st.integers(0, 2**45))
def test_coefficients_come_back(coefficients: list[int], offset: int) -> None:
    a, b, c, d = coefficients
    found = probe(
        "o + a*threadIdx.x + b*blockIdx.x + c*blockIdx.y + d*k", o=offset, a=a, b=b, c=c, d=d
    )
    assert found.affine
    expected = {"lane.x": a, "warp.x": 32 * a, "blockIdx.x": b, "blockIdx.y": c, "k": d}
    assert strides(found) == {name: s for name, s in expected.items() if s}
    assert float(found.offset[0]) == offset


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("threadIdx.x // 32", {"warp.x": 1}),
        ("threadIdx.x % 32", {"lane.x": 1}),
        ("threadIdx.x & 31", {"lane.x": 1}),
        ("threadIdx.x >> 5", {"warp.x": 1}),
        ("(threadIdx.x // 32)*1000 + threadIdx.x % 32", {"warp.x": 1000, "lane.x": 1}),
        ("threadIdx.x % 2048", {"lane.x": 1, "warp.x": 32}),
        ("min(threadIdx.x, 2000)", {"lane.x": 1, "warp.x": 32}),
        ("(2*k) // 2", {"k": 1}),
        ("where(k < 64, k, 0)", {"k": 1}),
        ("k % 64", {"k": 1}),
        ("5", {}),
    ],
)
def test_what_is_affine_in_fact_is_accepted(text: str, expected: dict[str, int]) -> None:
    found = probe(text)
    assert found.affine
    assert strides(found) == expected


@pytest.mark.parametrize(
    "text",
    [
        "threadIdx.x // 16",  # half warps: no stride of a lane
        "threadIdx.x % 33",
        "threadIdx.x % 16",
        "k % 63",
        "k % 2",
        "k // 2",
        "k*k",
        "k*blockIdx.x",
        "threadIdx.x ^ 5",
        "min(k, 62)",
        "max(k, 1)",
        "where(k < 40, k, k + 1)",
        "(k*7919) % 1009",
        "(threadIdx.x*2654435761) % 4096",
        "abs(k - 5)",
    ],
)
def test_what_is_not_affine_is_refused(text: str) -> None:
    assert not probe(text).affine


def test_one_wrapping_configuration_has_to_be_taken_apart() -> None:
    variables = index_variables(block_shape((32, 1, 1)), (np.array([2, 4, 8]), 1, 1), {})
    node = parse("(blockIdx.x*32 + threadIdx.x) % m")
    assert plane(node, {"m": np.array([64, 128, 256])}, variables).affine
    with pytest.raises(DisagreementError) as parted:
        plane(node, {"m": np.array([64, 100, 256])}, variables)
    np.testing.assert_array_equal(parted.value.labels, [True, False, True])


def test_one_configuration_each() -> None:
    pitch = np.array([10, 20, 30])
    found = probe("threadIdx.x*pitch + k", pitch=pitch)
    assert found.affine
    np.testing.assert_array_equal(found.strides["lane.x"], pitch)
    np.testing.assert_array_equal(found.strides["warp.x"], 32 * pitch)


def test_loops_of_no_iterations_do_not_spoil_the_others() -> None:
    # regression: they were probed at k = -1
    variables = index_variables(block_shape((32, 1, 1)), (1, 1, 1), {"k": np.array([0, 1, 5])})
    found = plane(parse("7*k + threadIdx.x"), {}, variables)
    assert found.affine
    # A loop that never reaches a second iteration has a stride all the same; nothing asks for it.
    np.testing.assert_array_equal(np.broadcast_to(found.strides["k"], 3), [7, 7, 7])


def test_large_integers_stay_exact() -> None:
    found = probe("threadIdx.x + 1 + (1 << 52)", grid=(1, 1, 1), trips={})
    assert found.affine
    assert int(found.offset[0]) == 2**52 + 1


def test_threads_that_go_a_step_further_lie_on_a_second_plane() -> None:
    # Property: a loop of which some threads take an iteration before goes on where these stopped;
    # where one in three threads lies anywhere, no plane is found.
    variables = index_variables(block_shape((512, 1, 1)), (396, 1, 1), {"k": 6})
    step = "where(512*blockIdx.x + threadIdx.x < 134000, 202752, {})"
    index = "512*blockIdx.x + threadIdx.x + 811008*k + "
    found = nearly_plane(parse(index + step.format(0)), {}, variables)
    assert found is not None
    expected = {"lane.x": 1, "warp.x": 32, "blockIdx.x": 512, "k": 811008}
    assert strides(found) == expected
    anywhere = parse(index + step.format("(threadIdx.x*2654435 + blockIdx.x*40503) % 65536"))
    assert nearly_plane(anywhere, {}, variables) is None


def test_rows_that_warps_begin_at_places_of_their_own_have_strides() -> None:
    # by hand: for (j = lane; j <= row; j += 32), whose first iterations a compiler splits off until
    # those that are left are a multiple of four: warps begin 0, 32, 64 or 96 columns further
    variables = index_variables(block_shape((128, 1, 1)), (3000, 1, 1), {"j": 48})
    row, lane = "(4*blockIdx.x + threadIdx.x//32)", "threadIdx.x % 32"
    left = f"max({row} - {lane}, 0)//32 + 1"
    index = f"12000*{row} + {lane} + 128*j + 32*(({left}) % 4)"
    found = plane_within_a_step(parse(index), {}, variables)
    assert found is not None
    assert strides(found) == {"lane.x": 1, "warp.x": 12000, "blockIdx.x": 48000, "j": 128}
    # the same range at random: lanes do not follow one another
    anywhere = f"12000*{row} + 128*j + ({lane}*2654435 + {row}*40503) % 128"
    assert plane_within_a_step(parse(anywhere), {}, variables) is None
