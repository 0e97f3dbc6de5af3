"""Occupancy against NVIDIA's header, published figures, hand arithmetic and properties."""

import csv
import gzip
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import device_names, load_device
from perfmodel.models.launch.occupancy import LIMITERS, UNLIMITED, check_block, occupancy

KIB = 1024
REFERENCE = Path(__file__).parents[1] / "published" / "occupancy" / "reference.csv.gz"
HEADER_BIT = {"warps": 1, "registers": 2, "shared memory": 4, "blocks": 8}


def limits(capability, warps, blocks, shared_kib, unified_kib, carveouts_kib):
    """Only what occupancy reads, so that these tests do not rest on the catalogue."""
    return SimpleNamespace(
        compute_capability=capability,
        max_threads_per_block=1024,
        max_threads_per_sm=warps * 32,
        max_warps_per_sm=warps,
        max_blocks_per_sm=blocks,
        registers_per_sm=65536,
        max_registers_per_block=65536,
        max_registers_per_thread=255,
        register_allocation_unit=256,
        warp_allocation_granularity=4,
        shared_per_sm=shared_kib * KIB,
        shared_per_block_max=(shared_kib - 1) * KIB,
        shared_allocation_unit=128,
        shared_reserved_per_block=KIB,
        l1_shared_size=unified_kib * KIB,
        shared_carveouts=tuple(size * KIB for size in carveouts_kib),
    )


# Published: CUDA C++ Programming Guide, "Compute Capabilities" tables and the shared memory
# sections of 8.x and 9.0; NVIDIA Ampere and Hopper tuning guides, "Occupancy" and "Unified
# Shared Memory/L1/Texture Cache".
CC80 = limits("8.0", 64, 32, 164, 192, (0, 8, 16, 32, 64, 100, 132, 164))
CC86 = limits("8.6", 48, 16, 100, 128, (0, 8, 16, 32, 64, 100))
CC90 = limits("9.0", 64, 32, 228, 256, (0, 8, 16, 32, 64, 100, 132, 164, 196, 228))
BY_CAPABILITY = {d.compute_capability: d for d in (CC80, CC86, CC90)}

capabilities = st.sampled_from([CC80, CC86, CC90])
thread_counts = st.integers(1, 1100)
register_counts = st.integers(0, 300)
shared_sizes = st.integers(0, 240 * KIB)


@pytest.fixture(scope="module")
def reference():
    """Independent: the output of NVIDIA's cuda_occupancy.h (see README.md beside the data)."""
    with gzip.open(REFERENCE, "rt", newline="") as file:
        header, *rows = csv.reader(file)
    capability = np.array([row[0] for row in rows])
    numbers = np.array([row[1:] for row in rows], dtype=np.int64)
    columns = dict(zip(header[1:], numbers.T, strict=True))
    return {c: {n: v[capability == c] for n, v in columns.items()} for c in BY_CAPABILITY}


def run(device, cases):
    """One vectorised call over rows of the reference."""
    return occupancy(device, cases["threads"], cases["registers"], cases["shared"])


def alone(result, limiter):
    """Blocks that one resource would admit."""
    return result.limits[LIMITERS.index(limiter)]


@pytest.mark.parametrize("capability", BY_CAPABILITY)
def test_every_count_is_that_of_nvidias_header(reference, capability):
    cases = reference[capability]
    picked = {name: v[cases["carveout_percent"] < 0] for name, v in cases.items()}
    assert picked["blocks"].size >= 12000

    result = run(BY_CAPABILITY[capability], picked)

    np.testing.assert_array_equal(result.blocks_per_sm, picked["blocks"])
    np.testing.assert_array_equal(alone(result, "warps"), picked["by_warps"])
    np.testing.assert_array_equal(alone(result, "blocks"), picked["by_blocks"])
    np.testing.assert_array_equal(alone(result, "registers"), picked["by_registers"])
    np.testing.assert_array_equal(alone(result, "shared memory"), picked["by_shared"])
    ours = np.array([HEADER_BIT[name] for name in result.limiter])
    assert np.all(ours & picked["limiting_bits"])


def test_reference_meets_every_limiter_and_outcome(reference):
    for cases in reference.values():
        for bit in HEADER_BIT.values():
            assert np.count_nonzero(cases["limiting_bits"] == bit) > 100
        assert np.count_nonzero(cases["blocks"] == 0) > 500
        assert cases["registers"].max() == 255
        assert set(cases["threads"]) >= {1, 17, 32, 33, 1024, 1025}


@pytest.mark.parametrize(
    ("device", "threads", "registers", "shared", "blocks", "fraction"),
    [
        # CUDA C++ Best Practices Guide, "Calculating Occupancy" (its 64-warp, 64 Ki-register SM):
        # 37 registers in blocks of 128 give 12 blocks and 75%, in blocks of 320 4 blocks and 63%.
        (CC80, 128, 37, 0, 12, 0.75),
        (CC90, 128, 37, 0, 12, 0.75),
        (CC90, 320, 37, 0, 4, 0.625),
        # The same section: at most 32 registers a thread for full occupancy.
        (CC90, 1024, 32, 0, 2, 1.0),
        (CC90, 1024, 33, 0, 1, 0.5),
        # CUDA C++ Programming Guide, "Multiprocessor Level": 512 threads of 64 registers make
        # two resident blocks, one register more leaves one.
        (CC80, 512, 64, 0, 2, 0.5),
        (CC80, 512, 65, 0, 1, 0.25),
        # Ampere tuning guide, "Occupancy": 48 warps and 16 blocks an SM on 8.6.
        (CC86, 32, 16, 0, 16, 16 / 48),
        (CC86, 1024, 32, 0, 1, 32 / 48),
        (CC86, 768, 32, 0, 2, 1.0),
        # S. Boehm, "How to Optimize a CUDA Matmul Kernel", kernel 3 on an RTX A6000: 1024
        # threads, 37 registers, 8 KiB: one block, 66% (and 11 blocks by shared memory, below).
        (CC86, 1024, 37, 8192, 1, 32 / 48),
        # Tuning guides, "Shared memory": the largest block is 163, 99 and 227 KiB.
        (CC80, 256, 32, 163 * KIB, 1, 8 / 64),
        (CC80, 256, 32, 163 * KIB + 1, 0, 0.0),
        (CC86, 256, 32, 99 * KIB, 1, 8 / 48),
        (CC86, 256, 32, 99 * KIB + 1, 0, 0.0),
        (CC90, 256, 32, 227 * KIB, 1, 8 / 64),
        (CC90, 256, 32, 227 * KIB + 1, 0, 0.0),
    ],
)
def test_published_examples(device, threads, registers, shared, blocks, fraction):
    result = occupancy(device, threads, registers, shared)
    assert result.blocks_per_sm == blocks
    assert result.fraction == pytest.approx(fraction)


def test_published_breakdown_of_a_matmul_kernel():
    # Published: S. Boehm's article, kernel 3: (8192 + 1024) B a block, 102400 B an SM: 11 blocks.
    result = occupancy(CC86, 1024, 37, 8192)
    assert alone(result, "shared memory") == 11
    assert alone(result, "warps") == 1
    assert alone(result, "registers") == 1


# Hand arithmetic of this test's author, from the rules in the docstring of `occupancy`.


def test_hand_worked_register_limit_counts_by_sub_partition():
    # 73 x 32 = 2336, in units of 256: 2560 registers a warp. A sub-partition's 16384 hold 6,
    # the SM 24; the whole file as one would hold 65536 // 2560 = 25.
    assert alone(occupancy(CC90, 32, 73), "registers") == 24


def test_hand_worked_odd_block_size():
    # 100 threads are 4 warps: 64 // 4 = 16 blocks by warps; 40 registers are 1280 a warp,
    # 12 warps a sub-partition, 48 an SM, 12 blocks; shared: 5000 + 1024 = 6024, in units of
    # 128: 6144; 233472 // 6144 = 38. So 12 blocks, 48 warps, 75%, by registers.
    result = occupancy(CC90, 100, 40, 5000)
    assert alone(result, "warps") == 16
    assert alone(result, "registers") == 12
    assert alone(result, "shared memory") == 38
    assert result.blocks_per_sm == 12
    assert result.warps_per_sm == 48
    assert result.fraction == 0.75
    assert result.limiter == "registers"
    # 12 x 6144 = 73728 B: the next carve-out is 100 KiB, which leaves 156 KiB of L1.
    assert result.shared_carveout == 100 * KIB
    assert result.l1_size == 156 * KIB


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks", "limiter"),
    [
        (1024, 32, 0, 2, "warps"),  # 2 by registers too: the first in order
        (32, 16, 0, 32, "blocks"),  # 64 by warps
        (256, 128, 0, 2, "registers"),  # 8 by warps
        (128, 32, 100_000, 2, "shared memory"),  # 16 by warps
        (2048, 16, 0, 0, "warps"),  # over 1024 threads
        (64, 256, 0, 0, "registers"),  # over 255 registers
        (1024, 65, 0, 0, "registers"),  # 73728 registers
        (64, 32, 300_000, 0, "shared memory"),  # over 227 KiB
    ],
)
def test_hand_worked_limiters(threads, registers, shared, blocks, limiter):
    result = occupancy(CC90, threads, registers, shared)
    assert result.blocks_per_sm == blocks
    assert result.limiter == limiter


def test_hand_worked_limits_of_a_block_below_those_of_an_sm():
    # On the three GPUs a block may take the whole SM's registers and nearly all its shared
    # memory. With 32768 registers a block: 416 threads are 13 warps, counted as 16: 64 registers
    # are 16 x 2048 = 32768, and 65 (2304 a warp) are 29952 in 13 warps but 36864 in 16.
    half = SimpleNamespace(
        **vars(CC90) | {"max_registers_per_block": 32768, "shared_per_block_max": 48 * KIB}
    )
    assert occupancy(half, 416, [64, 65]).blocks_per_sm.tolist() == [2, 0]
    assert occupancy(half, 416, 32, [48 * KIB, 48 * KIB + 1]).blocks_per_sm.tolist() == [4, 0]


def test_no_registers_means_no_register_limit():
    assert alone(occupancy(CC90, 32, 0), "registers") == UNLIMITED


@pytest.mark.parametrize(
    ("device", "threads", "shared", "expected_kib"),
    [
        (CC90, 1024, 0, 8),  # 2 blocks x 1 KiB reserved
        (CC90, 32, 0, 32),  # 32 blocks x 1 KiB
        (CC90, 1024, 16 * KIB, 64),  # 2 x 17 KiB
        (CC90, 1024, 113 * KIB, 228),  # 2 x 114 KiB
        (CC86, 1024, 48 * KIB, 64),  # 1 x 49 KiB
        (CC90, 2048, 0, 0),  # nothing resident
    ],
)
def test_hand_worked_carveouts(device, threads, shared, expected_kib):
    result = occupancy(device, threads, 16, shared)
    assert result.shared_carveout == expected_kib * KIB
    assert result.l1_size == device.l1_shared_size - expected_kib * KIB


@given(capabilities, thread_counts, register_counts, shared_sizes)
def test_property_never_over_a_limit(device, threads, registers, shared):
    result = occupancy(device, threads, registers, shared)
    blocks, warps = int(result.blocks_per_sm), -(-threads // 32)
    assert 0 <= blocks <= device.max_blocks_per_sm
    assert result.warps_per_sm == blocks * warps <= device.max_warps_per_sm
    assert blocks * warps * registers * 32 <= device.registers_per_sm
    assert blocks * (shared + device.shared_reserved_per_block) <= result.shared_carveout
    assert result.shared_carveout in device.shared_carveouts
    assert result.shared_carveout + result.l1_size == device.l1_shared_size
    assert 0.0 <= result.fraction <= 1.0
    assert str(result.limiter) in LIMITERS


@given(capabilities, thread_counts, register_counts, shared_sizes, st.integers(1, 50))
def test_property_falls_with_registers_and_shared_memory(device, threads, registers, shared, step):
    base = occupancy(device, threads, registers, shared).blocks_per_sm
    assert occupancy(device, threads, registers + step, shared).blocks_per_sm <= base
    assert occupancy(device, threads, registers, shared + 100 * step).blocks_per_sm <= base


@given(capabilities, thread_counts, register_counts, shared_sizes)
def test_property_a_checked_block_is_one_that_runs(device, threads, registers, shared):
    runs = bool(occupancy(device, threads, registers, shared).blocks_per_sm)
    try:
        check_block(device, threads, registers, shared)
    except PerfmodelError:
        assert not runs
    else:
        assert runs


def test_shapes_broadcast():
    threads = np.array([64, 128, 256])[:, None, None]
    registers = np.array([32, 64])[None, :, None]
    shared = np.array([0, 8 * KIB, 64 * KIB, 228 * KIB])
    result = occupancy(CC90, threads, registers, shared)
    one = occupancy(CC90, 256, 64, 8 * KIB)
    assert result.limits.shape == (4, 3, 2, 4)
    for name in set(result.__dataclass_fields__) - {"limits"}:
        assert getattr(result, name).shape == (3, 2, 4), name
        assert getattr(one, name).shape == (), name
        assert getattr(result, name)[2, 1, 1] == getattr(one, name), name
    assert occupancy(CC90, np.array([], dtype=int), 16).blocks_per_sm.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 32, 0), ["threads_per_block", "0", "1 or more"]),
        ((-32, 32, 0), ["threads_per_block", "-32", "1 or more"]),
        ((1056, 32, 0), ["threads_per_block", "1056", "1024", "smaller blocks"]),
        ((128.0, 32, 0), ["threads_per_block", "float64", "whole"]),
        ((128, -1, 0), ["registers_per_thread", "-1", "0 or more"]),
        ((128, 256, 0), ["registers_per_thread", "256", "255"]),
        ((128, 32, -1), ["shared_per_block", "-1", "0 or more"]),
        ((128, 32, 232449), ["shared_per_block", "232449", "232448", "smaller tile"]),
        # Hand arithmetic: 32 warps x 80 x 32 = 81920 registers; 65536 / 32 warps = 2048: 64.
        ((1024, 80, 0), ["registers_per_thread", "80", "1024", "81920", "65536", "at most 64"]),
    ],
)
def test_check_block_says_what_and_why_in_one_line(arguments, words):
    with pytest.raises(PerfmodelError) as error:
        check_block(CC90, *arguments)
    text = str(error.value)
    assert "\n" not in text
    assert not [word for word in words if word not in text], text


def test_check_block_remedy_for_registers_is_the_largest_that_launches():
    check_block(CC90, 1024, 64)
    # 13 warps are counted as 16: 65536 / 16 = 4096 a warp, 128 registers a thread.
    with pytest.raises(PerfmodelError, match="at most 128 registers"):
        check_block(CC90, 416, 129)
    check_block(CC90, 416, 128)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([256, 0], 32, 0), "threads_per_block"),
        ((256, np.full(2000, 32.5), 0), "registers_per_thread"),
        ((256, 32, -5), "shared_per_block"),
        (("256", 32, 0), "threads_per_block"),
        ((True, 32, 0), "threads_per_block"),
    ],
)
def test_occupancy_refuses_what_is_no_launch(arguments, name):
    with pytest.raises(PerfmodelError, match=name) as error:
        occupancy(CC90, *arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", device_names())
def test_catalogue_has_the_published_limits(name):
    device = load_device(name)
    expected = BY_CAPABILITY[device.compute_capability]
    assert {key: getattr(device, key) for key in vars(expected)} == vars(expected)
