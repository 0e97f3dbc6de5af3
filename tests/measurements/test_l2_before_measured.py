"""Windows by what L2 held before, by every number of ways, over small tables and random ones.

H200 (measurements/l2/h200-sxm/before); bands are regressions unless a comment says otherwise.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from measured import rows

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.measure.folders import root
from perfmodel.validation.cases import stated

FOLDER = root() / "l2/h200-sxm/before"
DEVICE = stated(load_device("h200-sxm"), {"event_floor": 5.3e-6})
MIB: Final = 2**20
TABLES = {
    "data_reset": ("data-reset", "in", "in_bytes", "out_bytes"),
    "stream_persistent": ("stream-persistent", "persistent", "persistent_bytes", "stream_bytes"),
}


def under(row: dict[str, Any], buffer: str, size: int) -> L2Control:
    """Return the L2 control of a row, with a window over `size` bytes."""
    ratio = row["hit_eighths"] / 8
    window = AccessPolicyWindow(buffer, size, ratio, miss_prop=row.get("miss_prop", "streaming"))
    return L2Control(row["set_mib"] * MIB, window if size and ratio else None)


def of_set(row: dict[str, Any], **how: Any) -> Any:
    return predict(
        "working-set-read",
        device=DEVICE,
        bytes=row["bytes"],
        iterations=row["iterations"],
        l2=under(row, "in", row["bytes"]),
        **how,
    )


def missed_of_sets(state: str, cache: str, first: bool) -> list[float]:
    """Return predicted less counted DRAM reads, over all that is read."""
    off = []
    for row in rows("sets", FOLDER, state=state, timing="profiler"):
        if (row["launch"] == 0) == first:
            found = of_set(row, cache=cache, timing="events").traffic["dram_read_bytes"]
            off.append((found - row["dram_read_bytes"]) / (row["bytes"] * row["iterations"]))
    return off


@pytest.mark.parametrize(
    ("state", "rms"), [("own-plain", 0.05), ("own-window-1", 0.05), ("own-copied", 0.14)]
)
def test_own_lines_stay_under_a_window(state: str, rms: float) -> None:
    # counted: 24 to 64 MiB, hitRatio 1/4 (fitted on, of own-plain) and 1/2. A copy from the host
    # leaves less of 48 MiB and more: those still miss 0.3 where 0.1 is predicted
    off = missed_of_sets(state, "warm", first=False)
    assert len(off) == 30
    assert np.sqrt(np.mean(np.square(off))) < rms


@pytest.mark.parametrize("state", ["others-read", "others-written", "others-memset"])
def test_after_others_lines_streaming_ones_miss(state: str) -> None:
    # counted, fitted on nothing here: 0.02 rms of what is read, whatever brought the others
    off = missed_of_sets(state, "cold", first=True)
    assert len(off) == 10
    assert np.sqrt(np.mean(np.square(off))) < 0.03


def test_times_launch_after_launch() -> None:
    # measured: 24 to 64 MiB after launches without a window, hitRatios of 1/8 to 1/2, 16 and 30 MiB
    # set aside: 4% off in the median
    off = []
    for row in rows("sets", FOLDER, state="own-plain", timing="events", launch=3):
        found = of_set(row, cache="warm", timing="events").time_s * 1e6
        off.append(abs(found / row["time_us"] - 1))
    assert len(off) == 30
    assert np.median(off) < 0.05
    assert np.percentile(off, 90) < 0.11


@pytest.mark.parametrize(
    ("use", "median", "tail"), [("fit", 0.025, 0.07), ("validation", 0.025, 0.07)]
)
def test_every_number_of_ways(use: str, median: float, tail: float) -> None:
    # measured: tables of 1 to 48 MiB, 3 to 10 ways, hitRatios of 1/8 to 1, both missProps: 1.7% in
    # the median and 5.6% at the ninetieth percentile of those not fitted to (2.3% and 9.8% before
    # 6 and 9 ways were measured)
    off = []
    for row in rows("ways", FOLDER, use=use, timing="events", place=0)[::7]:
        kernel, buffer, *names = TABLES[row["function"]]
        sizes = dict(zip(names, (row["table_mib"] * MIB, row["out_mib"] * MIB), strict=True))
        control = under(row, buffer, row["window_mib"] * MIB)
        found = predict(kernel, device=DEVICE, timing="events", cache="warm", l2=control, **sizes)
        off.append(abs(found.time_s * 1e6 / row["time_us"] - 1))
    assert len(off) > 80
    assert np.median(off) < median
    assert np.percentile(off, 90) < tail


def test_small_tables_of_streaming_lines() -> None:
    # counted: of 256 KiB 0.05 of the marked lines' re-reads miss, of 1 MiB 0.2, of 8 MiB all;
    # 0.04 rms of the share missed; no coefficient, but the form was chosen with these rows in view
    off = []
    for row in rows("small", FOLDER, timing="profiler"):
        if row["hit_eighths"] == 0 or row["function"] == "read_persistent":
            continue
        kernel, buffer, *names = TABLES[row["function"]]
        size = row["table_kib"] * 1024
        sizes = dict(zip(names, (size, 512 * MIB), strict=True))
        found = predict(kernel, device=DEVICE, cache="warm", l2=under(row, buffer, size), **sizes)
        (table,) = found.details.traffic.tables
        marked = float(table.lines.streaming[0])
        read = 512 * MIB if row["function"] == "stream_persistent" else 0
        counted = (row["dram_read_bytes"] - read) / (512 * MIB * marked)
        off.append(float(table.lines.streaming_miss[0]) - counted)
    assert len(off) == 40
    assert np.sqrt(np.mean(np.square(off))) < 0.07


def test_gathers_of_which_a_window_marks_lines_streaming() -> None:
    # counted: single floats of tables of 8 to 40 MiB, 15 MiB set aside; of those not picked 0.3 to
    # 0.86 miss, nearly all were said to. DRAM reads 8% off in the median, 25% at most: 8 MiB, of
    # which lines are met more often than Poisson draws say
    off = []
    for row in rows("random", FOLDER, timing="profiler", run=1, set_mib=15, miss_prop="streaming"):
        if row["hit_eighths"] in (0, 8) or row["table_mib"] > 40:
            continue
        size = row["table_mib"] * MIB
        found = predict(
            "gather",
            device=DEVICE,
            cache="warm",
            l2=under(row, "table", size),
            n=24 * MIB,
            run=1,
            table_bytes=size,
        )
        off.append(abs(found.traffic["dram_read_bytes"] / row["dram_read_bytes"] - 1))
    assert len(off) == 12
    assert np.median(off) < 0.1
    assert max(off) < 0.26


def test_gathers_of_tables_longer_than_the_set_aside() -> None:
    # counted: 40 MiB at hitRatio 1 and 20 MiB, of which a way less has room: nearly as many reads
    # miss as with no window, less the more ways there are. Fitted on 8, 28 and 56 MiB
    off = []
    for row in rows("random", FOLDER, timing="profiler", hit_eighths=8):
        if row["table_mib"] not in (20, 40) or not row["set_mib"]:
            continue
        size = row["table_mib"] * MIB
        found = predict(
            "gather",
            device=DEVICE,
            cache="warm",
            l2=under(row, "table", size),
            n=24 * MIB,
            run=row["run"],
            table_bytes=size,
        )
        off.append(abs(found.traffic["dram_read_bytes"] / row["dram_read_bytes"] - 1))
    assert len(off) == 16
    assert np.median(off) < 0.1
    assert max(off) < 0.3
