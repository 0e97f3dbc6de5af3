"""Launches of a source's kernel in blocks of other sizes; expected values by hand."""

from __future__ import annotations

from programs import launch, program, written

from perfmodel.cuda.kernel.translate import in_other_blocks, translated
from perfmodel.kernels import Kernel
from perfmodel.prediction.advise import Advice, advise
from perfmodel.prediction.changes import BLOCKS

THREAD = """mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.s32 %d1, %r4, 4;
"""
OF_BLOCK = """mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; and.b32 %r3, %r1, 31;
mad.lo.s32 %r4, %r2, 32, %r3; mul.wide.s32 %d1, %r4, 4;
"""
COPY = """ld.param.u64 %d2, [in]; add.s64 %d3, %d2, %d1; ld.global.u32 %r5, [%d3];
ld.param.u64 %d4, [out]; add.s64 %d5, %d4, %d1; st.global.u32 [%d5], %r5; ret;
"""
PARAMETERS = ".param .u64 in, .param .u64 out"


def advised(place: str, between: str = "") -> tuple[tuple[Kernel, ...], Advice]:
    """Return a launch of 2**20 threads in other blocks, and the advice on it in blocks of 32."""
    copies = program(written(place + between + COPY, PARAMETERS))
    spec = launch(1 << 15, 32)
    made = translated(copies, spec)
    others = in_other_blocks(copies, spec, None, made, BLOCKS)
    return others, advise(made, device="h200-sxm", in_other_blocks=others)


def test_as_many_threads_in_other_blocks() -> None:
    others, advice = advised(THREAD)
    grids = {int(k.launch.block[0].value): int(k.launch.grid[0].value) for k in others}  # type: ignore[union-attr]
    assert grids == {size: (1 << 20) // size for size in BLOCKS}
    # by hand: 32 blocks of a warp are all an SM holds, half of its warps; and 32768 have to start
    (found,) = (o for o in (*advice.options, *advice.rejected) if o.kind == "block size")
    assert found.gain > 2
    assert found.prediction.grid[0] * found.prediction.block[0] == 1 << 20


def test_threads_that_know_their_block_keep_it() -> None:
    # by hand: elements go by the block's number, so blocks of 64 would leave half of them out
    _, advice = advised(OF_BLOCK)
    assert not any(o.kind == "block size" for o in (*advice.options, *advice.rejected))


def test_threads_that_wait_for_each_other_keep_their_block() -> None:
    assert advised(THREAD, "bar.sync 0;")[0] == ()
