"""Blocks under another profiler, sets read a few times, dependent loads
(measurements/launch-overhead/h200-sxm/blocks).

H200; all rows are for fitting.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.time.launch import code_fetch

H200 = load_device("h200-sxm")
CUPTI = replace(H200, launch_floor=0.608e-6, launch_fetch=0.07e-6, launch_warp=1.6e-9)
FOLDER = root() / "launch-overhead/h200-sxm/blocks"


def measured(kernel: str, timing: str, cache: str) -> list[dict[str, Any]]:
    return rows("times", FOLDER, kernel=kernel, timing=timing, cache=cache)


@pytest.mark.parametrize("kernel", ["write", "read", "copy"])
def test_warps_start_later_under_cupti(kernel: str) -> None:
    # fitted: 3 clocks a warp; without it writes come out 20% too fast
    found = [r for r in measured(kernel, "profiler", "warm") if r["n"] == 8 << 20]
    assert len(found) == 4
    for row in found:
        sizes = {"bytes": 4 * row["n"], "vector": 4, "block": row["block"]}
        time = predict(kernel, device=CUPTI, timing="profiler", cache="warm", **sizes).time_s
        assert time == pytest.approx(row["time_us"] * 1e-6, rel=0.13)
        if kernel == "write" and row["block"] == 1024:
            blind = replace(CUPTI, launch_warp=None)
            short = predict(kernel, device=blind, timing="profiler", cache="warm", **sizes).time_s
            assert short < 0.85 * time


def test_events_know_nothing_of_a_profiler() -> None:
    sizes: dict[str, Any] = {"bytes": 32 << 20, "vector": 4, "block": 1024}
    one, other = (predict("write", device=d, timing="events", **sizes) for d in (CUPTI, H200))
    fetch = code_fetch(H200, np.ones(1))[0] - CUPTI.launch_fetch
    assert other.time_s - one.time_s == pytest.approx(fetch)


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_sets_read_a_few_times(cache: CacheState) -> None:
    # measured; sets near L2's size are left to what was counted of them
    found = [r for r in measured("set", "profiler", cache) if r["bytes"] <= 24 << 20]
    assert len(found) == 18
    for row in found:
        sizes = {"bytes": row["bytes"], "iterations": row["iterations"]}
        time = predict("working-set-read", device=CUPTI, cache=cache, **sizes).time_s
        assert time == pytest.approx(row["time_us"] * 1e-6, rel=0.17)
        if cache == "cold" and row["iterations"] > 1:
            assert time == pytest.approx(row["time_us"] * 1e-6, rel=0.07)


def test_loads_before_the_last_add_their_latency_though_l2_is_busy() -> None:
    # measured: 8 blocks of 256 threads an SM, floats at random places of 2 MiB
    times = {
        r["depth"]: r["time_us"]
        for r in measured("after", "profiler", "warm")
        if (r["n"], r["run"]) == (270336, 1)
    }
    for depth in (1, 2, 3):
        assert times[depth] - times[depth - 1] == pytest.approx(H200.l2_latency * 1e6, abs=0.05)
    p = predict("gather", device=CUPTI, cache="warm", n=270336, run=1, table_bytes=2 << 20)
    time = p.details.time
    l2, before = time.resources.queueing.bandwidth_s, time.chain.before
    assert before == pytest.approx(H200.l2_latency, rel=0.1)
    assert p.time_s >= CUPTI.launch_floor - 0.13e-6 + time.terms_s["ramp"] + l2 + before
    copy = predict("copy", device=CUPTI, cache="warm", bytes=1 << 20)
    assert copy.details.time.chain.before == 0


def test_jumps_over_code_take_no_longer_where_there_is_more_of_it() -> None:
    # measured, the reason why no term counts a kernel's code: within the clock's resolution
    for timing in ("profiler", "events"):
        found: dict[tuple[int, int], list[float]] = {}
        for row in measured("hops", timing, "warm"):
            found.setdefault((row["hops"], row["blocks"]), []).append(row["time_us"])
        assert len(found) == 6
        for times in found.values():
            assert max(times) - min(times) < 0.06
