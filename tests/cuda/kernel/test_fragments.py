"""Fragments of matrices as loads and stores, against what the profiler counted."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.cuda.compile.program import Program, Resources
from perfmodel.cuda.kernel.fragments import with_fragments
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec, Scalar
from perfmodel.cuda.parse.reader import parse_ptx

ROWS = (
    Path(__file__).parents[3] / "measurements" / "instructions/h200-sxm/branches" / "fragments.csv"
)


def kernel(which: str, layout: str) -> str:
    """Return PTX that loads a fragment for each block, and stores those of floats."""
    held = ", ".join(f"%r{i}" for i in range(10, 18))
    floats = ", ".join(f"%f{i}" for i in range(10, 18))
    kind = which[-1]
    loads = f"wmma.load.{kind}.sync.aligned.{layout}.m16n16k16.global"
    if kind == "c":
        body = f"{loads}.f32 {{{floats}}}, [%rd4], %r1;"
        body += (
            f"wmma.store.d.sync.aligned.{layout}.m16n16k16.global.f32 [%rd5], {{{floats}}}, %r1;"
        )
    else:
        body = f"{loads}.f16 {{{held}}}, [%rd4], %r1;"
    size = 4 if kind == "c" else 2
    return f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 ld)
{{
.reg .u64 %rd<9>; .reg .b32 %r<20>; .reg .f32 %f<20>;
ld.param.u64 %rd1,[in]; ld.param.u64 %rd2,[out]; ld.param.u32 %r1,[ld];
mov.u32 %r2,%ctaid.x; mul.lo.s32 %r3,%r2,%r1; mul.wide.s32 %rd3,%r3,{16 * size};
add.s64 %rd4,%rd1,%rd3; add.s64 %rd5,%rd2,%rd3;
{body}
ret;
}}
"""


def rows() -> list[dict[str, str]]:
    with ROWS.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "row", rows(), ids=lambda r: f"{r['kernel']}-{r['argument']}-{r['leading']}"
)
def test_requests_and_sectors_are_the_profilers(row: dict[str, str]) -> None:
    module = parse_ptx(kernel(row["kernel"], row["argument"]), "fragment")
    resources = {"k": Resources(24, 0, 0, 0, 0, "ptxas")}
    program = Program("k.ptx", module, "", "sm_90", None, resources, {})
    spec = LaunchSpec(
        (int(row["blocks"]), 1, 1),
        (int(row["threads"]), 1, 1),
        named={
            "in": Buffer(1 << 24),
            "out": Buffer(1 << 24),
            "ld": Scalar(int(row["leading"])),
        },
    )
    made = translated(program, spec)
    assert not any("left out" in note for note in made.notes)
    prediction = predict(made, device="h200-sxm")
    for count in ("requests", "sectors"):
        found = prediction.traffic[f"global_load_{count}"]
        assert found == float(row[f"global_load_{count}"])
    if row["kernel"] == "load_c":
        assert prediction.traffic["global_store_requests"] == float(row["global_store_requests"])
        # The profiler's own count of sectors that are written varies by some.
        expected = float(row["global_store_sectors"])
        assert prediction.traffic["global_store_sectors"] == pytest.approx(expected, rel=0.06)


def test_fragments_in_shared_memory_are_rows_of_ldmatrix() -> None:
    # Independent: LDSM.16.M88.4, one for each fragment (machine code of sm_90, ptxas 13.0).
    text = kernel("load_a", "row").replace(".global.f16", ".shared.f16").replace("[%rd4]", "[%r3]")
    function = with_fragments(parse_ptx(text, "shared").kernels[0])
    names = [i.name for i in function.instructions if i.opcode == "ldmatrix"]
    assert names == ["ldmatrix.sync.aligned.m8n8.x4.shared.b16"]


# Independent: loads in the machine code of ptxas 13.0 for sm_90 (LDG.E, or LDG.E.64 of pairs).
LOADS = [
    ("a.sync.aligned.row.m32n8k16.global.f16", 8, "ld.global.b32", 8),
    ("a.sync.aligned.col.m8n32k16.global.f16", 8, "ld.global.b32", 2),
    ("b.sync.aligned.row.m8n32k16.global.f16", 8, "ld.global.b32", 8),
    ("b.sync.aligned.col.m32n8k16.global.bf16", 2, "ld.global.b32", 2),
    ("c.sync.aligned.row.m32n8k16.global.f32", 8, "ld.global.v2.b32", 4),
    ("c.sync.aligned.col.m32n8k16.global.f32", 8, "ld.global.b32", 8),
    ("c.sync.aligned.col.m16n16k16.global.f16", 4, "ld.global.b32", 4),
]


@pytest.mark.parametrize(("given", "registers", "load", "count"), LOADS)
def test_loads_of_other_shapes(given: str, registers: int, load: str, count: int) -> None:
    text = kernel("load_a", "row")
    start, end = text.index("wmma"), text.index("ret;")
    held = ", ".join(f"%r{i}" for i in range(10, 10 + registers))
    text = f"{text[:start]}wmma.load.{given} {{{held}}}, [%rd4], %r1;\n{text[end:]}"
    function = with_fragments(parse_ptx(text, "shape").kernels[0])
    assert [i.name for i in function.instructions].count(load) == count


def test_layouts_that_are_not_known_stay() -> None:
    text = kernel("load_a", "row").replace("m16n16k16.global.f16", "m16n16k8.global.tf32")
    function = parse_ptx(text, "other").kernels[0]
    assert with_fragments(function) is function


def test_labels_stay_at_their_instructions() -> None:
    text = kernel("load_a", "row").replace("ret;", "bra END; END: ret;")
    function = parse_ptx(text, "labels").kernels[0]
    made = with_fragments(function)
    for name, at in function.labels.items():
        assert made.instructions[made.labels[name]] == function.instructions[at]
    written = [i.name for i in made.instructions]
    assert written.count("ld.global.b32") == 4  # of 8 registers, four are copies
    assert np.count_nonzero([name == "mov.b32" for name in written]) == 4
