"""Footprints against sets of granules."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.models.requests.footprint import Extent, by_stride, footprint

GRANULES = st.sampled_from([32, 64, 128])
WIDTHS = st.sampled_from([1, 4, 8, 16])
Box = list[tuple[int, int]]  # (stride, count), bytes


def counted(box: Box, width: int, granule: int, offset: int = 0) -> int:
    """Distinct granules, one address at a time."""
    places = {
        (offset + sum(s * i for (s, _), i in zip(box, point, strict=True))) // granule
        for point in product(*(range(n) for _, n in box))
    }
    return len(places)


def found(box: Box, width: int, granule: int) -> float:
    extents = [Extent(np.array([s]), np.array([n])) for s, n in box]
    return float(np.ravel(footprint(extents, width, granule))[0])


def nested_box(draw: st.DrawFn, width: int, granule: int) -> Box:
    """Strides that fill the gap below them, or jump clear over all that is below, by granules."""
    box: Box = []
    run, span = width, width
    dense = True
    for _ in range(draw(st.integers(1, 4))):
        count = draw(st.integers(1, 6))
        if dense and draw(st.booleans()):
            # at most contiguous: no gap
            stride = draw(st.integers(1, max(1, run // width))) * width
            run = run + (count - 1) * stride
            span = run
        else:
            clear = -(-span // granule) * granule
            stride = clear + granule * draw(st.integers(0, 3))
            dense = dense and count == 1
            span = span + (count - 1) * stride
        box.append((stride, count))
    return draw(st.permutations(box))


nested_boxes = st.composite(nested_box)


@settings(max_examples=400, deadline=None)
@given(st.data(), WIDTHS, GRANULES)
def test_nested_boxes_are_exact(data: st.DataObject, width: int, granule: int) -> None:
    # independent: every address of the box, from an aligned start
    box = data.draw(nested_boxes(width, granule))
    assert found(box, width, granule) == counted(box, width, granule), box


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 7)), min_size=1, max_size=3),
    WIDTHS,
    GRANULES,
)
def test_no_box_is_underestimated_on_average(box: Box, width: int, granule: int) -> None:
    # property: an upper bound where repeats interleave; against the mean over all alignments
    box = [(s * width, n) for s, n in box]
    each = [counted(box, width, granule, o) for o in range(0, granule, width)]
    assert found(box, width, granule) >= min(each) - 1e-9, box
    assert found(box, width, granule) <= np.prod([n for _, n in box]) + 1e-9


def test_published_and_hand_counts() -> None:
    # by hand: a warp of floats, a tile of a matrix, a column, a broadcast
    assert found([(4, 32)], 4, 32) == 4
    assert found([(4, 32), (4096, 32)], 4, 32) == 128
    assert found([(4096, 32)], 4, 64) == 32
    assert found([(0, 32)], 4, 32) == 1
    assert found([(4, 1000), (4000, 1000)], 4, 32) == 125_000
    assert found([], 4, 32) == 1
    # by hand: five-point stencil rows overlap: 3 rows of 34 floats a pitch apart
    assert found([(4, 32), (4096, 3)], 4, 128) == 3


def test_means_over_alignments() -> None:
    # independent: rows of 10 floats every 1001 floats start at every multiple of 4 B in turn
    box = [(4, 10), (4004, 32)]
    assert found(box, 4, 32) == pytest.approx(counted(box, 4, 32))
    assert found(box, 4, 128) == pytest.approx(counted(box, 4, 128))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 50)), min_size=1, max_size=2),
    GRANULES,
)
def test_more_values_never_touch_less(box: Box, granule: int) -> None:
    # property, of two variables: where three interleave, the upper bound may tighten with a count
    box = [(4 * s, n) for s, n in box]
    for i, (s, n) in enumerate(box):
        more = [*box[:i], (s, n + 1), *box[i + 1 :]]
        # Runs that grow until they meet are one run, whose two ends are averaged over alignments
        # no more: that can cost one granule in all.
        assert found(more, 4, granule) >= found(box, 4, granule) - 1, (box, i)


def test_interleaved_repeats_share_granules() -> None:
    # independent: all addresses; a lattice of rows among rows, and repeats that fill their span
    for box in ([(88, 16), (1496, 2), (1496, 2)], [(88, 16), (1496, 3), (2992, 2)]):
        assert found(box, 4, 32) == counted(box, 4, 32)
    assert found([(132, 2), (136, 3)], 4, 128) == counted([(132, 2), (136, 3)], 4, 128)


def test_order_and_sign_do_not_matter() -> None:
    for box in ([(4, 32), (512, 7), (128, 3)], [(4, 10), (-40, 9)], [(64, 3), (-4, 8)]):
        values = {found(list(p), 4, 32) for p in (box, box[::-1], [(-s, n) for s, n in box])}
        assert len(values) == 1


def test_counts_that_all_configurations_share_are_ordered_with_their_strides() -> None:
    # by hand; regression: strides of two configurations, and counts that are plain numbers
    extents = [
        Extent(np.array([8.0, 2.0]), np.asarray(3.0)),
        Extent(np.array([4.0, 4.0]), np.asarray(2.0)),
    ]
    (strides, counts), (larger, of_larger) = by_stride(extents)
    np.testing.assert_array_equal([strides, counts], [[4, 2], [2, 3]])
    np.testing.assert_array_equal([larger, of_larger], [[8, 4], [3, 2]])


def test_arrays_give_what_numbers_give() -> None:
    generator = np.random.default_rng(0)
    strides = 4 * generator.integers(0, 300, (3, 100))
    counts = generator.integers(1, 20, (3, 100))
    extents = [Extent(s, n) for s, n in zip(strides, counts, strict=True)]
    together = footprint(extents, 4, 32)
    alone = [
        found(list(zip(strides[:, i].tolist(), counts[:, i].tolist(), strict=True)), 4, 32)
        for i in range(100)
    ]
    np.testing.assert_array_equal(together, alone)
