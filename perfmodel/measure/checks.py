"""Checks of what a kernel wrote: a wrong output makes its time worthless.

Buffers filled with "hash" hold floats in [1, 2); each check reads back what it needs and computes
the due output by other means, in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.errors import PerfmodelError
from perfmodel.measure.gpu import Gpu, GpuError, Memory
from perfmodel.measure.sweep import Point, Sweep

Read = Callable[[str, Any, int], npt.NDArray[Any]]
"""Reads a buffer: its name, a dtype, how many elements."""
Check = Callable[[Mapping[str, Any], Read], bool]

_MOST: Final = 1 << 20
"""Elements that a check reads back, at most."""


def check_output(gpu: Gpu, sweep: Sweep, point: Point, buffers: Mapping[str, Memory]) -> None:
    """Hold what a launch wrote against its due.

    Raises
    ------
    GpuError
        If it is wrong.
    """
    if not sweep.check:
        return
    check = CHECKS.get(sweep.check)
    if check is None:
        raise PerfmodelError(f"{sweep.where}: no check is called {sweep.check!r}")

    def read(name: str, dtype: Any, count: int) -> npt.NDArray[Any]:
        return gpu.read(buffers[name], dtype, count)

    if not check(point.params, read):
        raise GpuError(f"wrong output (check {sweep.check})")


def copied(p: Mapping[str, Any], read: Read) -> bool:
    """``out[i] == in[i]``."""
    count = min(int(p["bytes"]) // 4, _MOST)
    return bool(np.array_equal(read("out", np.uint32, count), read("in", np.uint32, count)))


def copied_strided(p: Mapping[str, Any], read: Read) -> bool:
    """``out[i] == in[i*stride + offset]``."""
    stride, offset = int(p["stride"]), int(p.get("offset", 0))
    count = min(int(p["n"]), _MOST // stride)
    source = read("in", np.float32, count * stride + offset)[offset::stride][:count]
    return bool(np.array_equal(read("out", np.float32, count), source))


def copied_runs(p: Mapping[str, Any], read: Read) -> bool:
    """``out[i] == in[i // run * pitch + i % run]``."""
    run, pitch = int(p["run"]), int(p["pitch"])
    runs = max(1, min(int(p["n"]) // run, _MOST // pitch))
    places = (np.arange(runs)[:, None] * pitch + np.arange(run)).ravel()[: int(p["n"])]
    source = read("in", np.float32, int(places.max()) + 1)
    return bool(np.array_equal(read("out", np.float32, len(places)), source[places]))


def product(p: Mapping[str, Any], read: Read) -> bool:
    """``C = A B`` in the first row, within FP32 rounding of FP64."""
    K, N = int(p["K"]), int(p["N"])
    columns = max(1, min(N, 4))
    a = read("A", np.float32, K).astype(np.float64)
    b = read("B", np.float32, K * N).reshape(K, N)[:, :columns].astype(np.float64)
    got = read("C", np.float32, columns)
    return bool(np.allclose(got, a @ b, rtol=1e-4))


CHECKS: Final[Mapping[str, Check]] = {
    "copied": copied,
    "copied_strided": copied_strided,
    "copied_runs": copied_runs,
    "product": product,
}
"""Checks by the name that sweeps give."""
