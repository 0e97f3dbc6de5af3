"""Clocks and waits of loops, from PTX written for the test; expected values counted by hand."""

from __future__ import annotations

import pytest

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.dependence import BlockReader
from perfmodel.cuda.sass.latencies import latencies
from perfmodel.cuda.sass.loop_pace import LoopPace, pace, paces
from perfmodel.cuda.sass.machine_instructions import machine_instructions
from perfmodel.cuda.sass.sure_waits import sure_waits

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
.reg .pred %p<4>; .reg .f32 %f<40>; .reg .f64 %d<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [a];
ld.param.u32 %r1, [n];
mov.u32 %r2, 0;
mov.f32 %f1, 0f3F800000;
mov.f32 %f2, 0f3F800000;
L:
"""
TAIL = """
add.s32 %r2, %r2, 1;
setp.lt.s32 %p1, %r2, %r1;
@%p1 bra L;
st.global.f32 [%rd1], %f1;
ret;
}
"""


def loop_pace(body: str, registers: int = 64, pragma: str = '.pragma "nounroll";') -> LoopPace:
    function = parse_ptx(HEAD + pragma + body + TAIL, "k.ptx").functions[0]
    flow = control_flow(function)
    (loop,) = flow.loops
    blocks = [((b,), 1.0) for b in sorted(loop.blocks)]
    counts = machine_instructions(function, flow)
    return pace(BlockReader(function, flow, counts), blocks, registers, 1000.0, True)


def chain(instruction: str, count: int) -> str:
    return instruction * count


def test_a_chain_of_additions_takes_four_clocks_each() -> None:
    few, many = (loop_pace(chain("fma.rn.f32 %f1, %f1, %f2, %f2;\n", n)).clocks for n in (10, 30))
    assert many - few == pytest.approx(20 * latencies().pipe["fma32"])


def test_double_precision_takes_eight() -> None:
    few, many = (loop_pace(chain("fma.rn.f64 %d1, %d1, %d2, %d2;\n", n)).clocks for n in (10, 30))
    assert many - few == pytest.approx(20 * latencies().pipe["fma64"])


def test_chains_side_by_side_cost_what_they_issue() -> None:
    one = loop_pace(chain("mul.f32 %f1, %f1, %f2;\n", 12)).clocks
    two = loop_pace(chain("mul.f32 %f1, %f1, %f2;\nmul.f32 %f3, %f3, %f2;\n", 12)).clocks
    assert two - one <= 4


def test_a_short_loop_waits_for_its_counter_and_branch() -> None:
    # Measured: 29 clocks for an iteration of one logic operation (instructions/h200-sxm/latency,
    # LOOP).
    assert loop_pace("xor.b32 %r3, %r3, %r1;\n").clocks == pytest.approx(29, abs=2)


def test_loads_in_a_row_are_waited_for_once() -> None:
    loads = "".join(f"ld.global.f32 %f{i}, [%rd1+{4 * i}];\n" for i in range(4, 12))
    sums = "".join(f"add.f32 %f1, %f1, %f{i};\n" for i in range(4, 12))
    found = loop_pace(loads + sums)
    assert found.waits == pytest.approx(1.0, abs=0.1)
    assert found.abreast(1) == pytest.approx(1.0, abs=0.1)


def test_loads_of_addresses_just_loaded_wait_for_each_other() -> None:
    found = loop_pace("ld.global.u64 %rd1, [%rd1];\nld.global.u64 %rd1, [%rd1];\n")
    assert found.waits == pytest.approx(2.0, abs=0.1)
    # two rounds an iteration, as the addresses show: nothing else keeps them apart
    assert found.abreast(2) == pytest.approx(1.0, abs=0.1)


def test_iterations_put_together_wait_together() -> None:
    body = "ld.global.f32 %f4, [%rd1];\nadd.f32 %f1, %f1, %f4;\nadd.s64 %rd1, %rd1, 4;\n"
    apart, together = loop_pace(body), loop_pace(body, pragma="")
    assert apart.abreast(1) == pytest.approx(1.0, abs=0.05)
    assert together.abreast(1) == pytest.approx(4.0, abs=0.4)


def test_what_stores_keep_apart_waits_apart() -> None:
    # A store may go where the next load reads: four waits, though no address needs another load.
    body = "".join(
        f"ld.global.f32 %f4, [%rd1+{i}];\nadd.f32 %f1, %f1, %f4;\nst.global.f32 [%rd1+{i}], %f1;\n"
        for i in (0, 4, 8, 12)
    )
    found = loop_pace(body)
    assert found.waits == pytest.approx(4.0, abs=0.2)
    assert found.abreast(1) == pytest.approx(0.25, abs=0.02)


def test_roots_and_quotients_keep_loads_apart() -> None:
    # Machine code of sm_90 (nvcc 13.0): odd values branch to a call, which no load moves across.
    body = "ld.global.nc.f32 %f4, [%rd1];\n{}\nadd.f32 %f1, %f1, %f4;\nadd.s64 %rd1, %rd1, 4;\n"
    quick = loop_pace(body.format("rcp.approx.f32 %f2, %f2;"), pragma="")
    exact = loop_pace(body.format("rcp.rn.f32 %f2, %f2;"), pragma="")
    assert quick.abreast(1) > 2
    assert exact.abreast(1) == pytest.approx(1.0, abs=0.2)


def test_few_registers_make_loads_wait() -> None:
    loads = "".join(
        f"ld.global.v4.f32 {{%f{i}, %f{i + 1}, %f{i + 2}, %f{i + 3}}}, [%rd1+{4 * i}];\n"
        for i in range(4, 36, 4)
    )
    sums = "".join(f"add.f32 %f1, %f1, %f{i};\n" for i in range(4, 36))
    assert loop_pace(loads + sums, 64).waits == pytest.approx(1.0, abs=0.1)
    assert loop_pace(loads + sums, 20).waits > 1.8


SKIPPED = """ld.global.nc.f32 %f4, [%rd1+{i}];
setp.le.f32 %p2, %f4, %f1;
@%p2 bra S{i};
add.f32 %f1, %f4, %f2;
S{i}:
"""


def test_predicated_blocks_keep_no_loads_apart() -> None:
    # Machine code of sm_90 (nvcc 13.0): loads of iterations move across what became predicated.
    body = "".join(SKIPPED.format(i=4 * i) for i in range(4))
    function = parse_ptx(HEAD + body + TAIL, "k.ptx").functions[0]
    flow = control_flow(function)
    counts = machine_instructions(function, flow)
    (loop,) = flow.loops
    inside = sorted(loop.blocks)
    blocks = [(b, 1.0, "i") for b in inside]
    short = {b: b - 1 for b in inside if len(flow.blocks[b].successors) == 1 and b - 1 in inside}
    trips = {"i": 1000.0}
    apart = paces(BlockReader(function, flow, counts), blocks, trips, 64)["i"]
    together = paces(BlockReader(function, flow, counts), blocks, trips, 64, short)["i"]
    assert len(short) == 4
    assert apart.waits == pytest.approx(4.0, abs=0.2)
    assert together.waits == pytest.approx(1.0, abs=0.2)


STRAIGHT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{{
.reg .pred %p<4>; .reg .f32 %f<40>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a];
mov.u32 %r2, %tid.x;
{}
st.global.f32 [%rd1], %f1;
ret;
}}
"""


def waits_once(body: str) -> float:
    function = parse_ptx(STRAIGHT.format(body), "k.ptx").functions[0]
    flow = control_flow(function)
    return sure_waits(function, flow, [((b,), 1.0) for b in range(len(flow.blocks))])


def four_times(one: str) -> str:
    return "".join(one.format(n=n, at=4 * n) for n in range(4, 8))


@pytest.mark.parametrize(
    ("load", "use", "waits"),
    [
        # loads stay between the calls for odd values of divisions
        ("ld.global.nc.f32", "div.rn.f32 %f1, %f{n}, %f1;\n", 4),
        ("ld.global.nc.f32", "div.approx.f32 %f1, %f{n}, %f1;\n", 1),
        # constant data is read before the barriers, what somebody may write behind them
        ("ld.global.nc.f32", "st.shared.f32 [%r2], %f{n};\nbar.sync 0;\n", 1),
        ("ld.global.f32", "st.shared.f32 [%r2], %f{n};\nbar.sync 0;\n", 4),
    ],
)
def test_what_keeps_four_loads_apart(load: str, use: str, waits: int) -> None:
    # Machine code of sm_90 (nvcc 13.0)
    assert waits_once(four_times(load + " %f{n}, [%rd1+{at}];\n" + use)) == waits


def test_the_first_shuffle_of_lanes_that_may_have_parted_keeps_loads_apart() -> None:
    # The same: a branch (BRA.DIV) before the first shuffle, and none before the others. What is
    # shuffled just as it was loaded is waited for behind the branch (measured: shuffled_varies).
    load = "ld.global.nc.f32 %f{n}, [%rd1+{at}];\n"
    use, shuffle = "add.f32 %f{n}, %f{n}, %f2;\n", "shfl.sync.bfly.b32 %f{n}, %f{n}, 1, 31, -1;\n"
    used, straight = four_times(load + use + shuffle), four_times(load + shuffle)
    branch = "setp.gt.u32 %p1, %r2, 9;\n@%p1 bra E;\n{}E:\n"
    assert waits_once(used) == 1
    assert waits_once(branch.format(used)) == 2
    assert waits_once(branch.format(straight)) == 1


def test_loads_behind_a_branch_that_loads_decide_wait() -> None:
    body = "ld.global.nc.f32 %f4, [%rd1];\nsetp.gt.f32 %p1, %f4, %f1;\n@%p1 bra E;\n"
    assert waits_once(body + "ld.global.nc.f32 %f1, [%rd1+4];\nE:\nadd.f32 %f1, %f1, %f1;\n") == 2


def test_edges_of_a_tile_that_other_lanes_load_come_one_after_the_other() -> None:
    # Machine code of sm_90 (nvcc 13.0) of a stencil of doubles: each load behind a branch that
    # parts the warp waits for what the block before it put into shared memory. Measured so too:
    # 48 us, of which one wait for all explained 35
    # (measurements/source-kernels/h200-sxm/corpus-blind8).
    edge = (
        "setp.ne.u32 %p1, %r2, {n};\n@%p1 bra E{n};\nld.global.nc.f32 %f{n}, [%rd1+{at}];\n"
        "st.shared.f32 [%r2], %f{n};\nE{n}:\n"
    )
    edges = "".join(edge.format(n=n, at=4 * n) for n in range(4, 7))
    assert waits_once(edges) == 3
    alike = edges.replace("setp.ne.u32 %p1, %r2,", "setp.ne.u32 %p1, %r3,")
    assert waits_once("ld.param.u32 %r3, [a];\n" + alike) == 1


ENTERED = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 n)
{
.reg .pred %p<3>; .reg .b32 %r<4>; .reg .f32 %f<2>;
ld.param.u32 %r1, [n];
bar.sync 0;
setp.eq.u32 %p1, %r1, 0;
@%p1 bra $END;
mov.u32 %r2, 0;
$LOOP:
fma.rn.f32 %f1, %f1, %f1, %f1;
fma.rn.f32 %f1, %f1, %f1, %f1;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, %r1;
@%p2 bra $LOOP;
$END:
ret;
}
"""


def test_others_wait_for_few_warps_of_their_block_but_not_for_few_turns_or_other_blocks() -> None:
    # by hand: a quarter of the turns of all warps, of a quarter of a block's warps, of all warps
    # of a quarter of the blocks; only the second keep their block as long as if all went on
    function = parse_ptx(ENTERED, "k.ptx").functions[0]
    flow = control_flow(function)
    counts = machine_instructions(function, flow)

    def clocks(meeting: float, coming: float, inside: float) -> float:
        shares = (meeting, coming, inside, 1.0)
        blocks = [(b, s, "i" if b == 2 else None) for b, s in enumerate(shares)]
        return paces(BlockReader(function, flow, counts), blocks, {"i": 64.0}, 32)["i"].clocks

    all_go = clocks(1.0, 1.0, 1.0)
    assert clocks(1.0, 0.25, 0.25) == pytest.approx(all_go)
    assert clocks(1.0, 1.0, 0.25) == pytest.approx(clocks(0.25, 0.25, 0.25))
    assert clocks(1.0, 1.0, 0.25) < all_go / 2
