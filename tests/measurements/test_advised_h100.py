"""Advice about L2 held to an H100 (measurements/l2/h100-sxm/advice): sizes that nothing was fitted
to."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest
from measured import rows

from perfmodel.measure.folders import root
from perfmodel.prediction.advise import advise

FOLDER = root() / "l2/h100-sxm/advice"
MIB = 1 << 20
TWO = root() / "l2/h200-sxm/advice/program" / "two-tables.toml"
NAMES = {
    "data_reset": {"table_bytes": "in_bytes", "stream_bytes": "out_bytes"},
    "stream_persistent": {"table_bytes": "persistent_bytes", "stream_bytes": "stream_bytes"},
    "embedding": {n: n for n in ("table_bytes", "stream_bytes", "lookups")},
    "gather": {n: n for n in ("n", "run", "table_bytes")},
    "working_set_read": {"table_bytes": "bytes", "iterations": "iterations"},
    "two_tables": {"table_bytes": "a_bytes", "other_bytes": "b_bytes", "stream_bytes": "bytes"},
}


# Sizes in MiB, but for counts, and how far a promised gain may be from the measured one. Within
# 0.05 are 27 of 37 cases where a window is advised; these are two of each kernel and the worst.
@pytest.mark.parametrize(
    ("function", "sizes", "most"),
    [
        ("data_reset", (7, 500), 0.05),
        ("data_reset", (50, 600), 0.05),
        ("data_reset", (11, 900), 0.12),  # a set-aside full to 0.88 is told to hold it all
        ("stream_persistent", (5, 600), 0.05),
        ("stream_persistent", (22, 1000), 0.07),
        ("embedding", (9, 600, 1500000), 0.05),
        ("gather", (41943040, 2, 48), 0.05),
        ("gather", (20971520, 8, 24), 0.05),
        ("working_set_read", (56, 30), 0.06),
        ("working_set_read", (120, 12), 0.05),
        ("two_tables", (14, 14, 700), 0.05),
        ("two_tables", (8, 25, 800), 0.16),  # 1.25 promised of the longer, 1.11 measured
    ],
)
def test_first_advice_on_windows(function: str, sizes: tuple[int, ...], most: float) -> None:
    # measured, by a program that an H200 ran before; every setting that advice tries is there
    case: dict[str, Any] = {
        column: size * MIB if column.endswith("_bytes") else size
        for column, size in zip(NAMES[function], sizes, strict=True)
    }
    params = {NAMES[function][column]: size for column, size in case.items()}
    found = rows("gains", FOLDER, function=function, **case)
    kernel: Any = TWO if function == "two_tables" else function.replace("_", "-")
    advice = advise(kernel, device="h100-sxm", timing="events", cache="warm", **params)
    option = next(o for o in (*advice.options, *advice.rejected) if o.kind == "residency")
    control = option.prediction.details.setting.control
    assert control.window is not None
    over = "other" if control.window.buffer == "b" else "table"
    times = [
        r["time_us"]
        for r in found
        if (r["set_bytes"], r.get("window_over"), r.get("miss_prop"))
        == (control.set_aside, over, "streaming")
        and r["hit_ratio"] == pytest.approx(control.window.hit_ratio, abs=6e-5)
    ]
    plain = median(r["time_us"] for r in found if not r["set_bytes"] and r["fetch_bytes"] == 64)
    assert option.gain == pytest.approx(plain / median(times), abs=most)
    assert advice.base.time_s * 1e6 == pytest.approx(plain, rel=0.05)
