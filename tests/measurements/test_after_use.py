"""Persisting lines after use, what a limit sets aside, and lines that hitRatio does not pick.

H200 (measurements/l2/h200-sxm/after-use), fitted on nothing; bands are regressions unless a comment
says otherwise.
"""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.measure.folders import root
from perfmodel.models.l2.residency import granted
from perfmodel.prediction.l2_rules import percent_of_l2

FOLDER = root() / "l2/h200-sxm/after-use"
DEVICE = load_device("h200-sxm")
MIB = 1 << 20


LIMITS = tomllib.loads((FOLDER / "session.toml").read_text(encoding="utf-8"))["limits"]


def test_a_limit_is_whole_ways() -> None:
    # measured: what cudaDeviceGetLimit reads back, to the byte
    asked, given = LIMITS["asked_bytes"], LIMITS["given_bytes"]
    assert len(asked) == 17
    assert [float(granted(size, DEVICE.l2_size)) for size in asked] == given


def test_the_environment_sets_a_share_of_l2_aside() -> None:
    # measured: percentages of all of L2, rounded up to ways; the one that is told gives the same
    shares, given = LIMITS["asked_percent"], LIMITS["given_by_percent_bytes"]
    assert len(shares) == 10
    for percent, size in zip(shares, given, strict=True):
        assert granted(DEVICE.l2_size * percent / 100, DEVICE.l2_size) == size
        told = DEVICE.l2_size * percent_of_l2(size, DEVICE) / 100
        assert granted(told, DEVICE.l2_size) == size


def next_kernel(row: dict[str, Any], left: int) -> float:
    kernel, sizes = {
        "set_read": ("working-set-read", {"bytes": row["after_mib"] * MIB, "iterations": 40}),
        "data_reset": ("data-reset", {"in_bytes": row["after_mib"] * MIB, "out_bytes": 1 << 30}),
        "write_all": ("write", {"bytes": row["after_mib"] * MIB}),
    }[row["function"]]
    aside = 0 if row["done"] == "limit-zero" else row["set_mib"]
    others = (AccessPolicyWindow("", left * MIB),) if left else ()
    chosen: dict[str, Any] = dict(sizes)
    found = predict(
        kernel,
        device=DEVICE,
        timing="events",
        l2=L2Control(set_aside=aside * MIB),
        concurrent=others,
        **chosen,
    )
    return found.time_s * 1e6 / row["time_us"] - 1


def after_use(done: tuple[str, ...], persisted: bool) -> list[dict[str, Any]]:
    return [
        r
        for r in rows("after-use", FOLDER)
        if r["done"] in done
        and r["function"] != "none"
        and bool(r["persisted_mib"]) == persisted
        and "set_mib" in r  # not as the driver starts
    ]


def test_lines_that_stay_take_l2_from_the_next_kernel() -> None:
    # 0.05 off in the median, 0.33 at worst (data_reset, a long launch: such lines fade, which no
    # model says); were they not there, sets of 40 and 48 MiB would be 0.36 to 0.42 too short
    off = [next_kernel(r, r["persisted_mib"]) for r in after_use(("nothing",), True)]
    assert len(off) == 16
    assert np.median(np.abs(off)) < 0.06
    assert np.max(np.abs(off)) < 0.34


def test_all_three_calls_reset_them() -> None:
    # measured: within 6% of the time where nothing persisted, and predicted so
    resets = ("reset", "normal-window", "limit-zero")
    clean = {
        (r["function"], r["after_mib"], r["set_mib"]): r["time_us"]
        for r in after_use(("nothing",), False)
    }
    found = [r for r in after_use(resets, True) if r["set_mib"] == 30]
    assert len(found) == 24
    for row in found:
        aside = 0 if row["done"] == "limit-zero" else 30
        before = clean[row["function"], row["after_mib"], aside]
        assert row["time_us"] == pytest.approx(before, rel=0.06)
    assert np.median(np.abs([next_kernel(r, 0) for r in found])) < 0.05


def test_traffic_and_not_time_makes_them_normal() -> None:
    # measured: a pause of a second loses none of the probed lines, 2 GiB read by others half, 8 all
    kept = {
        r["done"]: r["kept"]
        for r in rows("after-use", FOLDER, function="none", persisted_mib=24, set_mib=30)
    }
    assert kept["wait-1s"] == 1.0
    assert 0.4 < kept["read-2gib"] < 0.6 < kept["read-1gib"] < 1.0
    assert kept["read-8gib"] < 0.05


def test_lines_that_are_not_picked() -> None:
    # DRAM reads 0.8% off in the median with streaming lines, 1.0% with normal ones; times 2.2% and
    # 1.8%, at worst 26%: a large set-aside beside writes
    for prop, bytes_band, time_band in (("streaming", 0.012, 0.03), ("normal", 0.015, 0.03)):
        moved, times = [], []
        for row in rows("miss-prop", FOLDER, miss_prop=prop):
            table, out = row["table_mib"] * MIB, row["out_mib"] * MIB
            kernel, buffer, sizes = (
                ("data-reset", "in", {"in_bytes": table, "out_bytes": out})
                if row["function"] == "data_reset"
                else (
                    *("stream-persistent", "persistent"),
                    {"persistent_bytes": table, "stream_bytes": out},
                )
            )
            ratio = row["hit_sixteenths"] / 16
            window = AccessPolicyWindow(buffer, table, ratio, miss_prop=prop)
            chosen: dict[str, Any] = dict(sizes)
            found = predict(
                kernel,
                device=DEVICE,
                timing=row["timing"],
                cache=row["cache"],
                l2=L2Control(row["set_mib"] * MIB, window),
                **chosen,
            )
            times.append(abs(found.time_s * 1e6 / row["time_us"] - 1))
            if row["timing"] == "profiler":
                read = found.traffic["dram_read_bytes"]
                moved.append(abs(read / row["dram_read_bytes"] - 1))
        assert len(moved) > 50
        assert np.median(moved) < bytes_band
        assert np.median(times) < time_band
