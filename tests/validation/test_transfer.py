"""Transfer: what goes over from one GPU to another, and in which unit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel.hardware import load_device
from perfmodel.measure.folders import published
from perfmodel.prediction.interval import origin
from perfmodel.validation.validate import DEVICES, transferred

H200, A100 = load_device("h200-sxm"), load_device("a100-sxm-80")
MADE = transferred(A100, H200)


def test_the_data_sheet_stays() -> None:
    for name in ("sm_count", "sm_clock", "l2_size", "dram_bandwidth", "peak_fp32", "fp32_lanes"):
        assert getattr(MADE, name) == getattr(A100, name), name


def test_what_is_measured_goes_over_in_its_own_unit() -> None:
    # by hand: 290 clocks of L2 and 691 - 290 of DRAM at 1980 MHz; A100 at 1410 MHz, 108 SMs to 132
    assert MADE.l2_latency * 1410e6 == pytest.approx(290)
    assert MADE.l1_latency * 1410e6 == pytest.approx(32)
    assert MADE.dram_latency == pytest.approx(290 / 1410e6 + 401 / 1980e6)
    assert MADE.l2_read_bandwidth == pytest.approx(8.46e12 * 108 * 1410 / (132 * 1980))
    assert MADE.block_dispatch_rate == pytest.approx(1.665e9 * 1410 / 1980)
    assert MADE.dram_read_efficiency == 0.9895
    assert MADE.launch_floor == pytest.approx(1.5e-6)


def test_nothing_of_the_targets_own_measurements_is_left() -> None:
    # property: other measured figures of the target change nothing
    other = replace(
        A100,
        l2_latency=1.0,
        l2_far_latency=1.0,
        l1_latency=1.0,
        shared_latency=1.0,
        dram_latency=1.0,
        l2_read_bandwidth=1.0,
        l2_write_bandwidth=1.0,
        dram_read_efficiency=0.1,
        dram_write_efficiency=0.1,
        dram_copy_efficiency=0.1,
        launch_floor=1.0,
        event_floor=1.0,
        block_dispatch_rate=1.0,
    )
    assert transferred(other, H200) == MADE


def test_a_transfer_to_itself_changes_no_number() -> None:
    made = transferred(H200, H200)
    for name in H200.figures:
        value = getattr(H200, name)
        assert getattr(made, name) == (
            value if isinstance(value, tuple) or value is None else pytest.approx(value)
        )


def test_transferred_devices_count_as_published() -> None:
    assert origin(H200) == "measured"
    assert origin(MADE) == "published"


def test_a_gpu_outside_the_catalogue_comes_as_a_data_sheet_over_the_teacher() -> None:
    assert "gh200" in published()
    gh200 = load_device(DEVICES / "gh200.toml")
    assert gh200.dram_bandwidth == 4000e9  # GH200 data sheet
    assert gh200.dram_read_efficiency == H200.dram_read_efficiency
