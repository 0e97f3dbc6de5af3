"""What loads and stores take in of their addresses: machine code of sm_90 (nvcc 13.0)."""

from __future__ import annotations

import pytest

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.registers import written_registers
from perfmodel.cuda.sass.machine_instructions import machine_instructions


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


def counted(body: str, *registers: str) -> dict[str, float]:
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out) {{
      .reg .b32 %r<9>; .reg .f32 %f<3>; .reg .b64 %d<3>;
      ld.param.u64 %d1, [out]; ld.global.u32 %r1, [%d1]; ld.global.f32 %f1, [%d1];
      {body}
      st.global.u32 [%d1], %r5; ret;
    }}
    """
    function = parse_ptx(text).functions[0]
    counts = machine_instructions(function, control_flow(function))
    total: dict[str, float] = {}
    for i, found in zip(function.instructions, counts, strict=True):
        if {*written_registers(i)} & {*registers}:
            for pipe, number in found.items():
                total[pipe] = total.get(pipe, 0.0) + number
    return total


def test_a_logic_operation_takes_one_constant_in() -> None:
    # Two LOP3 for (x & 0xff00) | (y & 0x1ff), one for (x & 0xff00) | y: Morton codes.
    parts = "and.b32 %r2, %r1, 65280; shr.u32 %r3, %r1, 3; "
    both = counted(parts + "and.b32 %r4, %r3, 511; or.b32 %r5, %r2, %r4;", "%r2", "%r4", "%r5")
    one = counted(parts + "or.b32 %r5, %r2, %r3;", "%r2", "%r5")
    assert sum(both.values()) == 2
    assert sum(one.values()) == 1


@pytest.mark.parametrize("way", ["rzi", "rni", "rmi", "rpi"])
def test_floats_become_integers_in_the_special_function_pipe(way: str) -> None:
    # F2I counts there (measurements/source-kernels/h200-sxm/corpus-blind8, morton_codes: 3 a warp),
    # I2F does not.
    assert counted(f"cvt.{way}.u32.f32 %r5, %f1;", "%r5") == {"conversion": 1}
