"""Gathers by run, size, table and fetch granularity on an H200: gather/h200-sxm/runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel.hardware import load_device
from perfmodel.kernels.l2_control import L2Control
from perfmodel.measure.folders import root
from perfmodel.prediction import Prediction, predict

FOLDER = root() / "gather/h200-sxm/runs"
MIB = 1 << 20
CUPTI = replace(
    load_device("h200-sxm"), launch_floor=0.608e-6, launch_fetch=0.07e-6, launch_warp=1.6e-9
)


def gather(row: dict[str, Any]) -> Prediction:
    sizes = {name: row[name] for name in ("n", "run", "table_bytes")}
    l2 = L2Control(fetch_granularity=row.get("granularity", 64))
    return predict("gather", device=CUPTI, cache=row["cache"], l2=l2, **sizes)


@pytest.mark.parametrize("mib", [64, 2048])
def test_what_the_next_launch_finds_of_rows_at_random_places(mib: int) -> None:
    # independent: DRAM reads of the third launch in a row, by what different atoms of 64 B are read
    off = []
    for row in rows("kept", FOLDER, kernel="gather", table_bytes=mib * MIB, session=1):
        if row["run"] == 64:
            continue  # as those of 32
        atoms = row["table_bytes"] / 64
        draws = row["n"] / row["run"] * max(1, row["run"] // 16)
        once = atoms * (1 - np.exp(-draws / atoms)) * 64 + 4 * row["n"] / row["run"]
        off.append((gather(row).traffic["dram_read_bytes"] - row["dram_read_bytes"]) / once)
    assert len(off) >= 18
    assert np.sqrt(np.mean(np.square(off))) < 0.075
    assert max(map(abs, off)) < 0.16


@pytest.mark.parametrize("cache", ["cold", "warm"])
@pytest.mark.parametrize("n", [4 * MIB, 24 * MIB])
def test_times_of_gathers_never_fitted_on(n: int, cache: str) -> None:
    # measured: runs of 8 to 64 floats of tables of 1 MiB to 2 GiB
    off = []
    for row in rows("times", FOLDER, kernel="gather", n=n, cache=cache, use="validation"):
        if row["run"] > 1 and row["table_bytes"] in (MIB, 32 * MIB, 2048 * MIB):
            off.append(gather(row).time_s * 1e6 / row["time_us"] - 1)
    assert len(off) == 12
    assert np.sqrt(np.mean(np.square(off))) < 0.07
    assert max(map(abs, off)) < 0.13


def test_what_streams_push_out_of_tables_that_l2_has_room_for() -> None:
    # independent: DRAM reads of 16 Mi floats, warm, of a table of 16 MiB: 8 to 12 MB more than if
    # nothing but the oldest lines went
    found = rows("kept", FOLDER, session=2, n=16 * MIB, table_bytes=16 * MIB, granularity=64)
    for row in found:
        if row["run"] >= 8:
            read = gather(row).traffic["dram_read_bytes"]
            assert read == pytest.approx(row["dram_read_bytes"], rel=0.25)


def test_what_stays_of_tables_that_do_not_fit() -> None:
    # independent: DRAM reads of 4 Mi single floats, warm, of 32 MiB, which L2 holds on both
    # sides; without what stays 74, 90 and 101 MB would come
    for row in rows("kept", FOLDER, session=2, n=4 * MIB, run=1, table_bytes=32 * MIB):
        read = gather(row).traffic["dram_read_bytes"]
        assert read == pytest.approx(row["dram_read_bytes"], rel=0.06)
