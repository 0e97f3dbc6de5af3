"""What cold launches leave dirty in an H100's L2, and what a profiler's passes add:
dram/h100-sxm/dirty-lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel.kernels.l2_control import L2Control
from perfmodel.measure.folders import root
from perfmodel.prediction import predict

DIRTY = root() / "dram/h100-sxm/dirty-lines"


def traffic(row: dict[str, Any]) -> dict[str, float]:
    """Return what is predicted of a row."""
    sizes = ("bytes", "vector") if row["function"] != "gather" else ("n", "run", "table_bytes")
    given: dict[str, Any] = {name: int(row[name]) for name in sizes}
    l2 = L2Control(fetch_granularity=int(row.get("granularity") or 64))
    name = row["function"]
    return dict(predict(name, device="h100-sxm", cache="cold", l2=l2, **given).traffic)


@pytest.mark.parametrize(
    ("function", "most"), [("copy", 0.6e6), ("write", 0.3e6), ("gather", 0.5e6)]
)
def test_bytes_that_stay(function: str, most: float) -> None:
    # measured, fit rows: 4 to 50 MB written. Reads and writes together are within 2.5%
    off = []
    for row in rows("dirty", DIRTY, function=function):
        found = traffic(row)
        off.append(found["dram_write_bytes"] - row["dram_write_bytes"])
        moved = row["dram_read_bytes"] + row["dram_write_bytes"]
        if function != "write":
            both = found["dram_read_bytes"] + found["dram_write_bytes"]
            assert both == pytest.approx(moved, rel=0.025)
    assert np.max(np.abs(off)) < most


def test_hits_keep_less_dirty() -> None:
    # measured: tables of 8 to 64 MiB, most of whose lines are drawn again
    found = [
        row for row in rows("passes", DIRTY, function="gather", passes="one") if row["run"] < 64
    ]
    chosen = [row for row in found if row["flushed"] == "profiler"]
    assert len(chosen) == 21
    for row in chosen:
        written = traffic(row)["dram_write_bytes"]
        assert written == pytest.approx(row["dram_write_bytes"], abs=0.85e6)


def test_passes_of_a_profiler_leave_dirty_lines() -> None:
    # measured: 2.3 to 2.4 MB are written by reads of 64 MiB and more that several passes counted,
    # next to nothing in one pass
    for row in rows("passes", DIRTY, function="mix", reads=1, writes=0, flushed="profiler"):
        counted = {"function": "read", "bytes": row["bytes"], "vector": row["vector"]}
        found = traffic(counted)
        assert found["dram_write_bytes"] == 0
        if row["passes"] == "several":
            extra = found["dram_replay_bytes"]
            assert extra == pytest.approx(row["dram_write_bytes"], abs=0.5e6)
        else:
            assert row["dram_write_bytes"] < 0.1e6
