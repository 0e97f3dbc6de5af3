"""How fast perfmodel is, each figure beside a peer timed in the same run.

    python benchmarks/speed.py

Configurations a second of one vectorised call beside a loop of single calls, and of one core's busy
time, which a machine that others use slows down less. Medians of repeats. Whole processes are timed
by `benchmarks.start`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

import perfmodel

CONFIGURATIONS = 1 << 18
LARGEST = 8192
SINGLE = 50
REPEATS = 3


def seconds(work: Callable[[], object], repeats: int) -> float:
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def configurations(mapping: str, multiple: int) -> tuple[float, float, float]:
    """Return configurations a second: of a vectorised call, of a core's time, of single calls.

    M, N and K are random multiples of `multiple` up to 8192. Sizes that are no whole blocks and
    lines have more cases to tell apart: guards that cut warps short, rows that start anywhere.
    """
    random = np.random.default_rng(0)
    largest = LARGEST // multiple
    sizes = {name: random.integers(1, largest + 1, CONFIGURATIONS) * multiple for name in "MNK"}
    start = time.process_time()
    many = seconds(lambda: perfmodel.predict_many("gemm", mapping=mapping, **sizes), REPEATS)
    busy = (time.process_time() - start) / (REPEATS + 1)
    rows = [{name: int(column[i]) for name, column in sizes.items()} for i in range(SINGLE)]
    single = seconds(
        lambda: [perfmodel.predict("gemm", mapping=mapping, **row) for row in rows], REPEATS
    )
    return CONFIGURATIONS / many, CONFIGURATIONS / busy, SINGLE / single


def main() -> None:
    table = Table("what", "perfmodel", "a core", "peer", "ratio", "peer is")
    for mapping in ("coalesced", "naive"):
        for multiple, sizes in ((32, "multiples of 32"), (1, "any sizes")):
            many, core, single = configurations(mapping, multiple)
            table.add_row(
                f"gemm {mapping}, {sizes}, configurations a second",
                f"{many:,.0f}",
                f"{core:,.0f}",
                f"{single:,.0f}",
                f"{many / single:,.0f}",
                "a loop of single predictions",
            )
    Console().print(table)


if __name__ == "__main__":
    main()
