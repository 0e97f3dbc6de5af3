"""L2 residency, set-asides and fetch granularity against two GPUs' profilers, sweep by sweep.

Bands are regressions: the median and 90th percentile of |error| of DRAM bytes and of time that were
reached when this was written, with some room; in comments what was reached. Rows marked
`validation` were never fitted on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from measured import FOLDER, rows

from perfmodel.hardware import load_device
from perfmodel.kernels import Kernel, builtin, load_kernel
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.models.dram.writeback_loss import DramMix, SetAside, writeback_loss
from perfmodel.models.l2.set_overflow import overflow
from perfmodel.prediction import predict
from perfmodel.validation.sweeps import KERNELS

SUITE = FOLDER.parents[2] / "suite/h200-sxm/sweeps"
DEVICE = "h200-sxm"
H100 = FOLDER.parents[2] / "l2/h100-sxm/set-aside"
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
TURNS = load_kernel(KERNELS / "working-set-turns.toml")
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
        *((0.02, 0.03), (0.05, 0.065)),  # time 4.7%, 6.1%: what crosses L2 is as counted
    ),
    "table beside a copy": (
        ("stream-persistent", "stream-persistent-knee"),
        *("stream-persistent", TABLE, "persistent", {}, free),
        *((0.01, 0.02), (0.02, 0.03)),
    ),
    "windows beside a copy": (
        ("stream-persistent",),
        *("stream-persistent", TABLE, "persistent", {}, windowed),
        *((0.01, 0.02), (0.035, 0.1)),
    ),
    "set-asides beside a copy": (
        ("stream-persistent",),
        *("stream-persistent", TABLE, "persistent", {}, aside),
        *((0.02, 0.03), (0.04, 0.06)),
    ),
    "table beside a read": (
        ("read-persistent", "read-persistent-knee"),
        *(None, TABLE, "persistent", {}, free),
        *((0.03, 0.04), (0.031, 0.05)),  # time 3.0%, 3.8%
    ),
    "windows beside a read": (
        ("read-persistent",),
        *(None, TABLE, "persistent", {}, windowed),
        *((0.01, 0.022), (0.04, 0.09)),  # bytes 2.16%, time 3.5%, 7.9%
    ),
    # The measured kernel turns its blocks by a 64-bit remainder, which the built-in does not.
    "working set": (
        ("working-set-read",),
        *(TURNS, sizes("bytes", "iterations"), "in", {}, free),
        *((0.02, 0.25), (0.07, 0.235)),
    ),
    "windows over a working set": (
        ("working-set-read",),
        *(TURNS, sizes("bytes", "iterations"), "in", {}, windowed),
        *((0.125, 0.36), (0.11, 0.18)),
    ),
    "embedding": (
        ("embedding",),
        *("embedding", sizes("table_bytes", "stream_bytes", "lookups"), "table", {}, None),
        *((0.04, 0.09), (0.06, 0.08)),
    ),
    "gather": (
        ("gather",),
        *("gather", sizes("n", "run", "table_bytes"), "table", {}, None),
        *((0.03, 0.08), (0.06, 0.12)),
    ),
}


@cache
def errors(
    name: str, use: str, device: str = DEVICE, folder: Path = SUITE
) -> tuple[np.ndarray, np.ndarray]:
    """Predicted over measured, minus 1: DRAM bytes, and time."""
    files, kernel, params, buffer, properties, chosen, *_ = SWEEPS[name]
    dram, time = [], []
    for file in files:
        for row in rows(file, folder, timing="profiler", use=use):
            if (chosen and not chosen(row)) or row.get("shift"):
                continue
            found = predict(
                kernel or read_persistent(),
                device=device,
                l2=control(row, buffer, **properties),
                **params(row),
            )
            moved = found.traffic["dram_read_bytes"] + found.traffic["dram_write_bytes"]
            if folder != H100:  # six counters take several passes, two do not
                moved += found.traffic["dram_replay_bytes"]
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


H100_BANDS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "table beside a write": ((0.01, 0.035), (0.025, 0.07)),
    "windows beside a write": ((0.01, 0.055), (0.05, 0.11)),
    "set-asides beside a write": ((0.015, 0.055), (0.05, 0.1)),
    "missProp normal": ((0.045, 0.065), (0.05, 0.08)),
    "a stream marked streaming": ((0.25, 0.25), (0.1, 0.12)),  # 16 MiB read 41 MiB, not 74
    "table beside a copy": ((0.005, 0.01), (0.015, 0.04)),
    "windows beside a copy": ((0.005, 0.015), (0.015, 0.05)),
    "set-asides beside a copy": ((0.01, 0.012), (0.04, 0.085)),
    "table beside a read": ((0.015, 0.04), (0.02, 0.04)),
    "windows beside a read": ((0.01, 0.05), (0.03, 0.12)),
    "working set": ((0.01, 0.09), (0.03, 0.08)),
    "windows over a working set": ((0.07, 0.5), (0.055, 0.3)),  # 40 MiB at hitRatio 1/4
    "embedding": ((0.01, 0.06), (0.045, 0.08)),
}
"""Median and 90th percentile of DRAM bytes and of time on an H100. Nothing was fitted on its
counts; on its times, exponents and losses of what a set-aside costs writes."""


@pytest.mark.parametrize("use", ["fit", "validation"])
@pytest.mark.parametrize("name", H100_BANDS)
def test_sweeps_stay_in_their_bands_on_an_h100(name: str, use: str) -> None:
    folder = FOLDER.parents[2] / "suite/h100-sxm/sweeps" if "working set" in name else H100
    for what, found, band in zip(
        ("DRAM bytes", "time"),
        errors(name, use, "h100-sxm", folder),
        H100_BANDS[name],
        strict=True,
    ):
        size = np.abs(found)
        reached = (float(np.median(size)), float(np.percentile(size, 90)))
        assert reached[0] <= band[0], (name, use, what, reached)
        assert reached[1] <= band[1], (name, use, what, reached)


@pytest.mark.parametrize(("device", "folder"), [("h200-sxm", SUITE), ("h100-sxm", H100)])
@pytest.mark.parametrize("use", ["fit", "validation"])
def test_windows_reach_what_was_asked_for(use: str, device: str, folder: Path) -> None:
    # set-aside x window x hitRatio: DRAM bytes within 4% and time within 6% in the median
    names = ("windows beside a write", "windows beside a copy")
    every = [errors(n, use, device, folder) for n in names]
    dram, time = (np.concatenate([found[i] for found in every]) for i in (0, 1))
    assert np.median(np.abs(dram)) < 0.04
    assert np.median(np.abs(time)) < 0.06


@pytest.mark.parametrize(("device", "folder"), [("h200-sxm", SUITE), ("h100-sxm", H100)])
def test_streams_beside_an_idle_set_aside(device: str, folder: Path) -> None:
    # the slowdown at equal DRAM bytes; reads lose nothing
    found = []
    for file in ("set-aside-streams", "set-aside-mixtures"):
        for row in rows(file, folder, timing="profiler", mib=512):
            if row["stream"] not in ("copy", "read", "write") or row.get("resident", 8) != 8:
                continue
            p = predict(row["stream"], device=device, bytes=row["bytes"], l2=control(row, "in"))
            found.append(p.time_s * 1e6 / row["time_us"] - 1)
    assert len(found) > 25
    assert np.median(np.abs(found)) < 0.04
    assert np.percentile(np.abs(found), 90) < 0.08


def test_reads_beyond_the_writes_go_on_while_those_are_held_up() -> None:
    # measured: two streams read and one written, 256 MiB each, 4 to 10 ways set aside lose 0 to
    # 294 us; the losses are from such mixtures on an H100 (l2/h100-sxm/set-aside/streams.csv, fit
    # rows)
    two = rows("set-aside-mixtures", SUITE, function="stream_two_reads", cache="cold")
    idle = min(r["time_us"] for r in two if r["set_mib"] == 0)
    held_up = [r for r in two if r["timing"] == "events" and r["set_mib"]]
    assert len(held_up) > 7
    for row in held_up:
        n, aside = row["bytes"], SetAside(np.ceil(row["set_mib"] / 3.75))
        lost = writeback_loss(DramMix(n, 2 * n, 0.0), aside, load_device("h200-sxm"), tabled=False)
        assert idle + lost / 4.814e6 == pytest.approx(row["time_us"], rel=0.045), row


def test_over_fetch_of_strided_copies() -> None:
    # 64 B at the default: 2 x the sectors at strides of 16 floats; 1 x at 32 B, 4 x at 128 B
    for row in rows("strided-granularity", SUITE, function="strided_copy", timing="profiler"):
        p = predict(
            "strided-copy", device=DEVICE, n=row["n"], stride=row["stride"], l2=control(row, "in")
        )
        assert p.traffic["dram_read_bytes"] == pytest.approx(row["dram_read_bytes"], rel=0.01), row
        assert p.time_s * 1e6 == pytest.approx(row["time_us"], rel=0.12), row


@pytest.mark.parametrize("device", ["h200-sxm", "h100-sxm"])
def test_advice_on_the_articles_case_is_measured(device: str) -> None:
    # 16 MiB table, 8 MiB set aside: hitRatio 0.5 over all of it, or better; the gain within 0.05
    from perfmodel.prediction.advise import advise

    suite = FOLDER.parents[2] / f"suite/{device}/sweeps"
    timed = {
        (r["set_mib"], r["window_mib"], r["hit_eighths"]): r["time_us"]
        for r in rows("stream-persistent", suite, timing="events", cache="cold", stream_mib=4096)
        if r["persistent_mib"] == 16
    }
    measured = timed[0, 0, 8] / timed[8, 16, 4]
    found = advise(
        "stream-persistent",
        device=device,
        l2=L2Control(set_aside=8 << 20),
        persistent_bytes=16 << 20,
    )
    best = found.options[0]
    assert best.kind == "residency"
    half = predict(
        "stream-persistent",
        device=device,
        l2=L2Control(8 << 20, AccessPolicyWindow("persistent", 16 << 20, 0.5)),
        persistent_bytes=16 << 20,
    )
    assert found.base.time_s / half.time_s == pytest.approx(measured, abs=0.05)
    assert best.gain >= found.base.time_s / half.time_s - 1e-9


L2 = FOLDER.parents[2] / "l2/h200-sxm/set-aside"


def test_gain_of_a_window_over_a_table_beside_a_write() -> None:
    # between events 1.04 to 1.12 in four sessions, on other H200s; six runs in one session agree
    # within 0.01 (1.034 to 1.042), so the spread is the machines'. By the profiler 1.10.
    window = AccessPolicyWindow("in", 8 << 20, 1.0)
    sizes: Row = {"in_bytes": 8 << 20, "out_bytes": 1 << 30}
    none, held = (
        predict("data-reset", device=DEVICE, l2=c, **sizes).time_s
        for c in (None, L2Control(8 << 20, window))
    )
    gains = []
    for folder, topic in (
        ("l2/h200-sxm/sets", "gains"),
        ("suite/h200-sxm/contention", "data-reset-long"),
    ):
        timed = {
            (r["set_mib"], r.get("run", 0)): r["time_us"]
            for r in rows(topic, FOLDER.parents[2] / folder, timing="events", cache="warm")
            if (r["in_mib"], r["out_mib"]) == (8, 1024)
            and r["set_mib"] in (0, 8)
            and r["window_mib"] in (0, 8)
            and (r["window_mib"] or not r["set_mib"])
        }
        gains += [timed[0, run] / timed[8, run] for s, run in timed if not s]
    assert len(gains) == 7
    assert min(gains) - 0.008 < none / held < max(gains) + 0.005


@pytest.mark.parametrize(
    ("device", "folder", "floor"), [("h200-sxm", L2, 6.5), ("h100-sxm", H100, 7.2)]
)
@pytest.mark.parametrize("function", ["data_reset", "stream_persistent"])
def test_set_asides_windows_and_ratios(
    function: str, device: str, folder: Path, floor: float
) -> None:
    # measured, rows that nothing was fitted on, every third: 1.9 and 4.6% in the median, 8.3 and
    # 12.4% at the ninetieth percentile
    kernel, buffer = {
        "data_reset": ("data-reset", "in"),
        "stream_persistent": ("stream-persistent", "persistent"),
    }[function]
    found = []
    for row in rows("grid", folder, function=function, use="validation")[::6]:
        table, out = row["table_mib"] << 20, row["out_mib"] << 20
        sizes = dict(
            zip(
                ("in_bytes", "out_bytes")
                if kernel == "data-reset"
                else ("persistent_bytes", "stream_bytes"),
                (table, out),
                strict=True,
            )
        )
        p = predict(
            kernel, device=device, timing="events", cache="warm", l2=control(row, buffer), **sizes
        )
        # events of these sessions take 6.5 and 7.2 us around an empty kernel
        own = p.terms_s["launch"]
        found.append((p.time_s - own) * 1e6 / (row["time_us"] - floor + 1.5) - 1)
    assert len(found) > 30
    assert np.median(np.abs(found)) < 0.06
    assert np.percentile(np.abs(found), 90) < 0.15


def test_concurrent_kernels_share_a_set_aside() -> None:
    # measured, fitted on nothing: two kernels read tables of their own at random, each with its
    # window, beside a third that streams; what of their reads the set-aside holds: 0.011 off in the
    # median, 0.043 at the ninetieth percentile. Counted are hits on the near side, half of all
    measured = rows("windows", L2)
    near = {
        tuple(r[k] for k in ("a_mib", "b_mib", "set_mib", "hit_ratio_a", "hit_ratio_b", "of")): (
            r["near"] / r["reads"]
        )
        for r in measured
    }
    fits = near[8, 8, 30, 1.0, 1.0, "a"]

    @cache
    def kept(size: int, aside: int, mine: float, theirs: float) -> float:
        found = predict(
            "embedding",
            device=DEVICE,
            l2=L2Control(aside << 20, AccessPolicyWindow("table", size << 20, mine)),
            concurrent=(AccessPolicyWindow("", size << 20, theirs),),
            table_bytes=size << 20,
        )
        (table,) = found.details.traffic.tables
        return float(table.lines.resident[0])

    off = []
    for (a, b, aside, first, second, of), share in near.items():
        if not aside or not second or a != b:  # as often read, each by its own window
            continue
        mine, theirs = (first, second) if of == "a" else (second, first)
        off.append(abs(kept(a, aside, mine, theirs) - share / fits))
    assert len(off) > 40
    assert np.median(off) < 0.02
    assert np.percentile(off, 90) < 0.06


@pytest.mark.parametrize("kernel", ["read", "copy"])
def test_compression_is_as_given(kernel: str) -> None:
    # measured: the ratio that the profiler's DRAM bytes give is what is put in; times then 5% to 9%
    # off in the median and 14% at most, of 9 contents
    plain, packed = (
        {
            r["content"]: r
            for r in rows("compression", L2, function=f"{kernel}_all", timing="profiler")
            if r["compressible"] == state
        }
        for state in (0, 1)
    )
    off = []
    for content, row in packed.items():
        ratio = max(1.0, plain[content]["dram_read_bytes"] / row["dram_read_bytes"])
        found = predict(kernel, device=DEVICE, bytes=row["bytes"], l2=L2Control(compression=ratio))
        assert found.traffic["dram_read_bytes"] == pytest.approx(row["dram_read_bytes"], rel=0.01)
        off.append(abs(found.time_s * 1e6 / row["time_us"] - 1))
    assert len(off) == 9
    assert np.median(off) < 0.095
    assert max(off) < 0.155


def test_random_data_is_not_compressed_and_structure_is() -> None:
    # measured: what `--compression` may be given; the driver grants compressible memory on an H200
    moved = {
        (r["content"], r["compressible"]): r["dram_read_bytes"]
        for r in rows("compression", L2, function="read_all", timing="profiler")
    }
    ratio = {c: moved[c, 0] / moved[c, 1] for c, _ in moved}
    assert ratio["random"] == pytest.approx(1, abs=0.01)
    assert [ratio["zeros"], ratio["index"]] == pytest.approx([4, 4], rel=0.01)
    assert ratio["small integers"] == pytest.approx(2, rel=0.01)


def test_half_of_a_rewritten_set_is_alive_where_half_of_its_blocks_run() -> None:
    # measured: why two recordings disagree (h200-sxm/foundation and /sweeps, working-set.csv):
    # compiled to 16 registers two blocks share an SM, to 34 one has it; shared memory alone does
    # the same
    written = {
        (r["bytes"] >> 20, r["shared_bytes"]): r["dram_write_bytes"]
        for r in rows("rewritten", L2, function="write_new", timing="profiler")
    }
    for mib in (32, 48, 64):
        assert written[mib, 0] > 1.4 * written[mib, 122880]


def test_stores_to_a_table_are_written_back_once_a_pass() -> None:
    # counted: a table and a stream, both doubled in place; 10, 30 and 60 MB beside 1 GiB
    for row in rows(
        "sliding-window",
        FOLDER.parents[2] / "suite/h200-sxm/contention",
        timing="profiler",
        set_bytes=0,
    ):
        if row["small_bytes"] == 20000000:
            continue  # where reuse breaks down
        found = predict(
            KERNELS / "sliding-window.toml",
            device=DEVICE,
            small_bytes=row["small_bytes"],
            large_bytes=row["large_bytes"],
        )
        assert found.traffic["dram_write_bytes"] == pytest.approx(row["dram_write_bytes"], rel=0.12)


@pytest.mark.parametrize(
    ("device", "folder", "most"),
    [("h200-sxm", "suite/h200-sxm/contention", 0.07), ("h100-sxm", "suite/h100-sxm/sweeps", 0.13)],
)
def test_persisting_lines_that_are_written_spare_others_nothing(
    device: str, folder: str, most: float
) -> None:
    # measured, fitted on nothing: 2 to 25 MB with 30 MB set aside, 8 and 10 ways, take as long as
    # each other: 3.6 and 11.1% off at most (7% and 24% where they were taken to spare others)
    off = []
    for row in rows(
        "sliding-window", FOLDER.parents[2] / folder, timing="events", set_bytes=30000000
    ):
        if row["small_bytes"] > 25000000:
            continue
        found = predict(
            KERNELS / "sliding-window.toml",
            device=device,
            timing="events",
            cache="warm",
            l2=L2Control(
                30000000, AccessPolicyWindow("small", row["small_bytes"], row["hit_ratio"])
            ),
            small_bytes=row["small_bytes"],
            large_bytes=row["large_bytes"],
        )
        off.append(abs(found.time_s * 1e6 / row["time_us"] - 1))
    assert len(off) >= 6
    assert max(off) < most


TURNED = FOLDER.parents[2] / "l2/h200-sxm/common-sets"


@pytest.mark.parametrize(
    ("function", "rms"),
    [("data_reset", 0.04), ("read_persistent", 0.04), ("sliding_window", 0.035)],
)
def test_windows_that_nearly_fill_a_set_aside(function: str, rms: float) -> None:
    # measured, 8 and 10 ways: re-reads that miss of windows of 0.5 to 1.2 times the set-aside, by
    # DRAM reads; those beside a write and a read were fitted on (0.035 rms), not the third (0.027)
    # nor what was measured later, at another place of memory (0.035)
    off = []
    for row in rows("fills", TURNED, function=function):
        if row["set_bytes"] not in (31457280, 39321600):
            continue
        table, way = row["small_bytes"], 62914560 / 16
        stream = 0 if function == "data_reset" else row["large_bytes"]
        missed = (row["dram_read_bytes"] - stream - table) / (row["large_bytes"] - table)
        off.append(overflow(table / way, 1.0, row["set_bytes"] / way, load_device(DEVICE)) - missed)
    assert len(off) >= 44
    assert np.sqrt(np.mean(np.square(off))) < rms


def test_blocks_that_move_on_hit_what_others_have_read() -> None:
    # counted: share of the re-reads that miss; by 1 and 2 (0.011 rms) and by 37 blocks (0.017),
    # fitted on
    off: dict[int, list[float]] = {}
    for row in rows("counters", TURNED, function="working_set_read", use="fit"):
        size, times = row["bytes"], row["iterations"]
        found = predict(TURNS, device=DEVICE, shift=row["shift"], bytes=size, iterations=times)
        missed = (row["dram_read_bytes"] - size) / (size * (times - 1))
        again = found.traffic["dram_read_bytes"] - size
        off.setdefault(row["shift"], []).append(again / (size * (times - 1)) - missed)
    assert {shift: len(o) for shift, o in off.items()} == {1: 36, 2: 12, 37: 36}
    for shift, rms in ((1, 0.015), (2, 0.02), (37, 0.02)):
        assert np.sqrt(np.mean(np.square(off[shift]))) < rms, shift


@pytest.mark.parametrize(("shift", "rms"), [(3, 0.03), (50, 0.065)])
def test_other_sets_and_steps_measured_afterwards(shift: int, rms: float) -> None:
    # counted after the fit: 36 to 104 MiB read 10 and 40 times, other steps: 0.022 and 0.057 rms
    off = []
    for row in rows("counters", TURNED, use="validation", blocks=264, shift=shift):
        size, again = row["bytes"], row["bytes"] * (row["iterations"] - 1)
        found = predict(
            TURNS, device=DEVICE, shift=shift, bytes=size, iterations=row["iterations"]
        ).traffic["dram_read_bytes"]
        off.append((found - row["dram_read_bytes"]) / again)
    assert len(off) == 14
    assert np.sqrt(np.mean(np.square(off))) < rms


def test_it_is_drift_that_lets_them_hit() -> None:
    # measured: in step they miss all of 56 MiB and more, as what is held less long than a pass
    missed = {
        (r["bytes"] >> 20, r["function"]): (r["dram_read_bytes"] / r["bytes"] - 1) / 19
        for r in rows("counters", TURNED, iterations=20, shift=1)
    }
    for mib in (56, 64, 72, 80, 96, 128):
        assert missed[mib, "turns_stepped"] > 0.99
    assert missed[56, "working_set_read"] < 0.3


@pytest.mark.parametrize(("cache", "median", "tail"), [("warm", 0.06, 0.14), ("cold", 0.05, 0.1)])
def test_times_of_blocks_that_move_on(cache: str, median: float, tail: float) -> None:
    # measured, fitted on nothing: 4% and 3% off in the median, 11% and 7% at the ninetieth
    # percentile (40% and 38%, up to 114%, where each was taken to come back to its own part)
    off = []
    for row in rows("sets", FOLDER.parents[2] / "l2/h200-sxm/sets", function="working_set_read")[
        ::5
    ]:
        if row["cache"] != cache or row["bytes"] < 40 * 2**20:
            continue
        sizes = {k: row[k] for k in ("bytes", "iterations", "blocks", "shift")}
        found = predict(TURNS, device=DEVICE, timing="events", cache=row["cache"], **sizes).time_s
        off.append(abs(found * 1e6 / row["time_us"] - 1))
    assert len(off) > 15
    assert np.median(off) < median
    assert np.percentile(off, 90) < tail
