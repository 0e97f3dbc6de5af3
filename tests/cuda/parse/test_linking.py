"""Several PTX texts as one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.cuda.compile import toolchain
from perfmodel.cuda.compile.program import load_program
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec
from perfmodel.cuda.parse.linking import linked
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.source_places import place_name
from perfmodel.errors import PerfmodelError

HEAD = ".version {} .target sm_90, debug .address_size 64\n"
MAIN = (
    HEAD.format("7.8")
    + """
.extern .func (.param .b32 r) scale(.param .b32 p);
.extern .const .align 4 .b8 table[16];
.extern .shared .align 4 .b8 dynamic[];
.global .align 4 .b8 own[8];
.weak .func twice() { ret; }
.func sq() { .loc 1 7 0 mov.u64 %rd1, own; call twice; ret; }
.visible .entry k(.param .u64 k_param_0) {
  .reg .b64 %rd<3>;
  .loc 1 3 0, function_name $L__info_string0+4, inlined_at 1 9 0
  mov.u64 %rd1, table;
  call sq;
  ret;
}
.file 1 "main.cu"
.section .debug_str { $L__info_string0: .b8 95,0 }
"""
)
OTHER = (
    HEAD.format("8.10")
    + """
.visible .const .align 4 .b8 table[16] = {1, 2, 3, 4};
.extern .shared .align 4 .b8 dynamic[];
.global .align 4 .b8 own[32];
.weak .func twice() { ret; }
.func sq();
.visible .func (.param .b32 r) scale(.param .b32 p) { .loc 1 5 0 mov.u64 %rd1, own; call sq; ret; }
.func sq() { ret; }
.file 1 "other.cu", 12, 34
"""
)


def test_what_one_declares_another_defines() -> None:
    # by hand
    module = parse_ptx(linked([("main", MAIN), ("other", OTHER)]))
    assert (module.version, module.target) == ((8, 10), "sm_90")
    assert [(v.name, v.size, v.linkage) for v in module.variables] == [
        ("dynamic", None, "extern"),
        ("own", 8, None),
        ("table", 16, "visible"),
        ("own__1", 32, None),
    ]
    bodies = {f.name: f for f in module.functions if f.defined}
    assert list(bodies) == ["twice", "sq", "k", "scale", "sq__1"]
    assert [f.name for f in module.functions if not f.defined] == ["scale", "sq__1"]
    told = repr(bodies["scale"].instructions)
    assert "own__1" in told
    assert "sq__1" in told
    assert "__1" not in repr(bodies["k"].instructions) + repr(bodies["sq"].instructions)
    source = bodies["scale"].instructions[0].source
    assert source is not None
    assert place_name(source, module) == "other.cu:5"
    first = bodies["k"].instructions[0].source
    assert first is not None
    assert first.inlined_at is not None
    assert (place_name(first, module), first.inlined_at.line) == ("main.cu:3", 9)


def test_one_text_alone_means_what_it_meant() -> None:
    alone, same = parse_ptx(MAIN), parse_ptx(linked([("main", MAIN)]))
    assert {f.name for f in same.functions} == {f.name for f in alone.functions}
    assert set(same.variables) == set(alone.variables)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (MAIN, "main and other both define k: give one of them, or make it static in one"),
        ("int x;", "other, line 1: expected .version"),
        (HEAD.format("8.0") + ".func f() { ret;", "other, line 2: .*is the file whole"),
    ],
)
def test_texts_that_do_not_go_together(second: str, message: str) -> None:
    with pytest.raises(PerfmodelError, match=message):
        linked([("main", MAIN), ("other", second)])


CALLER = """
extern __device__ float load(const float *x, int i);
extern __constant__ int step;
static __device__ __noinline__ int place(int i) { return i; }
__global__ void k(const float *x, float *y) {
  int i = place(blockIdx.x * blockDim.x + threadIdx.x);
  y[i] = load(x, i * step);
}
"""
CALLED = """
static __device__ __noinline__ int place(int i) { return i + 1; }
__constant__ int step = 4;
__device__ float load(const float *x, int i) { return x[place(i) & 0xffff]; }
"""


@pytest.mark.parametrize("compiler", ["nvcc", "NVRTC"])
def test_a_function_of_another_source_makes_its_requests(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiler == "NVRTC":
        pytest.importorskip("cuda.bindings.nvrtc")
        monkeypatch.setattr("perfmodel.cuda.compile.to_ptx.find_tool", lambda _: None)
    elif toolchain.find_tool("nvcc") is None:
        pytest.skip("no nvcc here")
    (tmp_path / "caller.cu").write_text(CALLER)
    (tmp_path / "called.cu").write_text(CALLED)
    program = load_program(tmp_path / "caller.cu", others=[tmp_path / "called.cu"])
    launch = LaunchSpec((64, 1, 1), (256, 1, 1), named={"x": Buffer(1 << 18), "y": Buffer(1 << 18)})
    made = translated(program, launch)
    assert not [note for note in made.notes if "left out" in note]
    found = predict(made)
    # by hand: 512 warps; 32 floats 4 apart, from the second on, touch 17 sectors; 32 a store
    loads = [
        a for a in found.details.traffic.accesses if a.kind == "load" and a.buffer.strip("_") == "x"
    ]
    assert np.sum([a.requests for a in loads]) == 512
    assert np.sum([a.sectors for a in loads]) / 512 == pytest.approx(16.5, abs=1)
    assert found.traffic["global_store_sectors"] == 512 * 4


def test_an_assembler_takes_the_whole(tmp_path: Path) -> None:
    ptxas = toolchain.find_tool("ptxas")
    if ptxas is None or toolchain.find_tool("nvcc") is None:
        pytest.skip("no ptxas here")
    (tmp_path / "caller.cu").write_text(CALLER)
    (tmp_path / "called.cu").write_text(CALLED)
    program = load_program(tmp_path / "caller.cu", others=[tmp_path / "called.cu"])
    whole = tmp_path / "whole.ptx"
    whole.write_text(program.text)
    command = [ptxas, "-arch=sm_90", "-o", str(tmp_path / "whole.cubin"), str(whole)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert program.resources["_Z1kPKfPf"].origin == "ptxas"
