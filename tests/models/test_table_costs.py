"""Misses of tables at random places: batches of first reads."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.models.l1.l1_tables import EARLY_MISSES
from perfmodel.models.l2.table_costs import thinning_misses


@pytest.mark.parametrize("draws", [240, 2000, 20_000])
@pytest.mark.parametrize("batch", [4, 16])
def test_first_reads_thin_out(draws: int, batch: int) -> None:
    # independent: lines of a table drawn at random, batches of them with one never drawn before
    lines, generator = 2000, np.random.default_rng(5)
    shares, firsts = [], []
    for _ in range(20):
        places = generator.integers(0, lines, draws)
        _, first = np.unique(places, return_index=True)
        new = np.zeros(draws, dtype=bool)
        new[first] = True
        shares.append(np.mean(new.reshape(-1, batch).any(axis=1)))
        firsts.append(np.mean(new))
    found = thinning_misses(np.array([np.mean(firsts)]), np.ones(1), np.array([float(batch)]))
    assert float(found[0]) == pytest.approx(np.mean(shares), abs=0.01)


def test_ends_of_thinning() -> None:
    # property: of few reads a place all batches are alike; of many, the closed form of L1's tables
    few = thinning_misses(np.array([0.9999]), np.array([0.1]), np.array([8.0]))
    assert float(few[0]) == pytest.approx(1 - 0.9**8, rel=0.02)
    many = thinning_misses(np.array([0.01]), np.ones(1), np.array([8.0]))
    closed = float(EARLY_MISSES(new=0.01, k=8.0))
    assert float(many[0]) == pytest.approx(closed, rel=0.02)
