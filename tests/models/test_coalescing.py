"""Sectors and lines of one request: published arithmetic, brute force, limits."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from brute_force import granules
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.models.requests import coalescing
from perfmodel.models.requests.coalescing import (
    EFFICIENCY,
    GRANULES,
    LINE,
    ROW_OVERLAP,
    SECTOR,
    row_granules,
    warp_granules,
)

FLOAT = 4
SIZES = st.sampled_from([SECTOR, LINE])
WIDTHS = st.sampled_from([1, 2, 4, 8, 16])
STRIDES = st.one_of(st.integers(-40, 40), st.integers(-5000, 5000))


def row(lanes: int, stride: int, granule: int = SECTOR, offset: int = 0) -> float:
    """Granules of one aligned row."""
    return float(row_granules(lanes, stride, offset, granule, granule))


def efficiency(wanted: int, sectors: float) -> float:
    return float(EFFICIENCY(n=float(wanted), w=float(FLOAT), sectors=float(sectors)))


# ---- published: the arithmetic of the articles on GEMM coalescing and on the L2


def test_contiguous_floats_fill_four_sectors_of_one_line() -> None:
    # published: 32 floats, 128 B wanted, 128 B moved, 100%
    assert row(32, FLOAT) == 4
    assert row(32, FLOAT, LINE) == 1
    assert row(32, FLOAT) * SECTOR == 128
    assert efficiency(32, row(32, FLOAT)) == 1.0


def test_one_float_a_line_moves_eight_times_its_bytes() -> None:
    # published: 32 sectors, 128 B useful of 1024 B, 12.5%, a factor of 8
    assert row(32, LINE) == 32
    assert row(32, LINE) * SECTOR == 1024
    assert efficiency(32, row(32, LINE)) == 0.125
    assert row(32, LINE) / row(32, FLOAT) == 8


def test_miniature_warp_of_four_lanes() -> None:
    # published: four lanes, a line of four floats; column walk 4 transactions, row walk 1
    line = 4 * FLOAT
    assert row(4, 4 * FLOAT, line) == 4
    assert row(4, FLOAT, line) == 1
    assert 4 * FLOAT / (row(4, 4 * FLOAT, line) * line) == 0.25
    assert 4 * FLOAT / (row(4, FLOAT, line) * line) == 1.0


def test_stride_of_seven_floats_uses_a_seventh_of_its_sectors() -> None:
    # published exercise: src[i*7]. 32 lanes span 31*28 + 4 = 872 B: 28 sectors, 7 lines
    assert row(32, 7 * FLOAT) == 28
    assert row(32, 7 * FLOAT, LINE) == 7
    assert efficiency(32, row(32, 7 * FLOAT)) == pytest.approx(1 / 7)


def test_broadcast_is_one_sector() -> None:
    # published: all lanes at one address are one transaction
    assert row(32, 0) == row(32, 0, LINE) == 1


@pytest.mark.parametrize(("width", "sectors"), [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16)])
def test_narrow_and_wide_elements(width: int, sectors: int) -> None:
    # published: int8 a quarter of a line, fp16 half a line; by hand for 8 and 16 B
    assert row(32, width) == sectors
    assert row(32, width, LINE) == max(1, width // 4)


@pytest.mark.parametrize(
    ("stride", "sectors"), [(1, 4), (2, 8), (3, 12), (4, 16), (8, 32), (9, 32)]
)
def test_strided_floats_cost_four_sectors_a_stride_up_to_eight(stride: int, sectors: int) -> None:
    # independent, by hand: min(stride, 8)*4 sectors from an aligned start
    assert row(32, stride * FLOAT) == sectors


# ---- independent: brute force over the lanes


@settings(max_examples=300, deadline=None)
@given(WIDTHS, STRIDES, st.integers(0, 300), st.integers(1, 32), SIZES)
def test_rows_equal_brute_force(
    width: int, stride: int, offset: int, lanes: int, granule: int
) -> None:
    addresses = [(offset + i * stride) * width + 2**30 for i in range(lanes)]
    found = warp_granules(lanes, stride * width, 1, 0, addresses[0], granule, granule)
    assert float(found) == granules(addresses, granule)


@settings(max_examples=300, deadline=None)
@given(
    WIDTHS,
    st.integers(1, 32),
    STRIDES,
    st.integers(1, 32),
    STRIDES,
    st.integers(0, 200),
    SIZES,
)
def test_boxes_equal_brute_force_or_say_that_they_do_not_know(
    width: int, inner: int, stride: int, rows: int, pitch: int, offset: int, granule: int
) -> None:
    rows = min(rows, 32 // inner)
    addresses = [
        (offset + i * stride + j * pitch) * width + 2**30
        for j, i in product(range(rows), range(inner))
    ]
    found = float(
        warp_granules(inner, stride * width, rows, pitch * width, addresses[0], granule, granule)
    )
    if math.isnan(found):
        # Only both directions more than a granule apart, and interleaved, has no closed form.
        near, far = sorted((abs(stride), abs(pitch)))
        assert near * width > granule
        assert min(inner, rows) > 1
        dense = inner if near == abs(stride) else rows
        assert far * width < (dense - 1) * near * width + granule or abs(stride) == abs(pitch)
    else:
        assert found == granules(addresses, granule)


@settings(max_examples=200, deadline=None)
@given(
    WIDTHS,
    st.integers(1, 32),
    STRIDES,
    st.integers(1, 8),
    STRIDES,
    st.integers(0, 200),
    st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128]),
    SIZES,
)
def test_mean_over_alignments_is_the_mean_of_all(
    width: int, inner: int, stride: int, rows: int, pitch: int, offset: int, step: int, granule: int
) -> None:
    step = max(min(step, granule), width)
    rows = min(rows, 32 // inner)
    box = (inner, stride * width, rows, pitch * width)
    mean = float(warp_granules(*box, offset * width, step, granule))
    each = [
        float(warp_granules(*box, offset * width + move, granule, granule))
        for move in range(0, granule, step)
    ]
    assert mean == pytest.approx(np.mean(each), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("granule", [SECTOR, LINE])
def test_twenty_thousand_boxes_equal_brute_force(granule: int) -> None:
    generator = np.random.default_rng(granule)
    size = 20_000
    width = generator.choice([1, 2, 4, 8, 16], size)
    inner = generator.integers(1, 33, size)
    rows = np.minimum(generator.integers(1, 33, size), 32 // inner)
    reach = generator.choice([3, 40, 1000], (2, size))
    stride, pitch = generator.integers(-reach, reach + 1) * width
    offset = 2**20 + generator.integers(0, 300, size) * width
    found = warp_granules(inner, stride, rows, pitch, offset, granule, granule)
    counted = [
        granules([o + i * s + j * t for j in range(r) for i in range(n)], granule)
        for n, s, r, t, o in np.transpose([inner, stride, rows, pitch, offset]).tolist()
    ]
    known = ~np.isnan(found)
    assert known.mean() > 0.8
    np.testing.assert_array_equal(found[known], np.array(counted)[known])


def test_arrays_give_what_numbers_give() -> None:
    generator = np.random.default_rng(0)
    inner = generator.integers(1, 33, 400)
    rows = np.minimum(generator.integers(1, 9, 400), 32 // inner)
    stride, pitch = generator.integers(-300, 300, (2, 400))
    offset = generator.integers(0, 999, 400)
    together = warp_granules(inner, stride, rows, pitch, offset, 32, 32)
    alone = [
        float(warp_granules(*one, 32, 32))
        for one in zip(inner, stride, rows, pitch, offset, strict=True)
    ]
    np.testing.assert_array_equal(together, alone)


# ---- properties


@given(st.integers(1, 32), STRIDES, st.integers(0, 127), SIZES)
def test_no_lanes_cost_nothing_and_no_request_costs_more_than_its_lanes(
    lanes: int, stride: int, offset: int, granule: int
) -> None:
    assert float(row_granules(0, abs(stride), offset, granule, granule)) == 0
    found = float(warp_granules(lanes, stride, 1, 0, offset, granule, granule))
    assert 1 <= found <= lanes


@given(st.integers(1, 31), st.integers(0, 300), st.integers(0, 127), SIZES)
def test_more_lanes_or_a_larger_stride_never_cost_less(
    lanes: int, stride: int, offset: int, granule: int
) -> None:
    now = float(row_granules(lanes, stride, offset, granule, granule))
    assert float(row_granules(lanes + 1, stride, offset, granule, granule)) >= now
    assert float(row_granules(lanes, stride + 1, offset, granule, granule)) >= now


@given(st.integers(1, 32), STRIDES, st.integers(0, 127))
def test_a_line_is_one_to_four_sectors(lanes: int, stride: int, offset: int) -> None:
    sectors = float(warp_granules(lanes, stride, 1, 0, offset, SECTOR, SECTOR))
    lines = float(warp_granules(lanes, stride, 1, 0, offset, LINE, LINE))
    assert lines <= sectors <= 4 * lines


@pytest.mark.parametrize("formula", [GRANULES, ROW_OVERLAP, EFFICIENCY], ids=lambda f: f.name)
def test_sympy_gives_the_same(formula: coalescing.Formula) -> None:
    # GRANULES as sympy gives it, at numbers, is GRANULES as NumPy evaluates it.
    values = dict.fromkeys(formula.symbols, 8)
    expected = float(formula(**values))
    assert float(formula.sympy().subs(dict.fromkeys(formula.sympy().free_symbols, 8))) == expected
