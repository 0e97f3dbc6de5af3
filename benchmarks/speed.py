"""How fast perfmodel is, each figure beside a peer timed in the same run.

    python benchmarks/speed.py

The whole process of one prediction stands beside a Python that only imports NumPy, Typer and Rich;
configurations a second of one vectorised call beside a loop of single calls. Medians of repeats.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

import perfmodel

COMMAND = [sys.executable, "-m", "perfmodel", "predict", "gemm", "--mapping", "coalesced"]
IMPORTS = [sys.executable, "-c", "import numpy, typer, rich.table"]
CONFIGURATIONS = 1 << 18
SINGLE = 50


def seconds(work: Callable[[], object], repeats: int) -> float:
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def process(command: list[str]) -> float:
    return seconds(lambda: subprocess.run(command, check=True, capture_output=True), 9)


def configurations(mapping: str) -> tuple[float, float]:
    """Return configurations a second: of one vectorised call, and of a loop of single calls."""
    random = np.random.default_rng(0)
    sizes = {name: random.integers(1, 257, CONFIGURATIONS) * 32 for name in "MNK"}
    many = seconds(lambda: perfmodel.predict_many("gemm", mapping=mapping, **sizes), 3)
    rows = [{name: int(column[i]) for name, column in sizes.items()} for i in range(SINGLE)]
    single = seconds(
        lambda: [perfmodel.predict("gemm", mapping=mapping, **row) for row in rows],
        3,
    )
    return CONFIGURATIONS / many, SINGLE / single


def main() -> None:
    ours, imports = process(COMMAND), process(IMPORTS)
    table = Table("what", "perfmodel", "peer", "ratio", "peer is")
    table.add_row(
        "one prediction, whole process",
        f"{ours:.2f} s",
        f"{imports:.2f} s",
        f"{ours / imports:.2f}",
        "importing NumPy, Typer and Rich",
    )
    for mapping in ("coalesced", "naive"):
        many, single = configurations(mapping)
        table.add_row(
            f"gemm {mapping}, configurations a second",
            f"{many:,.0f}",
            f"{single:,.0f}",
            f"{many / single:,.0f}",
            "a loop of single predictions",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
