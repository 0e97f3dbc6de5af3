"""Gathers by fetch granularity, cold: gather.csv of h200-sxm-suite and h100-sxm-suite."""

from __future__ import annotations

import numpy as np
import pytest
from measured import rows

from perfmodel.kernels.l2_control import L2Control
from perfmodel.measure.folders import root
from perfmodel.prediction import predict

MIB = 1 << 20


@pytest.mark.parametrize(
    ("device", "mib", "together"),
    [
        *(("h200-sxm", mib, 0.03) for mib in (16, 32, 64, 2048)),
        *(("h100-sxm", mib, 0.03) for mib in (16, 32, 64)),
        ("h100-sxm", 2048, 0.04),  # of runs of 32, 0.7 MB too much is written of 19
    ],
)
def test_dram_bytes_by_run_and_granularity(device: str, mib: int, together: float) -> None:
    # measured: reads within 3%, and with writes, as asked; what is written is the same at each
    # granularity, for a miss takes a whole line of L2 whatever it brings
    written: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for row in rows("gather", root() / f"{device}-suite", table_bytes=mib * MIB):
        if row.get("dram_write_bytes") is None:
            continue
        sizes = {name: row[name] for name in ("n", "run", "table_bytes")}
        l2 = L2Control(fetch_granularity=row["granularity"])
        found = predict("gather", device=device, l2=l2, cache="cold", **sizes).traffic
        pair = found["dram_write_bytes"], row["dram_write_bytes"]
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
    for row in rows("gather", root() / f"{device}-suite", run=1, n=4 * MIB, timing="profiler"):
        sizes = {name: row[name] for name in ("n", "run", "table_bytes")}
        l2 = L2Control(fetch_granularity=row["granularity"])
        time = predict("gather", device=device, l2=l2, cache="cold", **sizes).time_s
        found.append(time * 1e6 / row["time_us"] - 1)
    assert len(found) == 18
    assert np.max(np.abs(found)) < largest
