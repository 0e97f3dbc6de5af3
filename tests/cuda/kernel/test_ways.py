"""Other sizes of a source: by the way that following took before, and from the instructions on.

Expected (property): the same kernel, whichever launches came before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perfmodel.cuda.compile.program import Program, load_program
from perfmodel.cuda.kernel import kernel_from_ptx as ways
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec, Scalar

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry rows(.param .u64 out, .param .u64 in, .param .u32 n, .param .u32 turns)
{
.reg .pred %p<3>; .reg .f32 %f<3>; .reg .b32 %r<10>; .reg .b64 %rd<7>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
ld.param.u32 %r1, [n]; ld.param.u32 %r2, [turns];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
mad.lo.s32 %r6, %r3, %r4, %r5;
setp.ge.s32 %p1, %r6, %r1;
@%p1 bra END;
cvta.to.global.u64 %rd3, %rd2; mov.u32 %r7, 0; mov.f32 %f1, 0f00000000;
LOOP:
mad.lo.s32 %r8, %r7, %r1, %r6; mul.wide.s32 %rd4, %r8, 4; add.s64 %rd5, %rd3, %rd4;
ld.global.f32 %f2, [%rd5]; add.f32 %f1, %f1, %f2;
add.s32 %r7, %r7, 1; setp.lt.s32 %p2, %r7, %r2;
@%p2 bra LOOP;
cvta.to.global.u64 %rd6, %rd1; mul.wide.s32 %rd4, %r6, 4; add.s64 %rd6, %rd6, %rd4;
st.global.f32 [%rd6], %f1;
END:
ret;
}"""

# Of each block one thread, of each warp one lane, threads below n, and four turns at a time.
TAILS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry tails(.param .u64 out, .param .u64 in, .param .u32 n, .param .u32 turns)
{
.reg .pred %p<8>; .reg .f32 %f<4>; .reg .b32 %r<16>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
ld.param.u32 %r1, [n]; ld.param.u32 %r2, [turns];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
mad.lo.s32 %r6, %r3, %r4, %r5;
cvta.to.global.u64 %rd3, %rd2; cvta.to.global.u64 %rd6, %rd1;
mul.wide.s32 %rd4, %r6, 4; add.s64 %rd7, %rd3, %rd4;
mov.f32 %f1, 0f00000000;
setp.ge.s32 %p1, %r6, %r1;
@%p1 bra JOIN;
and.b32 %r7, %r2, 3; sub.s32 %r8, %r2, %r7; mov.u32 %r9, 0;
setp.lt.u32 %p2, %r2, 4;
@%p2 bra REST;
LOOP:
mad.lo.s32 %r10, %r9, %r1, %r6; mul.wide.s32 %rd4, %r10, 4; add.s64 %rd5, %rd3, %rd4;
ld.global.f32 %f2, [%rd5]; add.f32 %f1, %f1, %f2; fma.rn.f32 %f1, %f1, %f2, %f1;
add.s32 %r9, %r9, 4; setp.ne.s32 %p3, %r9, %r8;
@%p3 bra LOOP;
REST:
setp.eq.s32 %p4, %r7, 0;
@%p4 bra JOIN;
TAIL:
ld.global.f32 %f3, [%rd7]; add.f32 %f1, %f1, %f3;
sub.s32 %r7, %r7, 1; setp.ne.s32 %p5, %r7, 0;
@%p5 bra TAIL;
JOIN:
mul.wide.s32 %rd4, %r6, 4; add.s64 %rd8, %rd6, %rd4;
setp.ne.s32 %p6, %r5, 0;
@%p6 bra LANES;
st.global.f32 [%rd8], %f1;
LANES:
and.b32 %r11, %r5, 31; setp.ne.s32 %p7, %r11, 0;
@%p7 bra END;
st.global.f32 [%rd8], %f1;
END:
ret;
}"""


# x[index[i]]
DRAWN = """.version 8.0
.target sm_90
.address_size 64
.visible .entry drawn(.param .u64 out, .param .u64 index, .param .u64 x)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [index]; ld.param.u64 %rd3, [x];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
mad.lo.s32 %r6, %r3, %r4, %r5;
mul.wide.s32 %rd4, %r6, 4; add.s64 %rd5, %rd2, %rd4; ld.global.u32 %r7, [%rd5];
mul.wide.s32 %rd6, %r7, 4; add.s64 %rd7, %rd3, %rd6; ld.global.u32 %r8, [%rd7];
add.s64 %rd8, %rd1, %rd4; st.global.u32 [%rd8], %r8;
ret;
}"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    path = tmp_path / "rows.ptx"
    path.write_text(PTX)
    ways._ways.clear()
    yield load_program(path)
    ways._ways.clear()


@pytest.fixture
def tails(tmp_path: Path) -> Iterator[Program]:
    path = tmp_path / "tails.ptx"
    path.write_text(TAILS)
    ways._ways.clear()
    yield load_program(path)
    ways._ways.clear()


def launch(n: int, turns: int, grid: int | None = None, block: int = 128) -> LaunchSpec:
    return LaunchSpec(
        grid=(grid or -(-n // block), 1, 1),
        block=(block, 1, 1),
        named={
            **{"out": Buffer(4 * n), "in": Buffer(4 * n * turns)},
            **{"n": Scalar(n), "turns": Scalar(turns)},
        },
    )


LAUNCHES = [
    # whole blocks and others, one block, one turn, more blocks than work
    *(launch(n, 64) for n in (1024, 2048, 1000, 3000, 4096, 100, 77, 1 << 20)),
    *(launch(2048, turns) for turns in (65, 1, 2, 1)),
    *(launch(2048, 64, grid) for grid in (17, 64)),
    *(launch(n, 64, block=block) for block in (32, 96, 1024) for n in (2048, 3001)),
]


@pytest.mark.parametrize("order", [1, -1])
def test_a_launch_has_the_same_kernel_whatever_came_before(program: Program, order: int) -> None:
    after_others = [translated(program, spec) for spec in LAUNCHES[::order]]
    for spec, found in zip(LAUNCHES[::order], after_others, strict=True):
        ways._ways.clear()
        assert translated(program, spec) == found


TAILED = [
    # as many launches as make a function of their arithmetic, then others
    *(launch(n, 64) for n in (1 << 14, 1 << 15, 3 << 14, 5 << 14, 100_000, 77, 1 << 20, 1 << 26)),
    *(launch(1 << 14, turns) for turns in (68, 72, 76, 100, 65, 66, 3, 1, 4, 2, 1024)),
    *(launch(3000 + 128 * i, 8 + 4 * i) for i in range(6)),
    *(launch(1 << 14, 64, grid) for grid in (129, 200, 128)),
    *(launch(n, 64, block=block) for block in (48, 96, 1024) for n in (2048, 3001, 4096, 9000)),
]


@pytest.mark.parametrize("order", [1, -1])
def test_arithmetic_that_is_done_again_has_the_same_kernel(tails: Program, order: int) -> None:
    after_others = [translated(tails, spec) for spec in TAILED[::order]]
    assert any(
        way.kept["work"].functions for of in ways._ways.values() for way in of.known if way.kept
    )
    for spec, found in zip(TAILED[::order], after_others, strict=True):
        ways._ways.clear()
        assert repr(translated(tails, spec)) == repr(found)


def test_sizes_that_decide_alike_go_one_way(program: Program) -> None:
    # By hand: whether all blocks are full is what the code asks; 64 turns, or 65, are none.
    for spec in (launch(1024, 64), launch(2048, 64), launch(4096, 65)):
        translated(program, spec)
    (known,) = ways._ways.values()
    assert [len(known.known), known.missed] == [1, 0]
    translated(program, launch(1000, 64))
    assert len(known.known) == 2


def test_ways_are_forgotten_beyond_some_and_not_looked_for_where_none_is_gone_twice(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "answers_alike", lambda algebra, asked: False)
    for n in range(1024, 1024 + 40):
        translated(program, launch(n, 64))
    (known,) = ways._ways.values()
    assert len(known.known) == ways._MOST_WAYS
    assert known.missed == ways._ENOUGH


def test_numbers_below_others_go_the_way_of_those(tmp_path: Path) -> None:
    path = tmp_path / "drawn.ptx"
    path.write_text(DRAWN)
    ways._ways.clear()
    drawn = load_program(path)

    def at(below: int) -> LaunchSpec:
        index = Buffer(4096, "i32", "uniform", below)
        named = {"out": Buffer(4096), "index": index, "x": Buffer(1 << 26)}
        return LaunchSpec(grid=(4, 1, 1), block=(256, 1, 1), named=named)

    specs = [at(below) for below in (1000, 2000, 1 << 20, 500)]
    found = [translated(drawn, spec) for spec in specs]
    (known,) = ways._ways.values()
    assert len(known.known) == 1
    # by hand: x is as large as what is drawn reaches
    assert [{b.name: b.length.value for b in k.buffers}["x"] for k in found] == [
        *(1000, 2000, 1 << 20, 500)
    ]
    for spec, kernel in zip(specs, found, strict=True):
        ways._ways.clear()
        assert translated(drawn, spec) == kernel
