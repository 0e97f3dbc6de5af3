"""Speed of the trace simulator: coalescing, L2, whole kernels and commands; and pycachesim's.

Run ``python -m benchmarks.simulator``; it needs ``pip install 'perfmodel[test]'``. Each rate is the
best of several runs, in millions a second: by the clock, and as two cores would do it that nothing
else used, from the processor's time. What is wanted stands beside it. pycachesim takes one sector
after the other through a plain cache; the simulator takes the same sectors, by lines, through the
same plain cache and through its whole L2 of that size, with partitions, hashing, dirty lines and
far copies.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cachesim import Cache, CacheSimulator, MainMemory

from perfmodel.hardware import load_device
from perfmodel.prediction.simulated import simulate
from perfmodel.trace.cache import COUNT, CacheShape, Engine, has_numba
from perfmodel.trace.coalescer import coalesce
from perfmodel.trace.l2 import EPOCH, L2, L2Shape, Lookups, l2_shape

SIZE, WAYS = 64 << 20, 16
LINES = 1 << 19
WANTED = {"lanes": 100.0, "dense": 100.0, "random": 50.0, "kernel": 40.0}
"""Millions a second."""
WANTED_SECONDS = 10.0
KERNELS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("copy", {"bytes": 128 << 20}),
    ("strided-copy", {"n": 1 << 22, "stride": 3}),
    ("gemm", {"mapping": "coalesced", "N": 512}),
    # One sector a line: not wanted to be as fast.
    ("gather", {"n": 1 << 20, "table_bytes": 64 << 20}),
)
SOURCE = """
extern "C" __global__ void product(int n, const float* a, const float* b, float* c) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || col >= n) return;
  float sum = 0.f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
  c[row * n + col] = sum;
}
"""
SOURCE_OPTIONS = "--grid ceil_div(n,32),ceil_div(n,32) --block 32,32 --arg n=1024"


def best(action: Callable[[], object], times: int = 3) -> tuple[float, float]:
    """Return the shortest of several runs, and half of the least processor time [s]."""
    clock, busy = [], []
    for _ in range(times):
        start, used = time.perf_counter(), time.process_time()
        action()
        clock.append(time.perf_counter() - start)
        busy.append((time.process_time() - used) / 2)
    return min(clock), min(busy)


def row(name: str, engine: str, amount: float, took: tuple[float, float], wanted: str) -> str:
    """Return a line of a table: amounts a second, and over what is wanted."""
    rates = [amount / each / 1e6 for each in took]
    text = f"  {name:24} {engine:6} {rates[0]:8.1f} {rates[1]:8.1f}"
    if engine == "numba" and wanted:
        text += f"   wanted {WANTED[wanted]:5.0f}: {rates[1] / WANTED[wanted]:5.2f} of it"
    return text


def traces() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return lines and sector masks: a dense stream, re-read, and random lines and sectors."""
    random = np.random.default_rng(0)
    dense = np.arange(LINES)
    whole = np.full(LINES, 15, dtype=np.uint8)
    some = random.integers(1, 16, LINES).astype(np.uint8)
    return {
        "dense stream": (dense, whole),
        "dense, 32 MiB again": (dense % (1 << 18), whole),
        "random lines": (random.integers(0, 2 * LINES, LINES), whole),
        "random sectors": (random.integers(0, 2 * LINES, LINES), some),
    }


def through_l2(l2: L2, line: np.ndarray, sectors: np.ndarray) -> None:
    """Read all sectors, half of them from either side."""
    n = len(line)
    side = (np.arange(n) // 32 % l2.shape.partitions).astype(np.uint8)
    words, kind = np.zeros(n, np.uint32), np.zeros(n, np.uint8)
    rank = np.ones(n, np.uint8)
    # As many as a launch runs together.
    for first in range(0, n, 16 * EPOCH):
        part = slice(first, first + 16 * EPOCH)
        l2.run(Lookups(line[part], sectors[part], words[part], kind[part], rank[part], side[part]))


def peer() -> CacheSimulator:
    """Return pycachesim's cache of the same size and ways."""
    memory = MainMemory()
    cache = Cache("L2", SIZE // 128 // WAYS, WAYS, 128, "LRU")
    memory.load_to(cache)
    memory.store_from(cache)
    return CacheSimulator(cache, memory)


def print_coalescing(engines: list[Engine]) -> None:
    """Print lanes a second of one thread, as if there were two."""
    address = np.arange(1 << 20).reshape(-1, 32)
    random = np.random.default_rng(0)
    cases = {
        "stride of 4 B": address * 4,
        "stride of 32 B": address * 32,
        "shuffled": random.permuted(address, axis=1) * 4,
        "random": random.integers(0, 1 << 30, address.shape) * 4,
    }
    print("coalescing, M lanes/s of one thread, and of two cores")
    for name, lanes in cases.items():
        for engine in engines:
            run = partial(coalesce, lanes, None, 4, False, engine)
            run()
            print(row(name, engine, address.size, best(run), "lanes"))


def print_l2(engines: list[Engine]) -> None:
    """Print sector accesses a second."""
    print("L2, M sector accesses/s by the clock, and of two cores; as pycachesim's plain cache")
    plain_shape = L2Shape(CacheShape(SIZE // 128 // WAYS, WAYS))
    for name, (line, sectors) in traces().items():
        amount = int(COUNT[sectors].sum(dtype=np.int64))
        each = (line[:, None] * 4 + np.arange(4)) * 32
        listed = each[(sectors[:, None] >> np.arange(4) & 1) > 0].tolist()
        other = partial(peer().load, listed, length=4)
        other()
        theirs = amount / best(other)[0] / 1e6
        for engine in engines:
            ours = []
            for shape in (l2_shape(SIZE, 2), plain_shape):
                run = partial(through_l2, L2(shape, engine), line, sectors)
                run()
                ours.append(best(run))
            plain = amount / ours[1][0] / 1e6
            print(
                row(name, engine, amount, ours[0], name.split()[0].strip(",")),
                f"  plain {plain:6.1f}, pycachesim {theirs:5.1f}, ratio {plain / theirs:.2f}",
            )


def print_kernels(engines: list[Engine]) -> None:
    """Print sectors a second of whole kernels."""
    print("whole kernels from the addresses on, M sectors/s by the clock, and of two cores")
    gpu = load_device("h100-sxm")
    for kernel, params in KERNELS:
        for engine in engines:
            run = partial(simulate, kernel, device=gpu, engine=engine, **params)
            amount = run().simulation.total("sectors")
            wanted = "" if kernel == "gather" else "kernel"
            print(row(kernel, engine, amount, best(run), wanted))


def print_commands() -> None:
    """Print what whole commands take [s]."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "product.cu"
        source.write_text(SOURCE)
        product = ["simulate", "gemm", "--mapping", "coalesced", "-D", "N=1024"]
        translated = ["simulate", str(source), *SOURCE_OPTIONS.split()]
        print(f"commands, s by the clock, and the processor's; wanted: under {WANTED_SECONDS:g}")
        for name, arguments in (("gemm, N=1024", product), ("the same from CUDA", translated)):
            command = [sys.executable, "-m", "perfmodel", *arguments]
            run = partial(subprocess.run, command, check=True, capture_output=True)
            run()  # which compiles, if nobody has before
            used = process_seconds()
            took = best(run, 1)[0]
            share = took / WANTED_SECONDS
            print(f"  {name:24} {took:15.1f} {process_seconds() - used:8.1f}   {share:5.2f} of it")


def process_seconds() -> float:
    """Return the processor time of commands that have ended [s]."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def main() -> None:
    """Print all numbers."""
    engines: list[Engine] = ["numba", "numpy"] if has_numba() else ["numpy"]
    print_coalescing(engines)
    print_l2(engines)
    print_kernels(engines)
    print_commands()


if __name__ == "__main__":
    main()
