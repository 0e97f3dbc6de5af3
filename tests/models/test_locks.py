"""Spin locks: turns at one lock, and tries that fill the slices."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from perfmodel import predict, predict_many
from perfmodel.hardware import load_device

DEVICE = load_device("h200-sxm")


def seconds(**params: Any) -> float:
    return predict("lock-loop", device=DEVICE, cache="warm", **params).time_s


# measured on an H200 (retries.csv, rows for validation): between events, 2.9 us of an empty kernel
@pytest.mark.parametrize(
    ("n", "addresses", "spacing", "microseconds"),
    [(256, 5, 2, 51.2), (2048, 48, 32, 46.1), (16384, 48, 8, 1763.9), (131072, 20000, 32, 26.0)],
)
def test_locks_as_measured(n: int, addresses: int, spacing: int, microseconds: float) -> None:
    floor = seconds(n=1, addresses=1, block=32)
    found = seconds(n=n, addresses=addresses, spacing=spacing) - floor
    assert found * 1e6 == pytest.approx(microseconds - 2.9, rel=0.25)


def test_one_lock_takes_turns() -> None:
    # property: twice the lanes at one lock take twice the turns, and slices are not busy yet
    times = [seconds(n=n, addresses=1) for n in (64, 128, 256)]
    for few, many in pairwise(times):
        assert 1.7 < many / few < 2.1


@pytest.mark.parametrize("pattern", ["modulo", "random"])
def test_more_locks_never_take_longer(pattern: str) -> None:
    times = [seconds(n=1 << 14, addresses=1 << k, pattern=pattern) for k in range(0, 15, 2)]
    assert all(b <= a * 1.01 for a, b in pairwise(times))


@pytest.mark.parametrize("given", [{}, {"block": 1024}, {"block": 64}, {"addresses": 8}])
def test_one_contender_more_takes_no_less(given: dict[str, int]) -> None:
    # property: another lane at a lock takes nothing off the others, in a block of its own or not
    lanes = np.arange(1, 2100)
    given = {"addresses": 1, **given}
    found = predict_many("lock-loop", device=DEVICE, n=lanes, **given)
    assert np.all(np.diff(found.time_s) >= -1e-9 * found.time_s[1:])
    found = predict_many("lock-loop", device=DEVICE, n=lanes, **given | {"addresses": 256})
    atomics = found.terms_s["atomics"]
    assert np.all(np.diff(atomics) >= -1e-3 * atomics[1:])
