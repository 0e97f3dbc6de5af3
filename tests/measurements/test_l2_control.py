"""L2 residency, set-asides and fetch granularity against an H200's profiler, sweep by sweep.

Bands are regressions: the median and 90th percentile of |error| of DRAM bytes and of time that were
reached when this was written, with some room; in comments what was reached. Rows marked
`validation` were never fitted on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from measured import FOLDER, rows

from perfmodel.kernels import Kernel, builtin
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.prediction import predict

SUITE = FOLDER.parent / "h200-sxm-suite"
DEVICE = "h200-sxm"
Row = dict[str, Any]


def control(row: Row, buffer: str, **properties: Any) -> L2Control:
    """Return the L2 control of a row."""
    length = row.get("window_mib", 0) << 20
    window = (
        AccessPolicyWindow(buffer, length, row["hit_eighths"] / 8, **properties) if length else None
    )
    return L2Control(
        set_aside=row.get("set_mib", 0) << 20,
        window=window,
        fetch_granularity=row.get("granularity", 64),
    )


@cache
def read_persistent() -> Kernel:
    """stream-persistent without its store, as the microbenchmark of that name."""
    kernel = builtin("stream-persistent")
    return replace(kernel, accesses=kernel.accesses[:2], buffers=kernel.buffers[:2])


def sizes(*names: str) -> Callable[[Row], dict[str, int]]:
    return lambda row: {name: row[name] for name in names}


def free(row: Row) -> bool:
    return not row["set_mib"] and not row["window_mib"]


def windowed(row: Row) -> bool:
    return bool(row["window_mib"])


def aside(row: Row) -> bool:
    return bool(row["set_mib"] and not row["window_mib"])


IN_OUT = sizes("in_bytes", "out_bytes")
TABLE = sizes("persistent_bytes", "stream_bytes")
# name: files, kernel, sizes, buffer of the window, properties, which rows,
# bands: DRAM (median, 90th percentile), time (median, 90th percentile)
SWEEPS: dict[str, tuple[Any, ...]] = {
    "table beside a write": (
        ("data-reset", "data-reset-knee"),
        *("data-reset", IN_OUT, "in", {}, free),
        *((0.01, 0.02), (0.05, 0.1)),
    ),
    "windows beside a write": (
        ("data-reset",),
        *("data-reset", IN_OUT, "in", {}, windowed),
        *((0.01, 0.04), (0.06, 0.15)),
    ),
    "set-asides beside a write": (
        ("data-reset",),
        *("data-reset", IN_OUT, "in", {}, aside),
        *((0.03, 0.08), (0.06, 0.1)),
    ),
    "missProp normal": (
        ("data-reset-properties",),
        *("data-reset", IN_OUT, "in", {"miss_prop": "normal"}, windowed),
        *((0.045, 0.1), (0.13, 0.18)),
    ),
    "a stream marked streaming": (
        ("data-reset-out-window",),
        *("data-reset", IN_OUT, "out", {"hit_prop": "streaming"}, windowed),
        *((0.02, 0.03), (0.2, 0.2)),
    ),
    "table beside a copy": (
        ("stream-persistent", "stream-persistent-knee"),
        *("stream-persistent", TABLE, "persistent", {}, free),
        *((0.01, 0.02), (0.02, 0.03)),
    ),
    "windows beside a copy": (
        ("stream-persistent",),
        *("stream-persistent", TABLE, "persistent", {}, windowed),
        *((0.01, 0.02), (0.06, 0.17)),
    ),
    "set-asides beside a copy": (
        ("stream-persistent",),
        *("stream-persistent", TABLE, "persistent", {}, aside),
        *((0.02, 0.03), (0.04, 0.06)),
    ),
    "table beside a read": (
        ("read-persistent", "read-persistent-knee"),
        *(None, TABLE, "persistent", {}, free),
        *((0.03, 0.04), (0.1, 0.16)),
    ),
    "windows beside a read": (
        ("read-persistent",),
        *(None, TABLE, "persistent", {}, windowed),
        *((0.01, 0.02), (0.11, 0.195)),
    ),
    # The measured kernel turns its blocks by a 64-bit remainder, which the described one does not:
    # at 1 and 2 MiB that is most of its time.
    "working set": (
        ("working-set-read",),
        *("working-set-read", sizes("bytes", "iterations"), "in", {}, free),
        *((0.02, 0.25), (0.07, 0.235)),
    ),
    "windows over a working set": (
        ("working-set-read",),
        *("working-set-read", sizes("bytes", "iterations"), "in", {}, windowed),
        *((0.11, 0.36), (0.11, 0.18)),
    ),
    "embedding": (
        ("embedding",),
        *("embedding", sizes("table_bytes", "stream_bytes", "lookups"), "table", {}, None),
        *((0.04, 0.09), (0.22, 0.31)),
    ),
    "gather": (
        ("gather",),
        *("gather", sizes("n", "run", "table_bytes"), "table", {}, None),
        *((0.03, 0.08), (0.15, 0.24)),
    ),
}


@cache
def errors(name: str, use: str) -> tuple[np.ndarray, np.ndarray]:
    """Predicted over measured, minus 1: DRAM bytes, and time."""
    files, kernel, params, buffer, properties, chosen, *_ = SWEEPS[name]
    dram, time = [], []
    for file in files:
        for row in rows(file, SUITE, timing="profiler", use=use):
            if (chosen and not chosen(row)) or row.get("shift"):
                continue
            found = predict(
                kernel or read_persistent(),
                device=DEVICE,
                l2=control(row, buffer, **properties),
                **params(row),
            )
            moved = found.traffic["dram_read_bytes"] + found.traffic["dram_write_bytes"]
            dram.append(moved / (row["dram_read_bytes"] + row["dram_write_bytes"]) - 1)
            time.append(found.time_s * 1e6 / row["time_us"] - 1)
    assert time, (name, use)
    return np.array(dram), np.array(time)


@pytest.mark.parametrize("use", ["fit", "validation"])
@pytest.mark.parametrize("name", SWEEPS)
def test_sweeps_stay_in_their_bands(name: str, use: str) -> None:
    *_, dram_band, time_band = SWEEPS[name]
    for what, found, band in zip(
        ("DRAM bytes", "time"), errors(name, use), (dram_band, time_band), strict=True
    ):
        size = np.abs(found)
        reached = (float(np.median(size)), float(np.percentile(size, 90)))
        assert reached[0] <= band[0], (name, use, what, reached)
        assert reached[1] <= band[1], (name, use, what, reached)


@pytest.mark.parametrize("use", ["fit", "validation"])
def test_windows_reach_what_was_asked_for(use: str) -> None:
    # set-aside x window x hitRatio: DRAM bytes within 4% and time within 6% in the median
    names = ("windows beside a write", "windows beside a copy")
    dram, time = (np.concatenate([errors(n, use)[i] for n in names]) for i in (0, 1))
    assert np.median(np.abs(dram)) < 0.04
    assert np.median(np.abs(time)) < 0.06


def test_streams_beside_an_idle_set_aside() -> None:
    # the slowdown at equal DRAM bytes; reads lose nothing
    found = []
    for file in ("set-aside-streams", "set-aside-mixtures"):
        for row in rows(file, SUITE, timing="profiler", mib=512):
            if row["stream"] not in ("copy", "read", "write") or row.get("resident", 8) != 8:
                continue
            p = predict(row["stream"], device=DEVICE, bytes=row["bytes"], l2=control(row, "in"))
            found.append(p.time_s * 1e6 / row["time_us"] - 1)
    assert len(found) > 30
    assert np.median(np.abs(found)) < 0.04
    assert np.percentile(np.abs(found), 90) < 0.08


def test_over_fetch_of_strided_copies() -> None:
    # 64 B at the default: 2 x the sectors at strides of 16 floats; 1 x at 32 B, 4 x at 128 B
    for row in rows("strided-granularity", SUITE, function="strided_copy", timing="profiler"):
        p = predict(
            "strided-copy", device=DEVICE, n=row["n"], stride=row["stride"], l2=control(row, "in")
        )
        assert p.traffic["dram_read_bytes"] == pytest.approx(row["dram_read_bytes"], rel=0.01), row
        assert p.time_s * 1e6 == pytest.approx(row["time_us"], rel=0.12), row


def test_advice_on_the_articles_case_is_measured() -> None:
    # 16 MiB table, 8 MiB set aside: hitRatio 0.5 over all of it, or better; the gain within 0.05
    from perfmodel.prediction.advise import advise

    timed = {
        (r["set_mib"], r["window_mib"], r["hit_eighths"]): r["time_us"]
        for r in rows("stream-persistent", SUITE, timing="events", cache="cold", stream_mib=4096)
        if r["persistent_mib"] == 16
    }
    measured = timed[0, 0, 8] / timed[8, 16, 4]
    found = advise(
        "stream-persistent",
        device=DEVICE,
        l2=L2Control(set_aside=8 << 20),
        persistent_bytes=16 << 20,
    )
    best = found.options[0]
    assert best.kind == "residency"
    half = predict(
        "stream-persistent",
        device=DEVICE,
        l2=L2Control(8 << 20, AccessPolicyWindow("persistent", 16 << 20, 0.5)),
        persistent_bytes=16 << 20,
    )
    assert found.base.time_s / half.time_s == pytest.approx(measured, abs=0.05)
    assert best.gain >= found.base.time_s / half.time_s - 1e-9
