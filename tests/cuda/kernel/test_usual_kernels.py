"""What users' kernels have besides loops and arrays; expected values by hand."""

from __future__ import annotations

import pytest
from programs import assembled, launch, program, text_of, written

from perfmodel import predict
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import LaunchSpec, structure
from perfmodel.kernels import Kernel

PLACE = """mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.s32 %d1, %r4, 4;
"""


def kernel(body: str, parameters: str, spec: LaunchSpec, declared: str = "") -> Kernel:
    return translated(program(written(PLACE + body, parameters, declared)), spec)


def total(made: Kernel, pipe: str) -> float:
    return sum(
        float(a.count.value)  # type: ignore[union-attr]
        for a in made.arithmetic
        if a.pipe == pipe and a.loop is None
    )


@pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas")
def test_what_no_thread_of_a_warp_reads_passes_through_l1() -> None:
    body = """
    mov.u32 %r5, line; shl.b32 %r6, %r1, 2; add.s32 %r7, %r5, %r6;
    setp.ge.u32 %p1, %r1, {reading};
    @%p1 bra NEXT;
    ld.shared.u32 %r8, [%r7+4]; st.shared.u32 [%r7], %r8;
    NEXT:
    bar.sync 0;
    ld.param.u64 %d2, [out]; add.s64 %d3, %d2, %d1; st.global.u32 [%d3], %r1; ret;
    """
    declared = ".shared .align 4 .b8 line[2048];\n"
    few, every = (
        translated(
            assembled(text_of(PLACE + body.format(reading=n), declared=declared)),
            launch(132, 256, out=1 << 20),
        )
        for n in (32, 256)
    )
    # seven of eight warps read and write nothing, but issue both: the pass is theirs too
    assert total(few, "masked") == pytest.approx(2 * 7 / 8)
    assert total(every, "masked") == 0
    data = [
        float(predict(made, device="h200-sxm").details.time.sm.l1.stages.data[0])
        for made in (few, every)
    ]
    assert data[0] == pytest.approx(data[1])


def test_products_on_tensor_cores_are_floating_point_work() -> None:
    body = """
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    {%f0, %f1, %f2, %f3}, {%r5, %r6, %r7, %r8}, {%r9, %r10}, {%f0, %f1, %f2, %f3};
    ld.param.u64 %d2, [out]; add.s64 %d3, %d2, %d1; st.global.f32 [%d3], %f0; ret;
    """
    made = kernel(body, ".param .u64 out", launch(10, 64))
    assert made.precision == "fp16_tensor"
    # 20 warps, of each 16 x 8 x 16 products and sums
    found = predict(made, device="h200-sxm")
    assert found.roofline.flop == 20 * 2 * 16 * 8 * 16


def test_unknown_buffers_differ() -> None:
    # a loop as long as two numbers differ: the same content would never enter it
    body = """
    ld.param.u64 %d2, [a]; ld.param.u64 %d3, [b]; add.s64 %d4, %d2, %d1; add.s64 %d5, %d3, %d1;
    ld.global.u32 %r5, [%d4]; ld.global.u32 %r6, [%d5];
    L: setp.eq.u32 %p1, %r5, %r6;
    @%p1 bra E;
    shr.u32 %r5, %r5, 1; shr.u32 %r6, %r6, 1;
    bra L;
    E: st.global.u32 [%d4], %r5; ret;
    """
    made = kernel(body, ".param .u64 a, .param .u64 b", launch(64, 128))
    trips = max(float(loop.trips.value) for loop in made.loops)  # type: ignore[attr-defined]
    # of 31 bits the highest that differs is the first or second, as a rule
    assert trips > 25


def test_memory_that_is_left_out_is_named() -> None:
    body = """
    ld.param.u64 %d2, [image]; ld.param.u64 %d3, [out];
    tex.1d.v4.s32.s32 {%r5, %r6, %r7, %r8}, [%d2, {%r4}];
    add.s64 %d4, %d3, %d1; st.global.u32 [%d4], %r5; ret;
    """
    made = kernel(body, ".param .u64 image, .param .u64 out", launch(10, 64, image=1))
    assert any("tex" in reason and "left out" in reason for reason in made.doubt.reasons)


def test_a_structure_has_its_fields() -> None:
    body = """
    ld.param.u64 %d2, [p]; ld.param.u32 %r5, [p+8];
    setp.ge.s32 %p1, %r4, %r5;
    @%p1 bra E;
    add.s64 %d3, %d2, %d1; st.global.u32 [%d3], %r4;
    E: ret;
    """
    spec = LaunchSpec((10, 1, 1), (64, 1, 1), named={"p": structure(["ptr", "i32 320"], "p")})
    made = kernel(body, ".param .align 8 .b8 p[16]", spec)
    found = predict(made, device="h200-sxm")
    assert found.traffic["global_store_requests"] == 10  # warps of 320 threads


@pytest.mark.parametrize("blocks", [16, 3070, 1_000_000])
def test_chunks_of_large_grids_are_as_long_as_they_are(blocks: int) -> None:
    # by hand: 256 threads go over chunks of 7 * 256 elements, min(first + 1792, n) - first
    body = """
    mul.lo.s32 %r5, %r3, 7; mul.lo.s32 %r6, %r2, %r5; add.s32 %r7, %r6, %r5;
    ld.param.u32 %r8, [n]; min.s32 %r9, %r7, %r8; sub.s32 %r10, %r9, %r6;
    setp.ge.s32 %p1, %r1, %r10; @%p1 bra DONE; mov.u32 %r11, %r1;
    ld.param.u64 %d2, [out];
    LOOP: add.s32 %r12, %r11, %r6; mul.wide.s32 %d3, %r12, 4; add.s64 %d4, %d2, %d3;
    st.global.u32 [%d4], %r12; add.s32 %r11, %r11, %r3;
    setp.lt.s32 %p2, %r11, %r10; @%p2 bra LOOP;
    DONE: ret;
    """
    spec = launch(blocks, 256, n=blocks * 1792 - 5)
    made = kernel(body, ".param .u64 out, .param .u32 n", spec)
    (loop,) = made.loops
    assert loop.trips.value == 7  # type: ignore[union-attr]
    stores = float(predict(made, device="h200-sxm").traffic["global_store_requests"])
    assert stores == blocks * 56
