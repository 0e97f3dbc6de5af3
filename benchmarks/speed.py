"""What predictions cost in CPU time, each figure beside a peer timed in the same run.

    python -m benchmarks.speed

One prediction, once its form is compiled, beside a roofline in one line of Python, and with its
interval and warnings, as JSON; arrays of launches beside the same roofline in one line of NumPy;
one prediction over problem sizes of 2^10 to 2^40. Whole processes are timed by `benchmarks.start`,
the simulator by `benchmarks.simulator`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from perfmodel import load_device, predict, predict_many
from perfmodel.errors import PerfmodelError
from perfmodel.prediction import Prediction
from perfmodel.prediction.conditions import by_the_models

DEVICE = load_device("h100-sxm")
REPEATS = 5
# A launch of each kind, and a parameter that changes from prediction to prediction.
LAUNCHES = [
    ("copy", None, "bytes", 1 << 28, 16),
    ("read", None, "bytes", 1 << 28, 16),
    ("strided-copy", None, "n", 1 << 24, 1),
    ("working-set-read", None, "bytes", 1 << 24, 1 << 16),
    ("atomic-add", None, "n", 1 << 24, 1),
    ("atomic-privatized", None, "n", 1 << 24, 1),
    ("gather", None, "n", 1 << 24, 1),
    ("embedding", None, "lookups", 1 << 20, 8),
    ("stream-persistent", None, "stream_bytes", 1 << 30, 1 << 20),
    ("layernorm", None, "rows", 4096, 8),
    ("softmax", None, "rows", 4096, 8),
    ("decode-attention", "flash", "context", 4096, 64),
    ("ffn-gemv", "warp", "rows", 4096, 8),
    *(("gemm", mapping, "N", 4096, 128) for mapping in ("naive", "coalesced", "smem", "warptile")),
]
MANY = 1 << 18
TILED = 1 << 17
LATER = 5
"""Products whose tile is chosen in a call, and the call that is timed after the first."""
SIZES = {"copy": "bytes", "strided-copy": "n", "atomic-add": "n", "gather": "n"}


def cpu(work: Callable[[], object], times: int = 1) -> float:
    """Return the least CPU time of one of several runs [s]."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        for _ in range(times):
            work()
        found.append((time.process_time() - start) / times)
    return min(found)


def roofline(size: int) -> float:
    """Return a time by the roofline in one line [s]."""
    return max(8.0 * size / DEVICE.dram_bandwidth, 2.0 * size / DEVICE.peak_fp32)


def one() -> Iterator[tuple[str, ...]]:
    """Yield what one prediction costs: as compiled, and by the models on arrays of one."""
    peer = cpu(lambda: roofline(1 << 24), 10_000)
    for name, mapping, parameter, size, step in LAUNCHES:
        sizes = iter(range(size, size + 100_000 * step, step))

        def launch(name=name, mapping=mapping, parameter=parameter, sizes=sizes) -> Prediction:
            return predict(name, mapping=mapping, **{parameter: next(sizes)})

        start = time.process_time()
        launch()
        first = time.process_time() - start
        for _ in range(30):  # forms are made of the launches that come
            launch().to_json()
        ours, whole = cpu(launch, 40), cpu(lambda launch=launch: launch().to_json(), 40)
        what = f"{name} {mapping}" if mapping else name
        columns = f"{1e3 * first:.1f}", f"{1e3 * ours:.2f}", f"{1e3 * whole:.2f}"
        yield what, *columns, f"{ours / peer:,.0f}"


def many() -> Iterator[tuple[str, ...]]:
    """Yield launches a second of CPU in one call, and a one-line roofline's over it."""
    random = np.random.default_rng(0)
    products = {n: random.integers(1, 8193, MANY) for n in "MNK"}
    whole = {n: 32 * random.integers(1, 257, MANY) for n in "MNK"}
    sizes = random.integers(1 << 12, 1 << 26, MANY)
    calls = [
        ("gemm coalesced, any size", "gemm", "coalesced", products),
        ("gemm naive, any size", "gemm", "naive", products),
        ("gemm smem, any size", "gemm", "smem", products),
        ("gemm blocktile-1d, any size", "gemm", "blocktile-1d", products),
        ("gemm blocktile-2d, any size", "gemm", "blocktile-2d", products),
        ("gemm coalesced, multiples of 32", "gemm", "coalesced", whole),
        ("copy", "copy", None, {"bytes": 16 * sizes}),
        (
            "strided-copy",
            "strided-copy",
            None,
            {"n": sizes, "stride": random.integers(1, 65, MANY)},
        ),
        ("atomic-add", "atomic-add", None, {"n": sizes, "addresses": sizes[::-1]}),
        ("gather", "gather", None, {"n": sizes, "table_bytes": 64 * sizes[::-1]}),
        ("gather, runs of 1 to 64", "gather", None, {"n": sizes, "run": 1 << sizes % 7}),
        ("embedding", "embedding", None, {"lookups": sizes >> 4, "table_bytes": 128 * sizes}),
        ("data-reset", "data-reset", None, {"in_bytes": sizes & -16, "out_bytes": 16 * sizes}),
        ("stream-persistent", "stream-persistent", None, {"persistent_bytes": sizes & -16}),
        ("layernorm", "layernorm", None, {"rows": random.integers(1, 1 << 14, MANY)}),
        (
            "softmax, any columns",
            "softmax",
            None,
            {"rows": random.integers(1, 1 << 12, MANY), "cols": random.integers(32, 1 << 14, MANY)},
        ),
        ("decode-attention", "decode-attention", "flash", {"context": sizes >> 4}),
    ]
    peer = cpu(lambda: np.maximum(8.0 * sizes / DEVICE.dram_bandwidth, 2.0 * sizes / 6e13))
    for what, name, mapping, columns in calls:
        predict_many(name, mapping=mapping, **columns)
        start, wall = time.process_time(), time.perf_counter()
        predict_many(name, mapping=mapping, **columns)
        busy, wall = time.process_time() - start, time.perf_counter() - wall
        yield what, f"{MANY / wall:,.0f}", f"{MANY / busy:,.0f}", f"{busy / peer:,.0f}"


def tiles() -> Iterator[tuple[str, ...]]:
    """Yield products on tensor cores a second in one call, their tiles chosen: first and later."""
    random = np.random.default_rng(0)
    for what, multiple in (("multiples of 8", 8), ("any size", 1)):
        sizes = {n: multiple * random.integers(1, 8192 // multiple + 1, TILED) for n in "MNK"}
        rates = []
        for _ in range(LATER):
            start = time.perf_counter()
            predict_many("gemm", mapping="tensor-core", **sizes)
            rates.append(f"{TILED / (time.perf_counter() - start):,.0f}")
        yield what, rates[0], rates[-1]


def flat() -> Iterator[tuple[str, ...]]:
    """Yield the least and most CPU of one prediction by the models over sizes of 2^10 to 2^40."""
    for name, parameter in SIZES.items():
        found = {}
        for power in range(10, 41, 3):
            try:
                with by_the_models():
                    found[power] = cpu(partial(predict, name, **{parameter: 1 << power}))
            except PerfmodelError:  # more than the GPU's memory
                continue
        least, most = min(found.values()), max(found.values())
        yield name, f"2^{min(found)} to 2^{max(found)}", f"{1e3 * least:.1f}", f"{1e3 * most:.1f}"


def products() -> Iterator[tuple[str, ...]]:
    """Yield what a product on tensor cores costs, its tile chosen; and NVIDIA's heuristic.

    That is on the package index as nvidia-matmul-heuristics; it needs no GPU.
    """
    sizes = iter(128 * np.random.default_rng(0).integers(8, 80, 2000))

    def predicted() -> Prediction:
        return predict("gemm", mapping="tensor-core", N=int(next(sizes)))

    for _ in range(60):  # forms are made of the launches that come
        predicted()
    ours = cpu(predicted, 40)
    yield "perfmodel: predict", f"{1e3 * ours:.1f}"
    try:
        from nvMatmulHeuristics import (
            NvMatmulHeuristicsFlags,
            NvMatmulHeuristicsInterfaceEx,
            NvMatmulHeuristicsMatmulLayout,
            NvMatmulHeuristicsNvidiaGpu,
            NvMatmulHeuristicsTarget,
        )
    except ImportError:
        yield "nvMatmulHeuristics: get", "not installed"
        return
    layout = NvMatmulHeuristicsMatmulLayout.TN_ROW_MAJOR
    peer = NvMatmulHeuristicsInterfaceEx(
        backend=NvMatmulHeuristicsTarget.CUTLASS3,
        flags=NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
        gpu=NvMatmulHeuristicsNvidiaGpu.H100_SXM,
    )
    peer.loadInternalDiscoverySet(layout, precision="HSH")

    def choose() -> object:
        n = int(next(sizes))
        problem = peer.makeNvMatmulHeuristicsProblem(n, n, n, layout)
        return peer.get(problem, 1, precision="HSH")

    yield "nvMatmulHeuristics: get", f"{1e3 * cpu(choose, 100):.2f}"


def table(*columns: str, rows: Iterator[tuple[str, ...]]) -> Table:
    found = Table(*columns)
    for row in rows:
        found.add_row(*row)
    return found


def main() -> None:
    console = Console(width=100)
    headings = "launch", "first [ms]", "then [ms]", "with interval [ms]", "one-line rooflines"
    console.print("One prediction, CPU", table(*headings, rows=one()))
    headings = "launches", "a second", "a second of CPU", "NumPy's rooflines"
    console.print(f"{MANY:,} in one call", table(*headings, rows=many()))
    console.print("One product on tensor cores, tile chosen", table("", "[ms]", rows=products()))
    headings = "products", "a second, first call", f"call {LATER}"
    console.print(f"{TILED:,} on tensor cores in one call", table(*headings, rows=tiles()))
    headings = "launch", "sizes", "least [ms]", "most [ms]"
    console.print("Sizes, by the models", table(*headings, rows=flat()))


if __name__ == "__main__":
    main()
