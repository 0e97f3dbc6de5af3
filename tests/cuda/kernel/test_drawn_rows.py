"""Rows that a number from memory chooses: lanes lie beside each other in them.

Expected values are counted by hand: 4096 blocks of 8 warps, each of which reads the number, a
sector, and 32 floats in a row.
"""

from __future__ import annotations

from typing import Any

import pytest
from programs import launch, program, written

from perfmodel import predict
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer

ROWS, WIDTH, WARPS = 4096, 256, 4096 * 8
READ = """
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [t]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
  ld.param.u32 %r3, [width]; mul.wide.u32 %d6, %r2, 4; add.s64 %d6, %d2, %d6;
  ld.global.u32 %r5, [%d6]; {index}
  add.s64 %d7, %d1, %d7; ld.global.f32 %f1, [%d7]; st.shared.f32 [s], %f1; ret;
"""
UNSIGNED = "mad.lo.s32 %r6, %r5, %r3, %r1; mul.wide.u32 %d7, %r6, 4;"
JOINED = "shl.b32 %r6, %r5, 8; or.b32 %r6, %r6, %r1; mul.wide.u32 %d7, %r6, 4;"
AROUND = "add.s32 %r6, %r5, %r1; rem.u32 %r6, %r6, 1048576; mul.wide.u32 %d7, %r6, 4;"
CLAMPED = """
  add.s32 %r6, %r5, %r1; max.s32 %r6, %r6, 0; min.s32 %r6, %r6, 1048575; mul.wide.u32 %d7, %r6, 4;
"""
HALVED = "mad.lo.s32 %r6, %r5, %r3, %r1; shr.u32 %r6, %r6, 1; mul.wide.u32 %d7, %r6, 4;"


@pytest.mark.parametrize(
    ("index", "sectors"),
    [
        # rows of whole sectors: 4 a warp
        (UNSIGNED, 4.0),
        (JOINED, 4.0),
        # 128 B from any float on: 4 sectors, and for seven starts of eight another one
        (AROUND, 4.875),
        (CLAMPED, 4.875),
        # two lanes a float: 64 B
        (HALVED, 2.0),
    ],
)
@pytest.mark.parametrize("below", [None, ROWS])
def test_lanes_of_a_warp_read_side_by_side(index: str, sectors: float, below: int | None) -> None:
    pointers = ".param .u64 x, .param .u64 t, .param .u32 width"
    content: dict[str, Any] = {} if below is None else {"fill": "uniform", "below": below}
    buffers = {"x": Buffer(ROWS * WIDTH * 4), "t": Buffer(ROWS * 4, dtype="i32", **content)}
    module = written(READ.format(index=index), pointers, declared=".shared .align 4 .b8 s[4];")
    kernel = translated(program(module), launch(ROWS, WIDTH, width=WIDTH, **buffers))
    found = predict(kernel).traffic
    assert found["global_load_sectors"] == pytest.approx(WARPS * (1 + sectors), rel=0.01)


@pytest.mark.parametrize(("fill", "read"), [("permutation", 1.0), ("uniform", 0.632)])
def test_rows_in_the_order_of_a_permutation_are_each_read(fill: str, read: float) -> None:
    # hand: 4 MiB of rows and the 16 KiB that choose them; drawn at random, 1/e of the rows are not
    pointers = ".param .u64 x, .param .u64 t, .param .u32 width"
    below = {} if fill == "permutation" else {"below": ROWS}
    order = Buffer(ROWS * 4, dtype="i32", fill=fill, **below)
    buffers = {"x": Buffer(ROWS * WIDTH * 4), "t": order}
    module = written(READ.format(index=UNSIGNED), pointers, declared=".shared .align 4 .b8 s[4];")
    kernel = translated(program(module), launch(ROWS, WIDTH, width=WIDTH, **buffers))
    found = predict(kernel, device="h100-sxm").traffic
    wanted = ROWS * 4 + read * ROWS * WIDTH * 4
    assert found["dram_read_bytes"] == pytest.approx(wanted, rel=0.01)


TILES = """
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [t]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
  mad.lo.s32 %r4, %r2, 256, %r1; cvt.u64.u32 %d6, %r4; add.s64 %d6, %d2, %d6;
  ld.global.u8 %r5, [%d6]; cvt.rn.f32.u32 %f1, %r2; mul.f32 %f1, %f1, 0f3D800000;
  cvt.rzi.s32.f32 %r6, %f1; shl.b32 %r6, %r6, 8; or.b32 %r6, %r6, %r5;
  cvt.u64.u32 %d7, %r6; add.s64 %d7, %d1, %d7; ld.global.u8 %r7, [%d7];
  st.shared.b32 [s], %r7; ret;
"""


def test_a_place_in_a_row_that_floats_choose_is_not_anywhere() -> None:
    # hand: a warp reads 32 bytes, and 32 places that they say in a row of 8 sectors, which the
    # block's number as a float over 16 chooses: 8*(1 - (7/8)**32) of them
    pointers = ".param .u64 x, .param .u64 t"
    buffers = {
        "x": Buffer(ROWS // 16 * 256),
        "t": Buffer(ROWS * 256, dtype="u8", fill="uniform", below=256),
    }
    module = written(TILES, pointers, declared=".shared .align 4 .b8 s[4];")
    kernel = translated(program(module), launch(ROWS, WIDTH, **buffers))
    found = predict(kernel).traffic
    expected = WARPS * (1 + 8 * (1 - (7 / 8) ** 32))
    assert found["global_load_sectors"] == pytest.approx(expected, rel=0.01)


DIGITS = """
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [t]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
  ld.param.u32 %r3, [n]; mad.lo.s32 %r4, %r2, 256, %r1; setp.ge.s32 %p1, %r4, %r3;
  mul.wide.s32 %d6, %r4, 4; add.s64 %d6, %d2, %d6; mov.u32 %r5, -1;
  @!%p1 ld.global.u32 %r5, [%d6]; @%p1 bra END;
  shr.u32 %r6, %r5, 28; mad.lo.s32 %r6, %r6, 4096, %r2;
  mul.wide.s32 %d7, %r6, 4; add.s64 %d7, %d1, %d7; ld.global.u32 %r7, [%d7];
  st.shared.b32 [s], %r7;
  END: ret;
"""


def test_a_digit_of_a_key_is_any_though_others_have_keys_of_their_own() -> None:
    # hand: lanes without a key, which leave, would have digit 15; the others' are 16 sectors, a row
    # of blocks' numbers each: 16*(1 - (15/16)**32) of them, and 4 of keys
    pointers = ".param .u64 x, .param .u64 t, .param .u32 n"
    keys = Buffer(ROWS * 256 * 4, dtype="u32", fill="uniform", below=(1 << 32) - 1)
    buffers = {"x": Buffer(ROWS * 16 * 4), "t": keys}
    module = written(DIGITS, pointers, declared=".shared .align 4 .b8 s[4];")
    kernel = translated(program(module), launch(ROWS, WIDTH, n=ROWS * WIDTH - 32, **buffers))
    found = predict(kernel).traffic
    expected = WARPS * (4 + 16 * (1 - (15 / 16) ** 32))
    assert found["global_load_sectors"] == pytest.approx(expected, rel=0.01)


HANDED_ON = """
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [t]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
  ld.param.u32 %r3, [width]; mul.wide.u32 %d6, %r2, 4; add.s64 %d6, %d2, %d6;
  setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT; ld.global.u32 %r5, [%d6]; st.shared.u32 [s], %r5;
  WAIT: bar.sync 0; ld.shared.u32 %r6, [s]; mad.lo.s32 %r7, %r6, %r3, %r1;
  mul.wide.u32 %d7, %r7, 4; add.s64 %d7, %d1, %d7; ld.global.f32 %f1, [%d7];
  st.shared.f32 [s+4], %f1; ret;
"""


def test_what_a_thread_hands_on_in_shared_memory_is_its_blocks_own() -> None:
    # hand: 4096 rows of 1 KiB drawn by 4096 blocks, 1/e of them by none, and the 16 KiB that choose
    pointers = ".param .u64 x, .param .u64 t, .param .u32 width"
    order = Buffer(ROWS * 4, dtype="u32", fill="uniform", below=ROWS)
    module = written(HANDED_ON, pointers, declared=".shared .align 4 .b8 s[8];")
    buffers = {"x": Buffer(ROWS * WIDTH * 4), "t": order}
    kernel = translated(program(module), launch(ROWS, WIDTH, width=WIDTH, **buffers))
    found = predict(kernel, device="h100-sxm").traffic
    wanted = ROWS * 4 + 0.632 * ROWS * WIDTH * 4
    assert found["dram_read_bytes"] == pytest.approx(wanted, rel=0.01)
