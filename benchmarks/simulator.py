"""Speed of the trace simulator: coalescing, L2, and a whole kernel; and against pycachesim.

Run ``python benchmarks/simulator.py``; it needs ``pip install 'perfmodel[fast,test]'``. Each number
is the best of several runs, in millions a second. pycachesim takes one address after the other
through a plain cache of the same size; the simulator takes the same sectors through its L2, with
partitions, hashing, dirty lines and far copies.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from cachesim import Cache, CacheSimulator, MainMemory

from perfmodel.hardware import load_device
from perfmodel.prediction.simulated import simulate
from perfmodel.trace.cache import COUNT, Engine, has_numba
from perfmodel.trace.coalescer import coalesce
from perfmodel.trace.l2 import EPOCH, L2, Lookups, l2_shape

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
    side = np.arange(n) // 32 % 2
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


def main() -> None:
    """Print all numbers and the two ratios."""
    engines: list[Engine] = ["numba", "numpy"] if has_numba() else ["numpy"]
    address = np.arange(1 << 20).reshape(-1, 32)
    random = np.random.default_rng(0)
    shuffled = random.permuted(address, axis=1)
    print("coalescing, M lanes/s")
    lanes = []
    for name, lanes_of in (
        ("4 B apart", address * 4),
        ("32 B apart", address * 32),
        ("shuffled", shuffled * 4),
        ("random", random.integers(0, 1 << 30, address.shape) * 4),
    ):
        for engine in engines:
            coalesce(lanes_of[:64], None, 4, False, engine)
            rate = address.size / best(lambda: coalesce(lanes_of, None, 4, False, engine)) / 1e6
            lanes.append((name, engine, rate))
            print(f"  {name:24} {engine:6} {rate:8.1f}")
    print("L2, M sector accesses/s")
    ratios, rates = [], []
    for name, (line, sectors) in traces().items():
        amount = int(COUNT[sectors].sum())
        each = (line[:, None] * 4 + np.arange(4)) * 32
        listed = each[(sectors[:, None] >> np.arange(4) & 1) > 0].tolist()
        plain = peer()
        plain.load(listed, length=4)
        theirs = amount / best(lambda: plain.load(listed, length=4)) / 1e6
        for engine in engines:
            l2 = L2(l2_shape(SIZE, 2), engine)
            through_l2(l2, line, sectors)
            ours = amount / best(lambda: through_l2(l2, line, sectors)) / 1e6
            rates.append(ours)
            ratios.append(ours / theirs)
            print(
                f"  {name:24} {engine:6} {ours:8.1f}   pycachesim {theirs:6.1f}   "
                f"ratio {ours / theirs:.2f}"
            )
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
    print(f"slowest L2 trace over {WANTED_SECTORS:g} M/s: {min(rates) / WANTED_SECTORS:.2f}")
    print(f"slowest over pycachesim: {min(ratios):.2f}")
    print(f"4 B apart over {WANTED_LANES:g} M/s: {lanes[0][2] / WANTED_LANES:.2f}")


if __name__ == "__main__":
    main()
