"""What ptxas makes of several PTX instructions at once: machine code of sm_90 (nvcc 13.0)."""

from __future__ import annotations

import pytest

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.machine_instructions import machine_instructions


def made(*lines: str) -> dict[str, float]:
    """Return machine instructions by pipe of lines between loads and a store of what they make."""
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 in) {{
      .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .b16 %h<3>; .reg .f32 %f<3>;
      ld.param.u64 %d19, [in];
      ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%d19]; ld.global.u32 %r5, [%d19+16];
      ld.global.v2.u64 {{%d1, %d2}}, [%d19+32]; ld.global.u64 %d3, [%d19+48];
      {" ".join(lines)}
      st.global.u32 [%d19], %r9; st.global.u64 [%d19+8], %d9; ret;
    }}
    """
    function = parse_ptx(text).functions[0]
    counts = machine_instructions(function, control_flow(function))
    found: dict[str, float] = {}
    for instruction, count in zip(function.instructions, counts, strict=True):
        if instruction.opcode in ("ld", "st", "ret"):
            continue
        for pipe, n in count.items():
            found[pipe] = found.get(pipe, 0.0) + n
    return found


@pytest.mark.parametrize(
    ("lines", "instructions"),
    [
        # SHF.L.W twice, and registers that change their names (blake2b of
        # source-kernels/h200-sxm/arithmetic/program)
        (("shl.b64 %d4, %d1, 16;", "shr.b64 %d5, %d1, 48;", "add.u64 %d9, %d4, %d5;"), 2),
        (("shl.b64 %d4, %d1, 32;", "shr.b64 %d5, %d1, 32;", "or.b64 %d9, %d4, %d5;"), 0),
        # of different numbers: LEA, LEA.HI.X and a shift
        (("shl.b64 %d4, %d1, 16;", "shr.u64 %d5, %d2, 48;", "add.u64 %d9, %d4, %d5;"), 3),
        # LEA.HI (md5_search)
        (("shf.l.wrap.b32 %r6, %r1, %r1, 7;", "add.s32 %r9, %r6, %r2;"), 1),
        # IADD3 and IADD3.X
        (("add.s64 %d4, %d1, %d2;", "add.s64 %d9, %d4, %d3;"), 2),
        # sums of three, four and five: IADD3 once, twice, twice
        (("add.s32 %r6, %r1, %r2;", "add.s32 %r9, %r6, %r3;"), 1),
        (("add.s32 %r6, %r1, %r2;", "add.s32 %r7, %r6, %r3;", "add.s32 %r9, %r7, %r4;"), 2),
        # a shift that two sums use: LEA twice (transpose_tile of
        # source-kernels/h200-sxm/corpus/program)
        (("shl.b32 %r6, %r1, 5;", "add.s32 %r7, %r6, %r2;", "add.s32 %r8, %r6, %r3;",
          "xor.b32 %r9, %r7, %r8;"), 3),
        # LOP3: four operations of five operands are two, a choice of bits is one
        (("xor.b32 %r6, %r1, %r2;", "xor.b32 %r7, %r6, %r3;", "xor.b32 %r8, %r7, %r4;",
          "xor.b32 %r9, %r8, %r5;"), 2),
        (("not.b32 %r6, %r1;", "and.b32 %r7, %r6, %r2;", "and.b32 %r8, %r1, %r3;",
          "or.b32 %r9, %r7, %r8;"), 1),
        # IMAD.WIDE.U32 of two words (multiply256)
        (("cvt.u64.u32 %d4, %r1;", "cvt.u64.u32 %d5, %r2;", "mul.lo.s64 %d6, %d4, %d5;",
          "add.s64 %d9, %d6, %d3;"), 1),
        # halves are registers
        (("shr.u64 %d4, %d1, 32;", "cvt.u32.u64 %r9, %d4;"), 0),
        # constants are worked out (half_polynomial)
        (("mov.f32 %f1, 0f3C23D70A;", "cvt.rn.f16.f32 %h1, %f1;", "mov.b32 %r6, {%h1, %h1};",
          "fma.rn.f16x2 %r9, %r1, %r2, %r6;"), 1),
    ],
)  # fmt: skip
def test_instructions_that_become_one(lines: tuple[str, ...], instructions: int) -> None:
    # independent: read from machine code
    assert sum(made(*lines).values()) == pytest.approx(instructions)
