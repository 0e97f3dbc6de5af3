"""Kernels that work asynchronously on sm_90: what is found in PTX, and how far they err."""

from __future__ import annotations

from dataclasses import replace

import pytest
from programs import HEADER, launch, program, written

from perfmodel import predict
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.asynchronous import (
    BULK,
    CLUSTERS,
    MBARRIER,
    MULTICAST,
    PIPELINE,
    REGISTERS,
    TENSOR,
    WGMMA,
    asynchronous_notes,
    asynchronous_parts,
    copies_ahead,
)
from perfmodel.errors import PerfmodelError
from perfmodel.kernels.doubt import SURE

PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d1, %d2, 1, 1, 1;"
COPY = (
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], 1024, [%r2];"
)
BOX = (
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    "{more} [%r1], [%d1, {{%r3, %r4}}], [%r2]{mask};"
)
ALL = BOX.format(more="", mask="")
SEVERAL = BOX.format(more=".multicast::cluster", mask=", %h1")
LOOP = "mov.u32 %r9, 0; L: {body} add.s32 %r9, %r9, 1; setp.lt.s32 %p1, %r9, 9; @%p1 bra L; ret;"


def parts(body: str, declared: str = "") -> frozenset[str]:
    return asynchronous_parts(written(f".reg .b16 %h<3>; {body}", declared=declared).kernels[0])


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"{PRODUCT} ret;", {WGMMA}),
        ("wgmma.commit_group.sync.aligned; ret;", set()),
        (f"{COPY} ret;", {BULK}),
        ("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;", set()),
        ("cp.async.cg.shared.global [%r1], [%d1], 16; cp.async.wait_group 0; ret;", set()),
        (f"{ALL} ret;", {TENSOR}),
        (f"{SEVERAL} ret;", {TENSOR, MULTICAST}),
        (LOOP.format(body=COPY), {BULK, PIPELINE}),
        (LOOP.format(body=ALL + PRODUCT), {TENSOR, PIPELINE, WGMMA}),
        ("mbarrier.init.shared::cta.b64 [%r1], 1; ret;", {MBARRIER}),
        ("setmaxnreg.dec.sync.aligned.u32 40; ret;", {REGISTERS}),
        ("barrier.cluster.arrive; barrier.cluster.wait; ret;", {CLUSTERS}),
        ("mapa.shared::cluster.u32 %r1, %r2, %r3; ret;", {CLUSTERS}),
        ("bar.sync 0; ret;", set()),
    ],
)
def test_parts_by_instruction(body: str, found: set[str]) -> None:
    assert parts(body) == found


@pytest.mark.parametrize("body", [PRODUCT, COPY])
def test_gpus_without_the_instructions_refuse(body: str) -> None:
    # PTX ISA, target notes: wgmma and bulk copies require sm_90
    declared = ".shared .align 128 .b8 t[2048];\n"
    text = "ld.param.u64 %d1, [out]; mov.u32 %r1, t; mov.u32 %r2, t;" + LOOP.format(body=body)
    made = translated(program(written(text, declared=declared)), launch(132, 128, out=1 << 20))
    assert predict(made, device="h100-sxm").time_s > 0
    with pytest.raises(PerfmodelError, match=r"needs compute capability 9\.0 or later"):
        predict(made, device="a100-sxm-80")


def test_a_stated_cluster_is_one() -> None:
    text = f"{HEADER}.visible .entry k()\n.reqnctapercluster 2, 1, 1\n{{\nret;\n}}"
    assert asynchronous_parts(parse_ptx(text).kernels[0]) == {CLUSTERS}


def test_one_line_says_what_is_counted_and_what_not() -> None:
    (line,) = asynchronous_notes(frozenset({WGMMA, TENSOR, PIPELINE, MBARRIER, REGISTERS}))
    assert line.startswith(
        "the pipeline of wgmma, tensor copies (TMA), mbarriers and setmaxnreg is"
    )
    assert "instructions, clocks of tensor cores and bytes of copies are counted" in line
    assert (
        "when copies arrive, waits at mbarriers and registers that warps hand over are not" in line
    )
    assert "a tensor map's box and base are unknown: bytes through it are not predicted" in line
    assert asynchronous_notes(frozenset({WGMMA})) == ()
    assert asynchronous_notes(frozenset()) == ()
    (bulk,) = asynchronous_notes(frozenset({BULK}))
    assert "tensor" not in bulk


# Factors that hold what was measured of such kernels: see stated_intervals.toml.
@pytest.mark.parametrize(
    ("body", "low", "high"),
    [(PRODUCT, 0.73, 1.29), (COPY, 0.28, 2.0), (COPY + PRODUCT, 0.28, 2.0)],
)
def test_intervals_hold_what_was_measured_of_such_kernels(
    body: str, low: float, high: float
) -> None:
    head = "ld.param.u64 %d1, [out]; mov.u32 %r1, t; mov.u32 %r2, t;"
    declared = ".shared .align 128 .b8 t[2048];\n"
    tail = "st.global.f32 [%d1], %f0;"
    text = head + LOOP.format(body=body).replace("ret;", f"{tail} ret;")
    made = translated(program(written(text, declared=declared)), launch(132, 128, out=1 << 20))
    # As if counted in machine code, which widens nothing.
    found = predict(replace(made, doubt=SURE), device="h100-sxm")
    least, most = (end / found.time_s for end in found.interval_s)
    assert (least, most) == (pytest.approx(low), pytest.approx(high, rel=0.3))
    assert most >= high
    # products alone are as well known as other kernels from PTX are: nothing is to be said
    assert any("the 90% interval is widened to" in w for w in found.warnings) == (COPY in body)
    assert any("is not modelled" in w for w in found.warnings) == (COPY in body)


SOURCE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{{
.reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .align 16 .b8 t[1024];
ld.param.u64 %rd1, [a]; mov.u32 %r1, t; mov.u32 %r2, 0;
cp.async.cg.shared.global [%r1], [%rd1], 16;
cp.async.commit_group;
L:
cp.async.cg.shared.global [%r1+512], [%rd1+512], 16;
cp.async.commit_group;
cp.async.wait_group {left};
bar.sync 0;
add.s32 %r2, %r2, 1;
setp.lt.s32 %p1, %r2, 8;
@%p1 bra L;
cp.async.wait_group 0;
ret;
}}"""


@pytest.mark.parametrize(("left", "count"), [(0, 0), (1, 1), (3, 1)])
def test_only_copies_of_loops_that_leave_groups_are_ahead(left: int, count: int) -> None:
    function = parse_ptx(SOURCE.format(left=left), "k.ptx").functions[0]
    found = [function.instructions[at].modifiers for at in copies_ahead(function)]
    assert sum("global" in m for m in found) == count
