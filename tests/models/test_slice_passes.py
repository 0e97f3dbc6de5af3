"""Passes of atomics through L2's slices: against measured times, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.models.atomics.slice_passes import (
    ANSWER_CLOCKS,
    ANSWER_LANE_CLOCKS,
    COMPARE_CLOCKS,
    COMPARE_SECTOR_CLOCKS,
    DOUBLE_SPREAD,
    FULL_PASSES,
    HALF2_CLOCKS,
    HALF2_FULL_CLOCKS,
    WIDE_FLOAT,
    SlicePass,
)

H200 = load_device("h200-sxm")


@pytest.mark.parametrize(
    ("spacing", "addresses", "measured_us"),
    [(32, 1, 193.12), (32, 2, 224.608), (32, 4, 113.216), (32, 8, 101.12)],
)
def test_lines_of_a_sector_each_wait_for_one_another(
    spacing: int, addresses: int, measured_us: float
) -> None:
    # measured: 262144 additions to words 128 B apart, by the profiler, on an H200
    # (measurements/suite/h200-sxm/sweeps/atomics.csv): two of a piece of 256 B take longer than one
    found = predict(
        "atomic-add", device="h200-sxm", n=1 << 18, addresses=addresses, spacing=spacing
    )
    assert found.time_s * 1e6 == pytest.approx(measured_us, rel=0.03)


@pytest.mark.parametrize(("addresses", "clocks"), [(31, 6.4), (12, 7.9), (33, 6.2)])
def test_runs_of_lanes_fill_so_many_sectors(addresses: int, clocks: float) -> None:
    # measured: clocks of a warp of int32 elements side by side (source of `FULL_PASSES`), with 1.15
    # clocks for a full pass and 1.48 for another; brute force: passes and lanes of 1024 warps
    places = np.arange(1024 * 32).reshape(-1, 32) % addresses
    passes = 0
    for warp in places:
        words, times = np.unique(warp, return_counts=True)
        passes += sum(int(times[words // 8 == s].max()) for s in np.unique(words // 8))
    full = FULL_PASSES(share=1024 * 32 / passes * 4 / 32)
    each = 1.48 + (1.15 - 1.48) * full
    assert passes / 1024 * each == pytest.approx(clocks, rel=0.06)


def test_a_pass_waits_for_the_one_before_at_its_sector() -> None:
    # by hand: half of the packets of two sectors wait for 4 ns, of which 2 ns are work anyway
    found = SlicePass(np.full(1, 1e-9), np.full(1, 4e-9), np.full(1, 2.0), np.full(1, 0.5))
    assert found.time_s == pytest.approx(1e-9 + 0.5 * 2e-9 / 2)


def test_constants_are_the_measured_ratios() -> None:
    # measured, as the constants' docstrings have them: clocks of a pass on an H200 and an H100
    assert pytest.approx(2.31 / 1.15, rel=0.02) == WIDE_FLOAT(H200)
    assert pytest.approx(1.53 / 2.31, rel=0.02) == DOUBLE_SPREAD(H200)
    for lanes, clocks in ((1, 1.57), (2, 1.8), (4, 1.95), (8, 2.1)):
        answer = ANSWER_CLOCKS(H200) + ANSWER_LANE_CLOCKS(H200) * np.log2(lanes)
        assert answer == pytest.approx(clocks, rel=0.06)
    assert 1.34 < HALF2_CLOCKS(H200) < 1.55
    assert 1.74 < HALF2_FULL_CLOCKS(H200) < 1.82
    assert 1.46 <= COMPARE_CLOCKS(H200) <= 1.50
    assert 4.66 / 2 <= COMPARE_SECTOR_CLOCKS(H200) <= 4.87 / 2
