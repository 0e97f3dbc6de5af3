"""Names of files and options that a shell or a compiler would misread (property: they do not)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perfmodel.cuda.compile import toolchain
from perfmodel.cuda.compile.to_ptx import compile_ptx, private_folder, split_options
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.source_places import place_name, users_line
from perfmodel.errors import PerfmodelError

SOURCE = """#include "sub/half.h"
#include <far.h>
#include <cuda_fp16.h>
__global__ void k(float *x, const half *h) {
  x[threadIdx.x] = half_of(x) + far(x) + __half2float(__ldg(h));
}
"""


@pytest.fixture(params=["nvcc", "NVRTC"])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each compiler that this machine has, in turn."""
    name = str(request.param)
    if name == "NVRTC":
        pytest.importorskip("cuda.bindings.nvrtc")
        monkeypatch.setattr("perfmodel.cuda.compile.to_ptx.find_tool", lambda _: None)
    elif toolchain.find_tool("nvcc") is None:
        pytest.skip("no nvcc here")
    return name


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("a", "$(touch pwned).cu"),
        ("$(touch pwned)", "`touch pwned`.cu"),
        ("a b;touch pwned;c", "-o.cu"),
        ("-I", "it's ünï & 日 | <.cu"),
        ('quo"te\n\\', "#include.cu"),
    ],
)
def test_names_are_nobodys_commands(
    folder: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    inside, headers = tmp_path / folder, tmp_path / "$(touch pwned) include"
    (inside / "sub").mkdir(parents=True)
    headers.mkdir()
    (inside / "sub" / "half.h").write_text('#include "../two.h"\n' + LOAD.format("half_of", 32))
    (inside / "two.h").write_text("#define TWO 2\n")
    (headers / "far.h").write_text(LOAD.format("far", 64))
    (inside / name).write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(inside)
    compiled = compile_ptx(Path(name), "sm_90", ["-I", str(headers)])
    assert compiled.compiler.startswith(compiler)
    assert not list(tmp_path.rglob("pwned"))
    module = parse_ptx(compiled.ptx)
    places = {
        place_name(users_line(i.source, module), module)
        for i in module.kernels[0].instructions
        if i.source and i.opcode == "ld" and "global" in i.modifiers
    }
    # by hand: two loads in headers of the user; that of __ldg is in a header of the toolkit
    assert places == {"sub/half.h:2", f"{headers}/far.h:1", f"{name}:5"}


LOAD = "__device__ float {}(const float *x) {{ return x[threadIdx.x + {}]; }}\n"


@pytest.mark.parametrize("name", ['quo"te.cu', "new\nline.cu", "back\\slash.cu", "\udcff.cu"])
def test_names_that_no_source_can_include(name: str, tmp_path: Path, compiler: str) -> None:
    path = tmp_path / name
    path.write_text("__global__ void k() {}")
    with pytest.raises(PerfmodelError, match=r"in its name, which C\+\+ cannot include: rename"):
        compile_ptx(path)


def test_messages_name_the_users_file(tmp_path: Path, compiler: str) -> None:
    (tmp_path / "broken.h").write_text("int x = ;\n")
    path = tmp_path / "main.cu"
    path.write_text('#include "broken.h"\n')
    with pytest.raises(PerfmodelError) as raised:
        compile_ptx(path)
    assert f"{tmp_path}/broken.h(1): error" in str(raised.value)


@pytest.mark.parametrize(
    "option",
    [
        *("-DX=$(touch pwned)", "-DX=`touch pwned`", "-DX=\\", "-DX=a\nb"),
        *("-Xptxas=;touch pwned", "-Xcompiler=$(touch pwned)", "-include=a b", "", "-DX=\0"),
    ],
)
def test_options_that_a_shell_would_read(option: str) -> None:
    with pytest.raises(PerfmodelError, match="has a character that a shell reads"):
        split_options([option])


def test_options_that_pass(tmp_path: Path) -> None:
    options = ["-DT=unsigned int", "-DF(x)=x<1", "-maxrregcount=32", "-I", str(tmp_path)]
    assert split_options(options) == ((str(tmp_path),), tuple(options[:3]))
    with pytest.raises(PerfmodelError, match="-I '/nowhere' is not a folder"):
        split_options(["-I/nowhere"])


def test_the_private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "$(touch pwned)"
    odd.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(odd))
    with private_folder() as folder:
        assert folder.parent != odd
        assert folder.stat().st_mode & 0o777 == 0o700
        assert folder.stat().st_uid == os.getuid()
    assert not folder.exists()
