"""Products on tensor cores: issue slots, clocks and FLOP of mma and wgmma.

Expected values by hand from the rates that NVIDIA publishes for a clock of an SM (H100 Tensor Core
GPU Architecture white paper): 2048 multiply-accumulates of 16 bits in its four tensor cores, twice
as many of 8 bits, half as many of TF32, and the zeros of sparse matrices are left out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from programs import launch, program, written

from perfmodel import predict
from perfmodel.cuda.compile.program import load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.syntax import Instruction
from perfmodel.cuda.sass.opcodes import latencies
from perfmodel.cuda.sass.tensor_work import (
    tensor_clocks,
    tensor_counts,
    tensor_flop,
    waits_for_products,
)
from perfmodel.hardware import load_device
from perfmodel.models.time.issue import issue_slots, pipe_cycles

SOURCE = Path(__file__).parents[1] / "wgmma_product.cu"
WGMMA = "wgmma.mma_async"


def instruction(text: str) -> Instruction:
    return written(f"{text};").kernels[0].instructions[0]


def product(shape: str, types: str, sparse: bool = False, a: str = "%d1") -> Instruction:
    """Return a warp group's product; `a` is A's descriptor or the registers that hold it."""
    n = int(shape.split("n")[1].split("k", maxsplit=1)[0])
    sums = ", ".join(f"%f{i}" for i in range(n // 2))
    kind = f"{WGMMA}{'.sp' if sparse else ''}.sync.aligned.{shape}.{types}"
    metadata = ", %r9, 0" if sparse else ""
    return instruction(f"{kind} {{{sums}}}, {a}, %d2{metadata}, 1, 1, 1")


SHAPES = [
    ("m64n8k16", "f32.bf16.bf16", False, 4),
    ("m64n64k16", "f32.f16.f16", False, 32),
    ("m64n128k16", "f32.bf16.bf16", False, 64),
    ("m64n256k16", "f16.f16.f16", False, 128),
    ("m64n256k8", "f32.tf32.tf32", False, 128),
    ("m64n256k32", "f32.e4m3.e5m2", False, 128),
    ("m64n96k32", "f16.e5m2.e5m2", False, 48),
    ("m64n256k32", "s32.s8.s8", False, 128),
    ("m64n24k32", "s32.u8.u8", False, 12),
    ("m64n128k256", "s32.b1.b1.and.popc", False, 64),
    ("m64n256k32", "f32.bf16.bf16", True, 128),
    ("m64n256k64", "f32.e4m3.e4m3", True, 128),
    ("m64n128k16", "f32.tf32.tf32", True, 64),
]


@pytest.mark.parametrize(("shape", "types", "sparse", "clocks"), SHAPES)
def test_a_warp_groups_product_is_one_issue_slot_and_half_of_n_clocks(
    shape: str, types: str, sparse: bool, clocks: int
) -> None:
    made = product(shape, types, sparse)
    assert tensor_clocks(made) == clocks
    counts = tensor_counts(made)
    assert counts is not None
    # issue slots of all that is counted, of each of the four warps
    assert (
        sum(float(issue_slots(pipe, n, load_device("h100-sxm"))) for pipe, n in counts.items()) == 1
    )


@pytest.mark.parametrize(("shape", "types", "sparse", "clocks"), SHAPES)
def test_pipes_take_a_warp_groups_product_as_long(
    shape: str, types: str, sparse: bool, clocks: int
) -> None:
    device = load_device("h100-sxm")
    counts = tensor_counts(product(shape, types, sparse))
    assert counts is not None
    (pipe,) = counts.keys() - {"other"}
    # one such product on each SM, whose four warps count it once each
    taken = pipe_cycles({pipe: np.array([4 * counts[pipe] * device.sm_count])}, device)
    # at the rate that its tensor cores reach, of the peak of the white paper at the boost clock
    peak = {"tf32_tensor": 1024, "fp8_tensor": 4096}.get(pipe, 2048)
    reached = device.tensor_rate(pipe) / (2 * device.sm_count * device.sm_clock)
    assert float(taken[pipe][0]) == pytest.approx(clocks * peak / reached)


@pytest.mark.parametrize("a", ["%d1", "{%r1, %r2, %r3, %r4}"])
def test_a_from_registers_or_by_descriptor_is_alike(a: str) -> None:
    made = product("m64n256k16", "f32.bf16.bf16", a=a)
    assert tensor_clocks(made) == 128


@pytest.mark.parametrize(
    ("name", "macs"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 2048),
        ("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 1024),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 2048),
        ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 2048),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 2048),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", 4096),
    ],
)
def test_a_warps_product_takes_its_schedulers_tensor_core(name: str, macs: int) -> None:
    made = instruction(f"{name} {{%r1}}, {{%r2}}, {{%r3}}, {{%r1}}")
    # multiply-accumulates in those of 16 bits; 6.06 clocks a m16n8k16 where warps are many
    # (measured: suite/h200-sxm/sweeps/pipes-tensor.csv, 99246 clocks for 8 x 2048 of a scheduler)
    assert tensor_clocks(made) == pytest.approx(macs / 2048 * 99246 / 16384, rel=2e-3)


def test_rates_are_the_devices() -> None:
    device = load_device("h200-sxm")
    assert latencies().warp_macs * 4 == pytest.approx(device.tensor16_lanes)
    # published: 989.4 TFLOP/s dense at the boost clock of 1830 MHz with 132 SMs
    peak = device.require("peak_bf16_tensor")
    assert latencies().group_macs == pytest.approx(peak / (2 * 132 * 1.83e9), rel=2e-3)


def test_sparse_products_do_half_of_the_work() -> None:
    dense = tensor_flop(product("m64n256k16", "f32.bf16.bf16"))
    assert dense == ("bf16_tensor", 2 * 64 * 256 * 16 / 128)
    assert tensor_flop(product("m64n256k32", "f32.bf16.bf16", True)) == dense


def test_a_wait_for_all_products_is_known() -> None:
    assert waits_for_products(instruction("wgmma.wait_group.sync.aligned 0"))
    assert not waits_for_products(instruction("wgmma.wait_group.sync.aligned 1"))


@pytest.mark.parametrize("n", [64, 256])
def test_a_loop_of_products_takes_what_its_tensor_cores_take(n: int) -> None:
    sums = ", ".join(f"%f{i}" for i in range(n // 2))
    one = f"{WGMMA}.sync.aligned.m64n{n}k16.f32.bf16.bf16 {{{sums}}}, %d1, %d1, 1, 1, 1, 0, 0;\n"
    body = f"""
    ld.param.u64 %d3, [out]; mov.u32 %r1, 0; mov.u64 %d1, 0;
    L: wgmma.fence.sync.aligned;
    {one * 4} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
    add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 1000; @%p1 bra L;
    st.global.f32 [%d3], %f0; ret;
    """
    made = translated(program(written(body)), launch(132, 128, out=1 << 20))
    found = predict(made, device="h100-sxm")
    # by hand: 1000 turns of four products of N/2 clocks by one warp group an SM; the waits between
    # them leave the tensor cores idle for less than a hundred clocks a turn
    bound = 1000 * 4 * n / 2 / 1.98e9
    assert bound <= found.time_s - 2e-6 <= bound * 1.25 + 1000 * 100 / 1.98e9
    assert found.roofline.flop == 132 * 1000 * 4 * 2 * 64 * n * 16


@pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")
def test_instructions_of_one_architecture_get_its_own_target() -> None:
    # PTX ISA: wgmma requires sm_90a
    assert load_program(SOURCE, "sm_90").architecture == "sm_90a"


@pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")
def test_a_product_with_copies_ahead_is_as_long_as_its_bounds() -> None:
    steps, stage = 32, (128 + 256) * 64 * 2
    rows, columns, depth = 128 * 12, 256 * 11, 64 * steps
    buffers = {"a": rows * depth * 2, "b": columns * depth * 2, "c": rows * columns * 4}
    given = {name: Buffer(size) for name, size in buffers.items()}
    spec = launch((11, 12), 256, 4 * stage, **given, n=columns, k=depth)
    found = predict(translated(load_program(SOURCE, "sm_90"), spec), device="h100-sxm")
    device = load_device("h100-sxm")
    # by hand, a block an SM: of each step 2 warp groups make 4 products of 128 clocks, at the rate
    # that tensor cores reach of 2048 multiply-accumulates a clock
    reached = device.tensor_rate("bf16_tensor") / (2 * 132 * device.sm_clock)
    tensor = steps * 2 * 4 * 128 * 2048 / reached / device.sm_clock
    # 48 KiB a step come in from L2, if no request is merged with another block's; sums go out
    data = 132 * steps * stage / device.require("l2_read_bandwidth")
    data += rows * columns * 4 / device.require("l2_write_bandwidth")
    assert found.roofline.flop == 2 * rows * columns * depth
    assert found.traffic["global_load_sectors"] == pytest.approx(132 * steps * stage / 32, rel=0.01)
    # with products counted as issue slots it took 5 times as long; start and end are 5 us at most
    assert tensor <= found.time_s <= data + 5e-6
