"""Where lanes may part; expected places read from machine code of sm_90."""

from __future__ import annotations

from perfmodel.cuda.parse.control_flow import ControlFlow, control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.syntax import Function
from perfmodel.cuda.sass.divergence import aggregated, meetings, parting_registers


def parsed(body: str) -> tuple[Function, ControlFlow]:
    text = f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{{
.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
.shared .align 4 .u32 box;
ld.param.u64 %rd1, [a];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
{body}
st.global.u32 [%rd1], %r4;
ret;
}}
"""
    function = parse_ptx(text, "k.ptx").functions[0]
    return function, control_flow(function)


def branch(register: str) -> str:
    return f"""setp.lt.u32 %p1, {register}, 5;
@%p1 bra DONE;
add.u32 %r4, %r4, {register};
DONE:"""


def test_lanes_part_by_thread_and_data_not_by_block() -> None:
    function, _ = parsed("add.u32 %r5, %r2, 1;\nld.global.u32 %r6, [%rd1];")
    assert {"%r2", "%r5", "%r6"} <= parting_registers(function)
    assert not {"%r1", "%r3"} & parting_registers(function)


def test_only_branches_at_which_lanes_part_have_a_meeting() -> None:
    assert len(meetings(*parsed(branch("%r2")))) == 1
    assert len(meetings(*parsed(branch("%r3")))) == 0


def test_an_atomic_of_a_whole_warp_is_one_lanes() -> None:
    # published: machine code of nvcc 13.0 for sm_90 has REDUX or a vote for these, five SHFL.UP for
    # unlike numbers whose old values are wanted, and ATOMS.MAX of every lane for the last
    where = {
        name: aggregated(parsed(text)[0])
        for name, text in {
            "same": "atom.shared.add.u32 %r4, [box], 1;",
            "own": "mov.u32 %r7, box;\nadd.u32 %r7, %r7, %r2;\natom.shared.add.u32 %r4, [%r7], 1;",
            "parted": "atom.shared.add.u32 %r4, [box], %r2;",
            "max": "atom.shared.max.u32 %r4, [box], 1;",
            "silent": "red.shared.max.u32 [box], %r2;",
            "float": "red.shared.add.f32 [box], %r2;",
            "limit": "red.shared.inc.u32 [box], 9;",
        }.items()
    }
    assert all(len(where[name]) == 1 for name in ("same", "parted", "silent"))
    assert not any(where[name] for name in ("own", "max", "float", "limit"))
