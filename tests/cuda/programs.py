"""What tests of the symbolic analysis and of the emulator share: kernels and launches."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from perfmodel.cuda.addresses.launch import KernelLaunch, bound
from perfmodel.cuda.compile.program import Program, estimate, resources
from perfmodel.cuda.launch.spec import Argument, Buffer, LaunchSpec, Scalar
from perfmodel.cuda.parse.reader import parse_ptx, read_ptx
from perfmodel.cuda.parse.signatures import parameter_names
from perfmodel.cuda.parse.syntax import Function, Module

SAMPLES = Path(__file__).with_name("ptx")
HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


@lru_cache
def samples() -> Module:
    return read_ptx(SAMPLES / "nvcc-13.0-kernels.ptx")


@lru_cache
def names() -> dict[str, tuple[str, ...]]:
    return parameter_names((SAMPLES / "kernels.cu").read_text())


def sample(name: str) -> Function:
    found = next((f for f in samples().functions if f.name == name), None)
    assert found is not None
    return found


def program(module: Module, source_names: dict[str, tuple[str, ...]] | None = None) -> Program:
    """A program without an assembler: registers are estimated, whatever is installed."""
    estimated = {k.name: estimate(module, k) for k in module.kernels}
    return Program("test.ptx", module, "", "sm_90", None, estimated, source_names or {})


def sample_program() -> Program:
    return program(samples(), names())


def text_of(body: str, parameters: str = ".param .u64 out", declared: str = "") -> str:
    """PTX of one kernel k of the given instructions."""
    registers = ".reg .pred %p<9>; .reg .b32 %r<32>; .reg .b64 %d<32>; .reg .f32 %f<9>;"
    return f"{HEADER}{declared}.visible .entry k({parameters})\n{{\n{registers}\n{body}\n}}"


def written(body: str, parameters: str = ".param .u64 out", declared: str = "") -> Module:
    """A module with one kernel k of the given PTX instructions."""
    return parse_ptx(text_of(body, parameters, declared))


def assembled(text: str) -> Program:
    """A program of PTX as the assembler that is installed makes it."""
    module = parse_ptx(text)
    return Program("test.ptx", module, text, "sm_90", None, resources(module, text), {})


def launch(grid: Any, block: Any, shared: int = 0, **arguments: Any) -> LaunchSpec:
    def three(size: Any) -> tuple[int, int, int]:
        x, y, z = (*((size,) if isinstance(size, int) else size), 1, 1)[:3]
        return x, y, z

    named: dict[str, Argument] = {
        name: value if isinstance(value, Buffer) else Scalar(value)
        for name, value in arguments.items()
    }
    return LaunchSpec(three(grid), three(block), shared, named=named)


def sample_bound(name: str, spec: LaunchSpec) -> KernelLaunch:
    return bound(spec, sample(name), names()[name])
