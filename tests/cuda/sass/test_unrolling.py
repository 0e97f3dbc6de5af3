"""Which loops ptxas puts iterations of together: machine code of sm_90 (ptxas 13.0), bodies an
instruction longer at a time until they are left as they are. And how many go around at a time."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.cuda.parse.control_flow import ControlFlow, control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.syntax import Function, Immediate
from perfmodel.cuda.sass.machine_instructions import machine_instructions, unrolled_loops
from perfmodel.cuda.sass.unrolling import Around, Counted, first_copy, rounds

PRODUCT = "fma.rn.f32 %f1, %f1, %f1, %f1;"


def loop(body: str, step: str = "add.s32 %r2, %r2, 1;") -> tuple[Function, ControlFlow]:
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 in, .param .u32 n) {{
      .reg .pred %p<3>; .reg .b32 %r<9>; .reg .f32 %f<6>; .reg .b64 %d<3>;
      .shared .align 4 .b8 held[4096];
      ld.param.u64 %d1, [in]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0;
      ld.global.f32 %f1, [%d1]; mov.u32 %r3, held; mov.u32 %r4, %tid.x; ld.param.u32 %r5, [n];
    again:
      {body} {step} setp.lt.s32 %p1, %r2, %r1;
      @%p1 bra again;
      st.global.f32 [%d1+4], %f1; ret;
    }}
    """
    function = parse_ptx(text).functions[0]
    return function, control_flow(function)


LOAD = "ld.global.f32 %f2, [%d1]; add.f32 %f1, %f1, %f2;"
FROM_SHARED = "ld.shared.f32 %f2, [%r3]; add.f32 %f1, %f1, %f2;"


@pytest.mark.parametrize(
    ("inside", "products"),
    [
        ("", 18),
        ("sin.approx.f32 %f1, %f1;" * 4, 14),
        ("bar.sync 0;", 17),
        ("st.shared.f32 [%r3], %f1;" * 4, 10),
        ("red.global.add.u32 [%d1], %r4;", 7),
        (LOAD, 43),
        (LOAD * 4 + "st.global.f32 [%d1], %f1;" * 4, 26),
        (FROM_SHARED, 21),
        (FROM_SHARED * 8, 35),
        (FROM_SHARED * 14, 47),
    ],
)
def test_iterations_are_put_together_up_to_a_length(inside: str, products: int) -> None:
    assert unrolled_loops(*loop(inside + PRODUCT * products))
    # One more is within what counts of instructions are off by.
    assert not unrolled_loops(*loop(inside + PRODUCT * (products + 2)))


def test_loops_without_a_counter_or_with_calls_are_left_as_they_are() -> None:
    assert not unrolled_loops(*loop(PRODUCT, "add.s32 %r2, %r2, %r5;"))
    assert not unrolled_loops(*loop("div.rn.f32 %f1, %f1, %f1;"))
    assert not unrolled_loops(*loop('.pragma "nounroll";' + PRODUCT))
    assert not unrolled_loops(*loop("red.global.add.u32 [%d1], %r4;" * 2))


@pytest.mark.parametrize(("turns", "around"), [(1, 1), (2, 1), (3, 2), (4, 1), (7, 3), (64, 16)])
def test_rounds_of_four_two_and_one(turns: int, around: int) -> None:
    assert rounds(turns) == around


@pytest.mark.parametrize(
    ("goes_on", "step", "start", "bound"),
    [("lt", 1, 0, 9), ("le", 2, 1, 9), ("gt", -3, 20, 2), ("ge", -1, 5, 0), ("ne", 2, 0, 10)],
)
@pytest.mark.parametrize("after", [False, True])
def test_iterations_left_are_those_of_the_loop(
    goes_on: str, step: int, start: int, bound: int, after: bool
) -> None:
    # property: as many as the loop goes round
    holds = {"lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__}
    test = holds.get(goes_on, int.__ne__)
    turns, value = 0, start
    while True:
        turns += 1
        compared = value + step if after else value
        value += step
        if not test(compared, bound):
            break
    counted = Counted("r", step, goes_on, Immediate(bound), "s32", after)
    assert counted.turns(np.array([start]), np.array([bound])).tolist() == [turns]


def test_lanes_go_to_the_copy_that_they_have_iterations_for() -> None:
    assert first_copy(np.array([9, 4, 3, 2, 1])).tolist() == [0, 0, 4, 4, 6]


def test_short_loops_check_more_often_than_long_ones() -> None:
    function, flow = loop(PRODUCT * 3)
    header = next(n for n, b in enumerate(flow.blocks) if n in b.successors)

    def instructions(turns: int) -> float:
        around = {header: Around(rounds(turns) / turns, 1 / turns)}
        counts = machine_instructions(function, flow, around)
        block = flow.blocks[header]
        return turns * sum(sum(c.values()) for c in counts[block.start : block.stop])

    # machine code of sums of rows and of polynomials, by hand: a counter, a comparison and a branch
    # each time around, and 9 to find out how many are left
    assert instructions(4) == pytest.approx(4 * 3 + 3 + 9)
    assert instructions(7) == pytest.approx(7 * 3 + 3 * 3 + 9)


@pytest.mark.parametrize("together", ["shfl.sync.bfly.b32 %r3, %r4, 1, 31, -1;", "bar.sync 0;"])
def test_loops_are_left_where_lanes_that_act_together_may_be_apart(together: str) -> None:
    # machine code of sm_90 (ptxas 13.0): the same loop, round to a bound that lanes differ in
    function, flow = loop(together + PRODUCT)
    assert unrolled_loops(function, flow)
    apart = "mov.u32 %r1, %tid.x;"
    assert not unrolled_loops(*loop(together + PRODUCT, apart + "add.s32 %r2, %r2, 1;"))
    assert unrolled_loops(*loop(PRODUCT, apart + "add.s32 %r2, %r2, 1;"))
