"""What loads and stores take in of their addresses: machine code of sm_90 (nvcc 13.0)."""

from __future__ import annotations

import pytest

from perfmodel.frontends.machine_instructions import machine_instructions
from perfmodel.frontends.ptx.control_flow import control_flow
from perfmodel.frontends.ptx.parse import parse_ptx


@pytest.mark.parametrize(
    ("made", "used", "instructions"),
    [
        # a nibble that chooses a word: LDS [R1+UR4], as in checksums
        ("and.b32 %r2, %r1, 60;", "ld.shared.u32 %r5, [%r4];", 0),
        ("and.b32 %r2, %r1, 60;", "st.shared.u32 [%r4], %r1;", 0),
        # ATOMS [R1+URZ], as in histogram_shared
        ("and.b32 %r2, %r1, 60;", "atom.shared.add.u32 %r5, [%r4], 1;", 1),
        # LEA R1, R2, UR4, 0x3, as in block_sums_modulo
        ("shl.b32 %r2, %r1, 3;", "ld.shared.u32 %r5, [%r4];", 1),
    ],
)
def test_where_a_shared_variable_lies_is_added_by_loads_and_stores(
    made: str, used: str, instructions: int
) -> None:
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out) {{
      .reg .b32 %r<9>; .reg .b64 %d<3>; .shared .align 4 .b8 held[4096];
      ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r3, held; mov.u32 %r5, 0;
      {made}
      add.s32 %r4, %r3, %r2;
      {used}
      st.global.u32 [%d1], %r5; ret;
    }}
    """
    function = parse_ptx(text).functions[0]
    counts = machine_instructions(function, control_flow(function))
    at = next(i for i, x in enumerate(function.instructions) if x.opcode == "add")
    assert sum(counts[at].values()) == instructions
