"""Gathers by fetch granularity, cold: gather.csv of suite/h200-sxm/sweeps and
suite/h100-sxm/sweeps."""

from __future__ import annotations

import numpy as np
import pytest
from measured import rows

from perfmodel.kernels.l2_control import L2Control
from perfmodel.measure.folders import root
from perfmodel.prediction import predict

MIB = 1 << 20


@pytest.mark.parametrize("mib", [16, 32, 64, 128, 256, 2048])
@pytest.mark.parametrize(("device", "together"), [("h200-sxm", 0.05), ("h100-sxm", 0.03)])
def test_dram_bytes_by_run_and_granularity(device: str, mib: int, together: float) -> None:
    # measured: reads within 3%, and with writes; runs of 8 of small tables are 4.6% off on an H200.
    # What is written is the same at each granularity, for a miss takes a whole line of L2 whatever
    # it brings. Counted in several passes, which leave 2.4 MB dirty
    written: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for row in rows("gather", root() / f"suite/{device}/sweeps", table_bytes=mib * MIB):
        if row.get("dram_write_bytes") is None:
            continue
        sizes = {name: row[name] for name in ("n", "run", "table_bytes")}
        l2 = L2Control(fetch_granularity=row["granularity"])
        found = predict("gather", device=device, l2=l2, cache="cold", **sizes).traffic
        counted = found["dram_write_bytes"] + found["dram_replay_bytes"]
        pair = counted, row["dram_write_bytes"]
        total = row["dram_read_bytes"] + pair[1]
        assert found["dram_read_bytes"] == pytest.approx(row["dram_read_bytes"], rel=0.03)
        assert found["dram_read_bytes"] + pair[0] == pytest.approx(total, rel=together)
        written.setdefault((row["n"], row["run"]), []).append(pair)
    assert len(written) >= 4
    for pairs in written.values():
        for each in np.transpose(pairs):
            assert np.ptp(each) < 1e6


@pytest.mark.parametrize(("device", "largest"), [("h200-sxm", 0.08), ("h100-sxm", 0.07)])
def test_times_of_single_floats_by_granularity(device: str, largest: float) -> None:
    # measured: 4 Mi single floats of tables of 16 MiB to 2 GiB, a third of them never fitted to; on
    # an H100 -11% at 64 and 128 MiB while its misses were taken to wait as an H200's
    found = []
    for row in rows(
        "gather", root() / f"suite/{device}/sweeps", run=1, n=4 * MIB, timing="profiler"
    ):
        sizes = {name: row[name] for name in ("n", "run", "table_bytes")}
        l2 = L2Control(fetch_granularity=row["granularity"])
        time = predict("gather", device=device, l2=l2, cache="cold", **sizes).time_s
        found.append(time * 1e6 / row["time_us"] - 1)
    assert len(found) == 18
    assert np.max(np.abs(found)) < largest
