"""Launches of 1 to 30 us on an H100 by CUPTI: what is beside an empty one, and late first reads.

All rows were fitted on or looked at; each band is about 1.3 times what is reached.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import pytest
from measured import rows, times

from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.models.time.launch import TRACED_COLD

FOLDER = root() / "launch-overhead/h100-sxm/short"
H100 = load_device("h100-sxm")
FLOOR = 0.864e-6
TRACED = replace(H100, launch_floor=FLOOR, launch_fetch=0.0, launch_warp=1.6e-9)


def found(**wanted: Any) -> list[dict[str, Any]]:
    """Return rows timed by CUPTI; cold ones after reads of other data."""
    if wanted["cache"] == "cold":
        wanted["flush"] = "read"
    with_flush = [r | {"flush": r.get("flush", "")} for r in rows("times", FOLDER)]
    wanted["timing"] = "profiler"
    chosen = [r for r in with_flush if all(r.get(k) == v for k, v in wanted.items())]
    assert chosen
    return chosen


def errors(chosen: list[dict[str, Any]]) -> np.ndarray:
    """Return predicted over measured times of streams, less one."""
    names = ("vector", "block", "bytes")
    launches = [
        {n: int(r[n]) for n in names}
        | {"kernel": r["kernel"], "device": TRACED, "timing": "profiler", "cache": r["cache"]}
        for r in chosen
    ]
    measured = np.array([r["time_us"] for r in chosen]) * 1e-6
    return times(launches, ("bytes",)) / measured - 1


def streams(kernel: str, cache: str) -> list[dict[str, Any]]:
    return [r for r in found(kernel=kernel, cache=cache) if "bytes" in r and 0 < r["bytes"] < 17e6]


def test_what_work_goes_on_beside_of_an_empty_launch() -> None:
    assert H100.block_dispatch_rate is not None
    many = [
        r["time_us"] - r["grid"] / H100.block_dispatch_rate * 1e6
        for r in found(kernel="empty", cache="warm")
        if r["grid"] >= 1056 and r["block"] <= 256
    ]
    assert len(many) >= 10
    beyond = median(many) * 1e-6
    other = 0.896e-6  # one block in operators/h100-sxm/pytorch
    assert H100.launch_beside is not None
    assert FLOOR - beyond < H100.launch_beside < other - beyond


def test_what_a_cold_launch_takes_longer() -> None:
    warm, cold = (
        {
            (r["session"], r["block"], r["grid"]): r["time_us"]
            for r in found(kernel="empty", cache=c)
        }
        for c in ("warm", "cold")
    )
    assert median(cold[k] - warm[k] for k in warm) == pytest.approx(
        TRACED_COLD(H100) * 1e6, abs=0.005
    )


@pytest.mark.parametrize(
    ("kernel", "cache", "typical", "nearly_all"),
    [
        ("write", "warm", 0.025, 0.065),
        ("read", "warm", 0.035, 0.075),
        ("copy", "warm", 0.04, 0.11),
        ("write", "cold", 0.035, 0.07),
        ("read", "cold", 0.04, 0.085),
        ("copy", "cold", 0.045, 0.09),
    ],
)
def test_short_streams(kernel: str, cache: str, typical: float, nearly_all: float) -> None:
    off = np.abs(errors(streams(kernel, cache)))
    assert len(off) >= 90
    assert np.median(off) < typical
    assert np.quantile(off, 0.9) < nearly_all


def test_late_first_reads_end_while_blocks_are_handed_out() -> None:
    # 1 MiB by 1024 blocks takes 0.26 us more cold than warm, by 256 blocks 0.6
    for block, grid in ((64, 1024), (256, 256)):
        chosen = [
            found(kernel="read", cache=c, vector=16, block=block, bytes=1 << 20)
            for c in ("warm", "cold")
        ]
        assert all(r["grid"] == grid for r in [*chosen[0], *chosen[1]])
        warm, cold = (median(r["time_us"] for r in several) for several in chosen)
        predicted = [(1 + errors(s)[0]) * s[0]["time_us"] for s in chosen]
        assert predicted[1] - predicted[0] == pytest.approx(cold - warm, abs=0.08)


def test_blocks_start_sooner_than_they_are_handed_out() -> None:
    # what `idle` of `COLD_START` rests on: the ends of blocks wait in line, not their starts
    lives = rows("lives", FOLDER, cache="cold", vector=16, block=64)
    assert len(lives) == 1024
    assert H100.block_dispatch_rate is not None
    assert max(r["start_ns"] for r in lives) < 0.5e9 * len(lives) / H100.block_dispatch_rate
    assert max(r["cycles"] for r in lives) > 1.4 * median(r["cycles"] for r in lives)
