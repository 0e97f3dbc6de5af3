"""The examples in each command's help run as they stand, but for the files that users bring."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.cli.app import COMMANDS, EXAMPLES
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.kernels import library
from perfmodel.packaged import packaged_toml

Run = Callable[..., str]

SLOW = ("simulate", "report", "validate", "measure", "calibrate")  # their own tests run them small
BROUGHT = (".cu", ".ptx", "my-model.toml", "my-drills.toml")  # the user's, with or without nvcc
CLUSTER = "--cluster"  # test_sweep_rows.py has one
OF_COMMANDS = packaged_toml(EXAMPLES)
RUN = [
    example.partition(" > ")[0]
    for command in COMMANDS
    if command not in SLOW
    for example in OF_COMMANDS[command]
    if not any(part in example for part in (*BROUGHT, CLUSTER))
]


@pytest.mark.parametrize("example", RUN)
def test_an_example(
    example: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    described = Path(library.__file__).with_name("library") / "gemm-coalesced.toml"
    shutil.copy(described, "my-kernel.toml")
    Path("my-gpu.toml").write_text('name = "my-gpu"\nextends = "h100-sxm"\n')
    words = shlex.split(example)
    assert words[0] == "perfmodel"
    shown = run(*words[1:], columns=80)
    drawn = {w for w in words if w.endswith((".svg", ".png", ".csv"))}
    drawn |= {f"{w}.json" for w in drawn if w.endswith(".csv")}
    assert {path.name for path in tmp_path.iterdir()} == {"my-kernel.toml", "my-gpu.toml", *drawn}
    assert shown or drawn


@pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("command", ["predict", "explain", "advise", "sweep", "roofline"])
def test_the_examples_of_a_source(
    command: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # property: saxpy as everybody writes it has every argument that the example gives
    monkeypatch.chdir(tmp_path)
    Path("saxpy.cu").write_text(
        "__global__ void saxpy(int n, float a, const float *x, float *y) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) y[i] = a * x[i] + y[i];\n"
        "}\n"
    )
    for example in (e for e in OF_COMMANDS[command] if "saxpy.cu" in e):
        words = shlex.split(example)
        assert "saxpy" in run(*words[1:]) or Path(words[-1]).is_file()
