"""Counts of kernels as textbooks have them, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest
from programs import launch, program, written

from perfmodel import Prediction, predict
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec

PLACE = """mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r1;
"""
STORE = "ld.param.u64 %d8, [out]; mul.wide.s32 %d9, %r4, 4; add.s64 %d8, %d8, %d9;"


def predicted(body: str, parameters: str, spec: LaunchSpec) -> Prediction:
    return predict(translated(program(written(PLACE + body, parameters)), spec))


def counted(found: Prediction, name: str) -> float:
    return float(np.max(found.traffic[name]))


def notes(found: Prediction) -> str:
    return " ".join(found.warnings)


def test_halving_the_size_of_a_warp_is_a_loop_of_five_turns() -> None:
    # offset = warpSize / 2; offset > 0; offset /= 2, as a compiler makes it of signed numbers
    body = f"""
    mov.u32 %r5, WARP_SZ; mov.f32 %f1, 0f00000000;
    L: shr.u32 %r6, %r5, 31; add.s32 %r7, %r5, %r6; shr.s32 %r8, %r7, 1;
    mov.b32 %r9, %f1; shfl.sync.down.b32 %r9, %r9, %r8, 31, -1; mov.b32 %f2, %r9;
    add.f32 %f1, %f1, %f2; setp.gt.s32 %p1, %r5, 3; mov.u32 %r5, %r8; @%p1 bra L;
    {STORE} st.global.f32 [%d8], %f1; ret;
    """
    found = predicted(body, ".param .u64 out", launch(8192, 256))
    # an addition a lane and turn: offsets 16, 8, 4, 2, 1
    assert float(np.max(found.roofline.flop)) == pytest.approx(8192 * 256 * 5)
    assert "emulated" not in notes(found)


def test_an_unsigned_stride_ends_before_it_wraps() -> None:
    # while (i < n) { out[i]; if (i + 256 < n) out[i + 256]; i += 512 * gridDim.x; }: Harris' 6th
    body = """
    shl.b32 %r5, %r2, 9; add.s32 %r5, %r5, %r1; ld.param.u32 %r6, [n];
    mov.u32 %r7, %nctaid.x; shl.b32 %r7, %r7, 9; ld.param.u64 %d1, [out];
    setp.ge.u32 %p1, %r5, %r6; @%p1 bra END;
    L: mul.wide.u32 %d2, %r5, 4; add.s64 %d3, %d1, %d2; ld.global.f32 %f1, [%d3];
    add.s32 %r8, %r5, 256; setp.ge.u32 %p2, %r8, %r6; @%p2 bra NEXT;
    mul.wide.u32 %d4, %r8, 4; add.s64 %d5, %d1, %d4; ld.global.f32 %f2, [%d5];
    NEXT: add.s32 %r5, %r5, %r7; setp.lt.u32 %p3, %r5, %r6; @%p3 bra L;
    END: ret;
    """
    found = predicted(body, ".param .u64 out, .param .u32 n", launch(300, 256, n=3_000_000))
    # each of 3,000,000 floats once
    assert counted(found, "global_load_requests") == pytest.approx(3_000_000 / 32, rel=0.01)
    assert "emulated" not in notes(found)


def test_a_constant_predicate_decides_the_first_turn() -> None:
    # a loop that is unrolled by two: a turn ahead if their number is odd, as compilers ask for it
    body = """
    ld.param.u64 %d1, [out]; ld.param.u32 %r5, [turns]; mov.u32 %r6, %nctaid.x;
    mul.lo.s32 %r7, %r6, %r3; mov.u32 %r8, 0;
    and.b32 %r9, %r5, 1; setp.eq.b32 %p1, %r9, 1; mov.pred %p2, 0; xor.pred %p3, %p1, %p2;
    @!%p3 bra EVEN;
    mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2; ld.global.f32 %f1, [%d3];
    add.s32 %r4, %r4, %r7; mov.u32 %r8, 1;
    EVEN: setp.ge.s32 %p4, %r8, %r5; @%p4 bra END;
    L: mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2; ld.global.f32 %f1, [%d3];
    add.s32 %r4, %r4, %r7; mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2;
    ld.global.f32 %f2, [%d3]; add.s32 %r4, %r4, %r7;
    add.s32 %r8, %r8, 2; setp.lt.s32 %p5, %r8, %r5; @%p5 bra L;
    END: ret;
    """
    found = predicted(body, ".param .u64 out, .param .u32 turns", launch(8192, 256, turns=7))
    # a float a thread and turn, 7 turns
    assert counted(found, "global_load_requests") == 7 * 8192 * 256 / 32
    assert "emulated" not in notes(found)


GATHER = f"""
ld.param.u64 %d1, [index]; mul.wide.s32 %d2, %r4, 4; add.s64 %d1, %d1, %d2;
ld.global.u32 %r5, [%d1]; ld.param.u64 %d3, [table]; mul.wide.s32 %d4, %r5, 4;
add.s64 %d3, %d3, %d4; ld.global.f32 %f1, [%d3]; {STORE} st.global.f32 [%d8], %f1; ret;
"""
GATHERED = ".param .u64 index, .param .u64 table, .param .u64 out"
COUNT = 1 << 20


def gathered(below: int | None = None, fill: str = "uniform") -> Prediction:
    index = Buffer(4 * COUNT, "i32", fill, below)
    spec = LaunchSpec(
        (COUNT // 256, 1, 1),
        (256, 1, 1),
        named={"index": index, "table": Buffer(4 * COUNT), "out": Buffer(4 * COUNT)},
    )
    return predicted(GATHER, GATHERED, spec)


def test_only_rows_that_are_drawn_are_read() -> None:
    # of the table 1000 floats are ever drawn: DRAM reads the index, and 4000 B
    assert counted(gathered(1000), "dram_read_bytes") == pytest.approx(4 * COUNT, rel=0.01)


def test_an_index_in_order_reads_as_a_stream_does() -> None:
    found = gathered(fill="index")
    # 4 sectors a warp of either array, each of which comes once
    assert counted(found, "global_load_sectors") == pytest.approx(2 * COUNT / 8)
    assert counted(found, "dram_read_bytes") == pytest.approx(2 * 4 * COUNT, rel=0.01)


def test_additions_meet_at_the_numbers_that_are_drawn() -> None:
    body = """
    ld.param.u64 %d1, [index]; mul.wide.s32 %d2, %r4, 4; add.s64 %d1, %d1, %d2;
    ld.global.u32 %r5, [%d1]; mul.wide.s32 %d4, %r5, 4; ld.param.u64 %d3, [out];
    add.s64 %d3, %d3, %d4; red.global.add.f32 [%d3], 0f3F800000; ret;
    """
    times = []
    for size in (64, 4 * COUNT):  # 16 counters, alone and in a buffer of a million
        named = {"index": Buffer(4 * COUNT, "i32", "uniform", 16), "out": Buffer(size)}
        spec = LaunchSpec((COUNT // 256, 1, 1), (256, 1, 1), named=named)
        found = predicted(body, ".param .u64 index, .param .u64 out", spec)
        times.append(float(np.max(found.time_s)))
    assert times[0] == pytest.approx(times[1], rel=0.01)


@pytest.mark.parametrize("decides", [False, True])
def test_content_counts_as_decisive_where_a_branch_depends_on_it(decides: bool) -> None:
    # rows of 0 to 7 numbers, added up; or up to the first that is over a half
    leave = "setp.gt.f32 %p3, %f2, 0f3F000000; @%p3 bra DONE;" if decides else ""
    body = f"""
    ld.param.u64 %d1, [rows]; mul.wide.s32 %d2, %r4, 4; add.s64 %d1, %d1, %d2;
    ld.global.u32 %r5, [%d1]; ld.global.u32 %r6, [%d1+4]; mov.f32 %f1, 0f00000000;
    ld.param.u64 %d3, [values]; setp.ge.s32 %p1, %r5, %r6; @%p1 bra DONE;
    L: mul.wide.s32 %d4, %r5, 4; add.s64 %d5, %d3, %d4; ld.global.f32 %f2, [%d5];
    {leave}
    add.f32 %f1, %f1, %f2; add.s32 %r5, %r5, 1; setp.lt.s32 %p2, %r5, %r6; @%p2 bra L;
    DONE: {STORE} st.global.f32 [%d8], %f1; ret;
    """
    rows = 64 * 256
    named = {
        "rows": Buffer(4 * (rows + 1), "i32", "cumulative", 8),
        "values": Buffer(4 * 8 * rows),
        "out": Buffer(4 * rows),
    }
    spec = LaunchSpec((64, 1, 1), (256, 1, 1), named=named)
    found = predicted(body, ".param .u64 rows, .param .u64 values, .param .u64 out", spec)
    assert ("content of values is unknown" in notes(found)) is decides


def test_a_band_of_a_matrix_is_all_that_moves() -> None:
    # if (abs(i - j) < w) A[i*n + j] *= a: blocks of 16 by 16 over all of A
    body = """
    mov.u32 %r5, %tid.y; mov.u32 %r6, %ctaid.y; mad.lo.s32 %r7, %r6, 16, %r5;
    sub.s32 %r8, %r7, %r4; abs.s32 %r9, %r8; ld.param.u32 %r10, [w];
    setp.ge.s32 %p1, %r9, %r10; @%p1 bra END;
    mad.lo.s32 %r11, %r7, 4096, %r4; mul.wide.s32 %d1, %r11, 4; ld.param.u64 %d2, [out];
    add.s64 %d3, %d2, %d1; ld.global.f32 %f1, [%d3]; add.f32 %f1, %f1, %f1;
    st.global.f32 [%d3], %f1;
    END: ret;
    """
    n, w = 4096, 256
    i, j = np.ogrid[:n, :n]
    sectors = np.count_nonzero((abs(i - j) < w).reshape(n, n // 8, 8).any(axis=2))
    named = launch((n // 16, n // 16), (16, 16), w=w)
    found = predicted(body, ".param .u64 out, .param .u32 w", named)
    assert counted(found, "global_load_sectors") == pytest.approx(sectors, rel=0.03)
    assert counted(found, "dram_read_bytes") == pytest.approx(32 * sectors, rel=0.06)
    assert counted(found, "dram_write_bytes") <= 1.03 * 32 * sectors
