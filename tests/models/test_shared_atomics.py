"""Atomics in shared memory: against counting and measured clocks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.models.atomics.shared_atomics import (
    AGGREGATED_CLOCKS,
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


def test_constants_are_the_measured_clocks() -> None:
    # measured: 2.05 clocks of a native compare-and-swap with 16 warps and more
    # (measurements/atomics/h200-sxm/shared-memory); blocks of 1024 threads, two an
    # SM, live 1142 clocks, of which 64 warps' sums take half
    # (measurements/atomics/h200-sxm/cas/blocks.csv)
    assert pytest.approx(2.05, rel=0.05) == SWAP_CLOCKS(H200)
    assert 0.4 * 1142 < 64 * AGGREGATED_CLOCKS(H200) < 0.48 * 1142
