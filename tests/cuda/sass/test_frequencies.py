"""How often blocks of machine code run; expected values by hand."""

from __future__ import annotations

import pytest

from perfmodel.cuda.kernel.warp_work import rule_counts
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.frequencies import Runs, issued
from perfmodel.cuda.sass.machine_code import BRANCH, CALL, MachineCode, MachineInstruction

LOAD, ADD, COMPARE, END, RETURN = 0x181, 0x021, 0x00C, 0x14D, 0x150
CONSTANT = 0x182
SUMS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .pred %p<4>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a];
L:
ld.global.f32 %f1, [%rd1];
div.rn.f32 %f2, %f2, %f1;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, %r2;
@%p1 bra L;
st.global.f32 [%rd1], %f2;
ret;
}
"""
TURNS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .pred %p<4>; .reg .b32 %r<9>;
mov.u32 %r1, 0;
L:
add.s32 %r1, %r1, 1;
setp.gt.s32 %p2, %r1, %r3;
setp.lt.s32 %p1, %r1, %r2;
@%p1 bra L;
ret;
}
"""
LINE = {text.partition(" ")[0]: n for n, text in enumerate(SUMS.split("\n"), 1)}


def one(
    opcode: int, line: str | int, target: int | None = None, conditional: bool = True
) -> MachineInstruction:
    return MachineInstruction(
        *(opcode, False, 1, (), None, None, target),
        conditional=conditional and target is not None,
        line=LINE[line] if isinstance(line, str) else line,
    )


def times(code: MachineCode, turns: float, text: str = SUMS) -> list[float]:
    function = parse_ptx(text, "k.ptx").functions[0]
    flow = control_flow(function)
    runs = Runs({0: 1.0, 1: turns, 2: 1.0}, {0: 1.0})
    return [part.times for part in issued(code, function, flow, runs)]


def body(count: int) -> list[MachineInstruction]:
    return [one(LOAD, "ld.global.f32") for _ in range(count)] + [one(COMPARE, "setp.lt.s32")]


@pytest.mark.parametrize(
    ("turns", "expected"), [(11, (2, 1, 1)), (4, (1, 0, 0)), (3, (0, 1, 1)), (1, (0, 0, 1))]
)
def test_pieces_of_an_unrolled_loop_share_its_iterations(
    turns: int, expected: tuple[int, int, int]
) -> None:
    # a loop of four iterations a turn, two iterations, and a loop of one
    start = [one(COMPARE, "ld.param.u64")]
    four = [*body(4), one(BRANCH, "@%p1", 1)]
    two = [one(BRANCH, "@%p1", 11), *body(2)]
    last = [*body(1), one(BRANCH, "@%p1", 11), one(END, "ret;")]
    code = (*start, *four, *two, *last, one(BRANCH, "ret;", 15, conditional=False))
    _, main, _, pair, single, _ = times(code, turns)
    assert (main, pair, single) == expected


def test_parameters_that_an_instruction_loads_are_no_iterations() -> None:
    # by hand: an addition and two comparisons an iteration, whose bounds are loaded on their lines
    turn = [one(ADD, 9), *(one(x, line) for line in (10, 11) for x in (CONSTANT, COMPARE))]
    code = (one(ADD, 7), *turn, one(BRANCH, 12, 1), one(END, 13))
    assert times(code, 6.0, TURNS)[1] == 6


def test_functions_for_odd_values_are_not_called() -> None:
    # behind a branch of the division's own
    check = [one(COMPARE, "ld.param.u64"), one(BRANCH, "div.rn.f32", 3)]
    code = [*check, one(CALL, "div.rn.f32", 5), one(ADD, "st.global.f32"), one(END, "ret;")]
    code += [one(ADD, "ret;"), one(RETURN, "ret;"), one(BRANCH, "ret;", 7, conditional=False)]
    assert times(tuple(code), 1.0)[:3] == [1, 0, 1]


def test_functions_that_are_always_called_are_issued_with_their_caller() -> None:
    code = [one(COMPARE, "ld.param.u64"), one(CALL, "div.rn.f32", 3), one(END, "ret;")]
    code += [one(ADD, "ret;"), one(RETURN, "ret;"), one(BRANCH, "ret;", 5, conditional=False)]
    function = parse_ptx(SUMS, "k.ptx").functions[0]
    runs = Runs({0: 1.0, 1: 1.0, 2: 1.0}, {0: 1.0})
    parts = issued(tuple(code), function, control_flow(function), runs)
    assert [(len(p.code), p.times) for p in parts[:2]] == [(3, 1), (2, 1)]


def test_code_without_lines_says_nothing() -> None:
    plain = MachineInstruction(ADD, False, 1, (), None, None, None)
    assert times((plain, plain), 1.0) == []


def test_rules_stand_for_what_is_not_assembled() -> None:
    function = parse_ptx(SUMS, "k.ptx").functions[0]
    counts = [dict(rule_counts(i)) for i in function.instructions]
    # machine code of sm_90: an address is a load's own, a division is 10 instructions
    assert counts[1] == {}
    assert sum(counts[2].values()) == 10
    assert counts[3] == {"int32": 0.5, "imad": 0.5}
    assert counts[4] == {"int32": 1}
