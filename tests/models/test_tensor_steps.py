"""Copies ahead, the clock of tensor cores, and first reads: what each of them changes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels import kernel_from_table
from perfmodel.models.latency.batches import DRAM_SPREAD
from perfmodel.models.latency.cold_start import cold_start
from perfmodel.prediction import predict

H200 = load_device("h200-sxm")
ATTENTION = {"kernel": "prefill-attention", "mapping": "tiled", "heads": 32, "tokens": 2048}


def copying(cache: str) -> Any:
    table = {
        "name": "copies",
        "launch": {"grid": 264, "block": 128},
        "buffers": {"x": {"length": "264*64*128*4", "element_bytes": 4}},
        "loops": [{"variable": "j", "trips": 64}],
        "accesses": [
            {
                "load": "x",
                "index": "((blockIdx.x*64 + j)*128 + threadIdx.x)*4",
                "vector": 4,
                "loop": "j",
                "cache": cache,
            }
        ],
        "barriers": [{"count": 1, "loop": "j"}],
    }
    return kernel_from_table(table)


def test_copies_ahead_are_waited_for_once() -> None:
    # by hand: 64 steps of one batch of loads each; copied ahead, only the first is waited for
    past, ahead = (
        predict(copying(cache), device=H200, cache="warm").details.time
        for cache in ("l2", "shared")
    )
    (there,) = [b for b in past.chain.batches if b.loop == "j"]
    (early,) = [b for b in ahead.chain.batches if b.loop == "j"]
    assert float(early.count[0]) == float(there.count[0])
    assert float(np.max(early.waited)) == 1.0
    assert float(np.max(there.waited)) == float(there.count[0])
    assert float(past.resources.steps.load[0]) > 0
    assert float(ahead.resources.steps.load[0]) == 0
    assert ahead.time_s[0] < past.time_s[0]


def test_copies_fill_a_row_of_banks_at_a_time() -> None:
    # by hand: 32 of the 128 bytes that the banks take in a clock, a quarter clock a sector; 264
    # blocks bring 64 steps of 128 times 16 bytes to 132 SMs
    sectors = 264 * 64 * 128 * 16 / 32 / 132
    past, ahead = (
        predict(copying(cache), device=H200, cache="warm").details.time.sm.l1.stages.fills
        for cache in ("l2", "shared")
    )
    assert float(ahead[0]) == pytest.approx(sectors / 4)
    assert float(past[0]) > float(ahead[0])


def test_traffic_is_the_same_either_way() -> None:
    past, ahead = (predict(copying(c), device=H200, cache="cold").traffic for c in ("l2", "shared"))
    assert past == ahead


def test_products_lower_the_clock() -> None:
    # property: the steps of attention are work of SMs alone, so all of it goes by the clock
    slow = replace(H200, tensor_clock=H200.sm_clock / 2)
    full = replace(H200, tensor_clock=None)
    times = [predict(**ATTENTION, device=d, cache="warm").details.time for d in (slow, full)]
    launch = [float(t.terms_s["launch"][0] + t.terms_s["ramp"][0]) for t in times]
    work = [float(t.time_s[0]) - spent for t, spent in zip(times, launch, strict=True)]
    assert work[0] / work[1] == pytest.approx(2, rel=0.02)
    assert times[0].clock == H200.sm_clock / 2
    # and nothing else: a copy has no products
    assert predict("copy", device=slow, bytes=1 << 24).details.time.clock == H200.sm_clock


def read(fetched: float) -> Any:
    """Return traffic of so many bytes from DRAM, of 10,000 sectors that L2 is asked for."""
    return SimpleNamespace(dram_read_bytes=np.array([fetched]), l2_read_sectors=np.array([1e4]))


@pytest.mark.parametrize(("blocks", "late"), [(1, 0), (2, 1), (8, 3), (128, 7), (4096, 7.044)])
def test_the_slowest_first_read_of_all_sms(blocks: int, late: float) -> None:
    # by hand: log2 of the SMs that read, at most 132, times the lateness of one of two
    found = cold_start(read(1e6), np.array([blocks]), H200)
    assert float(found[0]) == pytest.approx(late * DRAM_SPREAD(H200), rel=1e-3)


def test_a_warm_launch_waits_for_no_first_read() -> None:
    found = cold_start(read(0.0), np.array([132.0]), H200)
    assert float(found[0]) == 0.0


def test_a_device_may_say_what_a_launch_fetches() -> None:
    slow, fast = (replace(H200, launch_fetch=s) for s in (1e-6, 0.0))
    times = [predict("copy", device=d, bytes=1 << 21).time_s for d in (slow, fast)]
    assert times[0] - times[1] == pytest.approx(1e-6)
    # by hand: on 12 SMs the slowest is log2(12)/log2(132) as late
    few, none = (predict("read", device=d, bytes=12 << 12).time_s for d in (slow, fast))
    assert few - none == pytest.approx(1e-6 * np.log2(12) / np.log2(132), rel=1e-6)
