"""CUDA source to PTX: by nvcc if it is there, else by NVRTC from NVIDIA's wheels."""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from perfmodel.cuda.compile.staging import Staged, split_options, staged
from perfmodel.cuda.compile.toolchain import check_architecture, find_tool, first_error, run_tool
from perfmodel.errors import PerfmodelError
from perfmodel.records import record
from perfmodel.text_files import check_regular

_REMEDY: Final = "install the CUDA toolkit or perfmodel[gpu], or give the kernel's PTX"
_USUAL: Final = ("--extended-lambda", "--expt-relaxed-constexpr")
"""What many projects compile with: device lambdas, and constexpr functions of the host."""
_MOST_SOURCE: Final = 16 << 20
_OTHER_TARGET: Final = "not supported on .target"
"""What nvcc says of instructions that a target lacks."""
_WITH_SPECIFIC: Final = frozenset({"sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"})
"""Targets that have a specific one, with an "a": CUDA programming guide 13.0, feature sets."""


@record
class Compiled:
    """What a compiler made of a source."""

    ptx: str
    compiler: str
    """Such as ``nvcc 13.0``."""


def compile_ptx(
    path: str | Path, architecture: str = "sm_90", options: Sequence[str] = ()
) -> Compiled:
    """Return the PTX of a CUDA source, with source lines.

    Instructions that only an architecture-specific target has, such as those of wgmma, make it
    ``sm_90a`` where ``sm_90`` is asked for. `options` are nvcc's, or NVRTC's, such as ``-DN=4`` or
    ``-I include``. Raises `PerfmodelError` if
    there is no compiler, or the source does not compile, with the compiler's first message.
    """
    path = Path(path)
    check_architecture(architecture)
    if check_regular(path, f"source {str(path)!r}", "a .cu or .ptx file") > _MOST_SOURCE:
        raise PerfmodelError(f"{path.name} is larger than {_MOST_SOURCE >> 20} MiB")
    includes, others = split_options(options)
    nvcc = find_tool("nvcc")
    with staged(path, includes) as inside:
        if nvcc is None:
            return _by_nvrtc(inside, architecture, others)
        try:
            return _by_nvcc(nvcc, inside, architecture, others)
        except PerfmodelError as error:
            if _OTHER_TARGET not in str(error) or architecture not in _WITH_SPECIFIC:
                raise
            return _by_nvcc(nvcc, inside, f"{architecture}a", others)


def _by_nvcc(nvcc: str, inside: Staged, architecture: str, options: Sequence[str]) -> Compiled:
    name, made = inside.path.name, inside.folder / "kernel.ptx"
    ended = run_tool(
        [
            *(nvcc, f"-arch={architecture}", "-lineinfo", "-ptx", "-std=c++17", "-x", "cu"),
            *_USUAL,
            *(*inside.includes, *options, "-o", str(made), str(inside.source)),
        ],
        f"nvcc on {name}",
        inside.folder,
    )
    if ended.returncode != 0 or not made.exists():
        message = first_error(inside.in_messages(ended.stderr + ended.stdout))
        raise PerfmodelError(f"{name} does not compile by nvcc: {message}")
    text = made.read_text(encoding="utf-8", errors="replace")
    return Compiled(inside.in_ptx(text), _nvcc_version(nvcc))


@cache
def _nvcc_version(nvcc: str) -> str:
    text = run_tool([nvcc, "--version"], "nvcc").stdout
    _, _, behind = text.partition("release ")
    return f"nvcc {behind.partition(',')[0]}" if behind else "nvcc"


def _by_nvrtc(inside: Staged, architecture: str, options: Sequence[str]) -> Compiled:
    name = inside.path.name
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        raise PerfmodelError(f"{name}: no CUDA compiler here: {_REMEDY}") from None
    from perfmodel.measure.cuda import include_folders

    told = [
        f"--gpu-architecture={architecture}",
        *("--std=c++17", "-lineinfo", *inside.includes),
        *(f"--include-path={folder}" for folder in include_folders()),
        *options,
    ]
    try:
        text, called = inside.source.read_bytes(), os.fsencode(inside.source)
        _, program = nvrtc.nvrtcCreateProgram(text, called, 0, [], [])
    except Exception as error:  # the loader's own types, which differ between versions
        reason = str(error).splitlines()[0][:120]
        raise PerfmodelError(f"{name}: no CUDA compiler here ({reason}): {_REMEDY}") from None
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(told), [os.fsencode(o) for o in told])
        if int(status) != 0:
            log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            message = first_error(inside.in_messages(log)) if log.strip() else status.name
            raise PerfmodelError(
                f"{name} does not compile by NVRTC, which takes device code only: {message}"
            )
        ptx = _text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    _, major, minor = nvrtc.nvrtcVersion()
    return Compiled(inside.in_ptx(ptx), f"NVRTC {major}.{minor}")


def _text(size_of: Any, text_of: Any, program: Any) -> str:
    _, size = size_of(program)
    buffer: bytes = b" " * size
    text_of(program, buffer)
    return buffer.rstrip(b"\0").decode(errors="replace")
