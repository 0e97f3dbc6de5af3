"""Bursts of loads of lone sectors, sets that settle, empty kernels
(measurements/latency/h200-sxm/bursts).

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
from perfmodel.models.l2.slices import isolated_sector
from perfmodel.models.latency.batches import LINE_CLOCKS
from perfmodel.models.time.bursts import SERVED_LAST

FOLDER = root() / "latency/h200-sxm/bursts"
H200 = load_device("h200-sxm")
CUPTI = replace(H200, launch_floor=0.608e-6, launch_fetch=0.07e-6, launch_warp=1.6e-9)
MIB = 1 << 20


def burst(**wanted: Any) -> dict[str, Any]:
    """Return the one row of a first burst to the same places each time."""
    given = {"load": 0, "meets": 1, "places": 0, "turn": 0} | wanted
    (row,) = rows("bursts", FOLDER, **given)
    return row


@pytest.mark.parametrize("blocks", [1, 16, 66, 132])
def test_a_load_waits_for_its_lines(blocks: int) -> None:
    # measured: 32 lines against one, a warp on each SM
    lone, dense = (burst(blocks=blocks, warps=1, step=s)["mean_clocks"] for s in (128, 4))
    assert (lone - dense) / 31 == pytest.approx(LINE_CLOCKS(H200), rel=0.25)


@pytest.mark.parametrize("blocks", [132, 264])
@pytest.mark.parametrize("warps", [8, 16, 32])
def test_the_sm_that_l2_serves_last_is_later(blocks: int, warps: int) -> None:
    # fitted: 13 to 22% later than at the rate of loops of such loads
    lone = H200.sm_clock * 132 * 32 / H200.require("l2_read_bandwidth") * isolated_sector(H200)
    asked = warps * 32 * blocks / 132 * lone
    first = burst(blocks=132, warps=1, step=128)["mean_clocks"]
    late = (burst(blocks=blocks, warps=warps, step=128)["cycles"] - first) / asked - 1
    assert late == pytest.approx(SERVED_LAST(H200), abs=0.08)
    (loop,) = rows("bursts", FOLDER, blocks=blocks, warps=warps, step=128, meets=0)
    if warps * blocks >= 16 * 132:
        assert loop["cycles"] / loop["loads"] == pytest.approx(asked, rel=0.13)


def test_a_few_sms_are_served_alike() -> None:
    # measured: the block that takes longest against the middle one, up to 66 SMs
    for blocks in (16, 33, 66):
        for warps in (8, 16, 32):
            row = burst(blocks=blocks, warps=warps, step=128)
            assert row["cycles"] < 1.08 * row["mean_clocks"]


@pytest.mark.parametrize("kernel", ["strided", "sread"])
def test_small_copies_and_reads_of_lone_sectors_take_as_long_as_measured(kernel: str) -> None:
    # measured: blocks of 256 that all run together; 17% rms without line clocks and bursts
    off = []
    for row in rows("times", FOLDER, kernel=kernel, timing="profiler", block=256):
        n, stride = row["n"], row["stride"]
        if stride >= 8 and n <= 135168:
            sizes = {"n": n, "stride": stride, "device": CUPTI, "cache": "warm"}
            time = predict("strided-copy", timing="profiler", **sizes).time_s
            off.append(time * 1e6 / row["time_us"] - 1)
    assert len(off) == 30
    assert np.sqrt(np.mean(np.square(off))) < 0.095
    assert min(off) > -0.15


def test_neither_pages_nor_stores_make_lone_sectors_slow() -> None:
    # measured: warps 4 KiB to 2 MiB apart, stores beside them or none
    for what, n in ((1, 33792), (3, 33792), (1, 67584), (3, 67584)):
        found = [
            r["time_us"]
            for r in rows("times", FOLDER, kernel="move", timing="profiler", step=128, n=n)
            if r["what"] == what
        ]
        assert len(found) == 4
        assert max(found) < 1.04 * min(found)


def test_sets_settle_for_some_launches_only() -> None:
    # counted: DRAM reads from the third launch on stay the same, and are what the model says
    for mib, off in ((48, 0.04), (54, 0.03), (56, 0.03), (58, 0.08), (60, 0.14), (64, 0.07)):
        found = [
            r["dram_read_bytes"] / (r["bytes"] * r["iterations"])
            for r in rows("settling", FOLDER, bytes=mib * MIB, timing="profiler")
            if r["launch"] >= 2
        ]
        passes = 1024 // mib
        sizes: dict[str, Any] = {"bytes": mib * MIB, "iterations": passes, "blocks": 264}
        traffic = predict("working-set-read", device=H200, cache="warm", **sizes).traffic
        missed = float(traffic["dram_read_bytes"]) / (mib * MIB * passes)
        assert missed == pytest.approx(np.mean(found), abs=off)


def test_medians_of_empty_launches_differ_by_more_than_the_floor_is_wanted_to() -> None:
    # measured: medians of 21, where the host waits for each launch, and behind other work
    waited = [r for r in rows("empty", FOLDER) if r["how"].startswith("each")]
    assert len(waited) == 20
    assert np.median([r["longest_us"] - r["shortest_us"] for r in waited]) > 0.5
    queued = [r for r in rows("empty", FOLDER) if r["how"].startswith("queued")]
    assert max(r["longest_us"] - r["shortest_us"] for r in queued) < 0.5
