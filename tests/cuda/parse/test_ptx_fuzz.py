"""Whatever comes in: a module or one clear line, soon. Found texts are kept as examples."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from perfmodel.cuda.compile.program import estimate
from perfmodel.cuda.parse import opcodes
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.pointers import pointer_parameters
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.errors import PerfmodelError

GOOD = """\
.version 8.7
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 smem[];
.global .align 4 .f32 table[4] = {1.0, 0f40000000, -3, 4};
.func (.param .b32 r) f(.param .b32 x) { ld.param.b32 %r1, [x]; st.param.b32 [r+0], %r1; ret; }
.visible .entry k(
  .param .u64 .ptr .global .align 4 k_param_0,
  .param .align 8 .b8 k_param_1[16]
)
.maxntid 128, 1, 1
{
  .reg .pred %p<3>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<4>;
  .loc 1 2 3
  ld.param.u64 %rd1, [k_param_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
L1:
  .loc 1 4 1, function_name $L__info_string0, inlined_at 1 3 2
  @!%p1 ld.global.nc.v2.f32 {%r2, _}, [%rd2+-8];
  setp.lt.s32 %p1|%p2, %r1, (4 + 1) * 2;
  @%p1 bra L1;
  { .reg .pred p; W: @p bra W; call.uni (%r3), f, (%r2); }
  T: .branchtargets L1, L2;
  brx.idx %r1, T;
L2: ret;
}
"""

PIECES = [
    *(".version", "8.7", ".target", "sm_90", ".entry", ".func", "k", "(", ")", "{", "}", "[", "]"),
    *(
        ";",
        ",",
        ":",
        "@",
        "!",
        "|",
        "+",
        "-",
        "*",
        "<",
        ">",
        "=",
        "~",
        "_",
        ".reg",
        ".b32",
        ".pred",
    ),
    *(
        "%r<4>",
        "%r1",
        "%p1",
        "%tid.x",
        "mov.u32",
        "bra",
        "call",
        "ret",
        "ld.global.f32",
        "L1",
        "L1:",
    ),
    *(
        ".param",
        ".u64",
        ".align",
        ".shared",
        ".global",
        "0",
        "7",
        "1.5",
        "0f3F800000",
        '"text"',
        "//",
    ),
    *(".loc", "inlined_at", ".branchtargets", ".pragma", ".section", ".file", "brx.idx", "\n", " "),
    *("\0", "é", "/*", "*/", "@@DWARF", "0x", "1e9", "99999999999999999999999999"),
]


def goes_through(text: str) -> None:
    """Read and analyse a text: anything but a `PerfmodelError` of one line is a failure."""
    began = time.monotonic()
    try:
        module = parse_ptx(text, "fuzz.ptx")
        for function in module.functions:
            control_flow(function)
            opcodes.mix(function)
            opcodes.warnings(function)
        for kernel in module.kernels:
            pointer_parameters(kernel)
            estimate(module, kernel)
    except PerfmodelError as error:
        said = str(error)
    else:
        said = ""
    assert "\n" not in said
    assert len(said) < 400
    assert time.monotonic() - began < 5


many = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_the_good_text_is_good() -> None:
    module = parse_ptx(GOOD)
    assert [i.readable for f in module.functions for i in f.instructions] == [True] * 13
    assert opcodes.unknown(module.kernels[0]) == {}
    goes_through(GOOD)


@pytest.mark.parametrize("cut", range(0, len(GOOD), 7))
def test_every_truncation_is_told_or_is_whole(cut: int) -> None:
    goes_through(GOOD[:cut])


def test_truncated_in_the_body_is_refused() -> None:
    begin = GOOD.index("ld.param.u64")
    for cut in range(begin, len(GOOD) - 2):
        with pytest.raises(PerfmodelError, match=r"fuzz\.ptx"):
            parse_ptx(GOOD[:cut], "fuzz.ptx")


@many
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    goes_through(text)


@many
@given(st.lists(st.sampled_from(PIECES), max_size=60))
@example([".version", "8.7", ".target", "sm_90", ".entry", "k", "{"])
def test_words_of_ptx_in_any_order(pieces: list[str]) -> None:
    goes_through(".version 8.7 .target sm_90 " + " ".join(pieces))
    goes_through(".version 8.7 .target sm_90 .entry k() {" + " ".join(pieces) + "}")


@many
@given(
    st.lists(
        st.tuples(st.integers(0, len(GOOD)), st.integers(0, 30), st.sampled_from(["", *PIECES])),
        min_size=1,
        max_size=4,
    )
)
def test_good_text_with_pieces_replaced(changes: list[tuple[int, int, str]]) -> None:
    text = GOOD
    for place, length, piece in changes:
        text = text[:place] + piece + text[place + length :]
    goes_through(text)


@pytest.mark.parametrize(
    "body",
    [
        "@%p1 bra L; " * 20_000 + "L: ret;",  # every block comes to one place
        "".join(f"A{i}: mov.u32 %r1, 1;" for i in range(3000))
        + "".join(f"@%p1 bra A{i};" for i in range(2999, -1, -1))
        + "ret;",  # loops inside of loops
        "".join(f"add.s32 %r{i}, %r{i + 1}, %r{i + 2};" for i in range(30_000)) + "ret;",
        "bra B; " + "{ .reg .b32 q; mov.u32 q, 1; }" * 20_000 + "B: ret;",
        "".join(f"mov.u64 %rd{i}, %rd{i + 1}; ld.global.u64 %rd0, [%rd{i}];" for i in range(9999))
        + "ld.param.u64 %rd9999, [p]; ret;",
        ".loc 1 2 3 " * 30_000 + "ret;",
        ";" * 300_000,
        "mov.u32 %r1, " + "1+" * 100_000 + "1;",
        "mov.u32 %r1, " + "-" * 100_000 + "1;",
        "mov.u32 " + "%r1, " * 100_000 + "%r1;",
        "/* " + "* " * 100_000,
        '"' + "\\" * 100_000,
        ".section x " + "a " * 100_000,
    ],
)
def test_hostile_texts_take_bounded_time(body: str) -> None:
    began = time.monotonic()
    try:
        module = parse_ptx(f".version 8.7 .target sm_90 .entry k(.param .u64 p) {{ {body} }}")
        for kernel in module.kernels:
            control_flow(kernel)
            pointer_parameters(kernel)
            estimate(module, kernel)
    except PerfmodelError:
        pass
    assert time.monotonic() - began < 30  # quadratic time would be minutes
