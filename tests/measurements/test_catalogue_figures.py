"""The H200's figures in the catalogue, recomputed from the measurements that they cite."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean, median

import pytest
from measured import FOLDER, rows

from perfmodel.hardware import Device, load_device

MIB = 2**20


@pytest.fixture(scope="module")
def h200() -> Device:
    return load_device("h200-sxm")


def measured_figure(device: Device, name: str) -> float:
    """The figure as it was measured by itself, where the one in use is fitted through the model.

    Those that are fitted are held against a calibration in tests/calibration.
    """
    figure = device.figures[name]
    every = (figure, *figure.also)
    return next(f.value for f in every if "suite/h200-sxm/foundation/streams.csv" in f.source)


@pytest.mark.parametrize("kernel", ["read", "write", "copy"])
def test_dram_efficiency(h200: Device, kernel: str) -> None:
    # measured: slope between two large streams, so that no fixed cost is in it
    small, large = (
        rows("streams", kernel=kernel, bytes=size * MIB, vector=16, timing="profiler")[0]
        for size in (256, 1024)
    )
    moved = sum(large[name] - small[name] for name in ("dram_read_bytes", "dram_write_bytes"))
    rate = moved / (large["time_us"] - small["time_us"]) * 1e6
    assert rate / h200.dram_bandwidth == pytest.approx(
        measured_figure(h200, f"dram_{kernel}_efficiency"), abs=5e-4
    )


def test_l2_read_bandwidth(h200: Device) -> None:
    # measured: median of the plateau, less what events read around an empty kernel
    floor = 5.82  # session 1's
    rates = [
        r["bytes"] * r["iterations"] / (r["time_us"] - floor) * 1e6
        for r in rows("working-set", kernel="working-set-read", timing="events")
        if 20 * MIB <= r["bytes"] <= 52 * MIB
    ]
    assert h200.l2_read_bandwidth == pytest.approx(median(rates), rel=2e-3)


def test_l2_write_bandwidth(h200: Device) -> None:
    # measured: slope of cold writes between 8 and 24 MiB, before any of them reach DRAM
    times = {
        r["bytes"]: r["time_us"] * 1e-6
        for r in rows("streams", kernel="write", vector=16, timing="profiler")
    }
    slope = 16 * MIB / (times[24 * MIB] - times[8 * MIB])
    assert measured_figure(h200, "l2_write_bandwidth") * 1e12 == pytest.approx(slope, rel=5e-3)


@pytest.mark.parametrize(
    ("name", "least", "most", "through_l1"),
    [
        ("l1_latency", 8 * 1024, 192 * 1024, (1,)),
        ("l2_latency", 512 * 1024, 24 * MIB, (0, 1)),
        ("dram_latency", 64 * MIB, 2048 * MIB, (0, 1)),
    ],
)
def test_latencies(
    h200: Device, name: str, least: int, most: int, through_l1: tuple[int, ...]
) -> None:
    # measured: median of the plateau, in cycles
    cycles = [
        r["cycles"]
        for r in rows("latency")
        if least <= r["bytes"] <= most and r["through_l1"] in through_l1
    ]
    assert h200.figures[name].value == pytest.approx(median(cycles), abs=0.5)


def test_floors(h200: Device) -> None:
    # measured: median over the empty kernels of one block
    profiler = rows("launch", timing="profiler", grid=1)
    events = rows("launch", timing="events", cache="warm", grid=1, session=1)
    assert h200.launch_floor == pytest.approx(
        median(r["time_us"] for r in profiler) / 1e6, abs=5e-8
    )
    assert h200.event_floor == pytest.approx(median(r["time_us"] for r in events) / 1e6, abs=5e-8)


def test_block_dispatch_rate(h200: Device) -> None:
    # measured: slope between the two largest grids, blocks of at most 256 threads
    rates = []
    for block in (32, 128, 256):
        cases = sorted(rows("launch", timing="profiler", block=block), key=lambda r: r["grid"])
        (small, large) = list(pairwise(cases))[-1]
        rates.append((large["grid"] - small["grid"]) / (large["time_us"] - small["time_us"]) * 1e6)
    assert h200.block_dispatch_rate == pytest.approx(fmean(rates), rel=1e-3)


def test_h100_l2_reads_by_the_same_definition(h200: Device) -> None:
    # measured: median of sets of 20 to 44 MiB, less what an empty kernel reads, on both
    for device, folder, floor, most in (
        (load_device("h100-sxm"), "suite/h100-sxm/foundation", 5.6, 44),
        (h200, "suite/h200-sxm/foundation", 5.82, 52),
    ):
        rates = [
            r["bytes"] * r["iterations"] / (r["time_us"] - floor) * 1e6
            for r in rows("working-set", FOLDER.parents[2] / folder, kernel="working-set-read")
            if r["timing"] == "events" and 20 * MIB <= r["bytes"] <= most * MIB
        ]
        assert len(rates) >= 7
        assert device.l2_read_bandwidth == pytest.approx(median(rates), rel=0.01)


def test_h100_l2_writes_lie_between_sets_and_streams() -> None:
    # measured: sets of 8 to 32 MiB written again and again, and the slope of cold streams
    h100 = load_device("h100-sxm")
    suite = FOLDER.parents[2] / "suite/h100-sxm/sweeps"
    sets = [
        r["bytes"] * r["iterations"] / (r["time_us"] - h100.launch_floor * 1e6) * 1e6
        for r in rows("working-set", suite, timing="profiler", cache="cold")
        if 8 * MIB <= r["bytes"] <= 32 * MIB
    ]
    of = {"function": "write", "timing": "profiler", "cache": "cold", "block": 256, "vector": 16}
    time = {r["bytes"]: r["time_us"] for r in rows("streams", suite, **of)}
    slope = (25165824 - 6291456) / (time[25165824] - time[6291456]) * 1e6
    assert 0.95 * median(sets) < h100.require("l2_write_bandwidth") < 1.05 * slope
    assert slope / median(sets) == pytest.approx(1.05, abs=0.06)
