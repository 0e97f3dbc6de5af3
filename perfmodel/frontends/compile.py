"""CUDA source to PTX: by nvcc if it is there, else by NVRTC from NVIDIA's wheels."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.frontends.toolchain import check_architecture, find_tool, first_error, run_tool

_REMEDY: Final = "install the CUDA toolkit or perfmodel[gpu], or give the kernel's PTX"
_USUAL: Final = ("--extended-lambda", "--expt-relaxed-constexpr")
"""What many projects compile with: device lambdas, and constexpr functions of the host."""
_MOST_SOURCE: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a compiler made of a source."""

    ptx: str
    compiler: str
    """Such as ``nvcc 13.0``."""


def compile_ptx(
    path: str | Path, architecture: str = "sm_90", options: Sequence[str] = ()
) -> Compiled:
    """Return the PTX of a CUDA source, with source lines.

    Parameters
    ----------
    path : str or Path
        ``.cu``.
    architecture : str
        Such as ``sm_90``.
    options : sequence of str
        Of nvcc, or of NVRTC, such as ``-DN=4`` or ``-I include``.

    Raises
    ------
    PerfmodelError
        If there is no compiler, or the source does not compile, with the compiler's first message.
    """
    path = Path(path)
    check_architecture(architecture)
    _check_source(path)
    nvcc = find_tool("nvcc")
    if nvcc is not None:
        return _by_nvcc(nvcc, path, architecture, options)
    return _by_nvrtc(path, architecture, options)


def _check_source(path: Path) -> None:
    try:
        if not path.is_file():
            raise PerfmodelError(
                f"{'it is not a file' if path.exists() else 'it does not exist'}: give a .cu or "
                ".ptx file"
            )
        if path.stat().st_size > _MOST_SOURCE:
            raise PerfmodelError(f"{path.name} is larger than {_MOST_SOURCE >> 20} MiB")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PerfmodelError(f"cannot read {str(path)!r}: {reason}") from None


def _by_nvcc(nvcc: str, path: Path, architecture: str, options: Sequence[str]) -> Compiled:
    with tempfile.TemporaryDirectory(prefix="perfmodel-") as folder:
        made = Path(folder) / "kernel.ptx"
        ended = run_tool(
            [
                *(nvcc, f"-arch={architecture}", "-lineinfo", "-ptx", "-std=c++17", "-x", "cu"),
                *_USUAL,
                *(*options, "-o", str(made), str(path)),
            ],
            f"nvcc on {path.name}",
        )
        if ended.returncode != 0 or not made.exists():
            message = first_error(ended.stderr + ended.stdout)
            raise PerfmodelError(f"{path.name} does not compile by nvcc: {message}")
        return Compiled(made.read_text(encoding="utf-8", errors="replace"), _nvcc_version(nvcc))


@cache
def _nvcc_version(nvcc: str) -> str:
    text = run_tool([nvcc, "--version"], "nvcc").stdout
    _, _, behind = text.partition("release ")
    return f"nvcc {behind.partition(',')[0]}" if behind else "nvcc"


def _by_nvrtc(path: Path, architecture: str, options: Sequence[str]) -> Compiled:
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        raise PerfmodelError(f"{path.name}: no CUDA compiler here: {_REMEDY}") from None
    from perfmodel.measure.cuda import include_folders

    told = [
        f"--gpu-architecture={architecture}",
        *("--std=c++17", "-lineinfo", f"--include-path={path.resolve().parent}"),
        *(f"--include-path={folder}" for folder in include_folders()),
        *options,
    ]
    try:
        _, program = nvrtc.nvrtcCreateProgram(path.read_bytes(), str(path).encode(), 0, [], [])
    except Exception as error:  # the loader's own types, which differ between versions
        reason = str(error).splitlines()[0][:120]
        raise PerfmodelError(f"{path.name}: no CUDA compiler here ({reason}): {_REMEDY}") from None
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(told), [o.encode() for o in told])
        if int(status) != 0:
            log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            message = first_error(log) if log.strip() else status.name
            raise PerfmodelError(
                f"{path.name} does not compile by NVRTC, which takes device code only: {message}"
            )
        ptx = _text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    _, major, minor = nvrtc.nvrtcVersion()
    return Compiled(ptx, f"NVRTC {major}.{minor}")


def _text(size_of: Any, text_of: Any, program: Any) -> str:
    _, size = size_of(program)
    buffer: bytes = b" " * size
    text_of(program, buffer)
    return buffer.rstrip(b"\0").decode(errors="replace")
