"""Instructions of emulated warps by hand, and what is said of those that are not emulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated import STORE, single


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mov.u32 %r2, -7; div.s32 %r1, %r2, 2;", -3),
        ("mov.u32 %r2, -7; rem.s32 %r1, %r2, 2;", -1),
        ("mov.u32 %r2, -8; shr.s32 %r1, %r2, 1;", -4),
        ("mov.u32 %r2, -8; shr.u32 %r1, %r2, 28;", 15),
        ("mov.u32 %r2, 1; shl.b32 %r1, %r2, 40;", 0),
        ("mov.u32 %r2, 0x80000001; mul.hi.u32 %r1, %r2, 4;", 2),
        ("mov.u32 %r2, -3; mul.hi.s32 %r1, %r2, 5;", -1),
        ("mov.u32 %r2, 0x12345678; bfe.u32 %r1, %r2, 8, 8;", 0x56),
        ("mov.u32 %r2, 0xF0; bfe.s32 %r1, %r2, 4, 4;", -1),
        ("mov.u32 %r2, 5; mov.u32 %r3, 0xFF; bfi.b32 %r1, %r2, %r3, 4, 4;", 0x5F),
        ("mov.u32 %r2, 0x00F0; popc.b32 %r1, %r2;", 4),
        ("mov.u32 %r2, 0x00F0; clz.b32 %r1, %r2;", 24),
        ("mov.u32 %r2, 0x00F0; bfind.u32 %r1, %r2;", 7),
        ("mov.u32 %r2, 1; brev.b32 %r1, %r2;", -(2**31)),
        ("mov.u32 %r2, 0x33221100; mov.u32 %r3, 0x77665544; prmt.b32 %r1, %r2, %r3, 0x7041;",
         0x77004411),
        ("mov.u32 %r2, 0xF0F0; mov.u32 %r3, 0xFF00; mov.u32 %r4, 0xAAAA;"
         "lop3.b32 %r1, %r2, %r3, %r4, 0x96;", 0xF0F0 ^ 0xFF00 ^ 0xAAAA),
        ("mov.u32 %r2, 0x1; mov.u32 %r3, 0x80000000; shf.l.wrap.b32 %r1, %r3, %r2, 1;", 3),
        ("mov.f32 %f1, 0fC0200000; cvt.rni.s32.f32 %r1, %f1;", -2),
        ("mov.f32 %f1, 0fC0200000; cvt.rmi.s32.f32 %r1, %f1;", -3),
        ("mov.f32 %f1, 0f7F800000; cvt.rzi.s32.f32 %r1, %f1;", 2**31 - 1),
        ("mov.u32 %r2, 300; cvt.u8.u32 %r1, %r2;", 44),
        ("mov.u32 %r2, 9; mov.u32 %r3, 4; setp.gt.s32 %p1, %r2, %r3; selp.b32 %r1, 1, 2, %p1;", 1),
        ("mov.b32 %r2, 7; mov.b64 %d3, {%r2, %r2}; shr.u64 %d3, %d3, 32; cvt.u32.u64 %r1, %d3;", 7),
        ("vote.sync.ballot.b32 %r1, 1, -1;", -1),
        ("mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 4; vote.sync.ballot.b32 %r1, %p1, -1;", 15),
        ("mov.u32 %r2, %laneid; redux.sync.add.s32 %r1, %r2, -1;", 496),
        ("mov.u32 %r2, %laneid; shfl.sync.idx.b32 %r1, %r2, 9, 31, -1;", 9),
    ],
)  # fmt: skip
def test_instructions_by_hand(body: str, expected: int) -> None:
    _, out = single(body + STORE)
    assert out.view(np.int32).tolist() == [expected] * 32


MODES = "mov.b32 %r2, 0x33221100; mov.b32 %r3, 0x77665544; mov.b32 %r4, {c}; prmt.b32.{mode} "
WORDS = "mov.b32 %r2, 0x7FFF8001; mov.b32 %r3, 0x0001FFFE; "
BYTES = "mov.b32 %r2, 0xFF020304; mov.b32 %r3, 0x01FE0102; "
LONG = "mov.b32 %r2, 0xFFFFFFFF; mov.b32 %r3, 1; mov.b32 %r4, 7; "


# PTX ISA, by hand: what each instruction's text says of these numbers
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mov.u32 %r2, 0x7FFFFFF0; add.sat.s32 %r1, %r2, 100;", 2**31 - 1),
        ("mov.u32 %r2, -2147483640; sub.sat.s32 %r1, %r2, 100;", -(2**31)),
        ("mov.u32 %r2, -7; add.sat.s32 %r1, %r2, 100;", 93),
        ("mov.f32 %f1, 0f40000000; fma.rn.sat.f32 %f2, %f1, %f1, %f1; mov.b32 %r1, %f2;",
         0x3F800000),
        ("mov.f32 %f1, 0fC0000000; add.sat.f32 %f2, %f1, %f1; mov.b32 %r1, %f2;", 0),
        ("mov.f32 %f1, 0f7FC00000; mul.sat.f32 %f2, %f1, %f1; mov.b32 %r1, %f2;", 0),
        ("mov.f32 %f1, 0f7FC00000; mov.f32 %f2, 0f40000000; max.NaN.f32 %f3, %f1, %f2;"
         "mov.b32 %r3, %f3; shr.u32 %r1, %r3, 23;", 255),
        (WORDS + "add.s16x2 %r1, %r2, %r3;", 0x80007FFF - 2**32),
        (WORDS + "min.s16x2 %r1, %r2, %r3;", 0x00018001),
        (WORDS + "max.u16x2 %r1, %r2, %r3;", 0x7FFFFFFE),
        (WORDS + "max.relu.s16x2 %r1, %r2, %r3;", 0x7FFF0000),
        ("mov.f32 %f1, 0f7FC00000; setp.ne.f32 %p1, %f1, %f1; selp.b32 %r1, 1, 2, %p1;", 2),
        ("mov.f32 %f1, 0f7FC00000; setp.neu.f32 %p1, %f1, %f1; selp.b32 %r1, 1, 2, %p1;", 1),
        ("mov.u32 %r2, 0x01FFFFFF; mul24.lo.s32 %r1, %r2, 5;", -5),
        ("mov.u32 %r2, 0x01FFFFFF; mul24.hi.u32 %r1, %r2, 0x10000;", 0xFFFFFF),
        ("mov.u32 %r2, 0xFF000003; mad24.lo.u32 %r1, %r2, 5, 100;", 115),
        ("mov.u32 %r2, -5; mov.u32 %r3, 40; bfe.s32 %r1, %r2, %r3, 8;", -1),
        ("mov.u32 %r2, -5; mov.u32 %r3, 40; bfe.u32 %r1, %r2, %r3, 8;", 0),
        ("mov.u32 %r2, -5; mov.u32 %r3, 40; bfe.s32 %r1, %r2, %r3, 0;", 0),
        ("prmt.b32 %r1, 0x33221100, 0x77665544, 0x3210;", 0x33221100),
        ("mov.b32 %r3, 0x77665544; prmt.b32 %r1, 0x33221100, %r3, 0x7041;", 0x77004411),
        (MODES.format(mode="f4e", c=1) + "%r1, %r2, %r3, %r4;", 0x44332211),
        (MODES.format(mode="b4e", c=1) + "%r1, %r2, %r3, %r4;", 0x66770011),
        (MODES.format(mode="rc8", c=2) + "%r1, %r2, %r3, %r4;", 0x22222222),
        (MODES.format(mode="ecl", c=1) + "%r1, %r2, %r3, %r4;", 0x33221111),
        (MODES.format(mode="ecr", c=2) + "%r1, %r2, %r3, %r4;", 0x22221100),
        (MODES.format(mode="rc16", c=1) + "%r1, %r2, %r3, %r4;", 0x33223322),
        (BYTES + "dp4a.s32.s32 %r1, %r2, %r3, 1000;", 1000 - 1 - 4 + 3 + 8),
        (BYTES + "dp4a.u32.s32 %r1, %r2, %r3, 1000;", 1000 + 255 - 4 + 3 + 8),
        ("mov.u32 %r2, 70000; mov.u32 %r3, -3; cvt.pack.sat.s16.s32 %r1, %r2, %r3;", 0x7FFFFFFD),
        ("mov.u32 %r2, 70000; mov.u32 %r3, -3; cvt.pack.sat.u16.s32 %r1, %r2, %r3;",
         0xFFFF0000 - 2**32),
        ("mov.u32 %r2, -200; mov.u32 %r3, 5; cvt.pack.sat.s8.s32.b32 %r1, %r2, %r3, 0x70007;",
         0x00078005),
        ("mov.u32 %r2, 300; mov.u32 %r3, -5; cvt.pack.sat.u4.s32.b32 %r1, %r2, %r3, 0x12345;",
         0x012345F0),
        ("mov.u32 %r2, -1; mov.u32 %r3, 1; cvt.pack.sat.s2.s32.b32 %r1, %r2, %r3, 1;", 0x1D),
        ("mov.u32 %r2, 0x40000000; mad.hi.sat.s32 %r1, %r2, 8, 0x7FFFFFFE;", 2**31 - 1),
        ("mov.u32 %r2, 0x40000000; mad.hi.sat.s32 %r1, %r2, -8, -2147483647;", -(2**31)),
        ("mov.u32 %r2, 0x40000000; mad.hi.sat.s32 %r1, %r2, -8, 5;", 3),
        (LONG + "add.cc.u32 %r5, %r2, %r3; addc.u32 %r1, %r4, %r4;", 15),
        (LONG + "add.cc.u32 %r5, %r4, %r3; addc.u32 %r1, %r4, %r4;", 14),
        (LONG + "add.cc.u32 %r5, %r2, %r3; addc.cc.u32 %r5, %r2, 0; addc.u32 %r1, %r4, 0;", 8),
        (LONG + "sub.cc.u32 %r5, %r3, %r4; subc.u32 %r1, %r4, %r3;", 5),
        (LONG + "sub.cc.u32 %r5, %r4, %r3; subc.u32 %r1, %r4, %r3;", 6),
        (LONG + "mad.lo.cc.u32 %r5, %r2, %r2, %r2; madc.hi.u32 %r1, %r2, %r2, 0;", -1),
    ],
)  # fmt: skip
def test_modifiers_by_hand(body: str, expected: int) -> None:
    found, out = single(body + STORE)
    assert out.view(np.int32).tolist() == [expected] * 32
    assert not found.notes


@pytest.mark.parametrize(
    "instruction",
    [
        "dp2a.lo.s32.s32 %r1, %r2, %r2, %r2",
        "max.xorsign.abs.f32 %f1, %f1, %f1",
        "atom.shared.cas.b128 %q1, [s], %q1, %q1",
    ],
)
def test_what_is_not_computed_is_said(instruction: str) -> None:
    # PTX ISA: all exist; of none has an emulation the result
    declared = ".shared .align 16 .b128 s[1];"
    found, _ = single(f".reg .b128 %q<3>; {instruction};{STORE}", declared=declared)
    (note,) = found.notes
    assert note == f"not emulated, results taken as 0: {instruction.partition(' ')[0]}"


QUADS = """
    .reg .b128 %q<4>; mov.u32 %r2, %tid.x; cvt.u64.u32 %d3, %r2; add.u64 %d4, %d3, 100;
    mul.wide.u32 %d6, %r2, 16; mov.u64 %d5, s; add.u64 %d5, %d5, %d6;
    mov.b128 %q1, {%d3, %d4}; mov.b128 %q2, %q1; """


# PTX ISA, by hand: a register of 128 bits is two of 64, the lower first
@pytest.mark.parametrize(
    ("body", "first"),
    [
        ("mov.b128 {%d7, %d8}, %q2; cvt.u32.u64 %r1, %d7;", 0),
        ("mov.b128 {%d7, %d8}, %q2; cvt.u32.u64 %r1, %d8;", 100),
        ("mov.b128 {_, %d8}, %q2; cvt.u32.u64 %r1, %d8;", 100),
        ("st.shared.b128 [%d5], %q2; ld.shared.b128 %q3, [%d5]; mov.b128 {%d7, %d8}, %q3;"
         "cvt.u32.u64 %r1, %d8;", 100),
        ("st.shared.b128 [%d5], %q2; ld.shared.u32 %r1, [%d5+8];", 100),
        ("st.shared.b128 [%d5], %q2; atom.shared.exch.b128 %q3, [%d5], %q3;"
         "mov.b128 {%d7, %d8}, %q3; cvt.u32.u64 %r1, %d8;", 100),
    ],
)  # fmt: skip
def test_registers_of_128_bits(body: str, first: int) -> None:
    found, out = single(QUADS + body + STORE, declared=".shared .align 16 .b8 s[512];")
    assert out.tolist() == [first + lane for lane in range(32)]
    assert not found.notes


def test_an_access_of_128_bits_asks_for_as_much_as_one_of_two_words() -> None:
    # property: the same sectors and wavefronts as v2.b64
    def counted(access: str) -> Any:
        body = ".reg .b128 %q<3>; mov.u32 %r2, %tid.x; mul.wide.u32 %d6, %r2, 16;"
        body += f"ld.param.u64 %d1, [out]; add.u64 %d1, %d1, %d6; {access}; ret;"
        found, _ = single(body, block=8)
        (count,) = found.counts.values()
        return count.requests, count.sectors, count.width

    assert counted("ld.global.b128 %q1, [%d1]") == counted("ld.global.v2.b64 {%d7, %d8}, [%d1]")
    assert counted("st.global.b128 [%d1], %q1") == counted("st.global.v2.b64 [%d1], {%d7, %d8}")


@pytest.mark.parametrize("register", ["%smid", "%nsmid"])
def test_which_sm_a_block_runs_on_is_said_to_be_taken(register: str) -> None:
    # property: PTX is followed before a GPU is chosen
    found, _ = single(f"mov.u32 %r1, {register};{STORE}")
    assert found.notes == (f"{register}: blocks are assumed to be spread over 132 SMs, on any GPU",)
