"""What a launch leaves open: whose shared memory, tickets for others, loops without a known end."""

from __future__ import annotations

import pytest
from programs import HEADER, launch, program, written

from perfmodel import predict
from perfmodel.cuda.addresses.launch import bound
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.emulate.run import Effort, emulate
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.kernel.warp_work import BY_RULES
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.errors import PerfmodelError
from perfmodel.kernels.doubt import Doubt
from perfmodel.prediction.interval import HAND_OFF

PLACE = """mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.s32 %d1, %r4, 4; ld.param.u64 %d2, [out];
add.s64 %d3, %d2, %d1;
"""
STORE = "st.global.u32 [%d3], %r9; ret;"


def emulated(body: str, grid: int, block: int, **given: int) -> Emulation:
    module = written(PLACE + body)
    kernel = module.kernels[0]
    spec = launch(grid, block, **{name: Buffer(size) for name, size in given.items()})
    return emulate(module, kernel, emulated_launch(bound(spec, kernel), kernel))


DYNAMIC = (
    HEADER
    + ".extern .shared .align 4 .b8 mine[];\n.extern .shared .align 8 .b8 out[];\n"
    + "".join(
        f"""
.visible .entry {name}(.param .u64 {name}_param_0)
{{
.reg .b32 %r<9>; .reg .b64 %d<9>;
mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, {array}; add.s32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4];
ld.param.u64 %d1, [{name}_param_0]; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;
st.global.u32 [%d3], %r5; ret;
}}
"""
        for name, array in (("first", "mine"), ("second", "out"))
    )
)


def test_dynamic_shared_memory_counts_once_whatever_other_kernels_declare() -> None:
    # by hand: a launch with 20,000 B has 20,000 B a block
    module = parse_ptx(DYNAMIC)
    made = translated(program(module), launch(4, 64, 20000, param_0=256), "first")
    assert float(made.launch.shared_bytes.value) == 20000  # type: ignore[union-attr]
    unstated = translated(program(module), launch(4, 64, param_0=256), "first")
    assert float(unstated.launch.shared_bytes.value) == 256  # type: ignore[union-attr]


def test_a_parameter_called_like_another_kernels_shared_array_is_in_global_memory() -> None:
    names = {"first": ("out",), "second": ("y",)}
    made = translated(program(parse_ptx(DYNAMIC), names), launch(4, 64, 256, out=256), "first")
    spaces = {b.name: b.space for b in made.buffers}
    assert spaces == {"mine": "shared", "out": "global"}
    assert predict(made).traffic["global_store_requests"] == 8  # 4 blocks of 2 warps


@pytest.mark.parametrize(
    ("reduction", "stored"),
    [("or.pred %p2, 0, %p1", 3), ("and.pred %p2, 0, %p1", 0), ("popc.u32 %r8, 0, %p1", 3)],
)
def test_barriers_reduce_a_predicate_over_their_block(reduction: str, stored: int) -> None:
    # by hand: one thread in three of the four blocks fulfils it; blocks with one store two warps
    joined = "setp.eq.u32 %p1, %r4, 70; setp.eq.or.u32 %p1, %r4, 5, %p1;"
    joined += "setp.eq.or.u32 %p1, %r4, 200, %p1; bar.red." + reduction + ";"
    joined += "setp.gt.u32 %p2, %r8, 0;" if "popc" in reduction else ""
    body = joined + "@!%p2 bra DONE; mov.u32 %r9, 1; st.global.u32 [%d3], %r9; DONE: ret;"
    found = emulated(body, 4, 64, out=1024)
    assert sum(c.requests for c in found.counts.values()) == 2 * stored


QUEUE = """
    ld.param.u64 %d4, [head];
again:
    atom.global.add.u32 %r5, [%d4], 1; setp.ge.u32 %p1, %r5, 60000; @%p1 bra done;
    mul.wide.u32 %d5, %r5, 4; add.s64 %d6, %d2, %d5; st.global.u32 [%d6], %r5; bra again;
done:
    ret;
"""


def test_tickets_are_drawn_by_all_blocks_though_few_are_run() -> None:
    # by hand: 60,000 tickets, one a thread and round; the sample's share stands for all
    module = written(PLACE + QUEUE, ".param .u64 out, .param .u64 head")
    kernel = module.kernels[0]
    spec = launch(500, 128, out=Buffer(240000), head=Buffer(4, "u32", "zeros"))
    found = emulate(module, kernel, emulated_launch(bound(spec, kernel), kernel))
    assert found.sampled < found.blocks
    (stores,) = (c for at, c in found.counts.items() if kernel.instructions[at].opcode == "st")
    assert stores.lanes * found.scale == pytest.approx(60000, rel=0.02)


def test_lanes_that_leave_by_and_by_are_not_taken_to_wait() -> None:
    # by hand: lanes of eight kinds leave a kind at a time, so 8 rounds of a volatile load
    body = """
    and.b32 %r5, %r1, 7; mov.u32 %r6, 0;
again:
    ld.volatile.global.u32 %r7, [%d2]; setp.eq.u32 %p1, %r5, %r6; mad.lo.u32 %r6, %r6, 1, 1;
    @!%p1 bra again;
    mov.u32 %r9, %r6;
    """
    found = emulated(body + STORE, 4, 64, out=1024)
    loads = min(at for at in found.counts)
    assert found.counts[loads].requests == 8 * 8
    assert found.doubt.in_turn == 0


def test_a_long_loop_may_count_by_a_number_that_is_not_in_the_text() -> None:
    # by hand: 3,000,000/3 iterations of one warp
    body = """
    mov.u32 %r5, 0; ld.param.u32 %r6, [step];
again:
    st.global.u32 [%d3], %r5; xor.b32 %r7, %r5, %r6; and.b32 %r7, %r7, 1;
    add.u32 %r5, %r5, %r6; setp.lt.u32 %p1, %r5, 3000000; @%p1 bra again;
    mov.u32 %r9, %r7;
    """
    module = written(PLACE + body + STORE, ".param .u64 out, .param .u32 step")
    kernel = module.kernels[0]
    prepared = emulated_launch(bound(launch(1, 32, out=128, step=3), kernel), kernel)
    found = emulate(module, kernel, prepared, Effort(seconds=0.5))
    inner = min(at for at in found.counts)
    assert found.counts[inner].requests == pytest.approx(1_000_000, rel=0.01)
    assert any("taken to be like them" in note for note in found.notes)


ENDLESS = """
    ld.param.u64 %d4, [next]; mov.u32 %r5, %r1; mov.u32 %r9, 0;
again:
    mul.wide.s32 %d5, %r5, 4; add.s64 %d6, %d4, %d5; ld.global.u32 %r5, [%d6];
    add.u32 %r9, %r9, 1; setp.ge.s32 %p1, %r5, 0; @%p1 bra again;
"""


def test_a_loop_that_unknown_data_never_ends_is_left_and_said_if_that_is_allowed() -> None:
    # property: a prediction that says so first, and a wide interval
    module = written(PLACE + ENDLESS + STORE, ".param .u64 out, .param .u64 next")
    made = translated(program(module), launch(1, 32, out=128, next=400000), assume=True)
    assert any("had not ended when it was left" in reason for reason in made.doubt.reasons)
    found = predict(made)
    assert found.interval_s[1] > 10 * found.time_s


def test_a_loop_without_a_way_out_is_refused() -> None:
    body = PLACE + "again: st.global.u32 [%d3], %r1; bra again;"
    with pytest.raises(PerfmodelError, match=r"never ends|does not end"):
        translated(program(written(body)), launch(1, 32, out=128))


def test_waits_may_come_one_after_the_other() -> None:
    # property: who waits for other blocks' flags may wait for all of them in turn
    body = """
    ld.param.u64 %d4, [flag];
again:
    ld.volatile.global.u32 %r5, [%d4]; setp.eq.u32 %p1, %r5, 0; @%p1 bra again;
    mov.u32 %r9, %r5;
    """
    module = written(PLACE + body + STORE, ".param .u64 out, .param .u64 flag")
    spec = launch(100, 32, out=Buffer(12800), flag=Buffer(4, "u32", "zeros"))
    found = predict(translated(program(module), spec))
    assert found.interval_s[1] >= found.time_s + 100 * HAND_OFF


def test_doubts_add_up() -> None:
    both = Doubt(2.0, 3.0, 1.0).combined(Doubt(1.5, 2.0, 4.0))
    assert both == Doubt(3.0, 6.0, 5.0)


def test_zeros_in_unknown_content_are_in_doubt() -> None:
    # by hand: six bits are none in a lane of 1 - (63/64)^32 = 0.40 of the warps, which take 36
    # instructions for it, at most 80 besides; if all did, 2.5 times as many; stated: no doubt
    body = f"""{PLACE}
    ld.global.u32 %r6, [%d3]; and.b32 %r7, %r6, 63; cvt.rn.f32.u32 %f1, %r7;
    mov.f32 %f2, 0f3F800000; div.rn.f32 %f3, %f2, %f1; st.global.f32 [%d3], %f3; ret;
    """
    size = 4 * 64 * 256
    stated = Buffer(size, "u32", "random", 1 << 20)
    unknown, known = (
        translated(program(written(body)), launch(64, 256, out=out), "k")
        for out in (Buffer(size), stated)
    )
    assert all(any("calls a function" in n for n in made.notes) for made in (unknown, known))
    assert known.doubt == BY_RULES
    taken = 1.0 - known.doubt.shorter / unknown.doubt.shorter
    assert 0.40 * 36 / (0.40 * 36 + 80) < taken < 0.40 * 36 / (0.40 * 36 + 15)
    longer = unknown.doubt.longer / known.doubt.longer
    assert longer == pytest.approx(1.0 + taken * (1.0 / 0.40 - 1.0), rel=0.1)
