"""Speed of the trace simulator: coalescing, L2, and a whole kernel; and against pycachesim.

Run ``python benchmarks/simulator.py``; it needs ``pip install 'perfmodel[test]'``. Each number
is the best of several runs, in millions a second. pycachesim takes one sector after the other
through a plain cache; the simulator takes the same sectors, by lines, through the same plain cache
and through its whole L2 of that size, with partitions, hashing, dirty lines and far copies.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from cachesim import Cache, CacheSimulator, MainMemory

from perfmodel.hardware import load_device
from perfmodel.prediction.simulated import simulate
from perfmodel.trace.cache import COUNT, CacheShape, Engine, has_numba
from perfmodel.trace.coalescer import coalesce
from perfmodel.trace.l2 import EPOCH, L2, L2Shape, Lookups, l2_shape

SIZE, WAYS = 64 << 20, 16
LINES = 1 << 19
WANTED_SECTORS, WANTED_LANES = 25.0, 100.0


def best(action: Callable[[], object], times: int = 3) -> float:
    """Return the shortest of several runs [s]."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return min(found)


def traces() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return lines and sector masks: a dense stream, re-read, and random lines and sectors."""
    random = np.random.default_rng(0)
    dense = np.arange(LINES)
    whole = np.full(LINES, 15, dtype=np.uint8)
    some = random.integers(1, 16, LINES).astype(np.uint8)
    return {
        "dense stream": (dense, whole),
        "32 MiB again and again": (dense % (1 << 18), whole),
        "random lines": (random.integers(0, 2 * LINES, LINES), whole),
        "random sectors": (random.integers(0, 2 * LINES, LINES), some),
    }


def through_l2(l2: L2, line: np.ndarray, sectors: np.ndarray) -> None:
    """Read all sectors, half of them from either side."""
    n = len(line)
    side = np.arange(n) // 32 % l2.shape.partitions
    words, kind = np.zeros(n, np.uint32), np.zeros(n, np.uint8)
    rank = np.ones(n, np.uint8)
    for first in range(0, n, EPOCH):
        part = slice(first, first + EPOCH)
        l2.epoch(
            Lookups(line[part], sectors[part], words[part], kind[part], rank[part], side[part])
        )


def peer() -> CacheSimulator:
    """Return pycachesim's cache of the same size and ways."""
    memory = MainMemory()
    cache = Cache("L2", SIZE // 128 // WAYS, WAYS, 128, "LRU")
    memory.load_to(cache)
    memory.store_from(cache)
    return CacheSimulator(cache, memory)


def print_coalescing(engines: list[Engine]) -> float:
    """Print lanes a second, and return those of neighbouring lanes."""
    address = np.arange(1 << 20).reshape(-1, 32)
    random = np.random.default_rng(0)
    cases = {
        "4 B apart": address * 4,
        "32 B apart": address * 32,
        "shuffled": random.permuted(address, axis=1) * 4,
        "random": random.integers(0, 1 << 30, address.shape) * 4,
    }
    print("coalescing, M lanes/s")
    found = []
    for name, lanes in cases.items():
        for engine in engines:
            run = partial(coalesce, lanes, None, 4, False, engine)
            run()
            found.append(address.size / best(run) / 1e6)
            print(f"  {name:24} {engine:6} {found[-1]:8.1f}")
    return found[0]


def print_l2(engines: list[Engine]) -> tuple[float, float]:
    """Print sector accesses a second; return those of the slowest dense trace, and the ratio."""
    print("L2, M sector accesses/s: all of it, and as the plain cache that pycachesim is")
    plain_shape = L2Shape(CacheShape(SIZE // 128 // WAYS, WAYS))
    rates, ratios = [], []
    for name, (line, sectors) in traces().items():
        amount = int(COUNT[sectors].sum())
        each = (line[:, None] * 4 + np.arange(4)) * 32
        listed = each[(sectors[:, None] >> np.arange(4) & 1) > 0].tolist()
        other = partial(peer().load, listed, length=4)
        other()
        theirs = amount / best(other) / 1e6
        for engine in engines:
            ours = []
            for shape in (l2_shape(SIZE, 2), plain_shape):
                run = partial(through_l2, L2(shape, engine), line, sectors)
                run()
                ours.append(amount / best(run) / 1e6)
            if engine == engines[0]:
                rates.append(ours[0])
                ratios.append(ours[1] / theirs)
            print(
                f"  {name:24} {engine:6} {ours[0]:8.1f}   plain {ours[1]:8.1f}   "
                f"pycachesim {theirs:6.1f}   ratio {ours[1] / theirs:.2f}"
            )
    return min(rates[:2]), min(ratios)


def main() -> None:
    """Print all numbers, and the three that have a target."""
    engines: list[Engine] = ["numba", "numpy"] if has_numba() else ["numpy"]
    lanes = print_coalescing(engines)
    sectors, ratio = print_l2(engines)
    print("whole kernels, M sectors/s from the addresses on")
    gpu = load_device("h100-sxm")
    for kernel, mapping, params in (
        ("copy", None, {"bytes": 128 << 20}),
        ("strided-copy", None, {"n": 1 << 22, "stride": 3}),
        ("gemm", "coalesced", {"N": 512}),
    ):
        for engine in engines:
            run = simulate(kernel, mapping=mapping, device=gpu, engine=engine, **params).simulation
            rate = run.total("sectors") / run.seconds / 1e6
            print(f"  {kernel:24} {engine:6} {rate:8.1f}")
    print(f"L2, slowest dense trace, over {WANTED_SECTORS:g} M/s: {sectors / WANTED_SECTORS:.2f}")
    print(f"the same trace over pycachesim, slowest: {ratio:.2f}")
    print(f"lanes 4 B apart over {WANTED_LANES:g} M/s: {lanes / WANTED_LANES:.2f}")


if __name__ == "__main__":
    main()
