"""What small launches, counters and stalls on an H200 say
(measurements/launch-overhead/h200-sxm/small)."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel.hardware import load_device
from perfmodel.kernels import Kernel, kernel_from_table
from perfmodel.measure.folders import root
from perfmodel.measure.recorded import read_recording
from perfmodel.prediction import predict

FOLDER = root() / "launch-overhead/h200-sxm/small"
PROTOCOL = read_recording(root() / "operators/h200-sxm/pytorch").session["protocol"]
H200 = load_device("h200-sxm")
FLOOR = PROTOCOL["profiler_floor_us"]


def a_row_a_block(kind: str) -> Kernel:
    table: dict[str, Any] = {
        "name": "rows",
        "parameters": {"blocks": {"default": 1}, "pitch": {"default": 512}},
        "launch": {"grid": "blocks", "block": 32},
        "buffers": {"x": {"length": "blocks*pitch // 4 + 128", "element_bytes": 4}},
        "accesses": [{kind: "x", "index": "blockIdx.x*(pitch // 4) + threadIdx.x*4", "vector": 4}],
    }
    return kernel_from_table(table)


def errors(kind: str, cache: str) -> dict[int, list[float]]:
    """Return the errors of rows that nothing was fitted on, by the blocks of the launch."""
    device = replace(H200, launch_floor=FLOOR * 1e-6, launch_fetch=0.0)
    found: dict[int, list[float]] = {}
    for row in rows("small", FOLDER, kernel=kind, cache=cache, use="validation"):
        sizes = {"blocks": int(row["blocks"]), "pitch": int(row["pitch"])}
        time = predict(a_row_a_block(kind), device=device, cache=cache, **sizes).time_s
        found.setdefault(sizes["blocks"], []).append(time * 1e6 / row["time_us"] - 1)
    return found


@pytest.mark.parametrize("kind", ["load", "store"])
@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_first_rows_of_launches(kind: str, cache: str) -> None:
    # blocks of one warp on 1 to 528 SMs' worth of blocks, without any time to fetch code
    found = [e for several in errors(kind, cache).values() for e in several]
    assert len(found) >= 8
    assert np.median(np.abs(found)) < 0.12
    assert np.max(np.abs(found)) < 0.25


def test_cold_reads_on_more_sms_take_longer() -> None:
    times = {
        blocks: median(
            r["time_us"] for r in rows("small", FOLDER, kernel="load", cache="cold", blocks=blocks)
        )
        for blocks in (1, 8, 32, 132)
    }
    assert times[1] < times[8] < times[32] < times[132]


def test_the_stated_fetch_is_that_of_the_rows() -> None:
    loads = rows("small", FOLDER, kernel="load", cache="warm", blocks=132)
    beyond = median(r["time_us"] for r in loads) - FLOOR - H200.l2_latency * 1e6
    assert beyond == pytest.approx(PROTOCOL["profiler_fetch_us"], abs=0.01)


def test_pages_and_far_places_make_no_difference() -> None:
    # rows 64 KiB, 1, 2 and 16 MiB apart: what their translation takes does not show
    for cache in ("warm", "cold"):
        times = [
            r["time_us"] for r in rows("small", FOLDER, kernel="store", cache=cache, blocks=132)
        ]
        assert max(times) / min(times) < 1.1


def test_straight_code_runs_at_full_rate_up_to_24_kib() -> None:
    # 1536 instructions of 16 bytes still cost no more than a loop of as many; 3072 do
    def times(n: int) -> list[float]:
        return [
            rows("small", FOLDER, kernel=k, code=n, blocks=16896, cache="warm")[0]["time_us"]
            for k in ("straight", "looped")
        ]

    small, large = times(1536), times(3072)
    assert small[0] < small[1]
    assert large[0] > 1.05 * large[1]


def test_the_clock_of_products_by_mma() -> None:
    # independent: clocks over time between two lengths of the same loop
    found = {
        (int(r["ilp"]), int(r["warps"])): r
        for r in rows("pipes-tensor", root() / "suite/h200-sxm/sweeps", timing="events")
        if "cycles" in r
    }
    one, many = found[1, 16], found[4, 32]
    clock = (many["cycles"] - one["cycles"]) / (many["time_us"] - one["time_us"]) * 1e6
    assert H200.tensor_clock == pytest.approx(clock, rel=0.005)


def test_kernels_with_products_run_at_a_lower_clock() -> None:
    def clock(row: dict[str, Any]) -> float:
        return float(row["sm_cycles_elapsed"] / (row["time_us"] - H200.launch_floor * 1e6) * 1e6)

    long = [r for r in rows("seen", FOLDER) if r["time_us"] > 30]
    products = [clock(r) for r in long if r["tensor_active"] > 0.2]
    others = [clock(r) for r in long if r["tensor_active"] < 0.1]
    assert len(products) >= 12
    assert len(others) >= 8
    assert max(products) < 1.92e9 < min(others)
    assert H200.tensor_clock == pytest.approx(median(products), rel=0.03)


def test_what_narrow_copies_take_of_l1() -> None:
    # clocks of L1's banks for a warp's copy, all that comes with it included: the kernel file's
    # 7.5 for single elements and 9.0 for pairs, of which L1 passes 86%
    for align, stated in (("align1", 7.5), ("align2", 9.0)):
        found = [r for r in rows("seen", FOLDER) if align in r["kernel"]]
        each = [r["l1_data_wavefronts"] / r["global_load_requests"] for r in found]
        assert len(found) >= 3
        assert median(each) == pytest.approx(stated, rel=0.03)
    busy = [
        r["l1_data_wavefronts"] / (132 * r["sm_cycles_active"])
        for r in rows("seen", FOLDER)
        if "_align" in r["kernel"]
    ]
    assert median(busy) == pytest.approx(0.86, abs=0.015)
