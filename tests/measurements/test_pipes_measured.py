"""Shuffles, products of 64 bits and copies past L1: clocks of an SM
(measurements/instructions/h200-sxm/pipes).

H200. One exponent is fitted to products beside other integers; the rest is independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.models.time.issue import pipe_cycles
from perfmodel.models.time.pipe_contention import mixed_pipes

H200 = load_device("h200-sxm")
FOLDER = root() / "instructions/h200-sxm/pipes"
MADE: dict[str, dict[str, float]] = {
    "mul.hi.u32": {"wide": 1},
    "mul.wide.u32": {"wide": 1},
    "mul.lo.u64": {"imad": 2, "wide": 1, "int32": 1},
    "mul.hi.u64": {"wide": 4, "int32": 3},
}
"""Read from machine code of sm_90 (nvcc 13.0)."""


def measured(table: str, **chosen: Any) -> list[dict[str, Any]]:
    return rows(table, FOLDER, **chosen)


def test_shuffles_pass_where_loads_do() -> None:
    # independent: one clock each, beside shared loads and hits their sum
    found = [r for r in measured("pipes", kernel="mixed") if r["logic"] + r["fmas"] == 0]
    assert len(found) == 10
    for r in found:
        passes = r["shuffles"] + r["loads"] + r["hits"]
        assert r["clocks"] == pytest.approx(passes, rel=0.09)


def clocks(row: dict[str, Any]) -> float:
    """Return what the model says of a turn of a row of products."""
    made = MADE[row["product"]]
    count = {pipe: n * row["products"] for pipe, n in made.items()}
    for pipe, n in (("int32", row["logic"] + row["sums"]), ("fma32", row["fmas"])):
        count[pipe] = count.get(pipe, 0.0) + n
    per_sm = {pipe: np.full(1, float(n * H200.sm_count)) for pipe, n in count.items()}
    return float(mixed_pipes(pipe_cycles(per_sm, H200), True, H200)[0])


def test_products_of_64_bits_take_two_turns() -> None:
    # regression: 16 of them take 16 clocks, and what is issued beside them adds
    found = [r for r in measured("pipes", kernel="products") if r.get("product") in MADE]
    assert len(found) == 13
    errors = [clocks(r) / r["clocks"] - 1 for r in found]
    assert np.sqrt(np.mean(np.square(errors))) <= 0.07
    assert max(map(abs, errors)) <= 0.16


def test_copies_past_l1_hold_it_for_their_stores() -> None:
    # independent: 512 B are four rows of banks, in however many pieces they come
    (alone,) = measured("copies", copies=0, loads=16)
    found = [r for r in measured("copies", copies=1, loads=16, cached=0) if r["rows"] <= 16]
    assert len(found) == 5
    for r in found:
        assert r["clocks"] - alone["clocks"] == pytest.approx(4.0, abs=1.1)
