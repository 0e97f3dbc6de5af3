"""Blocks that catch up with others, first rounds of blocks, windows after other lines.

H200 (measurements/l2/h200-sxm/moving-sets); bands are regressions unless a comment says otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.kernels import load_kernel
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.measure.folders import root
from perfmodel.validation.sweeps import KERNELS

FOLDER = root() / "l2/h200-sxm/moving-sets"
TURNS = load_kernel(KERNELS / "working-set-turns.toml")
SLIDING = root().parent / "tests" / "published" / "residency" / "sliding-window.toml"


def of_set(row: dict[str, Any], **how: Any) -> Any:
    sizes = {k: row[k] for k in ("bytes", "iterations", "blocks", "shift")}
    return predict(TURNS, device="h200-sxm", **sizes, **how)


@pytest.mark.parametrize(("use", "rms"), [("fit", 0.05), ("validation", 0.08)])
def test_reads_of_blocks_that_have_caught_up_are_one(use: str, rms: float) -> None:
    # counted: 0.04 to 0.64 of the reads do not reach L2; fitted on blocks that move on by 1 (0.038
    # rms), 2 to 8 and 132 not (0.067); by 37 next to none meet, and none is predicted to
    off = []
    for row in rows("counters", FOLDER, use=use):
        if row["shift"] == 37:
            continue
        asked = row["bytes"] * row["iterations"] / 32
        found = of_set(row).traffic["l2_read_sectors"] / asked
        off.append(found - row["l2_read_sectors"] / asked)
    assert len(off) == {"fit": 12, "validation": 48}[use]
    assert np.sqrt(np.mean(np.square(off))) < rms


def test_they_run_faster_than_l2_alone_would_let_them() -> None:
    # measured: 9 to 10.7 TB/s where sets that do not move on reach 8.6; largest error 5.5%, 30%
    # were L2 asked for all
    for row in rows("sets", FOLDER, function="working_set_read", shift=1):
        if row["bytes"] > 5 * 2**20:  # a set of one round waits for instructions
            found = of_set(row, timing="events", cache="warm").time_s * 1e6
            assert found == pytest.approx(row["time_us"], rel=0.07)


def test_who_is_not_known_to_merge_reads_asks_for_all() -> None:
    # property: GPUs without the figure do not merge
    device = replace(load_device("h200-sxm"), merged_sms=None)
    sizes: dict[str, Any] = {"bytes": 56 << 20, "iterations": 60, "shift": 1}
    alone = predict(TURNS, device=device, **sizes)
    merged = predict(TURNS, device="h200-sxm", **sizes)
    assert alone.traffic["l2_read_sectors"] == (56 << 20) * 60 / 32
    assert merged.traffic["l2_read_sectors"] < 0.5 * alone.traffic["l2_read_sectors"]
    assert merged.traffic["dram_read_bytes"] == alone.traffic["dram_read_bytes"]


def test_second_rounds_of_blocks_wait_for_their_tables() -> None:
    # measured: a table of 128 KiB beside a write, 132 SMs; 33 blocks more than run together take
    # 0.5 us longer. Largest error 8%, 12% without that wait
    times = {}
    for row in rows("rounds", FOLDER, function="m_reset", block=1024):
        sizes = {"in_bytes": (8192 - 5) * 16, "out_bytes": row["out_bytes"]}
        found = predict("data-reset", device="h200-sxm", cache="warm", **sizes).time_s * 1e6
        assert found == pytest.approx(row["time_us"], rel=0.09), row["blocks"]
        times[row["blocks"]] = found
    assert times[297] - times[264] > 0.3


def test_sliding_window_whatever_the_blocks() -> None:
    # measured: of a table of 25 MB beside 1 GB the window gains 1.31, 1.32 and 1.30 with blocks of
    # 256, 512 and 1024 threads; here 1.33, 1.33 and 1.31. Times come out 5 to 10% short
    for threads in (256, 512, 1024):
        both = {}
        for row in rows("slide", FOLDER, function="both_mod", block=threads, small_bytes=25000000):
            if row["hit_ratio"] < 1:
                continue
            window = AccessPolicyWindow("small", 25000000) if row["set_bytes"] else None
            found = predict(
                SLIDING,
                device="h200-sxm",
                l2=L2Control(row["set_bytes"], window),
                timing="events",
                cache="warm",
                small_bytes=25000000,
                large_bytes=row["large_bytes"],
                threads=threads,
            )
            both[bool(row["set_bytes"])] = (found.time_s, row["time_us"])
            assert found.time_s * 1e6 == pytest.approx(row["time_us"], rel=0.12)
        predicted, measured = (both[False][i] / both[True][i] for i in (0, 1))
        assert predicted == pytest.approx(measured, abs=0.06)


def test_streaming_lines_find_no_room_among_normal_ones() -> None:
    # measured: of 24 MiB at hitRatio 1/4, after other lines were read, half of the re-reads miss;
    # marked normal instead, or where those lines may leave first, none. The models take L2 as empty
    missed = {
        (r["flush"], r["miss_prop"]): (r["dram_read_bytes"] / r["bytes"] - 1) / 41
        for r in rows("window-counters", FOLDER, bytes=24 << 20, set_mib=16, hit_eighths=2)
    }
    assert missed["plain", "streaming"] > 0.5
    assert missed["plain", "normal"] < 0.001
    assert missed["evict_first", "streaming"] < 0.01
