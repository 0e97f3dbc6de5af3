"""Atomics and random reads on an H100: rows that nothing was fitted on, a sample of each topic."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.measure.recorded import Recording, Row, read_recording
from perfmodel.models.bandwidth.dram import COUNTED_CHANNEL, rows_cost
from perfmodel.models.bandwidth.slices import LOOKUPS_A_CLOCK, lone_sector
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.validation.cases import as_timed, matched, one_case
from perfmodel.validation.sweeps import Sweep

SUITE = Path(__file__).parents[2] / "measurements" / "h100-sxm-suite"
H100, H200 = load_device("h100-sxm"), load_device("h200-sxm")


@cache
def recording() -> tuple[Recording, list[tuple[Sweep, Row]]]:
    found = read_recording(SUITE)
    return found, list(matched(found))


def errors(topic: str, use: str, every: int) -> np.ndarray:
    """Return predicted over measured times less one, of every so many rows of a topic."""
    folder, pairs = recording()
    chosen = [(s, r) for s, r in pairs if r.topic == topic and s.use_of(r) == use]
    found = [one_case(s, r, as_timed(H100, folder, r)).error for s, r in chosen[::every]]
    return np.array(found)


# topic, every so many rows, median, 90th percentile and bias that are allowed
TOPICS = [
    ("atomics", 11, 0.06, 0.25, 0.06),
    ("unseen-atomics", 7, 0.06, 0.20, 0.06),
    ("contention-atomics", 97, 0.06, 0.20, 0.05),
    ("privatized", 5, 0.06, 0.12, 0.05),
    ("random-reads", 3, 0.06, 0.20, 0.05),
    ("shared-atomics", 4, 0.07, 0.15, 0.06),
    ("retries", 90, 0.13, 0.35, 0.11),
]


@pytest.mark.parametrize(("topic", "every", "median", "most", "bias"), TOPICS)
def test_rows_never_fitted_on(
    topic: str, every: int, median: float, most: float, bias: float
) -> None:
    found = errors(topic, "validation", every)
    assert len(found) >= 9
    assert np.median(np.abs(found)) < median
    assert np.quantile(np.abs(found), 0.9) < most
    assert abs(np.median(found)) < bias


def test_atomics_that_outgrow_l2() -> None:
    # measured: all fit rows, on which no figure of the H100's was fitted; half of it is an H200's
    found = errors("atomics-outgrown", "fit", 1)
    assert len(found) == 18
    assert abs(np.median(found)) < 0.04
    assert np.median(np.abs(found)) < 0.05
    assert np.max(np.abs(found)) < 0.20


def test_lone_sectors_come_by_slices_and_not_by_bandwidth() -> None:
    # measured: single floats of 8 MiB at random places, past the start of the launch
    rates = {}
    for name, device, folder in (
        ("h100", H100, SUITE),
        ("h200", H200, SUITE.with_name("h200-sxm-contention")),
    ):
        found = read_recording(folder).topics["random-reads"].rows
        times = {
            int(r.values["reads"]): r.time_s
            for r in found
            if (r.values["bytes"], r.values["blocks"]) == (8 << 20, 4224)
        }
        reads = 4224 * 256 * (64 - 16)
        rates[name] = reads / (times[64] - times[16])
        lone = device.l2_read_bandwidth / SECTOR / lone_sector(device)
        assert lone == pytest.approx(rates[name], rel=0.03)
        assert lone == pytest.approx(LOOKUPS_A_CLOCK * (device.l2_slices or 0) * device.sm_clock)
    assert rates["h100"] / rates["h200"] == pytest.approx(80 / 94, rel=0.02)


def test_isolated_sectors_lose_time_by_channels() -> None:
    # definition: where the cost was counted it is itself, and dense bytes cost one everywhere
    assert float(rows_cost(4.75, H200)) == pytest.approx(4.75, rel=1e-4)
    assert float(rows_cost(1.0, H100)) == 1
    channel = H100.dram_bandwidth / 80
    assert float(rows_cost(2.0, H100)) == pytest.approx(1 + channel / COUNTED_CHANNEL)
    # by hand: the time lost for a byte is the same in each channel of both
    lost = [
        (float(rows_cost(2.0, d)) - 1) / d.dram_bandwidth * (d.l2_slices or 0) for d in (H100, H200)
    ]
    assert lost[0] == pytest.approx(lost[1], rel=1e-6)
