"""Shares of loads that a cache of some lines has not, against a cache simulated line by line."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from perfmodel.frontends.emulate_reuse import LINES, Touches

SECTORS_PER_LINE = 4


def simulated(sectors: list[int], lines: int) -> float:
    """Return the share of touches that miss in a cache with least recently used replacement."""
    held: OrderedDict[int, set[int]] = OrderedDict()
    missed = 0
    for sector in sectors:
        line = sector // SECTORS_PER_LINE
        there = held.pop(line, set())
        missed += sector not in there
        held[line] = there | {sector}
        if len(held) > lines:
            held.popitem(last=False)
    return missed / len(sectors)


def recorded(sectors: list[int]) -> tuple[float, ...]:
    touches = Touches({7: 0.0}, 32)
    lanes = np.arange(1, dtype=np.int64)
    for sector in sectors:
        touches.turn += 1
        touches.take(7, np.array([sector * 32], dtype=np.uint64), lanes)
    return touches.misses()[7]


@pytest.mark.parametrize("kind", ["random", "cyclic", "twice", "skewed"])
def test_shares_are_those_of_a_simulated_cache(kind: str) -> None:
    random = np.random.default_rng(1)
    sectors = {
        "random": random.integers(0, 800, 2000).tolist(),
        "cyclic": [*range(600)] * 3,
        "twice": [s for s in range(900) for _ in range(2)],
        "skewed": (random.pareto(1.2, 2000) * 20).astype(int).tolist(),
    }[kind]
    found = recorded(sectors)
    for lines, share in zip(LINES, found, strict=True):
        # At the very size of a cycle the mean of a stretch says less.
        if kind == "cyclic" and 0.7 < lines / 150 < 1.5:
            continue
        assert share == pytest.approx(simulated(sectors, lines), abs=0.06), lines


def test_a_larger_cache_never_misses_more() -> None:
    found = recorded(np.random.default_rng(2).integers(0, 5000, 2000).tolist())
    assert list(found) == sorted(found, reverse=True)


def test_loads_that_l1_does_not_keep_are_left_out() -> None:
    touches = Touches({1: 0.0}, 32)
    touches.take(2, np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int64))
    assert touches.misses() == {}
