"""The PTX reader: every construct by hand, and what it refuses.

Expected values are the PTX ISA's: what a text means, not what the reader once made of it.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest

from perfmodel.cuda.parse.reader import parse_ptx, read_ptx
from perfmodel.cuda.parse.syntax import (
    Address,
    Arguments,
    Component,
    FloatImmediate,
    Function,
    Guard,
    Immediate,
    Label,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    SourceLine,
    SpecialRegister,
    Symbol,
    Vector,
)
from perfmodel.errors import PerfmodelError

HEADER = ".version 8.7\n.target sm_90a, debug\n.address_size 64\n"


def kernel(body: str, parameters: str = "", before: str = "") -> Function:
    return parse_ptx(f"{HEADER}{before}\n.entry k({parameters})\n{{\n{body}\n}}").kernels[0]


def operands(text: str, body: str = "") -> tuple[Operand, ...]:
    return kernel(f"{body}\n{text};").instructions[-1].operands


def R(name: str) -> Register:  # noqa: N802
    return Register(name)


def test_module_header() -> None:
    module = parse_ptx(f'{HEADER}.file 1 "/src/a b.cu", 123, 45\n.file 2 "c.h"\n')
    assert module.version == (8, 7)
    assert module.target == "sm_90a"
    assert module.files == {1: "/src/a b.cu", 2: "c.h"}
    assert module.kernels == ()


def test_parameters() -> None:
    found = kernel(
        "ret;",
        ".param .u64 .ptr .global .align 16 a, .param .align 8 .b8 s[24], .param .f32 x, "
        ".param .u64 .ptr .align 1 b, .param .v2 .u32 v",
    ).parameters
    a, s, x, b, v = found
    assert (a.type, a.size, a.alignment, a.pointer) == ("u64", 8, 8, True)
    assert (s.size, s.alignment, s.count, s.pointer) == (24, 8, 24, False)
    assert (x.type, x.size, x.alignment) == ("f32", 4, 4)
    assert (b.alignment, b.pointer) == (8, True)
    assert (v.size, v.alignment) == (8, 8)


def test_variables() -> None:
    module = parse_ptx(
        HEADER + ".global .align 4 .b8 table[16] = {1, 0, -2, 0x1F};\n"
        ".extern .shared .align 16 .b8 dynamic[];\n"
        ".const .f32 c[2][3] = {{1.5, 0f40000000, 3}, {4}};\n"
        ".visible .global .u64 addresses[] = {table, generic(table)+8};\n"
        ".shared .v4 .f32 quads[8], single;\n"
        ".global .u32 g = (1 << 4) + 3 * 2;\n"
        ".global .attribute(.unified(19, 95)) .u8 m[2] = {0xff(table), 0xff00(table)};\n"
    )
    by_name = {v.name: v for v in module.variables}
    table = by_name["table"]
    assert (table.space, table.size, table.alignment) == ("global", 16, 4)
    assert table.values == (1, 0, -2, 31)
    assert (by_name["dynamic"].size, by_name["dynamic"].linkage) == (None, "extern")
    assert by_name["c"].shape == (2, 3)
    assert by_name["c"].values == (1.5, 2.0, 3, 4)
    assert (by_name["addresses"].values, by_name["addresses"].size) == (("table", "generic"), 16)
    assert (by_name["quads"].size, by_name["quads"].alignment) == (128, 16)
    assert (by_name["single"].size, by_name["single"].lanes) == (16, 4)
    assert by_name["g"].values == (22,)
    assert (by_name["m"].size, by_name["m"].type) == (2, "u8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add.s32 %r1, %r2, -5", (R("%r1"), R("%r2"), Immediate(-5))),
        ("mov.u32 %r1, %tid.x", (R("%r1"), SpecialRegister("%tid.x"))),
        ("mov.u32 %r1, WARP_SZ", (R("%r1"), SpecialRegister("WARP_SZ"))),
        ("mov.u64 %rd1, table+8", (R("%rd1"), Symbol("table", 8))),
        ("ld.global.f32 %f1, [%rd1]", (R("%f1"), Address(R("%rd1")))),
        ("ld.global.f32 %f1, [%rd1+-8]", (R("%f1"), Address(R("%rd1"), -8))),
        ("ld.global.f32 %f1, [ %rd1 + 0 ]", (R("%f1"), Address(R("%rd1"), 0))),
        ("ld.shared.f32 %f1, [tile+4]", (R("%f1"), Address(Symbol("tile"), 4))),
        ("ld.global.u32 %r1, [4096]", (R("%r1"), Address(Immediate(4096)))),
        ("st.v2.f32 [%rd1], {%f1, 0f3F800000}", (Address(R("%rd1")), Vector((R("%f1"), FloatImmediate(0x3F800000, 32))))),  # noqa: E501
        ("setp.eq.s32 %p1|%p2, %r1, 0x10U", (Pair(R("%p1"), R("%p2")), R("%r1"), Immediate(16))),
        ("and.pred %p1, %p2, !%p3", (R("%p1"), R("%p2"), Negated(R("%p3")))),
        ("mbarrier.arrive.b64 _, [%r1]", (Sink(), Address(R("%r1")))),
        ("vadd.s32.u32.u32 %r1, %r2.b0, %r3.h1", (R("%r1"), Component(R("%r2"), "b0"), Component(R("%r3"), "h1"))),  # noqa: E501
        ("tex.2d.v4.f32.f32 {%f1,%f2,_,%f4}, [t, {%f5,%f6}]", (Vector((R("%f1"), R("%f2"), Sink(), R("%f4"))), Address(Symbol("t"), 0, (R("%f5"), R("%f6"))))),  # noqa: E501
        ("mov.u32 %r1, 017", (R("%r1"), Immediate(15))),
        ("mov.u32 %r1, 0b101", (R("%r1"), Immediate(5))),
        ("mov.u32 %r1, (3+4)*2 - ~1", (R("%r1"), Immediate(16))),
        ("bra.uni L", (Label("L"),)),
        ("call.uni (%r1), f, (%r2, 5)", (Arguments((R("%r1"),)), Symbol("f"), Arguments((R("%r2"), Immediate(5))))),  # noqa: E501
        ("call f", (Symbol("f"),)),
        ("call f, (-1)", (Symbol("f"), Arguments((Immediate(-1),)))),
        ("ret", ()),
    ],
)  # fmt: skip
def test_operands(text: str, expected: tuple[Operand, ...]) -> None:
    found = kernel(f"{text};\nL: ret;").instructions[0]
    assert found.readable
    assert found.operands == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0f3F800000", 1.0),
        ("0FBF800000", -1.0),
        ("-0f3F800000", -1.0),
        ("0d3FF8000000000000", 1.5),
        ("1.25", 1.25),
        ("-2.5e3", -2500.0),
        ("0fFF800000", -math.inf),
    ],
)
def test_float_immediates(text: str, value: float) -> None:
    found = operands(f"mov.f32 %f1, {text}")[1]
    assert isinstance(found, FloatImmediate)
    assert found.value == value


def test_a_nan_keeps_its_payload() -> None:
    found = operands("mov.f32 %f1, 0f7FC12345")[1]
    assert isinstance(found, FloatImmediate)
    assert found.bits == 0x7FC12345
    assert math.isnan(found.value)
    assert struct.pack("<I", found.bits) == b"\x45\x23\xc1\x7f"


def test_guards_and_modifiers() -> None:
    plain, negated, spaced = kernel(
        "@%p1 ld.global.L1::no_allocate.L2::128B.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];\n"
        "@!%p2 bra DONE;\nmov .u32 %r1, 1;\nDONE: ret;"
    ).instructions[:3]
    assert plain.guard == Guard(R("%p1"), negated=False)
    assert plain.opcode == "ld"
    assert plain.modifiers == ("global", "L1::no_allocate", "L2::128B", "v4", "f32")
    assert plain.name == "ld.global.L1::no_allocate.L2::128B.v4.f32"
    assert negated.guard == Guard(R("%p2"), negated=True)
    assert spaced.name == "mov.u32"


def test_labels_and_branch_tables() -> None:
    found = kernel("A:\nB: ret;\nT: .branchtargets A, B, C;\nbrx.idx %r1, T;\nC:")
    assert found.labels == {"A": 0, "B": 0, "C": 2}
    assert found.branch_tables == {"T": ("A", "B", "C")}
    assert found.instructions[1].operands == (R("%r1"), Label("T"))


def test_source_lines() -> None:
    found = kernel(
        "ret;\n.loc 1 10 3\nret;\n.loc 1 0 3\nret;\n"
        ".loc 2 84 3, function_name $L__info_string0, inlined_at 1 13 5\nret;"
    ).instructions
    assert [i.source for i in found] == [
        None,
        SourceLine(1, 10),
        SourceLine(1, 10),  # line 0: the compiler does not know
        SourceLine(2, 84, SourceLine(1, 13)),
    ]
    assert [i.line for i in found] == [7, 9, 11, 13]


def test_names_of_inner_blocks_are_their_own() -> None:
    found = kernel(
        ".reg .pred p;\n.reg .b32 %r<4>;\n"
        "{ .reg .pred p; .reg .b32 %r<2>; setp.eq.s32 p, %r1, %r3;\nW: @p bra W; bra E; }\n"
        "{ .reg .f32 p; W: mov.f32 p, 0f00000000; bra W; }\n"
        "@p bra E;\nE: ret;"
    )
    compare, spin, leave, move, again, last = found.instructions[:6]
    assert compare.operands == (R("p@1"), R("%r1@1"), R("%r3"))
    assert spin.guard == Guard(R("p@1"), negated=False)
    assert spin.operands == (Label("W@1"),)
    assert leave.operands == (Label("E"),)
    assert move.operands[0] == R("p@2")
    assert again.operands == (Label("W@2"),)
    assert last.guard == Guard(R("p"), negated=False)
    assert found.register_type("p") == "pred"
    assert found.register_type("p@2") == "f32"
    assert found.register_type("%r1@1") == "b32"
    assert found.register_type("%r3") == "b32"
    assert found.register_type("%r4") is None
    assert found.register_type("%r2@1") is None


def test_functions_calls_and_their_parameters() -> None:
    module = parse_ptx(
        HEADER + ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        ".func (.reg .u32 %res) inc(.reg .u32 %a) { add.u32 %res, %a, 1; ret; }\n"
        ".visible .entry main() { { .param .b64 param0; st.param.b64 [param0+0], %rd1;\n"
        "call.uni (retval0), vprintf, (param0, param0); } ret; }"
    )
    printf, inc, main = module.functions
    assert (printf.defined, printf.linkage, len(printf.parameters)) == (False, "extern", 2)
    assert printf.results[0].size == 4
    assert (inc.defined, inc.results[0].space, inc.kernel) == (True, "reg", False)
    assert main.linkage == "visible"
    assert main.instructions[0].operands[0] == Address(Symbol("param0@1"))
    assert main.variables[0].name == "param0@1"
    assert main.instructions[1].operands[2] == Arguments((Symbol("param0@1"),) * 2)


def test_bounds_and_pragmas() -> None:
    module = parse_ptx(
        HEADER + ".entry k() .maxntid 256, 1, 1 .minnctapersm 2 .reqntid 128\n"
        '.pragma "nounroll";\n{ ret; .pragma "used_bytes_mask 1"; ret; }'
    )
    found = module.kernels[0]
    assert found.directives == {"maxntid": (256, 1, 1), "minnctapersm": (2,), "reqntid": (128,)}
    assert found.pragmas == ((0, "nounroll"), (1, "used_bytes_mask 1"))


def test_debug_sections_comments_and_strange_spacing() -> None:
    module = parse_ptx(
        "// made by hand\n/* .version 1.0 **/ " + HEADER + ".entry k ( ) {ret ;}\n"
        ".section .debug_str\n{\n$L__info_string0:\n.b8 95,90\n}\n"
    )
    assert len(module.kernels[0].instructions) == 1


def test_operands_of_an_unknown_form_are_kept_apart() -> None:
    odd, known = kernel("frob.x32 %r1 <- %r2 @ 3;\nmov.u32 %r1, 1;").instructions
    assert (odd.readable, odd.operands, odd.name) == (False, (), "frob.x32")
    assert known.readable


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("hello", r"line 1: expected \.version"),
        (".version 8.7\n", r"expected \.target.*the text ends; is the file whole"),
        (".version x\n", "expected a version"),
        (HEADER + ".entry k() {", "the text ends"),
        (HEADER + ".entry k() { mov.u32 %r1, %r2", "expected ';'.*the text ends"),
        (HEADER + ".entry k(.param .u64", "the text ends"),
        (HEADER + ".entry k() {\n\n L: L: ret; }", r"line 6: expected a label .* not L again"),
        (HEADER + ".entry k() { \x01 }", r"line 4: '\\x01"),
        (HEADER + '.file 1 "abc', 'is not PTX'),
        (HEADER + ".global .b8 x[99999999999999999999];", "at most"),
        (HEADER + ".global .b8 x[4294967296][4294967296];", "at most"),
        (HEADER + ".global .zz x;", "a type"),
        (HEADER + ".entry k() {" + "{" * 100, "at most 64 blocks"),
        (HEADER + ".entry k() { .reg .b32 %r<1/0>; }", "divisor"),
        (HEADER + ".global .u32 x = " + "(" * 500 + "1;", "levels"),
        (HEADER + "bra X;", "a function, a variable or a directive"),
    ],
)  # fmt: skip
def test_broken_input_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(PerfmodelError, match=message) as refused:
        parse_ptx(text, "bad.ptx")
    assert str(refused.value).startswith("bad.ptx")
    assert "\n" not in str(refused.value)


def test_deep_operands_are_counted_as_unknown_not_recursed_into() -> None:
    with pytest.raises(PerfmodelError, match="operands"):
        kernel("mov.u32 %r1, " + "{" * 5000 + "}" * 5000 + ";\nret;")
    short = kernel("mov.u32 %r1, " + "{" * 50 + "}" * 50 + ";\nret;").instructions[0]
    assert not short.readable


def test_a_huge_register_count_costs_nothing() -> None:
    found = kernel(".reg .b32 %r<4000000000>;\nmov.u32 %r3999999999, 1;")
    assert found.register_type("%r3999999999") == "b32"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x7fELF\x02\x01", "a cubin or object file"),
        (b"\x50\xed\x55\xba\x01", "a fatbin"),
        (b".version 8.0\n\0\0\x01", "binary file"),
        (b"\xff\xfe\xff", "not PTX"),
    ],
)
def test_binary_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.ptx"
    path.write_bytes(content)
    with pytest.raises(PerfmodelError, match=message):
        read_ptx(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(PerfmodelError, match="does not exist: give"):
        read_ptx(tmp_path / "none.ptx")
    with pytest.raises(PerfmodelError, match="is a directory"):
        read_ptx(tmp_path)


def test_trailing_zeros_of_a_c_string_are_no_binary(tmp_path: Path) -> None:
    path = tmp_path / "x.ptx"
    path.write_bytes((HEADER + ".entry k() { ret; }").encode() + b"\0\0")
    assert len(read_ptx(path).kernels) == 1


def test_texts_beyond_the_limit_are_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.ptx"
    path.write_text(HEADER + "// " + "x" * 5000)
    for module in ("reader", "tokens"):
        monkeypatch.setattr(f"perfmodel.cuda.parse.{module}.MAX_BYTES", 1000)
    with pytest.raises(PerfmodelError, match="longer than"):
        read_ptx(path)
    with pytest.raises(PerfmodelError, match="longer than"):
        parse_ptx(path.read_text())
