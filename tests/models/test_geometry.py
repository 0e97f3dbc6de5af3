"""Blocks as warps: digits that add up to threadIdx, for every block that has them."""

from __future__ import annotations

from itertools import product

import pytest
from brute_force import threads
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.models.grid.geometry import block_shape

SIDES = st.integers(1, 64)


def warps_are_equal_boxes(block: tuple[int, int, int]) -> bool:
    """By brute force: whether every warp is a full box of threads, all of the same shape."""
    every = list(threads(block))
    if len(every) % 32:
        return False
    shapes = set()
    for start in range(0, len(every), 32):
        warp = every[start : start + 32]
        sides = [sorted({t[axis] for t in warp}) for axis in range(3)]
        if len(sides[0]) * len(sides[1]) * len(sides[2]) != 32:
            return False
        if any(side != list(range(side[0], side[0] + len(side))) for side in sides):
            return False
        # A box that starts at a multiple of its side, so that digits do not carry.
        if any(side[0] % len(side) for side in sides):
            return False
        shapes.add(tuple(map(len, sides)))
    return len(shapes) == 1


@given(SIDES, st.integers(1, 32), st.integers(1, 8))
def test_regular_is_what_brute_force_says(x: int, y: int, z: int) -> None:
    block = (x, y, z)
    assert block_shape(block).regular == warps_are_equal_boxes(block), block


@given(SIDES, SIDES, st.integers(1, 8))
def test_digits_name_every_thread_once(x: int, y: int, z: int) -> None:
    shape = block_shape((x, y, z))
    if not shape.regular:
        return
    lanes = [d for d in shape.digits if d.in_lane]
    others = [d for d in shape.digits if not d.in_lane]

    def place(digits: list, values: tuple[int, ...]) -> list[int]:
        at = [0, 0, 0]
        for digit, value in zip(digits, values, strict=True):
            at["xyz".index(digit.axis)] += digit.weight * value
        return at

    found = []
    for high in product(*(range(d.count) for d in reversed(others))):
        for low in product(*(range(d.count) for d in reversed(lanes))):
            a, b = place(others[::-1], high), place(lanes[::-1], low)
            found.append(tuple(i + j for i, j in zip(a, b, strict=True)))
    # In this order, x fastest, the lanes of a warp follow each other.
    assert found == list(threads((x, y, z)))


@given(SIDES, SIDES, st.integers(1, 4))
def test_thread_indices_are_those_of_the_block(x: int, y: int, z: int) -> None:
    shape = block_shape((x, y, z))
    indices = shape.thread_indices()
    flat = zip(*(indices[f"threadIdx.{a}"].ravel().tolist() for a in "xyz"), strict=True)
    inside = [t for t in flat if t[0] >= 0]
    assert inside == list(threads((x, y, z)))
    assert shape.warps == indices["threadIdx.x"].shape[0] == -(-x * y * z // 32)
    assert shape.threads == x * y * z


@pytest.mark.parametrize(
    ("block", "regular"),
    [
        ((1024, 1, 1), True),
        ((32, 32, 1), True),
        ((16, 16, 1), True),
        ((8, 4, 2), True),
        ((96, 1, 1), True),
        ((1, 1, 32), True),
        ((100, 1, 1), False),
        ((24, 4, 1), False),
        ((16, 3, 1), False),
        ((1, 1, 1), False),
    ],
)
def test_known_shapes(block: tuple[int, int, int], regular: bool) -> None:
    assert block_shape(block).regular is regular
