"""NVIDIA's run-time compiler, NVRTC: device code to PTX or machine code, without a toolkit."""

import os
import site
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal


class NoCompilerError(Exception):
    """NVRTC is not installed, or cannot be loaded, which it says why."""


class NotCompiledError(Exception):
    """A source does not compile; says the compiler's log, or its error's name."""


def run_time_compiled(
    text: bytes, called: bytes, options: Sequence[str], into: Literal["PTX", "CUBIN"]
) -> bytes:
    """Return what NVRTC makes of a source that is `called` so in its messages.

    Raises `NoCompilerError` without NVRTC, and `NotCompiledError` if it refuses the source.
    """
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        raise NoCompilerError from None
    told = [*options, *(f"--include-path={folder}" for folder in include_folders())]
    try:
        _, program = nvrtc.nvrtcCreateProgram(text, called, 0, [], [])
    except Exception as error:  # the loader's own types, which differ between versions
        raise NoCompilerError(str(error).partition("\n")[0]) from None
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(told), [os.fsencode(o) for o in told])
        if int(status) != 0:
            log = _read(nvrtc, "ProgramLog", program).rstrip(b"\0").decode(errors="replace")
            raise NotCompiledError(log if log.strip() else status.name)
        return _read(nvrtc, into, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _read(nvrtc: Any, what: str, program: Any) -> bytes:
    """Return one of the texts that a program has."""
    _, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    buffer: bytes = b" " * size
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer


def include_folders() -> list[str]:
    """Return where cuda_fp16.h and the like may be: in NVIDIA's packages, or in a toolkit."""
    roots = [Path(p) / "nvidia" for p in site.getsitepackages()]
    found = [h.parent for root in roots for h in root.glob("*/include/cuda_fp16.h")]
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home and (Path(home) / "include" / "cuda_fp16.h").exists():
            found.append(Path(home) / "include")
    return [str(folder) for folder in found]
