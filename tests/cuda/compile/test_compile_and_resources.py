"""Sources to PTX, and what kernels take: by whatever compilers this machine has."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from perfmodel.cuda.compile import program as resources_module
from perfmodel.cuda.compile import toolchain
from perfmodel.cuda.compile.program import Resources, estimate, load_program, read_log
from perfmodel.cuda.compile.to_ptx import compile_ptx
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.signatures import base_name, names_of, parameter_names
from perfmodel.errors import PerfmodelError

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "measurements" / "source-kernels/h200-sxm/corpus/program"

Find = Callable[[str], str | None]


def without(*tools: str) -> Find:
    found = toolchain.find_tool

    def find(name: str) -> str | None:
        return None if name in tools else found(name)

    return find


@pytest.fixture(params=["nvcc", "NVRTC"])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each compiler that this machine has, in turn."""
    name = str(request.param)
    if name == "NVRTC":
        pytest.importorskip("cuda.bindings.nvrtc")
        monkeypatch.setattr("perfmodel.cuda.compile.to_ptx.find_tool", without("nvcc"))
    elif toolchain.find_tool("nvcc") is None:
        pytest.skip("no nvcc here")
    return name


SOURCE = """
#include "scale.h"
template <typename T>
__global__ void __launch_bounds__(128) scale(const T* __restrict__ in, T *out, const int n) {
  __shared__ T tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x % 64] = in[i];
  __syncthreads();
  if (i < n) out[i] = FACTOR * tile[(threadIdx.x + 1) % 64];
}
template __global__ void scale<float>(const float*, float*, int);
template __global__ void scale<double>(const double*, double*, int);
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write a source that includes a header beside it."""
    (tmp_path / "scale.h").write_text("#ifndef FACTOR\n#define FACTOR 2\n#endif\n")
    path = tmp_path / "scale.cu"
    path.write_text(SOURCE)
    return path


def test_a_source_with_templates_and_a_header(source: Path, compiler: str) -> None:
    program = load_program(source, "sm_80", ["-DFACTOR=3"])
    assert program.compiler is not None
    assert program.compiler.startswith(compiler)
    assert program.module.target == "sm_80"
    names = [k.name for k in program.module.kernels]
    assert {base_name(n) for n in names} == {"scale"}
    assert len(names) == 2
    for kernel in program.module.kernels:
        assert program.parameter_names(kernel) == ("in", "out", "n")
        assert kernel.directives["maxntid"][0] == 128
        assert 8 <= program.resources[kernel.name].registers <= 32
        lines = {i.source.line for i in kernel.instructions if i.source}
        assert {7, 9} <= lines
        assert Path(program.module.files[kernel.instructions[-1].source.file]).name == "scale.cu"  # type: ignore[union-attr]
    shared = sorted(r.shared_bytes for r in program.resources.values())
    assert shared == [64 * 4, 64 * 8]
    with pytest.raises(PerfmodelError, match=r"has 2 kernels: choose one of scale<"):
        program.kernel()
    with pytest.raises(PerfmodelError, match=r"has 2 kernels 'scale'"):
        program.kernel("scale")
    with pytest.raises(PerfmodelError, match=r"has no kernel 'other'"):
        program.kernel("other")
    assert program.kernel(names[1]).name == names[1]
    for name in ("scaleId", "scale<double>"):
        assert program.kernel(name).name == next(n for n in names if "scaleId" in n)


def test_sources_that_do_not_compile(tmp_path: Path, compiler: str) -> None:
    path = tmp_path / "bad.cu"
    path.write_text("__global__ void k() { int x = ; }")
    with pytest.raises(PerfmodelError, match=rf"bad\.cu does not compile by {compiler}.*: .*error"):
        compile_ptx(path)


def test_no_compiler_at_all(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfmodel.cuda.compile.to_ptx.find_tool", without("nvcc"))
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings", None)
    with pytest.raises(PerfmodelError, match="no CUDA compiler here: install"):
        compile_ptx(source)


@pytest.mark.parametrize("name", ["sm_9", "90", "sm_90; rm", "compute_90", "", "sm_90x"])
def test_architectures_that_are_none(source: Path, name: str) -> None:
    with pytest.raises(PerfmodelError, match="architecture must be such as"):
        load_program(source, name)


def test_missing_sources(tmp_path: Path) -> None:
    with pytest.raises(PerfmodelError, match="does not exist"):
        load_program(tmp_path / "none.cu")
    with pytest.raises(PerfmodelError, match="does not exist"):
        load_program(tmp_path / "none.ptx")
    with pytest.raises(PerfmodelError, match="is a directory"):
        load_program(tmp_path)


def test_a_compiler_that_does_not_end_is_ended_with_its_children(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toolchain, "_SECONDS", 0.3)
    began = time.monotonic()
    with pytest.raises(PerfmodelError, match="nvcc was stopped after"):
        toolchain.run_tool(["sh", "-c", "sleep 30 & sleep 30"], "nvcc")
    assert time.monotonic() - began < 10
    with pytest.raises(PerfmodelError, match="nvcc cannot be started: No such file"):
        toolchain.run_tool(["/nonexistent/nvcc"], "nvcc")


# What ptxas 13.0 and nvJitLink 13.0 write (regression: their formats).
LOG = """\
ptxas info    : 44 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    40 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 40 bytes cumulative stack size, 4224 bytes smem
ptxas info    : Function properties for helper
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
"""


def test_logs_of_assemblers() -> None:
    assert read_log(LOG, "ptxas") == {
        "first": Resources(24, 4224, 40, 12, 16, "ptxas"),
        "second": Resources(10, 0, 0, 0, 0, "ptxas"),
    }
    assert read_log("", "ptxas") == {}


PTX = """.version 8.0 .target sm_90 .address_size 64
.entry k(.param .u64 k_param_0) {
.reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 4 .b8 tile[128];
ld.param.u64 %rd1, [k_param_0]; mov.u32 %r1, tile; ld.shared.u32 %r2, [%r1];
st.global.u32 [%rd1], %r2; ret; }
"""


def test_without_an_assembler_it_is_an_estimate_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resources_module, "_by_ptxas", lambda *_: None)
    monkeypatch.setattr(resources_module, "_by_jit_link", lambda *_: None)
    found = resources_module.resources(parse_ptx(PTX), PTX)
    assert found["k"].origin == "estimated"
    assert found["k"].shared_bytes == 128
    assert found["k"].spill_store_bytes is None
    assert "estimated from PTX" in resources_module.by_origin(found)


@pytest.mark.parametrize("origin", ["ptxas", "nvJitLink"])
def test_both_assemblers_tell_the_same(origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if origin == "nvJitLink":
        pytest.importorskip("cuda.bindings.nvjitlink")
        monkeypatch.setattr(resources_module, "_by_ptxas", lambda *_: None)
    elif toolchain.find_tool("ptxas") is None:
        pytest.skip("no ptxas here")
    found = resources_module.resources(parse_ptx(PTX), PTX)["k"]
    if found.origin == "estimated":
        pytest.skip(f"no {origin} here")
    assert found.origin == origin
    assert found.shared_bytes == 128
    assert found.registers <= 10


def test_an_assembler_that_refuses_leads_to_an_estimate() -> None:
    text = PTX.replace("ret;", "frobnicate %r1; ret;")
    assert resources_module.resources(parse_ptx(text), text)["k"].origin == "estimated"


@pytest.mark.parametrize(
    ("bounds", "registers"),
    # 66 values and the estimate's 7; else what ptxas 13.0 has at most with these __launch_bounds__
    [("", 73), (".maxntid 1024, 1, 1", 64), (".maxntid 1024, 1, 1 .minnctapersm 2", 32)],
)
def test_bounds_of_a_launch_limit_registers(bounds: str, registers: int) -> None:
    names = [f"%r{i}" for i in range(66)]
    loads = "".join(f"ld.global.u32 {name}, [%d1+{4 * i}];" for i, name in enumerate(names))
    stores = "".join(f"st.global.u32 [%d1+{4 * i}], {name};" for i, name in enumerate(names))
    text = f""".version 8.0 .target sm_90 .address_size 64
    .entry k(.param .u64 a) {bounds} {{ .reg .b32 %r<99>; .reg .b64 %d<9>;
      ld.param.u64 %d1, [a]; {loads} {stores} ret; }}"""
    module = parse_ptx(text)
    assert estimate(module, module.kernels[0]).registers == registers


def test_estimates_against_ptxas() -> None:
    """Independent: registers and shared memory of the corpus as ptxas counted them.

    Its figures are of nvcc 13.0 for sm_90; another compiler's PTX differs by a little.
    """
    if toolchain.find_tool("nvcc") is None:
        pytest.importorskip("cuda.bindings.nvrtc")
    with (ROOT / "measurements" / "source-kernels/h200-sxm/corpus" / "corpus.csv").open() as file:
        measured = {r["kernel"]: r for r in csv.DictReader(file) if r["ptxas_registers"]}
    errors = []
    for path in sorted(CORPUS.glob("*.cu")):
        module = parse_ptx(compile_ptx(path, "sm_90").ptx)
        for kernel in module.kernels:
            found, row = estimate(module, kernel), measured[kernel.name]
            assert found.shared_bytes == int(row["shared_bytes"]), kernel.name
            errors.append(abs(found.registers - int(row["ptxas_registers"])))
    assert len(errors) == 74
    # what the estimate says of itself
    assert median(errors) <= 3
    assert sorted(errors)[int(0.9 * len(errors))] <= 12


def test_names_of_parameters() -> None:
    source = """
    // __global__ void commented(int a);
    const char* text = "__global__ void quoted(int a)";
    __global__ void plain(int a, const float *__restrict__ b, float (&c)[4], unsigned d = 3);
    extern "C" __global__ __launch_bounds__(128, 2) void bounded(Pair<int, float> p, int q[]) {}
    template <int N> static __global__ void none() {}
    __global__ void voided(void) {}
    """
    assert parameter_names(source) == {
        "plain": ("a", "b", "c", "d"),
        "bounded": ("p", "q"),
        "none": (),
        "voided": (),
    }
    assert names_of("_Z5plainiPKfRA4_fj", parameter_names(source)) == ("a", "b", "c", "d")
    assert names_of("unknown", parameter_names(source)) == ()


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("saxpy", "saxpy"),
        ("_Z5scaleIfEvPKT_PS0_i", "scale"),
        ("_ZN4math5innerIfE5scaleEPf", "inner"),  # stops at template arguments
        ("_ZN8__main__3addB2v1EPf", "add"),
        ("_Z11scale_image6Params", "scale_image"),  # not its parameter's type
        ("_Z999999999999999x", "x"),
        ("_Z", "_Z"),
    ],
)
def test_names_behind_mangled_ones(mangled: str, name: str) -> None:
    assert base_name(mangled) == name
