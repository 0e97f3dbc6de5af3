"""What one prediction costs over problem sizes and grids: CPU, calls, and memory, by the models.

    python -m benchmarks.flat

For each built-in kernel and each parameter that is a size, from 2^10 to 2^40 as far as the kernel,
and the GPU's memory, take it; then for CUDA sources, translated anew at each size, and in grids of
1 to 2^31 - 1 blocks with the arguments that they have. CPU by the least of some runs; calls as most
over least; the most memory in use at the smallest size, at the largest, and at any. A program,
which `predict` takes once it has made one, does the same for all sizes. Kernels whose tile is
chosen from a menu, hundreds of predictions each, are left out.
"""

from __future__ import annotations

import math
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.sources import Source, source
from perfmodel import builtin_names, find_kernel, predict
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import LaunchSpec
from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Kernel
from perfmodel.kernels.library import mappings
from perfmodel.models.each_launch import of_one_launch
from perfmodel.prediction.conditions import by_the_models

Work = Callable[[], object]
NAMES = (
    *("N", "n", "bytes", "in_bytes", "out_bytes", "table_bytes", "stream_bytes"),
    *("persistent_bytes", "lookups", "rows", "cols", "columns", "context", "tokens", "addresses"),
    *("iterations", "blocks"),
)
"""Parameters that are sizes."""
POWERS = (10, 14, 20, 30, 40)
MOST_BLOCKS = (1 << 31) - 1
GRIDS = (1, 1 << 10, 1 << 20, MOST_BLOCKS)
REPEATS = 2
EMULATED = ("gather.cu", "csr-rows.cu", "histogram.cu direct", "cas-loop")
"""Sources in which data decides what threads do, so that they are emulated."""
FOLLOWED = (
    *("copy", "write", "strided-copy", "data-reset", "stream-persistent", "atomic-add"),
    *("gemm naive", "gemm coalesced", "gemm smem", "ffn-gemv warp", "kv-append", "decode-combine"),
    *("saxpy.cu", "my-kernel.cu", "potential-aos.cu", "row-sums.cu"),
    *("row-sums-vector.cu", "row-sums-warp.cu", "transpose.cu straight"),
    *("transpose.cu tiled", "row_softmax.ptx"),
)
"""Sources that symbols follow to the end."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a prediction costs besides time: calls of functions, and the most memory [B]."""

    calls: int
    peak: int


def kernels() -> list[Kernel]:
    """Return every built-in in every mapping, but those with menus."""
    every = [find_kernel(name, m) for name in builtin_names() for m in mappings(name) or [None]]
    return [kernel for kernel in every if not kernel.menus]


def sizes(kernel: Kernel) -> list[str]:
    """Return a kernel's parameters that are sizes; of a product N, which the others follow."""
    return [p.name for p in kernel.parameters if p.name in NAMES]


def launches(kernel: Kernel, parameter: str) -> dict[int, Work]:
    """Return predictions of a kernel by the models, by the size of a parameter, as far as it goes.

    The other parameters are by default.
    """
    return _possible({1 << p: partial(predict, kernel, **{parameter: 1 << p}) for p in POWERS})


def source_sizes(some: Source) -> dict[int, Work]:
    """Return translations and predictions of a source, by the size of its parameter."""
    found = {}
    for size in (1 << power for power in POWERS):
        with suppress(PerfmodelError):
            found[size] = _of_source(some, some.at(size))
    return _possible(found)


def source_grids(some: Source) -> dict[int, Work]:
    """Return translations and predictions of a source, by the blocks of its grid along x.

    Nothing of a source that is for one grid, so that others lead its threads out of its buffers.
    """
    found = {}
    spec = some.at(some.first)
    for blocks in GRIDS:
        found[blocks] = _of_source(some, replace(spec, grid=(blocks, *spec.grid[1:])))
    some_grids = _possible(found)
    return some_grids if len(some_grids) > 2 else {}


def _of_source(some: Source, spec: LaunchSpec) -> Work:
    return lambda: predict(translated(some.program, spec))


def _possible(works: Mapping[int, Work]) -> dict[int, Work]:
    found = {}
    for size, work in works.items():
        with suppress(PerfmodelError):  # more than a parameter's largest, or the GPU's memory
            work()
            found[size] = work
    return found


def cost(work: Callable[[], object]) -> Cost:
    """Return what some work costs, whatever the machine does otherwise."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    of_one_launch.cache_clear()  # else nothing would be counted that came before
    tracemalloc.start()
    try:
        work()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    of_one_launch.cache_clear()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return Cost(calls, peak)


def cpu(work: Callable[[], object]) -> float:
    """Return the least CPU time of one of several runs [s]."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def row(what: str, parameter: str, works: Mapping[int, Work]) -> tuple[str, ...] | None:
    """Return what predictions cost over sizes of a parameter; None of fewer than two."""
    if len(works) < 2:
        return None
    times = [1e3 * cpu(work) for work in works.values()]
    costs = [cost(work) for work in works.values()]
    ends = [_power(size) for size in works]
    calls, peaks = [each.calls for each in costs], [each.peak / 1024 for each in costs]
    return (
        *(what, f"{parameter} {ends[0]} to {ends[-1]}"),
        *(f"{min(times):.1f}", f"{max(times):.1f}", f"{max(calls) / min(calls):.2f}"),
        *(f"{peak:,.0f}" for peak in (peaks[0], peaks[-1], max(peaks))),
    )


def _power(size: int) -> str:
    return f"2^{math.log2(size):.0f}" if size > 1 else "1"


def rows() -> Iterator[tuple[str, ...] | None]:
    """Yield what predictions of each kernel cost over each of its sizes."""
    for kernel in kernels():
        what = f"{kernel.name} {kernel.mapping}".strip()
        for parameter in sizes(kernel):
            yield row(what, parameter, launches(kernel, parameter))
    for name in (*FOLLOWED, *EMULATED):
        some = source(name)
        yield row(some.name, some.parameter, source_sizes(some))
        yield row(some.name, "blocks", source_grids(some))


def main() -> None:
    headings = "kernel", "sizes", "least [ms]", "most [ms]", "calls", "first [KiB]", "last", "most"
    table = Table(*headings)
    with by_the_models():
        for found in filter(None, rows()):
            table.add_row(*found)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
