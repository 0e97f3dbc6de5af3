"""Blocks that wait and compute: in step as long as they wait for L2, out of step by DRAM."""

from __future__ import annotations

import csv
from functools import cache

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.prediction import predict

CLOCK = 1.98e3  # clocks a microsecond: session.toml
WARM_FLOOR, COLD_FLOOR = 2.85, 3.4  # microseconds between events: session.toml


def rows(name: str) -> list[dict[str, str]]:
    with (root() / "latency/h200-sxm/warps" / name).open(newline="") as file:
        return list(csv.DictReader(file))


@cache
def clocks_a_turn(cached: str, turns: int) -> dict[tuple[int, int, int], float]:
    """Return clocks of a turn, by instructions, chains and blocks of an SM; starts taken off."""
    times = {
        tuple(int(r[c]) for c in ("instructions", "chains", "blocks", "turns")): float(r["time_us"])
        for r in rows("crowds.csv")
        if r["cache"] == cached
    }
    return {
        (i, c, b // 132): (t - times[i, c, b, 2]) * CLOCK / (n - 2)
        for (i, c, b, n), t in times.items()
        if n == turns and b <= 16 * 132
    }


@pytest.mark.parametrize("instructions", [96, 192])
def test_blocks_that_wait_for_l2_are_in_step_to_the_end(instructions: int) -> None:
    # measured: each block more costs what its instructions take to issue, nothing hides the wait
    found = clocks_a_turn("warm", 192)
    alone = found[instructions, 8, 1]
    for held in (4, 8, 12, 16):
        together = alone + (held - 1) * (instructions + 8)
        assert found[instructions, 8, held] == pytest.approx(together, rel=0.08)


@pytest.mark.parametrize("instructions", [96, 192])
def test_blocks_that_wait_for_dram_fall_out_of_step(instructions: int) -> None:
    # measured: after 24 turns part of what in step would be lost is hidden
    found = clocks_a_turn("cold", 24)
    for held in (4, 8):
        together = found[instructions, 8, 1] + (held - 1) * (instructions + 8)
        busy = max(found[instructions, 8, 1], held * (instructions + 8))
        assert busy < found[instructions, 8, held] < together - 0.1 * (together - busy)


def test_attention_in_equal_parts() -> None:
    """Regression: rows that `DRIFT_WAITS` was chosen with; without it 5.6 and 11%."""
    device = load_device("h200-sxm")
    errors = []
    for r in [r for r in rows("split.csv") if r["timing"] == "events"][::3]:
        sizes = {c: int(r[c]) for c in ("batch", "heads", "kv_heads", "context", "width", "part")}
        found = predict(
            "decode-attention",
            mapping="split",
            device=device,
            cache="warm" if r["cache"] == "warm" else "cold",
            unroll=1,
            **sizes,
        )
        floor = WARM_FLOOR if r["cache"] == "warm" else COLD_FLOOR
        time = (found.time_s - found.terms_s["launch"]) * 1e6 + floor
        errors.append(abs(time / float(r["time_us"]) - 1))
    assert len(errors) == 26
    assert np.median(errors) < 0.055
    assert np.quantile(errors, 0.9) < 0.12


def test_warps_of_attention_seldom_wait_for_one_another() -> None:
    # measured: in step five warps of a scheduler would each wait 2.6 clocks an instruction
    for r in (r for r in rows("split.csv") if r["timing"] == "profiler" and r["part"] == "400"):
        assert float(r["stall_not_selected"]) < 0.5
