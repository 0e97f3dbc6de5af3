"""Which blocks become predicated: machine code of sm_90 (nvcc 13.0), a block an instruction longer
at a time until it is branched around."""

from __future__ import annotations

import pytest

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.machine_instructions import machine_instructions
from perfmodel.cuda.sass.predication import predicated_blocks, with_moves

PRODUCT = "fma.rn.f32 %f3, %f3, %f2, %f2;"
LANES = "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 7;"
UNIFORM = "ld.param.u32 %r1, [n]; setp.gt.u32 %p1, %r1, 7;"


def predicated(inside: str, condition: str = LANES) -> bool:
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out, .param .u32 n) {{
      .reg .pred %p<3>; .reg .b32 %r<4>; .reg .f32 %f<6>; .reg .b64 %d<3>;
      ld.param.u64 %d1, [out]; ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d1+8];
      mov.f32 %f3, %f1; {condition}
      @%p1 bra over;
      {inside}
    over:
      st.global.f32 [%d1+4], %f3; ret;
    }}
    """
    function = parse_ptx(text).functions[0]
    flow = control_flow(function)
    counts = machine_instructions(function, flow)
    return bool(predicated_blocks(function, flow, counts, dict.fromkeys(range(3))))


@pytest.mark.parametrize(("condition", "most"), [(LANES, 8), (UNIFORM, 6)])
def test_blocks_become_predicated_up_to_a_length(condition: str, most: int) -> None:
    assert predicated(PRODUCT * most, condition)
    # One more is within what counts of instructions are off by.
    assert not predicated(PRODUCT * (most + 2), condition)


def test_predicates_under_a_predicate_cost_an_instruction() -> None:
    # Alone behind a condition, 3 products beside one are predicated and 4 are not.
    root = "rsqrt.approx.f32 %f3, %f1;"
    assert predicated(root + PRODUCT * 3)
    assert not predicated(root + PRODUCT * 4)
    assert predicated(root.replace("approx", "approx.ftz") + PRODUCT * 7)


def test_atomics_and_calls_for_odd_values_stay_behind_their_branch() -> None:
    assert not predicated("atom.global.add.f32 %f3, [%d1], %f1;")
    assert not predicated("rcp.rn.f32 %f3, %f1;")


def test_copies_under_a_predicate_are_instructions() -> None:
    # machine code: of a list kept in order each place has four copies under its predicate, of which
    # PTX says four moves; before the branch they are other names of the same registers
    text = """
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out) {
      .reg .pred %p<3>; .reg .b32 %r<4>; .reg .f32 %f<6>; .reg .f64 %g<3>; .reg .b64 %d<3>;
      ld.param.u64 %d1, [out]; ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d1+8];
      ld.global.f64 %g1, [%d1+16];
      mov.f32 %f3, %f1; mov.f64 %g2, %g1; setp.gt.f32 %p1, %f1, %f2;
      @%p1 bra over;
      mov.f32 %f3, %f2; mov.f64 %g2, 0d3FF0000000000000;
      mov.f64 %g2, %g1;
    over:
      st.global.f32 [%d1+4], %f3; st.global.f64 [%d1+24], %g2; ret;
    }
    """
    function = parse_ptx(text).functions[0]
    flow = control_flow(function)
    counts = machine_instructions(function, flow)
    found = predicated_blocks(function, flow, counts, dict.fromkeys(range(3)))
    made = with_moves(function, flow, counts, found)
    moves = [at for at, i in enumerate(function.instructions) if i.opcode == "mov"]
    before, inside = moves[:2], moves[2:]
    assert [sum(made[at].values()) for at in before] == [sum(counts[at].values()) for at in before]
    assert sum(made[inside[0]].values()) == 1
    assert sum(made[inside[2]].values()) == 2  # two words
