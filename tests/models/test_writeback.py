"""Write-backs that a set-aside holds up: limits, and what two GPUs of other slices do alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfmodel.hardware import Device, load_device
from perfmodel.measure.recorded import read_recording
from perfmodel.models.dram.writeback import LOST_TIME, lost_inputs, streams_between
from perfmodel.validation.cases import as_timed, matched, predict_row

MEASUREMENTS = Path(__file__).parents[2] / "measurements"
H100, H200 = (load_device(name) for name in ("h100-sxm", "h200-sxm"))


def lost(device: Device, dram: float, held: float, streams: float = 0.0) -> float:
    return float(LOST_TIME(**lost_inputs(device, dram, held, streams)))


@pytest.mark.parametrize("streams", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("dram", [1e-6, 1e-4, 1e-2])
def test_an_h200_loses_what_was_measured_on_it(dram: float, streams: float) -> None:
    assert lost(H200, dram, 1e8, streams) == pytest.approx(1e8 / H200.dram_bandwidth, rel=1e-9)


def test_nothing_is_lost_without_a_loss() -> None:
    assert lost(H100, 1e-3, 0.0) == pytest.approx(0.0, abs=1e-15)


def test_slices_alone_decide_where_dram_has_next_to_nothing_to_do() -> None:
    assert lost(H100, 0.0, 1e8) == pytest.approx(94 / 80 * lost(H200, 0.0, 1e8))


def test_a_slower_dram_hides_what_slices_lose() -> None:
    # as many bytes take an H100's DRAM 1.44 times as long
    time = 2**29 / H200.dram_bandwidth
    slower = time * H200.dram_bandwidth / H100.dram_bandwidth
    for held in (1e7, 1e8, 4e8):
        assert lost(H100, slower, held) < 94 / 80 * lost(H200, time, held)


def test_streams_between_writes_are_capped_and_leave_tables_out() -> None:
    found = streams_between([0.0, 5e8, 9e9, 5e8], [0.0, 0.0, 0.0, 5e8], 1e9)
    assert found.tolist() == [0.0, 0.5, 1.0, 0.0]


@pytest.mark.parametrize("name", ["h100-sxm", "h200-sxm"])
def test_streams_beside_every_number_of_ways(name: str) -> None:
    # 512 MiB written and copied by 8 blocks an SM, by events, fitted on or not: 0.8 and 1.5% off in
    # the median, 5.4 and 5.8% at most
    recording = read_recording(MEASUREMENTS / f"suite/{name}/sweeps")
    found = []
    for sweep, row in matched(recording):
        if row.topic not in ("set-aside-streams", "set-aside-mixtures") or row.timing != "events":
            continue
        values = row.values
        if values["stream"] in ("copy", "write") and values.get("resident", 8) == 8:
            if values["mib"] != 512:
                continue
            device = as_timed(load_device(name), recording, row)
            found.append(abs(predict_row(sweep, row, device).time_s / row.time_s - 1))
    assert len(found) >= 40
    assert np.median(found) < 0.02
    assert max(found) < 0.07
