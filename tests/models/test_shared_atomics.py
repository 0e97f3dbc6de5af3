"""Atomics in shared memory: against counting and measured clocks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.models.atomics.shared_atomics import (
    AGGREGATED_CLOCKS,
    BEST_COPIES,
    COPIES_TIME,
    MERGE_CLOCKS,
    SWAP_CLOCKS,
    WRAPPED_WARPS,
)

H200 = load_device("h200-sxm")


@pytest.mark.parametrize("elements", [32, 48, 50, 64, 96, 100, 256, 1000])
def test_warps_that_pass_the_end(elements: int) -> None:
    # independent: warps of one period of thread % elements, looked at one by one
    period = math.lcm(32, elements)
    starts = np.arange(0, period, 32) % elements
    passing = np.count_nonzero(starts + 32 > elements)
    found = WRAPPED_WARPS(gcd=float(math.gcd(elements, 32)), m=float(elements))
    assert found == pytest.approx(passing / len(starts))


def test_copies_share_the_turns_and_add_bins() -> None:
    # by hand: 1000 turns of 2 clocks shared by 4 copies, and 64 bins of each to add up
    given = {"turns": 1000.0, "each": 2.0, "bins": 64.0, "merge": 0.3}
    assert COPIES_TIME(c=4.0, **given) == pytest.approx(1000 * 2 / 4 + 64 * 4 * 0.3)
    best = BEST_COPIES(**given)
    assert best == pytest.approx(math.sqrt(2000 / 19.2))
    for beside in (0.95, 1.05):
        assert COPIES_TIME(c=best, **given) < COPIES_TIME(c=best * beside, **given)


def test_constants_are_the_measured_clocks() -> None:
    # measured: 2.05 clocks of a native compare-and-swap with 16 warps and more
    # (measurements/atomics/h200-sxm/shared-memory); 0.3 clocks a bin and copy
    # (measurements/suite/h200-sxm/sweeps/privatized-histogram.csv); blocks of 1024 threads, two an
    # SM, live 1142 clocks, of which 64 warps' sums take half
    # (measurements/atomics/h200-sxm/cas/blocks.csv)
    assert pytest.approx(2.05, rel=0.05) == SWAP_CLOCKS(H200)
    assert pytest.approx(0.3, rel=0.05) == MERGE_CLOCKS(H200)
    assert 0.4 * 1142 < 64 * AGGREGATED_CLOCKS(H200) < 0.48 * 1142
