"""What kernels of networks do: lists of pointers, rows up to the diagonal, data in their own rows.

Expected values are counted by hand.
"""

from __future__ import annotations

from typing import Any

import pytest
from programs import launch, program, written

from perfmodel import predict
from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec, structure
from perfmodel.expressions import Name, Number, Operation
from perfmodel.kernels.kernel import Kernel


def test_pointers_out_of_a_list_are_all_of_their_buffers() -> None:
    # As nvcc writes p[blockIdx.y][i] of a structure passed by value.
    body = """
      mov.u32 %r1, %ctaid.y; mul.wide.u32 %d1, %r1, 8; mov.u64 %d2, list;
      add.s64 %d1, %d2, %d1; ld.param.u64 %d3, [%d1]; cvta.to.global.u64 %d3, %d3;
      mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.s32 %r2, %r3, 256, %r2;
      mul.wide.u32 %d4, %r2, 4; add.s64 %d3, %d3, %d4; ld.global.f32 %f1, [%d3];
      ld.param.u64 %d5, [list+0]; ld.param.u64 %d6, [list+8]; ld.param.u64 %d7, [list+16];
      ld.param.u64 %d8, [list+24]; ret;
    """
    module = written(body, parameters=".param .align 8 .b8 list[32]")
    given = structure(["ptr 1MiB"] * 4, "list")
    spec = LaunchSpec((1024, 4, 1), (256, 1, 1), named={"list": given})
    found = predict(translated(program(module), spec), cache="cold").traffic
    # 4 buffers of 1 MiB, each word read once; what a sample shows no order of may be drawn at
    # random, and then meets 1 - 1/e of them
    assert found["global_load_sectors"] == 4 * (1 << 20) / 32
    assert 0.63 * (4 << 20) <= found["dram_read_bytes"] <= 4 << 20


def test_loops_without_a_bound_are_run() -> None:
    # while (p) p >>= 2, as random states skip ahead, of an unsigned 64-bit number: threadIdx.x + 1
    body = """
      ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;
      add.s64 %d1, %d1, %d2; cvt.u64.u32 %d3, %r1; add.s64 %d3, %d3, 1; mov.u32 %r2, 0;
    l: add.u32 %r2, %r2, 1; shr.u64 %d3, %d3, 2; setp.ne.s64 %p1, %d3, 0; @%p1 bra l;
      st.global.u32 [%d1], %r2; ret;
    """
    kernel = translated(program(written(body)), launch(8, 64, out=256))
    found = predict(kernel).traffic
    assert found["global_store_requests"] == 16


def test_shifts_by_less_than_nothing_are_left() -> None:
    # a loop that halves asks for the value before its first iteration
    shifted = Operation(">>", (Name("x"), Number(-1)))
    found = Algebra({}).again(shifted)
    assert found.names == {"x"}


DIAGONAL = """
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %d1, %d2;
  mov.u32 %r2, 0; mov.f32 %f1, 0f00000000; mov.u32 %r3, {end};
l: st.shared.f32 [s], %f1; bar.sync 0; ld.shared.f32 %f2, [s]; mul.f32 %f1, %f2, %f1;
  mul.f32 %f1, %f1, %f1; mul.f32 %f1, %f1, %f2; mul.f32 %f1, %f1, %f1; add.u32 %r2, %r2, 1;
  setp.le.u32 %p1, %r2, %r3; @%p1 bra l;
  st.global.f32 [%d2], %f1; ret;
"""


def diagonal(end: str, blocks: int) -> Kernel:
    module = written(DIAGONAL.replace("{end}", end), declared=".shared .align 4 .b8 s[4];")
    return translated(program(module), launch(blocks, 1024, out=4096))


def test_blocks_up_to_the_diagonal_take_half_of_the_time() -> None:
    every, half = (diagonal(end, 4096) for end in ("4095", "%ctaid.x"))
    # of 4096 iterations block b runs b + 1: half of the iterations, and of what barriers wait;
    # of 4096 blocks 264 run at a time, and the last ends later than the mean would. 0.45 when this
    # was written: the time of blocks with less to do overlaps a little too well
    assert predict(half).time_s / predict(every).time_s == pytest.approx(0.52, abs=0.08)


def test_blocks_that_all_run_at_a_time_wait_for_the_longest() -> None:
    every, half = (diagonal(end, 128) for end in ("127", "%ctaid.x"))
    # 1.14 when this was written: the longest block's clocks are taken from its mean twice
    assert predict(half).time_s / predict(every).time_s == pytest.approx(1.0, abs=0.15)


ROW = """
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [t]; ld.param.u64 %d3, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.lo.s32 %r3, %r2, 1024; add.u32 %r4, %r3, %r1;
  mul.wide.u32 %d4, %r4, 4; add.s64 %d5, %d1, %d4; ld.global.f32 %f1, [%d5];
  mul.wide.u32 %d6, %r2, 4; add.s64 %d6, %d2, %d6; ld.global.u32 %r5, [%d6];
  add.u32 %r5, %r5, %r3; mul.wide.u32 %d7, %r5, 4; add.s64 %d7, %d1, %d7;
  ld.global.f32 %f2, [%d7]; add.f32 %f1, %f1, %f2; add.s64 %d8, %d3, %d4;
  st.global.f32 [%d8], %f1; ret;
"""


def test_a_word_that_data_chooses_leaves_the_rows_around_it() -> None:
    # cross entropy: a row in order, and one logit of it
    pointers = ", ".join(f".param .u64 {name}" for name in ("x", "t", "out"))
    rows = 16384
    buffers: dict[str, Any] = {
        "x": Buffer(rows * 4096),
        "t": Buffer(rows * 4, dtype="i32", fill="uniform", below=1024),
        "out": Buffer(rows * 4096),
    }
    kernel = translated(program(written(ROW, pointers)), launch(rows, 1024, **buffers))
    found = predict(kernel, cache="cold").traffic
    # every row once, and of each word at most the 64 B around it
    assert rows * 4096 <= found["dram_read_bytes"] <= rows * (4096 + 4 + 64)


ADD = """
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [t]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %d6, %r2, 4; add.s64 %d6, %d2, %d6; ld.global.u32 %r5, [%d6];
  mul.lo.s32 %r5, %r5, 256; add.u32 %r5, %r5, %r1; mul.wide.s32 %d7, %r5, 4;
  add.s64 %d7, %d1, %d7; mov.f32 %f1, 0f3F800000; red.global.add.f32 [%d7], %f1; ret;
"""


def test_atomics_on_rows_at_random_places_read_them() -> None:
    rows, draws = 1 << 18, 1 << 17
    pointers = ", ".join(f".param .u64 {name}" for name in ("x", "t"))
    buffers: dict[str, Any] = {
        "x": Buffer(rows * 1024),
        "t": Buffer(draws * 4, dtype="i32", fill="uniform", below=rows),
    }
    kernel = translated(program(written(ADD, pointers)), launch(draws, 256, **buffers))
    found = predict(kernel, device="h100-sxm", cache="cold").traffic
    # rows drawn at least once, 1 - exp(-1/2) of all; again ones may have left L2
    once = rows * 1024 * 0.3935
    assert once <= found["dram_read_bytes"] <= draws * (1024 + 4) * 1.5
