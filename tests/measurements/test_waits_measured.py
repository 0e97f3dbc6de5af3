"""Waits for loads turn by turn, and operators by blocks, on an H200
(measurements/latency/h200-sxm/waits)."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel.hardware import Device, load_device
from perfmodel.measure.folders import root
from perfmodel.models.latency.cold_start import cold_start
from perfmodel.models.time.launch import code_fetch
from perfmodel.prediction.predict import predict_many

FOLDER = root() / "latency/h200-sxm/waits"
LAUNCHES = root() / "launch-overhead/h200-sxm/small"


def device() -> Device:
    protocol = tomllib.loads((FOLDER / "session.toml").read_text())["protocol"]
    floors = {
        "event_floor": protocol["event_floor_us"] * 1e-6,
        "launch_floor": protocol["profiler_floor_us"] * 1e-6,
        "launch_fetch": 0.17e-6,
    }
    return replace(load_device("h200-sxm"), **floors)


def errors(kernel: str, seen: list[dict[str, Any]], names: dict[str, str], **given: Any) -> Any:
    numbers = {name: np.array([r[column] for r in seen]) for name, column in names.items()}
    found = predict_many(kernel, device=device(), **numbers, **given)
    return found.time_s * 1e6 / np.array([r["time_us"] for r in seen]) - 1


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_blocks_that_share_a_row_of_argmax(dtype: str, cache: str) -> None:
    # measured; regression: 2 to 3% off in the median, 20 to 30% before the exchange was counted
    every = rows("argmax", FOLDER, dtype=dtype, cache=cache)
    seen = [r for r in every if r["rows"] <= 16 and r["columns"] >= 131072]
    off = np.abs(
        errors("argmax", seen, {"rows": "rows", "cols": "columns"}, dtype=dtype, cache=cache)
    )
    assert len(off) == 12
    assert np.median(off) < 0.05
    assert np.max(off) < 0.13


@pytest.mark.parametrize(("cache", "count", "bias"), [("warm", 6, 0.05), ("cold", 12, 0.09)])
def test_attention_of_a_token_waits_three_times_for_four_rows(
    cache: str, count: int, bias: float
) -> None:
    # measured, as the compiler orders the loads: two rows of keys, two more, four of values;
    # regression: 53% too slow, warm, when every instruction waited for the one before it
    seen = rows("decode", FOLDER, variant=0, cache=cache)
    names = {"heads": "heads", "context": "context", "part": "part"}
    off = errors("decode-attention", seen, names, mapping="split", cache=cache, timing="events")
    assert len(off) == count
    assert abs(np.median(off)) < bias
    assert np.max(np.abs(off)) < 0.2


def test_code_is_fetched_sooner_on_few_sms() -> None:
    # measured: blocks of one warp that read 512 B from L2; the rest is the floor and L2's latency
    gpu = device()
    seen = [
        r
        for r in rows("small", LAUNCHES, kernel="load", cache="warm", use="fit")
        if r["blocks"] <= 132
    ]
    blocks = np.array([float(r["blocks"]) for r in seen])
    found = gpu.launch_floor + gpu.l2_latency + code_fetch(gpu, blocks)
    assert len(seen) == 10
    assert found * 1e6 == pytest.approx(np.array([r["time_us"] for r in seen]), rel=0.05)


@pytest.mark.parametrize("turns", [1, 2, 4, 8, 16, 32, 64, 128, 256])
def test_luck_of_many_waits_evens_out_in_part(turns: int) -> None:
    # measured: how much later than the mean of 132 blocks the slowest is, one load in flight, cold;
    # as much of it as is there from L2 too belongs to the place of the SM. Runs scatter by 30%; the
    # square root would be 2.5 times as much at 256 turns, and no growth a sixth
    late = {
        cache: np.mean(
            [
                float(r["most_clocks"]) - float(r["mean_clocks"])
                for r in rows("loops", FOLDER, cache=cache, loads=1, vector=4, chain=0, blocks=132)
                if r["turns"] == turns
            ]
        )
        for cache in ("cold", "warm")
    }
    measured = (late["cold"] - late["warm"]) / device().sm_clock
    one = np.ones(1)
    traffic: Any = SimpleNamespace(dram_read_bytes=1e9 * one, l2_read_sectors=1e4 * one)
    found = cold_start(traffic, 132 * one, device(), turns * one)
    assert float(found[0]) == pytest.approx(measured, rel=0.6)


def test_attention_of_a_token_one_row_at_a_time() -> None:
    # measured: somebody else's kernel, whose loop has one row of keys and one of values, warm, by
    # CUPTI (built-in-kernels/h200-sxm/first); regression: 0% and 6% off, with four rows 24% and 28%
    seen = [
        {"batch": 8, "heads": 8, "context": 739, "time_us": 7.10},
        {"batch": 4, "heads": 16, "context": 579, "time_us": 6.69},
    ]
    names = {"batch": "batch", "heads": "heads", "context": "context"}
    off = errors("decode-attention", seen, names, mapping="split", cache="warm", unroll=1)
    assert np.max(np.abs(off)) < 0.09


@pytest.mark.parametrize(("width", "median", "ninetieth"), [(64, 0.06, 0.10), (128, 0.06, 0.13)])
def test_attention_by_blocks_of_an_sm(width: int, median: float, ninetieth: float) -> None:
    # fitted; regression: 19% too slow for one block an SM, 10% too fast for two, while L1 stood in
    # the queue of warps. Left out: last rounds that all but fill the SMs, whose blocks share some
    every = rows("flash", FOLDER, width=width, cache="warm")
    seen = [r for r in every if not 376 <= r["blocks"] <= 460]
    names = {"batch": "blocks", "context": "keys"}
    given = {"heads": 1, "kv_heads": 1, "width": width, "splits": 1, "mapping": "flash"}
    off = errors("decode-attention", seen, names, cache="warm", **given)
    assert len(off) == 36
    assert np.median(np.abs(off)) < median
    assert np.quantile(np.abs(off), 0.9) < ninetieth
    lone = [abs(e) for e, r in zip(off, seen, strict=True) if r["blocks"] <= 132]
    assert max(lone) < 0.10
