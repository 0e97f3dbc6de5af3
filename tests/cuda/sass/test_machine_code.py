"""What ptxas makes of a few instructions of PTX, by pipe: machine code of sm_90 (ptxas 13.0).

Kernels of 16 and of 8 copies of the lines, each on words of its own that were loaded and are
stored: the difference is 8 of them, without what the way of odd values holds behind a call. What
runs on the integer pipe or on the multipliers counts together (`free`).
"""

from __future__ import annotations

import pytest

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.machine_instructions import machine_instructions, packed

WIDTHS = {"f": "f32", "d": "f64", "r": "b32", "q": "b64", "h": "b16"}


def counted(lines: str) -> dict[str, float]:
    """Return the machine instructions of lines that make %r0, %f0, %d0 or %q0 of %r1, %r2, ..."""
    declared = " ".join(f".reg .{t} %{n}<9>;" for n, t in WIDTHS.items())
    loads = " ".join(
        f"ld.global.{WIDTHS[n]} %{n}{i}, [%q8+{64 * i}];" for n in WIDTHS for i in (1, 2, 3)
    )
    result = next(n for n in WIDTHS if f"%{n}0" in lines)
    text = f"""
    .version 9.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out) {{
      {declared} .reg .pred %p<3>;
      ld.param.u64 %q8, [out]; {loads}
      {lines}
      st.global.{WIDTHS[result]} [%q8], %{result}0; ret;
    }}
    """
    function = parse_ptx(text).functions[0]
    counts = machine_instructions(function, control_flow(function))
    total: dict[str, float] = {}
    for i, found in zip(function.instructions, counts, strict=True):
        for pipe, n in found.items():
            if i.opcode not in ("ld", "ret"):
                free = pipe in ("int32", "imad")
                total["free" if free else pipe] = total.get("free" if free else pipe, 0) + n
    return {pipe: round(n, 6) for pipe, n in total.items() if n}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # DSETP.MIN, three moves, two choices and what makes a number of no number
        ("min.f64 %d0, %d1, %d2;", {"fma64": 1, "free": 6}),
        ("max.f64 %d0, %d1, %d2;", {"fma64": 1, "free": 6}),
        # MUFU.RCP64H, 7 DFMA and a DMUL, FFMA and two FSETP for the check, a branch around the call
        (
            "div.rn.f64 %d0, %d1, %d2;",
            {"fma64": 8, "sfu": 1, "fma32": 1, "free": 3, "other": 3},
        ),
        ("rcp.rn.f64 %d0, %d1;", {"fma64": 5, "sfu": 1, "free": 2, "other": 3}),
        ("sqrt.rn.f64 %d0, %d1;", {"fma64": 8, "sfu": 1, "free": 6, "other": 3}),
        ("rsqrt.approx.f64 %d0, %d1;", {"fma64": 5, "sfu": 1, "free": 5, "other": 3}),
        ("div.full.f32 %f0, %f1, %f2;", {"sfu": 1, "fma32": 5, "free": 2}),
        ("rcp.approx.f32 %f0, %f1;", {"sfu": 1, "fma32": 2, "free": 4}),
        ("min.s64 %q0, %q1, %q2;", {"free": 4}),
        ("setp.lt.s32 %p1, %r1, 7; selp.f64 %d0, %d1, %d2, %p1;", {"free": 3}),
        ("clz.b32 %r0, %r1;", {"conversion": 1, "free": 1}),
        ("popc.b64 %r0, %q1;", {"conversion": 2, "free": 1}),
        ("bfe.u32 %r0, %r1, 8, 8;", {"free": 1}),
        ("bfe.u32 %r0, %r1, 5, 7;", {"free": 2}),
        ("bfe.s32 %r0, %r1, 8, 8;", {"free": 2}),
        ("bfe.u32 %r0, %r1, %r2, %r3;", {"free": 5}),
        ("bfi.b32 %r0, %r1, %r2, 8, 8;", {"free": 1}),
        ("bfi.b32 %r0, %r1, %r2, 5, 7;", {"free": 2}),
        ("cvt.s32.s16 %r4, %h1; mad.lo.s32 %r0, %r4, %r1, %r2;", {"free": 2}),
        ("ex2.approx.f16x2 %r0, %r1;", {"sfu": 2, "free": 1}),
        ("sad.s32 %r0, %r1, %r2, %r3;", {"free": 1}),
        ("cvt.sat.f32.f32 %f0, %f1;", {"fma32": 1}),
    ],
)
def test_one_instruction(lines: str, expected: dict[str, float]) -> None:
    assert counted(lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # FFMA; stated roundings are kept
        ("mul.f32 %f4, %f1, %f2; add.f32 %f0, %f4, %f3;", 1),
        ("mul.rn.f32 %f4, %f1, %f2; add.f32 %f0, %f4, %f3;", 2),
        ("mul.f32 %f4, %f1, %f2; add.rn.f32 %f0, %f4, %f3;", 2),
        ("mul.f64 %d4, %d1, %d2; sub.f64 %d0, %d3, %d4;", 1),
        # FMUL, FFMA: of two products one is part of the sum
        ("mul.f32 %f4, %f1, %f1; mul.f32 %f5, %f2, %f3; sub.f32 %f0, %f4, %f5;", 2),
        # two FFMA and an FMUL; FMUL, FADD and FMUL where a product takes the product
        (
            "mul.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; sub.f32 %f6, %f1, %f4;"
            "mul.f32 %f0, %f5, %f6;",
            3,
        ),
        ("mul.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; mul.f32 %f0, %f5, %f4;", 3),
        # signs are part of an operand, whoever uses it
        ("neg.f32 %f4, %f1; fma.rn.f32 %f5, %f4, %f2, %f3; fma.rn.f32 %f0, %f4, %f5, %f2;", 2),
        ("abs.f32 %f4, %f1; max.f32 %f5, %f4, %f2; add.f32 %f0, %f4, %f5;", 2),
        # VIADDMNMX takes one sum
        ("add.s32 %r4, %r1, %r2; min.s32 %r0, %r4, %r3;", 1),
        ("sub.s32 %r4, %r1, %r2; max.s32 %r0, %r4, 0;", 1),
        ("add.s32 %r4, %r1, 1; add.s32 %r5, %r2, 1; min.s32 %r0, %r4, %r5;", 2),
        ("neg.s32 %r4, %r1; add.s32 %r0, %r4, %r2;", 1),
        # IMAD.WIDE.U32 makes both halves
        ("mul.lo.u32 %r4, %r1, %r2; mul.hi.u32 %r5, %r1, %r2; xor.b32 %r0, %r4, %r5;", 2),
        (
            "mov.u32 %r6, -766435501; mul.lo.s32 %r4, %r1, -766435501;"
            "mul.hi.u32 %r5, %r6, %r1; xor.b32 %r0, %r4, %r5;",
            2,
        ),
    ],
)
def test_what_others_take_in(lines: str, expected: float) -> None:
    assert sum(counted(lines).values()) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # four PRMT; LDG.U8 widens by itself
        ("ld.global.v4.u8 {%h4, %h5, %h6, %h7}, [%q8];", 4),
        ("ld.global.v2.u8 {%h4, %h5}, [%q8];", 2),
        ("ld.global.u8 %h4, [%q8];", 0),
        ("st.global.v4.u8 [%q8], {%h1, %h2, %h3, %h1};", 3),
        ("st.global.v2.u16 [%q8], {%h1, %h2};", 1),
        ("st.global.v4.u16 [%q8], {%h1, %h2, %h3, %h1};", 2),
        ("st.global.v4.u32 [%q8], {%r1, %r2, %r3, %r1};", 0),
    ],
)
def test_bytes_in_words_are_taken_apart_and_put_together(lines: str, expected: float) -> None:
    text = f"""
    .version 9.0
    .target sm_90
    .address_size 64
    .visible .entry k() {{
      .reg .b64 %q<9>; .reg .b32 %r<9>; .reg .b16 %h<9>;
      {lines} ret;
    }}
    """
    (instruction, _) = parse_ptx(text).functions[0].instructions
    assert sum(packed(instruction).values()) == expected


def test_variables_that_take_each_others_values_are_moved() -> None:
    # Euclid's algorithm: of 21 instructions of an iteration two are moves (IMAD.MOV and MOV).
    text = """
    .version 9.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out) {
      .reg .b64 %q<9>; .reg .b32 %r<9>; .reg .pred %p<3>;
      ld.param.u64 %q1, [out]; ld.global.v2.u32 {%r1, %r2}, [%q1];
    $L1:
      rem.u32 %r3, %r1, %r2;
      mov.u32 %r1, %r2;
      mov.u32 %r2, %r3;
      setp.ne.s32 %p1, %r3, 0;
      @%p1 bra $L1;
      st.global.u32 [%q1], %r1; ret;
    }
    """
    function = parse_ptx(text).functions[0]
    counts = machine_instructions(function, control_flow(function))
    moves = [
        sum(c.values())
        for i, c in zip(function.instructions, counts, strict=True)
        if i.opcode == "mov"
    ]
    # The second is not told from another name of the same register.
    assert moves == [1, 0]
