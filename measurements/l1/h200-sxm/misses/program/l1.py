"""Measure what an SM's L1 does with loads that miss: python l1.py FOLDER (needs CuPy).

Writes ports.csv, requests.csv, rows.csv and batches.csv; with a second argument it only launches
some points of rows.csv once, for a profiler around it.
"""

import csv
import itertools
import sys
from pathlib import Path

import cupy
import numpy as np

MODULE = cupy.RawModule(
    code=Path(__file__).with_name("l1.cu").read_text(), options=("--std=c++17",)
)
DATA = cupy.random.random(1 << 28, dtype=cupy.float32)
OUT = cupy.zeros(4096, dtype=cupy.float32)
CLOCKS = cupy.zeros(4096, dtype=cupy.int64)
WIDTHS = (96, 100, 104, 128, 200, 256, 264, 496, 500, 504, 512, 520, 1000, 1004, 1008, 1024, 1032)


def measure(name: str, blocks: int, threads: int, *given: int) -> tuple[float, float]:
    """Return the microseconds and the median clocks of a block: medians of 5 after 2."""
    times, clocks = [], []
    for _ in range(7):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        launch(name, blocks, threads, *given)
        stop.record()
        stop.synchronize()
        times.append(1e3 * cupy.cuda.get_elapsed_time(start, stop))
        clocks.append(float(np.median(CLOCKS[:blocks].get())))
    return float(np.median(times[2:])), float(np.median(clocks[2:]))


def launch(name: str, blocks: int, threads: int, *given: int) -> None:
    """Launch a kernel of l1.cu once."""
    numbers = [np.int32(n) for n in given]
    MODULE.get_function(name)((blocks,), (threads,), (DATA, *numbers, OUT, CLOCKS))


def write(path: Path, columns: str, rows: list[tuple[object, ...]]) -> None:
    """Write a CSV."""
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns.split(), *rows])


def main(folder: Path) -> None:
    """Measure everything."""
    rows: list[tuple[object, ...]] = []
    for blocks, warps in itertools.product((1, 4, 8, 16, 33, 66, 132), (4, 8, 16, 32)):
        _, clocks = measure("port", blocks, 32 * warps, (128 << 10) // 16, 64)
        rows.append((blocks, warps, clocks, round(warps * 64 * 8 * 512 / clocks, 2)))
    write(folder / "ports.csv", "blocks warps clocks bytes_per_clock", rows)
    rows = []
    for step, warps in itertools.product((1, 2, 4, 8, 16, 32), (4, 8, 16, 32)):
        trips = 64
        _, clocks = measure("request", 1, 32 * warps, step, 32 * step * trips, 32 * step, trips)
        rows.append((step, warps, clocks, round(clocks / trips / warps, 3)))
    write(folder / "requests.csv", "lane_step warps clocks clocks_per_request", rows)
    rows = []
    for together, (blocks, threads), width in itertools.product(
        (1, 4, 8, 16), ((16, 256), (33, 256), (132, 256), (528, 256)), WIDTHS
    ):
        time, clocks = measure(f"walk_{together}", blocks, threads, width)
        rows.append((together, blocks, threads, width, round(time, 3), clocks))
    write(folder / "rows.csv", "in_flight blocks block width time_us clocks", rows)
    write(
        folder / "batches.csv",
        "level loads step_floats blocks warps trips clocks clocks_per_batch",
        batches(),
    )


def batches() -> list[tuple[object, ...]]:
    """Return the clocks of batches of loads that come from L2, warm, or from DRAM."""
    other = cupy.zeros(1 << 26, dtype=cupy.float32)
    rows: list[tuple[object, ...]] = []
    for level, loads, step, blocks, warps in itertools.product(
        ("l2", "dram"), (1, 2, 4, 8, 16), (32, 1024, 5000), (1, 16, 132), (1, 4)
    ):
        trips = min(64, 512 // loads)
        apart = 32 if step > 32 else 32 * loads * trips  # warps side by side, or a run each
        if level == "l2" and blocks * warps * loads * trips * 128 > 24 << 20:
            continue
        clocks = []
        for _ in range(6):
            if level == "dram":
                other += 1  # 256 MiB of other data: L2 holds none of ours
            given = np.int64(step), np.int64(apart), np.int32(trips)
            MODULE.get_function(f"batch_{loads}")(
                (blocks,), (32 * warps,), (DATA, *given, OUT, CLOCKS)
            )
            cupy.cuda.runtime.deviceSynchronize()
            clocks.append(float(np.median(CLOCKS[:blocks].get())))
        median = float(np.median(clocks[1:]))
        rows.append((level, loads, step, blocks, warps, trips, median, round(median / trips, 1)))
    return rows


if __name__ == "__main__":
    if len(sys.argv) > 2:
        for in_flight, wide in itertools.product((1, 4, 8, 16), (100, 264, 500, 512, 1000, 1008)):
            launch(f"walk_{in_flight}", 33, 256, wide)
        cupy.cuda.runtime.deviceSynchronize()
    else:
        main(Path(sys.argv[1]))
