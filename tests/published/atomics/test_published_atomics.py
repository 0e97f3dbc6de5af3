"""Additions on an A100 as published, 1540 of them: nothing but five rates was taken from them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from perfmodel import predict_many

sys.path.insert(0, str(Path(__file__).parent))

from published import ROUNDS, Row, addition, rows


@pytest.fixture(scope="module")
def errors() -> list[tuple[Row, float]]:
    # The PCIe card has the SXM card's die, SMs and clock.
    known = list(rows())
    found = predict_many(
        addition(),
        device="a100-sxm-40",
        cache="warm",
        blocks=[row.blocks for row in known],
        threads=[row.threads for row in known],
        step=[row.step for row in known],
        dtype=[row.dtype for row in known],
        aggregated=[int(row.dtype == "int32" and row.step == 0) for row in known],
    )
    measured = [ROUNDS * row.blocks * row.threads / row.lanes_per_s for row in known]
    return list(zip(known, (found.time_s / measured - 1).tolist(), strict=True))


def test_all(errors: list[tuple[Row, float]]) -> None:
    # published: SyncPerformance, IISWC 2024
    sizes = np.array([abs(error) for _, error in errors])
    assert len(sizes) == 1540
    assert np.median(sizes) < 0.20
    assert abs(np.median([error for _, error in errors])) < 0.05


def test_one_address(errors: list[tuple[Row, float]]) -> None:
    sizes = [abs(e) for row, e in errors if row.step == 0 and row.blocks * row.threads >= 64]
    assert np.median(sizes) < 0.05
    assert np.quantile(sizes, 0.9) < 0.30


def test_whole_gpu(errors: list[tuple[Row, float]]) -> None:
    large = [abs(e) for row, e in errors if row.step and row.blocks * row.threads >= 100_000]
    assert len(large) > 40
    assert np.median(large) < 0.20
