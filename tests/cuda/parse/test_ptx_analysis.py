"""Pointers, registers read and written, live values, kinds: by hand from the PTX ISA."""

from __future__ import annotations

import pytest

from perfmodel.cuda.compile.program import static_shared_bytes
from perfmodel.cuda.parse import opcodes
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.inline import reached
from perfmodel.cuda.parse.liveness import live_registers
from perfmodel.cuda.parse.memory_parts import moved
from perfmodel.cuda.parse.pointers import pointer_parameters
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.syntax import Function, Module

DECLARED = ".reg .pred %p<9>; .reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %rd<99>;"


def module(body: str, parameters: str = "", before: str = "") -> Module:
    text = f".version 8.0 .target sm_90 .address_size 64 {before} .entry k({parameters})"
    return parse_ptx(f"{text} {{ {DECLARED} {body} }}")


def kernel(body: str, parameters: str = "") -> Function:
    return module(body, parameters).kernels[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fma.rn.f32 %f1, %f1, %f1, %f1", "float32"),
        ("add.f64 %rd1, %rd1, %rd1", "float64"),
        ("fma.rn.bf16x2 %r1, %r1, %r1, %r1", "float16"),
        ("mad.wide.s32 %rd1, %r1, %r1, %rd1", "integer"),
        ("shf.l.wrap.b32 %r1, %r1, %r1, 5", "logic"),
        ("ex2.approx.f32 %f1, %f1", "special"),
        ("ld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1]", "load.global"),
        ("ld.f32 %f1, [%rd1]", "load.generic"),
        ("st.shared::cta.f32 [%r1], %f1", "store.shared"),
        ("atom.shared.add.u32 %r1, [%r1], 1", "atomic.shared"),
        ("red.global.add.f32 [%rd1], %f1", "atomic.global"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5]", "load.shared"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1}", "tensor"),
        ("cvt.rn.f32.s32 %f1, %r1", "convert"),
        ("bar.sync 0", "barrier"),
        ("shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1", "exchange"),
        ("frobnicate.f32 %f1", "unknown"),
    ],
)
def test_kinds(text: str, expected: str) -> None:
    assert opcodes.kind(kernel(f"{text};").instructions[0]) == expected


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("@%p1 add.s32 %r1, %r2, %r3", "%r1", "%p1 %r2 %r3"),
        ("st.global.v2.f32 [%rd1+4], {%f1, %f2}", "", "%rd1 %f1 %f2"),
        ("ld.global.v2.f32 {%f1, %f2}, [%rd1]", "%f1 %f2", "%rd1"),
        ("atom.global.cas.b32 %r1, [%rd1], %r2, %r3", "%r1", "%rd1 %r2 %r3"),
        ("red.global.add.u32 [%rd1], %r2", "", "%rd1 %r2"),
        ("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3", "%p1 %p2", "%r1 %r2 %p3"),
        ("bar.sync %r1, %r2", "", "%r1 %r2"),
        ("barrier.red.popc.sync %r1, 0, %p1", "%r1", "%p1"),
        ("call.uni (%r1), f, (%r2, %r3)", "%r1", "%r2 %r3"),
        ("call f, (%r2)", "", "%r2"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2}, %rd1, %rd2, 1, 1, 1, 0, 1",
         "%f1 %f2", "%f1 %f2 %rd1 %rd2"),
        ("cp.async.cg.shared.global [%r1], [%rd1], 16", "", "%r1 %rd1"),
        ("mbarrier.arrive.shared.b64 %rd1, [%r1]", "%rd1", "%r1"),
        ("mbarrier.init.shared.b64 [%r1], 1", "", "%r1"),
        ("vadd.s32.u32.u32 %r1, %r2.b0, %r3.h1", "%r1", "%r2 %r3"),
        ("bra L", "", ""),
    ],
)  # fmt: skip
def test_registers_written_and_read(text: str, writes: str, reads: str) -> None:
    instruction = kernel(f"{text}; L: ret;").instructions[0]
    assert opcodes.written_registers(instruction) == (*writes.split(),)
    assert opcodes.read_registers(instruction) == {*reads.split()}


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("bar.sync 0", True),
        ("bar.red.popc.u32 %r1, 0, %p1", True),
        ("barrier.sync.aligned 1, 64", True),
        ("bar.arrive 1, 64", False),
        ("bar.warp.sync -1", False),
        ("membar.cta", False),
    ],
)
def test_barriers_at_which_a_block_waits(text: str, waits: bool) -> None:
    assert opcodes.is_block_barrier(kernel(f"{text};").instructions[0]) == waits


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        # nvcc 13.0 for sm_90: ATOMS.POPC.INC of the block's own words, ATOM of another block's
        ("red.shared.add.u32 [%r1], 1", "increment"),
        ("red.shared::cta.add.u32 [%r1], 1", "increment"),
        ("red.shared::cluster.add.u32 [%r1], 1", "add"),
        ("atom.shared::cta.max.s32 %r2, [%r1], %r3", "raise"),
        ("atom.global.max.s32 %r2, [%rd1], %r3", "add"),
    ],
)
def test_atomics_of_shared_memory_however_it_is_named(text: str, operation: str) -> None:
    assert moved(kernel(f"{text};"), 0).operation == operation


def test_unknown_instructions_are_counted_and_named() -> None:
    found = kernel("frob.x %r1; frob.x %r2; mov.u32 %r1 ! 5; mov.u32 %r1, 2; zap; ret;")
    assert opcodes.unknown(found) == {"frob.x": 2, "mov.u32": 1, "zap": 1}
    (warning,) = opcodes.warnings(found)
    assert warning.startswith("k: 4 instructions of unknown kind")
    assert "frob.x (2)" in warning
    assert opcodes.mix(found) == {"unknown": 3, "move": 2, "control": 1}
    assert opcodes.warnings(kernel("ret;")) == ()


def live(body: str) -> int | None:
    found = kernel(body)
    return live_registers(found, control_flow(found))


LOAD = "ld.global.u32 "


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ret;", 0),
        (LOAD + "%r1, [4]; st.global.u32 [4], %r1; ret;", 1),
        ("ld.global.u64 %rd1, [8]; st.global.u64 [%rd1], %rd1; ret;", 2),
        # three at once, then one
        (LOAD + "%r1, [4]; " + LOAD + "%r2, [4]; " + LOAD + "%r3, [4]; add.u32 %r4, %r1, %r2; "
         "add.u32 %r4, %r4, %r3; st.global.u32 [4], %r4; ret;", 3),
        # one after the other: the place is used again
        (LOAD + "%r1, [4]; st.global.u32 [4], %r1; " + LOAD + "%r2, [4]; st.global.u32 [4], %r2; "
         "ret;", 1),
        # r1 lives through the loop, for it is read behind it
        (LOAD + "%r1, [4]; mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; "
         "@%p1 bra L; st.global.u32 [%r2], %r1; ret;", 2),
        # a guarded write keeps the old value: r1 is live from the start
        (LOAD + "%r2, [4]; @%p1 mov.u32 %r1, %r2; st.global.u32 [%r2], %r1; ret;", 2),
        # never read, but it needs a place
        (LOAD + "%r1, [4]; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%r1]; ret;", 4),
        ("setp.eq.u32 %p1, 1, 1; setp.eq.u32 %p2, 1, 1; @%p1 bra L; @%p2 bra L; L: ret;", 0),
        # constants, parameters and addresses of variables are operands, unless written twice
        ("mov.u32 %r1, 1; mov.u64 %rd1, x; cvta.global.u64 %rd2, %rd1; ld.param.u32 %r2, [k_0]; "
         "st.global.u32 [%rd2], %r1; st.global.u32 [%rd2], %r2; ret;", 0),
        ("mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2; st.global.u32 [4], %r1; ret;", 1),
    ],
)  # fmt: skip
def test_live_registers(body: str, expected: int) -> None:
    assert live(body) == expected


FOUR = ".param .u64 a, .param .u64 b, .param .u64 n, .param .u32 m"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # as nvcc has it: converted, then an index is added
        ("ld.param.u64 %rd1, [a]; ld.param.u64 %rd9, [n]; cvta.to.global.u64 %rd2, %rd1; "
         "add.s64 %rd3, %rd2, %rd9; ld.global.f32 %f1, [%rd3];", {"a"}),
        # as Triton has it, with an index by mad
        ("ld.param.b64 %rd1, [b]; ld.param.b64 %rd9, [n]; mad.lo.s64 %rd2, %rd9, 4, %rd1; "
         "ld.global.b32 %r1, [%rd2+16];", {"b"}),
        # generic addresses
        ("ld.param.u64 %rd1, [a]; add.s64 %rd2, %rd1, 8; mov.u64 %rd3, %rd2; st.f32 [%rd3], %f1;",
         {"a"}),
        # one of two, as the loop goes
        ("ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; selp.b64 %rd3, %rd1, %rd2, %p1; "
         "red.global.add.u32 [%rd3], 1;", {"a", "b"}),
        # shared memory and numbers are no pointers to global memory
        ("ld.param.u64 %rd1, [n]; st.shared.u32 [%rd1], 1; mul.lo.s64 %rd2, %rd1, %rd1;", set()),
    ],
)  # fmt: skip
def test_pointer_parameters(body: str, expected: set[str]) -> None:
    assert pointer_parameters(kernel(f"{body} ret;", FOUR)) == expected


def test_shared_memory_of_a_kernel_and_what_it_calls() -> None:
    found = module(
        ".shared .align 4 .b8 own[6]; call f; st.shared.u32 [seen], 1; ret;",
        before=".shared .align 16 .b8 seen[20]; .shared .b8 unseen[100]; "
        ".extern .shared .b8 dynamic[]; .shared .u64 deep; "
        ".func f() { st.shared.u64 [deep], 1; call f; ret; }",
    )
    # by alignment: 20 B at 0, 8 B at 24, 6 B at 32
    assert static_shared_bytes(found, found.kernels[0]) == 38
    names, functions = reached(found, found.kernels[0])
    assert {"seen", "deep", "f"} <= names
    assert [f.name for f in functions] == ["k", "f"]
