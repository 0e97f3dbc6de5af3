"""NVIDIA's compilers on this machine: where they are, and running them within bounds."""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from perfmodel.errors import PerfmodelError, shown

_SECONDS: Final = 60.0
"""Longest run of a compiler."""
_ARCHITECTURE: Final = re.compile(r"sm_[0-9]{2,3}[af]?", re.ASCII)


def check_architecture(name: str) -> str:
    """Return the name of an architecture, such as ``sm_90``.

    Raises `PerfmodelError` if it is not one.
    """
    if not _ARCHITECTURE.fullmatch(name):
        raise PerfmodelError(f"architecture must be such as sm_80 or sm_90, not {shown(name)}")
    return name


@cache
def find_tool(name: str) -> str | None:
    """Return where ``nvcc`` or ``ptxas`` is: on PATH, in a toolkit, or in a wheel; or None."""
    if found := shutil.which(name):
        return found
    homes = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")
    places = [Path(home) / "bin" / name for home in homes if home]
    packages = Path(sysconfig.get_paths()["purelib"])
    places += sorted((packages / "nvidia").glob(f"*/bin/{name}"))
    places.append(packages / "triton" / "backends" / "nvidia" / "bin" / name)
    suffix = ".exe" if sys.platform == "win32" else ""
    return next((str(p) for p in places if os.access(f"{p}{suffix}", os.X_OK)), None)


def run_tool(
    command: Sequence[str], what: str, scratch: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Return how a compiler ended.

    `what`: for messages; `scratch`: folder for temporary files of the tool. Raises `PerfmodelError`
    if it cannot be started, or takes too long.
    """
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            env=None if scratch is None else {**os.environ, "TMPDIR": str(scratch)},
        ) as process:
            try:
                output, messages = process.communicate(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                _end(process)
                raise PerfmodelError(f"{what} was stopped after {_SECONDS:.0f} s") from None
            except BaseException:
                _end(process)
                raise
            return subprocess.CompletedProcess(command, process.returncode, output, messages)
    except OSError as error:
        raise PerfmodelError(f"{what} cannot be started: {error.strerror or error}") from None


def _end(process: subprocess.Popen[str]) -> None:
    """End a compiler and what it started, which would keep its output open."""
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def first_error(log: str) -> str:
    """Return the line of a compiler's log that says what is wrong."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line or "fatal" in line]
    return (wrong or lines or ["no message"])[0][:200]
