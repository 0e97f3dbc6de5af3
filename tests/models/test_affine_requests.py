"""Boxes of lanes that cost the same wherever they start, against each worked out by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.models.requests import affine_requests
from perfmodel.models.requests.affine_requests import _costs, _distinct
from perfmodel.models.requests.coalescing import Box, warp_granules

STRIDE = st.one_of(st.integers(-40, 40), st.integers(-3000, 3000), st.integers(1 << 20, 1 << 40))
BOX = st.tuples(st.integers(1, 32), STRIDE, st.integers(1, 32), STRIDE)


@settings(max_examples=60, deadline=None)
@given(st.lists(BOX, min_size=1, max_size=12), st.booleans())
def test_equal_boxes_cost_the_same(boxes: list[tuple[int, int, int, int]], kept: bool) -> None:
    # independent: every box at every residue, with the rows as far apart as they are
    inner, inner_stride, rows, row_stride = np.array(boxes, dtype=float).T
    box = Box(inner, 4 * inner_stride, rows, 4 * row_stride)
    some, place = _distinct(box)
    starts = np.arange(0, 128, 4)[None, :]
    expected = [
        sum(
            warp_granules(*(column[:, None] for column in box), starts + shift, granule, granule)
            for shift in (0, 16)
        )
        for granule in (32, 128)
    ]
    with pytest.MonkeyPatch.context() as patched:
        if not kept:
            patched.setattr(affine_requests, "_MOST_KNOWN", 0)
        found = [_costs(some, 4, (0, 16))[:, place] for _ in range(2)]
    for each in found:
        np.testing.assert_array_equal(each, np.broadcast_arrays(*expected))


def test_rows_some_lines_further_apart_are_one_box() -> None:
    # by hand: rows of 64 B, 1000 and 1008 lines apart, and 1008 lines and 4 B
    box = Box(np.full(3, 16.0), np.full(3, 4.0), np.full(3, 2.0), np.array([0, 1024, 1028]) + 128e3)
    some, place = _distinct(box)
    assert len(some.inner) == 2
    assert place[0] == place[1] != place[2]
