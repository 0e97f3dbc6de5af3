"""Global atomics: how their parts combine, by hand and at their limits."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.models.atomics.global_atomics import OVERLAP, RETURN_LATENCY, SLICE_TIME
from perfmodel.models.power_mean import power_mean

H200 = load_device("h200-sxm")


def test_passes_of_one_slice_are_serial() -> None:
    # by hand: a tenth of a million passes, 2 ns each
    assert SLICE_TIME(passes=1e6, share=0.1, each=2e-9) == pytest.approx(2e-4)


def test_parts_that_overlap_take_little_more_than_the_longest() -> None:
    # by hand: the sixth root of the sum of sixth powers
    three = (np.full(1, 3.0), np.full(1, 2.0), np.full(1, 1.0))
    overlap = OVERLAP(H200)
    assert power_mean(three, overlap) == pytest.approx((3**6 + 2**6 + 1) ** (1 / 6))
    assert power_mean((three[0], three[0]), overlap) == pytest.approx(3 * 2 ** (1 / 6))
    assert power_mean((np.zeros(1), three[1]), overlap) == pytest.approx(2.0)


def test_an_old_value_takes_twice_a_near_hit() -> None:
    # measured: 530 to 650 clocks against 290 (measurements/suite/h200-sxm/sweeps/atomics-chain.csv,
    # atomics-cas.csv)
    assert pytest.approx((530 + 650) / 2 / 290, rel=0.05) == RETURN_LATENCY(H200)


def test_parts_of_an_atomic() -> None:
    # by hand: 2**20 lanes at one address are as many passes of one slice, 1.48 clocks each
    # (measured: measurements/suite/h200-sxm/sweeps/atomics.csv), which every other part is far
    # below
    found = predict("atomic-add", device="h200-sxm", n=1 << 20, addresses=1)
    (atomic,) = found.details.time.atomics
    assert atomic.load.most == pytest.approx((1 << 20) * 1.48 / 1.98e9, rel=0.01)
    assert atomic.time_s == pytest.approx(atomic.load.most, rel=1e-6)
    assert atomic.tries is None
    assert float(atomic.network_s[0]) < 0.1 * float(atomic.load.most[0])
    assert float(atomic.popular[0]) == pytest.approx(1.0)
    assert float(atomic.load.even[0]) < 0.02 * float(atomic.load.most[0])
