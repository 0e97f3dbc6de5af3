"""Every device of the catalogue: complete, sourced, consistent, and right where published."""

from __future__ import annotations

import math
import tomllib

import pytest

from perfmodel.hardware import Device, Figure, device_names, load_device
from perfmodel.hardware.device import quantities
from perfmodel.hardware.figure import KINDS, UNITS
from perfmodel.hardware.files import CATALOGUE

NAMES = [
    "a100-pcie-80",
    "a100-sxm-40",
    "a100-sxm-80",
    "h100-pcie",
    "h100-sxm",
    "h200-sxm",
    "rtx-a6000",
]


@pytest.fixture(params=NAMES)
def device(request: pytest.FixtureRequest) -> Device:
    return load_device(request.param)


def test_names_leave_out_the_bases() -> None:
    assert device_names() == NAMES
    stems = {path.stem for path in CATALOGUE.glob("*.toml")}
    assert stems - set(NAMES) == {"cc-8.0", "cc-8.6", "cc-9.0", "gh100-sxm", "a100"}


def test_file_and_device_agree_on_the_name(device: Device) -> None:
    assert (CATALOGUE / f"{device.name}.toml").is_file()
    assert device.title.startswith("NVIDIA ")


def test_every_base_names_itself() -> None:
    for path in CATALOGUE.glob("*.toml"):
        assert tomllib.loads(path.read_text())["name"] == path.stem


def test_every_number_has_a_figure_and_every_figure_a_source(device: Device) -> None:
    for name in quantities():
        assert (getattr(device, name) is None) == (name not in device.figures)
    for figure in device.figures.values():
        for each in (figure, *figure.also):
            assert each.source.strip()
            assert each.kind in KINDS
            assert each.dimension == figure.dimension


def test_guesses_give_their_reasoning(device: Device) -> None:
    assert all(f.note for f in device.figures.values() if f.kind == "assumed")


def test_attribute_is_the_figure_in_si(device: Device) -> None:
    # property: SI value = value * factor, for each number of each device
    for name, figure in device.figures.items():
        unit = UNITS[figure.unit]
        factor = unit.factor * device.sm_clock**unit.clock * device.sm_count**unit.sms
        if figure.values:
            assert getattr(device, name) == tuple(v * factor for v in figure.values)
        else:
            assert math.isclose(getattr(device, name), figure.value * factor, rel_tol=1e-12)
        assert figure.si_value(device.sm_clock, device.sm_count) == figure.value * factor


def test_counts_and_sizes_are_ints(device: Device) -> None:
    for name, what in quantities().items():
        value = getattr(device, name)
        if value is not None and not what.many:
            assert type(value) is (int if what.whole else float), name


def test_limits_hang_together(device: Device) -> None:
    # independent: relations that the programming guide states for every compute capability
    assert device.max_threads_per_sm == 32 * device.max_warps_per_sm
    assert device.register_file_size == 4 * device.registers_per_sm
    assert device.shared_per_sm == max(device.shared_carveouts)
    assert device.shared_per_sm == device.shared_per_block_max + device.shared_reserved_per_block
    assert device.shared_per_sm < device.l1_shared_size
    assert device.l2_persisting_max is not None
    assert device.l2_persisting_max < device.l2_size < device.dram_size
    assert device.fp64_lanes <= device.fp32_lanes


def test_hierarchy_is_ordered(device: Device) -> None:
    assert device.l1_latency < device.l2_latency < device.dram_latency
    assert device.l1_bandwidth > device.l2_read_bandwidth > device.dram_bandwidth
    if device.l2_far_latency is not None:
        assert device.l2_latency < device.l2_far_latency < device.dram_latency
    assert device.launch_floor < device.event_floor


def test_peaks_are_lanes_times_clock(device: Device) -> None:
    # independent: SMs x lanes x 2 FLOP x clock gives the data sheet's FP32 and FP64 to 2%:
    # the H100 PCIe's are listed in whole TFLOP/s
    fp32 = 2 * device.sm_count * device.fp32_lanes * device.sm_clock
    fp64 = 2 * device.sm_count * device.fp64_lanes * device.sm_clock
    assert device.peak_fp32 == pytest.approx(fp32, rel=0.02)
    assert device.peak_fp64 == pytest.approx(fp64, rel=0.02)


@pytest.mark.parametrize(
    ("name", "clock", "bits"),
    [
        # published: memory clock [Hz] and bus width of deviceQuery; two transfers a clock
        ("h100-sxm", 2619e6, 5120),
        ("h100-pcie", 1593e6, 5120),
        ("h200-sxm", 3201e6, 6016),  # device attributes; 6144 less 128 bits that are off
        ("a100-sxm-40", 1215e6, 5120),
        ("a100-sxm-80", 1593e6, 5120),
        ("a100-pcie-80", 1512e6, 5120),
        ("rtx-a6000", 8001e6, 384),
    ],
)
def test_dram_peak_is_clock_times_width(name: str, clock: float, bits: int) -> None:
    assert load_device(name).dram_bandwidth == pytest.approx(clock * 2 * bits / 8, rel=5e-4)


@pytest.mark.parametrize(
    ("name", "field", "expected"),
    [
        # published: NVIDIA H100 white paper
        ("h100-sxm", "sm_count", 132),
        ("h100-sxm", "peak_fp16_tensor", 989.4e12),
        ("h100-sxm", "peak_fp8_tensor", 1978.9e12),
        ("h100-sxm", "l2_size", 50 * 2**20),
        ("h100-pcie", "sm_count", 114),
        # published: CUDA C++ Programming Guide, technical specifications
        ("h100-sxm", "shared_per_block_max", 227 * 1024),
        ("h100-sxm", "max_blocks_per_sm", 32),
        ("a100-sxm-40", "shared_per_block_max", 163 * 1024),
        ("a100-sxm-40", "l1_shared_size", 192 * 1024),
        ("rtx-a6000", "shared_per_block_max", 99 * 1024),
        ("rtx-a6000", "max_warps_per_sm", 48),
        ("rtx-a6000", "max_blocks_per_sm", 16),
        # published: cuda_occupancy.h
        ("rtx-a6000", "register_allocation_unit", 256),
        # published: NVIDIA A100 data sheet
        ("a100-sxm-80", "peak_fp64_tensor", 19.5e12),
        ("a100-sxm-80", "peak_fp8_tensor", None),
        ("a100-sxm-80", "l2_size", 40 * 2**20),
        # published: NVIDIA RTX A6000 data sheet
        ("rtx-a6000", "dram_bandwidth", 768e9),
        # measured: device properties of the H100 80GB HBM3 and the H200
        ("h100-sxm", "l2_persisting_max", 32_768_000),
        ("h100-sxm", "l2_window_max", 134_217_728),
        ("h200-sxm", "l2_size", 62_914_560),
        ("h200-sxm", "l2_persisting_max", 39_321_600),
        # published: 31.25 MiB of set-aside, article "GPU L2 Cache Persistence"
        ("h100-sxm", "l2_persisting_max", int(31.25 * 2**20)),
    ],
)
def test_published_values(name: str, field: str, expected: float | None) -> None:
    assert getattr(load_device(name), field) == expected


def test_cycles_convert_with_each_gpus_clock() -> None:
    # independent, by hand: 33 cycles at 1.41 GHz; 128 B x 132 SMs x 1.98 GHz
    assert load_device("a100-sxm-40").l1_latency == pytest.approx(23.404e-9, rel=1e-4)
    assert load_device("h100-sxm").shared_bandwidth == pytest.approx(33.454e12, rel=1e-4)


def test_articles_stand_beside_what_replaced_them() -> None:
    h100, a100 = load_device("h100-sxm"), load_device("a100-sxm-40")

    def beside(device: Device, name: str) -> list[float]:
        also: tuple[Figure, ...] = device.figures[name].also
        return [f.si_value(device.sm_clock, device.sm_count) for f in also]

    assert 50 * 2**20 in beside(h100, "l2_size")
    assert {3.35e12, 3.43e12} <= {round(v) for v in beside(h100, "dram_bandwidth")}
    assert 31e12 in beside(h100, "shared_bandwidth")
    assert 124e12 in beside(h100, "register_bandwidth")
    assert 0.5 in beside(h100, "dram_read_efficiency")
    assert any(v == pytest.approx(500 / 1.98e9) for v in beside(h100, "dram_latency"))
    assert 164 * 1024 in beside(a100, "l1_shared_size")
    assert 5e12 in beside(a100, "l2_read_bandwidth")
