"""Gathers and lookups on an H200: rounds of blocks, and windows over random tables."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel.hardware import load_device
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.measure.folders import root
from perfmodel.models.time.last_block import LAST_TIME
from perfmodel.prediction import Prediction, predict
from perfmodel.prediction.advise import advise
from perfmodel.prediction.figures_used import derive

FOLDER = root() / "gather/h200-sxm/blocks"
MIB = 1 << 20
CUPTI = replace(
    load_device("h200-sxm"), launch_floor=0.608e-6, launch_fetch=0.07e-6, launch_warp=1.6e-9
)


def sizes_of(row: dict[str, Any]) -> dict[str, int]:
    names = ("n", "run", "table_bytes", "stream_bytes", "lookups")
    return {name: int(row[name]) for name in names if row.get(name) is not None}


def under(row: dict[str, Any]) -> Prediction:
    """Return the prediction of a row of windows.csv."""
    window = AccessPolicyWindow("table", row["window_bytes"], row["hit_ratio"])
    control = L2Control(row["set_bytes"], window if row["set_bytes"] else None, row["fetch_bytes"])
    sizes = sizes_of(row)
    return predict(
        row["function"], device="h200-sxm", timing="events", cache="warm", l2=control, **sizes
    )


def test_dram_reads_of_random_tables_without_windows() -> None:
    # independent: nothing fitted to their bytes; with one line of L2 for each that is written, not
    # one and a half, all but one miss 6 to 14% too little
    off = []
    for row in rows("windows", FOLDER, round=1, function="gather", set_bytes=0, fetch_bytes=64):
        if row.get("dram_read_bytes") is not None:
            off.append(under(row).traffic["dram_read_bytes"] / row["dram_read_bytes"] - 1)
    assert len(off) == 7
    assert median(map(abs, off)) < 0.03
    assert max(map(abs, off)) < 0.12


def test_dram_reads_of_random_tables_under_windows() -> None:
    # independent: 51 launches counted, nothing fitted to their bytes; before, lines kept by the
    # launch before were read again, 17 MB of 24 MiB looked up, and half as much was lost of those
    # that a set-aside has no room for
    off = []
    for row in rows("windows", FOLDER, round=1):
        if row["set_bytes"] and row.get("dram_read_bytes") is not None:
            read = under(row).traffic["dram_read_bytes"]
            off.append(read / row["dram_read_bytes"] - 1)
    assert len(off) == 51
    assert median(map(abs, off)) < 0.035
    assert np.quantile(np.abs(off), 0.9) < 0.11


def test_lines_of_a_set_aside_outlast_the_launch() -> None:
    # independent: with room for all of a table only the indices are read again
    (row,) = rows(
        "windows",
        FOLDER,
        round=1,
        function="gather",
        run=16,
        table_bytes=28 * MIB,
        set_bytes=30 * MIB,
    )
    assert row["dram_read_bytes"] == pytest.approx(row["n"] / row["run"] * 4, rel=0.03)
    found = under(row).traffic["dram_read_bytes"]
    assert found == pytest.approx(row["dram_read_bytes"], rel=0.03)


@pytest.mark.parametrize(
    ("n", "run", "mib", "best", "band"),
    [
        (20971520, 4, 20, 1.179, 0.11),  # 1.28: the launch without one takes 6% less than is said
        (12582912, 16, 16, 1.187, 0.085),  # 1.26 where 1.177 is
        (20971520, 32, 36, 1.108, 0.075),  # 1.12 where 1.048 is: ten ways lose more than is said
        (29360128, 8, 56, 1.003, 0.02),
        (33554432, 1, 32, 0.974, 0.09),
    ],
)
def test_advice_on_gathers(n: int, run: int, mib: int, best: float, band: float) -> None:
    # measured, rows for validation: what the advised window gains, and the best of those tried. Of
    # 32 MiB in single floats a window loses, where 1.04 is promised: far too many of its lines
    # cross the sides of L2
    sizes: dict[str, Any] = {"n": n, "run": run, "table_bytes": mib * MIB}
    case = rows("windows", FOLDER, function="gather", use="validation", **sizes)
    plain = median(r["time_us"] for r in case if not r["set_bytes"] and r["fetch_bytes"] == 64)
    advice = advise("gather", device="h200-sxm", timing="events", cache="warm", **sizes)
    assert advice.base.time_s * 1e6 == pytest.approx(plain, rel=0.07)
    option = next(o for o in (*advice.options, *advice.rejected) if o.kind == "residency")
    control = option.prediction.details.setting.control
    assert control.window is not None
    found = [
        r["time_us"]
        for r in case
        if r["set_bytes"] == control.set_aside
        and r["hit_ratio"] == pytest.approx(control.window.hit_ratio, abs=6e-5)
    ]
    if not found:  # set-asides of 3.75 and 11.25 MiB were not measured: no gain is promised there
        assert option.gain < 1.02
        assert best < 1.02
        return
    assert option.gain == pytest.approx(plain / median(found), abs=band)


@pytest.mark.parametrize("use", ["fit", "validation"])
def test_gains_of_windows_over_lookups(use: str) -> None:
    # measured: 86 settings of eight tables beside streams. One after the other, a row that misses
    # and the stream, gains came out 0.13 and 0.144 too high, 0.041 and 0.052 rms
    off = []
    plain: dict[tuple[int, ...], tuple[float, float]] = {}
    for row in rows("windows", FOLDER, function="embedding", use=use, round=1, fetch_bytes=64):
        case = tuple(sizes_of(row).values())
        times = row["time_us"], under(row).time_s * 1e6
        if not row["set_bytes"]:
            assert times[1] == pytest.approx(times[0], rel=0.08)
            plain[case] = times
        else:
            one, other = plain[case]
            off.append(other / times[1] - one / times[0])
    assert len(off) > 40
    assert np.sqrt(np.mean(np.square(off))) < 0.025
    assert max(map(abs, off)) < 0.05


def test_a_larger_fetch_makes_few_waits_of_lookups_rarer() -> None:
    # measured, rows marked fit: lookups in 8 MiB beside 40 MiB gain 1.02 by 128 B and lose as much
    # by 32 B; where each warp waits for what it fetches itself they come out as 1.05 and 0.97
    case = {"function": "embedding", "use": "fit", "table_bytes": 8 * MIB, "set_bytes": 0}
    found = {r["fetch_bytes"]: r for r in rows("windows", FOLDER, round=1, **case)}
    for fetched in (32, 128):
        gain = found[64]["time_us"] / found[fetched]["time_us"]
        predicted = under(found[64]).time_s / under(found[fetched]).time_s
        assert predicted == pytest.approx(gain, abs=0.02)


def test_blocks_that_start_together_take_turns() -> None:
    # independent: gathers in runs of 8 and 48, 1056 blocks, 8 on an SM: what the first of them last
    # longer than one alone, by clocks that they read, and what the model has for it
    for run in (8, 48):
        alone, many = (
            rows(
                "blocks", FOLDER, function="gather", cache="warm", n=n, run=run, table_bytes=2 * MIB
            )[0]["life_mean"]
            for n in (33792, 270336)
        )
        found = predict(
            "gather", device=CUPTI, cache="warm", n=270336, run=run, table_bytes=2 * MIB
        )
        (last,) = (node for node in derive(found).formulas if node.name == LAST_TIME.name)
        held, contention = (
            float(np.ravel(last.named[name].value)[0]) for name in ("concurrent", "contention")
        )
        turns = contention * (1 - 1 / held) / 2 * CUPTI.sm_clock
        assert held == 8
        assert turns == pytest.approx(many - alone, rel=0.25)


def test_rounds_of_blocks() -> None:
    # independent: CUPTI (gather/h200-sxm/tables), gathers in runs of 8 and 48 of 2 MiB, 1 to 16
    # rounds; 8 to 13% too fast where blocks of later rounds started without those before them
    off = []
    for row in rows(
        "times", root() / "gather/h200-sxm/tables", part="small", kernel="gather", cache="warm"
    ):
        if row["run"] in (8, 48) and row["table_bytes"] == 2 * MIB and row["n"] < 1 << 23:
            found = predict("gather", device=CUPTI, cache="warm", **sizes_of(row))
            off.append(found.time_s * 1e6 / row["time_us"] - 1)
    assert len(off) >= 24
    assert np.sqrt(np.mean(np.square(off))) < 0.035
    assert max(map(abs, off)) < 0.08
