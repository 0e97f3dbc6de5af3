"""Closed forms of atomics: against counting, at their limits, and in the order that they need."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.kernels import bind, builtin
from perfmodel.kernels.histogram import uniform
from perfmodel.kernels.l2_control import L2Control
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.models.atomics.loop_clocks import Tried, loop_clocks
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.contention import counted_conflicts, random_conflicts
from perfmodel.models.requests.warp_requests import Requests, access_requests

ROOT = Path(__file__).parents[2]
WIDTHS = {"int32": 4, "uint64": 8}


def requests(position: int, **values: Any) -> Requests:
    instance = bind(builtin("atomic-add"), values)
    return access_requests(instance, position, block_shape((256, 1, 1)), {})


@pytest.mark.parametrize("dtype", ["int32", "uint64"])
@pytest.mark.parametrize("spacing", [1, 2, 8, 32])
@pytest.mark.parametrize("addresses", [1, 2, 3, 7, 8, 16, 31, 32, 64, 100, 1024, 5000])
def test_modulo_against_counting(addresses: int, spacing: int, dtype: str) -> None:
    # independent: the addresses of all 4096 warps, counted one by one
    n = 1 << 17
    found = requests(0, n=n, addresses=addresses, spacing=spacing, dtype=dtype)
    assert found.sharing is not None
    assert found.sampled is None
    lanes = np.arange(n) % addresses * spacing * WIDTHS[dtype]
    counted = counted_conflicts(lanes.reshape(-1, 32))
    assert float(found.active_lanes[0]) == n
    for name in ("sectors", "lines", "passes", "packets"):
        expected = float(getattr(counted, name).mean())
        each = float(np.ravel(getattr(found.sharing.conflicts, name))[0])
        assert each == pytest.approx(expected, rel=0.02), name


@pytest.mark.parametrize("addresses", [1, 7, 31, 32, 33])
def test_a_warp_in_part_changes_next_to_nothing(addresses: int) -> None:
    # independent: counted one by one. A mean of 31.9999 lanes would miss whole rounds
    n = (1 << 17) - 12
    found = requests(0, n=n, addresses=addresses)
    assert found.sharing is not None
    lanes = (np.arange(1 << 17) % addresses * 4).reshape(-1, 32)
    counted = counted_conflicts(lanes, (np.arange(1 << 17) < n).reshape(-1, 32))
    for name in ("addresses", "sectors", "passes", "packets"):
        each = float(np.ravel(getattr(found.sharing.conflicts, name))[0])
        assert each == pytest.approx(float(getattr(counted, name).mean()), rel=0.01), name


@pytest.mark.parametrize("addresses", [12, 20, 24, 31, 32, 33, 36, 40])
def test_full_sectors_and_others(addresses: int) -> None:
    # measured: clocks a warp of int32 elements side by side, half a clock of them the launch's
    # (measurements/atomics/h200-sxm/lines/lines.csv)
    with (ROOT / "measurements" / "atomics/h200-sxm/lines" / "lines.csv").open() as file:
        (row,) = [
            row
            for row in csv.DictReader(file)
            if (row["dtype"], row["returns"], row["spacing"], row["offset"])
            == ("int32", "0", "1", "0")
            and int(row["addresses"]) == addresses
        ]
    found = predict("atomic-add", device="h200-sxm", n=1 << 24, addresses=addresses)
    clocks = found.terms_s["atomics"] * 1.98e9 / (1 << 19)
    assert clocks == pytest.approx(float(row["clocks_a_warp"]) - 0.5, rel=0.1)


def test_floats_wait_where_few_pieces_share_a_slice() -> None:
    # measured: 64 elements of 4 B, 128 B apart, take 68.9 us as integers and 69.3 as floats, 16
    # of them 202 and 262 (measurements/suite/h200-sxm/sweeps/atomics.csv)
    def time(addresses: int, dtype: str) -> float:
        found = predict(
            "atomic-add", device="h200-sxm", n=1 << 20, addresses=addresses, spacing=32, dtype=dtype
        )
        return found.time_s

    assert time(64, "float32") == pytest.approx(time(64, "int32"), rel=0.08)
    assert time(16, "float32") > 1.2 * time(16, "int32")


def test_one_address_a_warp() -> None:
    found = requests(2, n=1 << 16, addresses=64, pattern="warp", spacing=8)
    assert found.sharing is not None
    conflicts = {k: float(np.ravel(v)[0]) for k, v in found.sharing.conflicts._asdict().items()}
    distinct = {"addresses": 1, "sectors": 1, "lines": 1}
    assert conflicts == {**distinct, "passes": 32, "packets": 32, "halves": 32, "most": 32}


def test_patterns_that_are_not_chosen_ask_for_nothing() -> None:
    for position, pattern in enumerate(("modulo", "random", "warp")):
        for other in range(3):
            found = requests(other, n=4096, addresses=64, pattern=pattern)
            assert (float(np.max(found.requests)) > 0) == (other == position)


def test_random_bins_are_the_histogram() -> None:
    found = requests(1, n=1 << 18, addresses=1000, pattern="random")
    assert found.sharing is not None
    expected, _ = random_conflicts(uniform(1000), 4)
    assert float(np.ravel(found.sharing.conflicts.passes)[0]) == pytest.approx(
        float(expected.passes)
    )
    assert found.random


def custom(access: Mapping[str, Any], length: str = "n") -> dict[str, Any]:
    return {
        "name": "custom",
        "parameters": {"n": {}},
        "launch": {"grid": "ceil_div(n, 256)", "block": 256},
        "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
        "guard": "i < n",
        "buffers": {"bins": {"length": length}},
        "accesses": [{"atomic": "bins", **access}],
    }


def test_indices_without_a_closed_form_are_counted() -> None:
    # property: runs of eight lanes at an address are eight packets of the same few sectors
    kernel = kernel_from_table(custom({"index": "max(i // 8, 0)"}))
    prediction = predict(kernel, n=1 << 16)
    sharing = prediction.details.requests[0].sharing
    assert sharing is not None
    conflicts = {k: float(np.ravel(v)[0]) for k, v in sharing.conflicts._asdict().items()}
    distinct = {"addresses": 4, "sectors": 1, "lines": 1}
    assert conflicts == {**distinct, "passes": 8, "packets": 8, "halves": 8, "most": 8}
    assert any("no closed form" in warning for warning in prediction.warnings)


def test_weights_make_a_hot_bin_that_binds() -> None:
    # derived: half of all additions at one address take 1.48 clocks each there, in single file
    even = kernel_from_table(custom({"index": "random(i, n)"}))
    hot = kernel_from_table(
        custom({"index": "random(i, n)", "weights": "where(bin == 0, n - 1, 1)", "dtype": "int32"})
    )
    n = 1 << 20
    device = load_device("h200-sxm")
    assert device.atomic_interval is not None
    slow = predict(hot, n=n, device=device)
    assert slow.terms_s["atomics"] == pytest.approx(n / 2 * device.atomic_interval, rel=0.1)
    assert slow.time_s > 20 * predict(even, n=n, device=device).time_s


def test_weights_hold_where_lanes_are_counted_too() -> None:
    # independent: runs of four lanes share a draw, so that warps are counted, not worked out; the
    # hot bin then has its share of all lanes, as where every lane draws for itself
    weights = {"weights": "where(bin == 0, n - 1, 1)"}
    runs = kernel_from_table(custom({"index": "random(i // 4, n)", **weights}))
    lanes = kernel_from_table(custom({"index": "random(i, n)", **weights}))
    n = 1 << 18
    for kernel, slack in ((runs, 0.05), (lanes, 0.001)):
        sharing = predict(kernel, n=n).details.requests[0].sharing
        assert sharing is not None
        assert float(np.ravel(sharing.hottest)[0]) == pytest.approx(0.5, rel=slack)


def test_one_address_is_the_measured_interval() -> None:
    # derived: n additions in turn, whatever else; a compiler that adds up warps makes n/32 of them
    device = load_device("h200-sxm")
    assert device.atomic_interval is not None
    assert device.atomic_float_interval is not None
    n = 1 << 20
    for dtype, interval in (
        ("int32", device.atomic_interval),
        ("float32", device.atomic_float_interval),
    ):
        prediction = predict("atomic-add", n=n, addresses=1, dtype=dtype, device=device)
        assert prediction.terms_s["atomics"] == pytest.approx(n * interval, rel=0.02)
    added_up = kernel_from_table(custom({"index": 0, "aggregated": True}, length="1"))
    once = predict(added_up, n=n, device=device)
    assert once.terms_s["atomics"] == pytest.approx(n / 32 * device.atomic_interval, rel=0.02)
    # hand: one lane of a warp goes to L2. Counted: 13,433 of 13,436 requests
    # (measurements/source-kernels/h100-sxm/blind-domains, shift_or_count)
    assert once.traffic["l2_atomic_sectors"] == n / 32


def test_more_addresses_never_take_longer_and_floats_never_less() -> None:
    # property, but for two lines of a piece: two words 128 B apart were measured 1.16 times one
    sizes = [1, 2, 4, 8, 64, 512, 4096, 1 << 16, 1 << 20]
    for spacing in (1, 8, 32):
        times = {
            dtype: [
                predict("atomic-add", n=1 << 20, addresses=a, spacing=spacing, dtype=dtype)
                .terms_s["atomics"]
                for a in sizes
            ]
            for dtype in ("int32", "float32")
        }  # fmt: skip
        for some in times.values():
            apart = 1.17 if spacing == 32 else 1.05
            assert all(b <= a * apart for a, b in itertools.pairwise(some))
        pairs = zip(times["int32"], times["float32"], strict=True)
        assert all(f >= i * (1 - 1e-9) for i, f in pairs)


def test_elements_past_l2_go_to_dram() -> None:
    # derived: a sector of its own for each addition is read once and, in the end, written once
    device = load_device("h200-sxm")
    n = 1 << 24
    large = predict("atomic-add", n=n, addresses=n, spacing=32, device=device)
    assert large.traffic["dram_read_bytes"] == pytest.approx(n * 48, rel=0.01)
    assert large.traffic["dram_write_bytes"] == pytest.approx(n * 32, rel=0.1)
    assert large.bottleneck == "dram"
    small = predict("atomic-add", n=n, addresses=4096, device=device, cache="warm")
    assert small.traffic["dram_read_bytes"] == 0
    assert small.traffic["dram_write_bytes"] == 0


def test_what_l2_control_leaves_out_is_said() -> None:
    # property: what atomics past L2 fetch is not modelled for other granularities, and says so
    size = {"n": 1 << 24, "addresses": 1 << 24, "spacing": 32}
    said = "atomics past L2 are modelled with the driver's fetch granularity"
    fine = L2Control(fetch_granularity=32)
    assert any(said in w for w in predict("atomic-add", l2=fine, **size).warnings)
    assert not any(said in w for w in predict("atomic-add", **size).warnings)
    assert not any(said in w for w in predict("atomic-add", l2=fine, n=1 << 20).warnings)


def test_compare_and_swap_loops_take_round_trips() -> None:
    # measured: 983 us for 2048 threads at one address (retries.csv), between events
    device = load_device("h200-sxm")
    loop = kernel_from_table(custom({"index": 0, "operation": "cas-loop"}, length="1"))
    n = 2048
    whole = predict(loop, n=n, device=device).terms_s["atomics"]
    assert whole == pytest.approx(980e-6, rel=0.12)


def lanes_a_second(device: str, kernel: str, lanes: int, **params: int | str) -> float:
    return lanes / predict(kernel, device=device, cache="warm", **params).time_s


def clocks_each(tried: Tried, rounds: float) -> float:
    return float(loop_clocks(tried, rounds, load_device("h200-sxm")))


def test_tries_in_shared_memory() -> None:
    # measured: wavefronts for each success of a full SM, counted by the profiler; the model's turn
    # is that, and up to a third more between them (measurements/atomics/h200-sxm/lines/counted.csv)
    with (ROOT / "measurements" / "atomics/h200-sxm/lines" / "counted.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if int(row["warps"]) * int(row["held"]) == 64]
    rows = [row for row in rows if row["addresses"] == "1"]
    assert len(rows) == 8
    for row in rows:
        warps, held = int(row["warps"]), int(row["held"])
        counted = int(row["shared_wavefronts"]) / (132 * warps * 32)
        width = 8 if row["dtype"] == "float64" else 4
        each = clocks_each(Tried(warps, warps, held, False, 1.0, width), 1e9)
        assert 0.97 * counted < each < 1.34 * counted, row


def test_blocks_that_add_once_keep_step() -> None:
    # property: 8 warps of a block on its own succeed once a turn, 16 more often
    alone = clocks_each(Tried(1, 1, 1, True, 1.0, 4), 1e9)
    assert clocks_each(Tried(8, 8, 1, True, 1.0, 4), 1e9) > 0.85 * alone
    assert clocks_each(Tried(16, 16, 1, True, 1.0, 4), 1e9) < 0.6 * alone


def test_warps_that_add_again_keep_step_where_they_are_few() -> None:
    # measured: clocks from one success to the next, the slowest of 132 blocks, of threads that add
    # 16 or 32 times (measurements/atomics/h200-sxm/lines/shared-loops.csv): 4 warps as many as one,
    # 8 of 8 B where each lane has an address of its own
    with (ROOT / "measurements" / "atomics/h200-sxm/lines" / "shared-loops.csv").open() as file:
        rows = [r for r in csv.DictReader(file) if int(r["turns"]) > 1 and r["waves"] == "1"]
    rows = [r for r in rows if r["held"] == "1" and r["warps"] in ("4", "8")]
    assert len(rows) == 38
    off = []
    for r in rows:
        warps, addresses = int(r["warps"]), int(r["addresses"])
        tried = max(1.0, warps * min(1.0, 32 / addresses))
        width = 8 if r["dtype"] == "float64" else 4
        each = clocks_each(Tried(tried, warps, 1, False, min(32, addresses), width), 1.0)
        slowest = float(r["each"]) * float(r["longest"]) / float(r["life"])
        off.append(abs(each / slowest - 1))
    assert max(off) < 0.35
    assert sorted(off)[len(off) // 2] < 0.09


@pytest.mark.parametrize("addresses", [1, 2, 8, 32])
def test_constant_increments_in_shared_memory_do_not_queue(addresses: int) -> None:
    # published: on an A100, "+1 (ATOMS.POPC.INC)" runs at the rate of no contention at any
    # (Jia & Van Sandt, GTC 2021, S33322); derived: otherwise lanes at one address take a clock
    # each, behind which issuing and launching hide
    shared = {"blocks": 216, "iterations": 1024, "block": 1024, "dtype": "uint32"}
    lanes = 216 * 1024 * 1024
    rate = partial(lanes_a_second, "a100-sxm-40", "shared-atomic", lanes, **shared)
    apart, ones = rate(addresses=32), rate(addresses=addresses)
    assert ones == pytest.approx(apart, rel=1e-6)
    turns = rate(addresses=addresses, constant=False)
    assert turns == pytest.approx(ones * addresses / 32, rel=0.15)


@pytest.mark.parametrize(("addresses", "each"), [(32, 1.0), (48, 4 / 3), (64, 1.0), (96, 1.0)])
def test_warps_that_pass_the_end_of_the_elements_take_two_turns(
    addresses: int, each: float
) -> None:
    # derived: of 48 elements every third warp has lanes at 32 to 47 and at 0 to 15, the same banks
    shared = {"blocks": 264, "iterations": 4096, "block": 1024}
    clocks = predict("shared-atomic", addresses=addresses, **shared).terms_s["l1"] * 1.98e9
    assert clocks == pytest.approx(2 * 32 * 4096 * each, rel=0.02)


@pytest.mark.parametrize("dtype", ["uint64", "float64", "float32"])
def test_constant_increments_of_other_types_loop_all_the_same(dtype: str) -> None:
    shared = {"blocks": 132, "addresses": 4, "dtype": dtype}
    known, unknown = (predict("shared-atomic", constant=c, **shared) for c in (True, False))
    assert known.time_s == unknown.time_s


@pytest.mark.parametrize(
    ("device", "low", "high"), [("h100-sxm", 170, 220), ("a100-sxm-40", 120, 160)]
)
def test_drill_how_much_slower_a_global_increment_is(device: str, low: float, high: float) -> None:
    # derived: one address takes an addition every 1.5 (H100) or 1.3 (A100) clocks for the whole
    # GPU, while each SM adds one a clock to a counter of its own: about 200 and 140 times as many.
    # "100 x" holds for one address; with a line for each warp's lanes global additions catch up.
    sms = load_device(device).sm_count
    n = 1 << 22
    shared = {"blocks": 2 * sms, "iterations": 1024, "block": 1024, "constant": False}
    lanes = 2 * sms * 1024 * 1024
    contended = lanes_a_second(device, "shared-atomic", lanes, addresses=1, **shared)
    single = lanes_a_second(device, "atomic-add", n, n=n, addresses=1)
    assert low < contended / single < high
    apart = lanes_a_second(device, "shared-atomic", lanes, addresses=32, **shared)
    spread = lanes_a_second(device, "atomic-add", n, n=n, addresses=1 << 20)
    assert apart / spread < 30
