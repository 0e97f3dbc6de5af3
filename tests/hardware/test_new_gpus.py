"""GPUs from their data sheets in TOML alone (docs/devices), and what is said of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from perfmodel import predict
from perfmodel.hardware import load_device

DEVICES: Final = Path(__file__).parents[2] / "docs" / "devices"
GPUS: Final = {"l40s": ("rtx-a6000", "8.6", "8.9"), "b200": ("h100-sxm", "9.0", "10.0")}


@pytest.fixture(params=sorted(GPUS))
def name(request: pytest.FixtureRequest) -> str:
    """Return the name of a GPU."""
    return str(request.param)


def test_what_the_file_states_is_the_data_sheets(name: str) -> None:
    # the data sheets' own products: lanes x 2 x clock is the FP32 peak that they state
    device = load_device(DEVICES / f"{name}.toml")
    peak = device.sm_count * device.fp32_lanes * 2 * device.sm_clock
    assert device.peak_fp32 == pytest.approx(peak, rel=0.002)
    assert device.compute_capability == GPUS[name][2]


def test_sizes_and_bandwidth_are_in_their_units() -> None:
    # by hand: 96 MiB, 864 GB/s; 126.5 MB, 7672 GB/s
    l40s, b200 = (load_device(DEVICES / f"{gpu}.toml") for gpu in ("l40s", "b200"))
    assert (l40s.l2_size, l40s.dram_bandwidth) == (96 * 2**20, 864e9)
    assert (b200.l2_size, b200.dram_bandwidth) == (126_500_000, 7.672e12)


def test_every_other_figure_counts_as_inherited(name: str) -> None:
    base, old, _ = GPUS[name]
    device = load_device(DEVICES / f"{name}.toml")
    assert device.inherited is not None
    assert (device.inherited.device, device.inherited.compute_capability) == (base, old)
    # stated by the file, so not inherited; and figures of latency and bandwidth, which it lacks
    assert not {"sm_count", "l2_size", "dram_bandwidth", "peak_fp32"} & set(
        device.inherited.figures
    )
    assert {"l2_read_bandwidth", "l2_latency", "dram_latency"} <= set(device.inherited.figures)


def test_the_prediction_says_so_and_is_unsure(name: str) -> None:
    base, old, new = GPUS[name]
    found = predict("copy", device=DEVICES / f"{name}.toml", bytes=1 << 28)
    said = " ".join(found.warnings)
    assert f"figures are inherited from {base}: not measured on this GPU" in said
    assert f"compute capability {new}" in said
    assert f"inherited from {base} ({old})" in said
    low, high = found.interval_s
    assert low == pytest.approx(found.time_s / 2)
    assert high == pytest.approx(found.time_s * 2)


def test_what_dram_bounds_follows_the_stated_bandwidth() -> None:
    # derived: all bytes at the stated peak and the share of it that a sibling reaches
    device = load_device(DEVICES / "l40s.toml")
    found = predict("copy", device=device, bytes=1 << 28)
    moved = found.traffic["dram_read_bytes"] + found.traffic["dram_write_bytes"]
    assert found.bottleneck == "dram"
    floor = moved / (device.dram_bandwidth * device.dram_copy_efficiency)
    assert floor * 0.97 < found.time_s < floor * 1.05


def test_arithmetic_follows_the_stated_peak() -> None:
    # derived: a product takes 2 N^3 operations at the rate that the file states as reached
    found = predict("gemm", mapping="tensor-core", device=DEVICES / "b200.toml", N=16384)
    assert found.terms_s["bf16_tensor"] == pytest.approx(2 * 16384**3 / 1716e12, rel=0.1)
