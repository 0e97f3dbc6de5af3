"""Which pipe additions go to, against what ptxas wrote."""

from __future__ import annotations

import pytest

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.machine_instructions import machine_instructions
from perfmodel.cuda.sass.pipe_balance import balanced, multipliers_share

# Independent: machine code of ptxas 13.0 for sm_90 of 12 additions of two registers between so many
# logic and FP32 instructions: additions that became IMAD.IADD. The rule was made with them in view.
READ = [
    (0, 0, 6),
    (0, 2, 5),
    (0, 6, 3),
    (0, 12, 0),
    (2, 0, 7),
    (2, 6, 4),
    (6, 0, 8),
    (6, 2, 7),
    (6, 12, 3),
    (12, 2, 10),
    (12, 6, 8),
    (12, 12, 6),
    (12, 24, 0),
    (24, 12, 12),
    (24, 24, 6),
]


@pytest.mark.parametrize(("logic", "products", "multiplied"), READ)
def test_additions_fill_the_pipe_with_less(logic: int, products: int, multiplied: int) -> None:
    parts = [
        *(["add.s32 %a{0},%x{0},%y{0};"] * 12),
        *(["xor.b32 %a{0},%x{0},%y{0};"] * logic),
        *(["fma.rn.f32 %f{0},%g{0},%h{0},%g{0};"] * products),
    ]
    lines = [
        text.format(i) + f" st.global.{'f32' if 'fma' in text else 'u32'} [%rd1+{4 * i}],"
        f"%{'f' if 'fma' in text else 'a'}{i};"
        for i, text in enumerate(parts)
    ]
    counts = counted("\n".join(lines))
    # ptxas deals them out one by one and ends within one of the balance.
    assert counts.get("imad", 0.0) == pytest.approx(multiplied, abs=1.0)
    assert counts["int32"] == pytest.approx(12 - multiplied + logic, abs=1.0)


def counted(body: str) -> dict[str, float]:
    text = f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{{
.reg .u64 %rd<4>; .reg .u64 %w<9>; .reg .b32 %a<99>; .reg .b32 %x<99>; .reg .b32 %y<99>;
.reg .f32 %f<99>; .reg .f32 %g<99>; .reg .f32 %h<99>;
ld.param.u64 %rd1,[p];
{body}
ret;
}}
"""
    function = parse_ptx(text, "additions").kernels[0]
    totals: dict[str, float] = {}
    for counts in machine_instructions(function, control_flow(function)):
        for pipe, count in counts.items():
            totals[pipe] = totals.get(pipe, 0.0) + count
    return totals


# Independent: read from machine code of one-line kernels (ptxas 13.0, sm_90).
FORMS = [
    # A product of 64 bits: two IMAD, an IMAD.WIDE, an IADD3.
    ("mul.lo.s64 %w3,%w1,%w2; st.global.u64 [%rd1],%w3;", 4),
    # The sum of the lower half goes into the IMAD.WIDE.
    ("mul.lo.s64 %w3,%w1,%w2; add.s64 %w4,%w3,%w1; st.global.u64 [%rd1],%w4;", 4),
    # Shifted by 33, there is no upper half: one SHF and one LOP3.
    ("shr.u64 %w3,%w1,33; xor.b64 %w4,%w3,%w2; st.global.u64 [%rd1],%w4;", 2),
    # Of sums cut to 32 bits there is no upper half: one IADD3, of three operands too.
    ("add.s64 %w3,%w1,%w2; cvt.u32.u64 %a1,%w3; st.global.u32 [%rd1],%a1;", 1),
    ("add.s64 %w3,%w1,%w2; add.s64 %w4,%w3,6; cvt.u32.u64 %a1,%w4; st.global.u32 [%rd1],%a1;", 1),
    # A sum of a constant and a bound: VIADDMNMX.
    ("add.s32 %a1,%x1,-1; max.s32 %a2,%a1,0; st.global.u32 [%rd1],%a2;", 1),
    # Three operands at once, and LEA.
    ("add.s32 %a1,%x1,%y1; add.s32 %a2,%a1,%x2; st.global.u32 [%rd1],%a2;", 1),
    ("shl.b32 %a1,%x1,2; add.s32 %a2,%a1,%x2; st.global.u32 [%rd1],%a2;", 1),
]


@pytest.mark.parametrize(("body", "instructions"), FORMS)
def test_what_is_taken_in_makes_no_instruction(body: str, instructions: int) -> None:
    counts = counted(body)
    assert sum(counts.get(pipe, 0) for pipe in ("imad", "wide", "int32")) == pytest.approx(
        instructions
    )


def test_a_constant_in_a_register_leaves_the_upper_half_to_the_multipliers() -> None:
    # Independent: IADD3 and IMAD.X for 3 less a value (kmer_hash_counts, ptxas 13.0, sm_90), not
    # two IADD3 as of a uniform register.
    body = "mov.u32 %a1,%tid.x; cvt.u64.u32 %w1,%a1; ld.global.u64 %w2,[%w1]; mov.u64 %w4,3; "
    counts = counted(body + "sub.s64 %w3,%w4,%w2; st.global.u64 [%w1],%w3;")
    assert (counts["int32"], counts["imad"]) == (1, 1)


def test_a_product_is_not_taken_into_a_sum_inside_a_loop() -> None:
    # ptxas makes what does not change before the loop: a product, and a sum an iteration.
    counts = counted(
        "mul.lo.s32 %a3,%x1,%y1; L: add.s32 %x2,%x2,%a3; setp.lt.s32 %p1,%x2,%y2; @%p1 bra L; "
        "st.global.u32 [%rd1],%x2;".replace("setp", ".reg .pred %p<2>; setp")
    )
    assert counts["imad"] >= 1


def test_share_has_limits() -> None:
    # Property: all to one pipe where the other has more to do than both; nothing free, no share.
    assert multipliers_share([{"int32": 9.0, "either": 2.0}], [1.0]) == 1.0
    assert multipliers_share([{"fma32": 9.0, "either": 2.0}], [1.0]) == 0.0
    assert multipliers_share([{"fma32": 9.0}], [1.0]) == 0.0
    # Copies of a loop's body count; what lies beside counts, and is not returned.
    first, second = {"int32": 1.0, "either": 4.0}, {"fma32": 1.0}
    assert multipliers_share([first, second], [1.0, 5.0]) == 0.0
    found = balanced([first], [1.0], [{"fma32": 1.0}])
    assert found == [{"int32": 3.0, "imad": 2.0}]
