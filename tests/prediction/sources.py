"""Launches of a kernel from PTX, at any size."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from perfmodel.cuda.compile.program import Program, load_program
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec, Scalar
from perfmodel.kernels import Kernel

_PTX = Path(__file__).parents[1] / "cuda" / "ptx" / "nvcc-13.0-kernels.ptx"


@cache
def _program() -> Program:
    return load_program(_PTX)


def saxpy(n: int) -> Kernel:
    """Return saxpy of n elements in blocks of 256, translated."""
    arguments = Scalar(n), Scalar(2), Buffer(4 * n), Buffer(4 * n)
    launch = LaunchSpec(
        grid=(-(-n // 256), 1, 1), block=(256, 1, 1), kernel="saxpy", positional=arguments
    )
    return translated(_program(), launch)
