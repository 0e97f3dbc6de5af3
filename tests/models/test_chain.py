"""Chains of loads: SMs far from L2."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.models.latency.batch import Batch, BatchLatency
from perfmodel.models.latency.overlapping_loads import join_waits
from perfmodel.models.latency.slowest_sm import slowest_sm

MEASURED = Path(__file__).parents[2] / "measurements"


def clocks(name: str) -> list[dict[str, str]]:
    with (MEASURED / name).open() as file:
        return list(csv.DictReader(file))


def test_one_block_has_the_latency_of_the_first_sm() -> None:
    """Limit: the device's figure is that of one thread."""
    assert slowest_sm(np.ones(1), np.ones(1), load_device("h200-sxm"))[0] == 0


@pytest.mark.parametrize(("blocks", "measured"), [(33, 40.800), (132, 41.120)])
def test_a_launch_waits_for_the_slowest_sm(blocks: int, measured: float) -> None:
    """Measured: 256 hops of one warp an SM through 8 MiB, past L1, over those of one SM alone.

    Source: measurements/suite/h200-sxm/sweeps/chains.csv, profiler; the row of 33 SMs was never
    fitted on.
    """
    found = slowest_sm(np.full(1, float(blocks)), np.ones(1), load_device("h200-sxm"))
    assert found[0] * 256 == pytest.approx((measured - 38.880) * 1e-6, rel=0.05)


def test_the_spread_is_that_of_single_sms() -> None:
    """Independent: places of L2 timed from each SM in turn, not the chains that were fitted."""
    device = load_device("h200-sxm")
    rows = clocks("suite/h200-sxm/contention/slice-latency.csv")
    alone = [float(row["cycles"]) for row in rows]
    slowest = slowest_sm(np.full(1, 132.0), np.ones(1), device)[0] * device.sm_clock
    # Medians of places differ more than the means that a chain sees.
    assert slowest < max(alone) - device.l2_latency * device.sm_clock
    many = slowest_sm(np.full(1, 1e6), np.full(1, 1e4), device)[0] * device.sm_clock
    assert many == pytest.approx(np.mean(alone) - alone[0], rel=0.1)


def test_loads_of_a_loop_that_runs_once_go_out_with_those_around_it() -> None:
    """By hand: two rows of 16 B a lane and two of x in flight, over 20 pieces of 512 B."""
    for batch, expected in ((1, [("c", 10.0)]), (2, [("c", 5.0), ("b", 10.0)])):
        found = predict("ffn-gemv", mapping="warp", rows=1056, columns=5120, batch=batch)
        chain = found.details.time.chain
        assert [(b.loop, float(b.count[0])) for b in chain.batches] == expected


@pytest.mark.parametrize("kernel", ["copy", "gather"])
def test_dram_is_at_work_for_its_share_of_a_round(kernel: str) -> None:
    # definition: what DRAM does for a round of blocks, over that and what a block waits besides;
    # for DRAM alone in a copy, for all of it and with its instructions in a gather
    device = load_device("h200-sxm")
    found = predict(kernel, device=device, cache="cold").details.time
    chain, rounds = found.chain, found.resources.latency.waves
    without = [replace(b.latencies, load=np.zeros(1)).seconds for b in chain.batches]
    besides = sum(without) + chain.between / chain.clock
    if kernel == "copy":
        besides = np.array([device.dram_latency])
    busy = found.terms_s["dram"] / rounds
    for b in chain.batches:
        assert float(b.latencies.load[0]) == pytest.approx(float((busy / (busy + besides))[0]))
        assert 0 < float(b.latencies.written[0]) < 1


def batch(loop: str | None, missing: float, joins: str = "", count: float = 1.0) -> Batch:
    one = np.ones(1)
    latencies = BatchLatency(
        *(2e-8, 15e-8, 35e-8, one, missing * one, one),
        *(0.0, 0.0),
        spread=4e-8,
        wait=0.0,
    )
    return Batch(
        *(loop, count * one, one, one, 0, False, latencies),
        *(missing * one, one, None, None),
        joins=joins,
    )


def test_loads_that_are_waited_for_together() -> None:
    """By hand: what DRAM takes longer counts once, and the slowest of two reads is later."""

    def added(missing: float, of_loop: float, count: float = 1.0) -> float:
        found = join_waits([batch(None, missing, "s"), batch("s", of_loop, count=count)])
        return float(found[0].latency[0]) * 1e9

    assert added(0, 1) == pytest.approx(150)  # a hit
    assert added(1, 0) == pytest.approx(350)  # nothing of the loop's comes from DRAM
    assert added(1, 1) == pytest.approx(150 + 40)  # two reads at a time: one doubling
    assert added(1, 1, count=0) == pytest.approx(350)  # a loop that does not run
    # Property: those that join nothing, or no loop with loads, stay as they are.
    apart = [batch(None, 1.0), batch(None, 0.5, "t"), batch("s", 1.0)]
    assert join_waits(apart) == tuple(apart)
