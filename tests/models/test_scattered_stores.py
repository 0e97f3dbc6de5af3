"""Stores at random places: what DRAM reads and writes for them, and how long that takes.

Expected values: the profiler's counts and times
(measurements/dram/h200-sxm/scattered/counters.csv). Rows marked fit decided the shares and waits in
`scattered_stores`, the others did not.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from perfmodel import Prediction, predict
from perfmodel.kernels.files import parse_kernel

FOLDER = Path(__file__).parents[2] / "measurements" / "dram/h200-sxm/scattered"
SCATTER = """
name = "scatter"
guard = "i < places*run"

[parameters]
places = { default = 1 }
run = { default = 1 }
array_bytes = { default = 4096 }

[launch]
grid = "ceil_div(places*run, 256)"
block = 256
registers = 16

[definitions]
i = "blockIdx.x*blockDim.x + threadIdx.x"

[buffers]
out = { length = "array_bytes // 4", element_bytes = 4 }

[[accesses]]
store = "out"
index = "random(i // run, array_bytes // 4 // run)*run + i % run"

[[arithmetic]]
pipe = "other"
count = 40
"""
MIB = 1 << 20


def scatter(places: int, run: int, array_bytes: int) -> Prediction:
    return predict(
        parse_kernel(SCATTER),
        device="h200-sxm",
        places=places,
        run=run,
        array_bytes=array_bytes,
        timing="profiler",
        cache="cold",
    )


def rows(use: str) -> list[dict[str, str]]:
    with (FOLDER / "counters.csv").open(newline="") as file:
        return [
            r for r in csv.DictReader(file) if r["function"] == "random_places" and r["use"] == use
        ]


@pytest.mark.parametrize(("use", "middle", "most"), [("fit", 0.1, 0.25), ("validation", 0.12, 0.3)])
def test_times_and_fills_of_random_places(use: str, middle: float, most: float) -> None:
    times, fills = [], []
    for r in rows(use):
        p = scatter(int(r["places"]), int(r["words"]), int(r["array_bytes"]))
        times.append(abs(np.log(p.time_s * 1e6 / float(r["time_us"]))))
        read = float(r["dram_read_bytes"])
        if read > 10e6:
            fills.append(abs(np.log(float(np.max(p.traffic["dram_read_bytes"])) / read)))
    assert len(times) > 20
    assert np.median(times) < middle
    assert np.quantile(times, 0.9) < most
    assert np.median(fills) < 0.1
    assert np.quantile(fills, 0.9) < 0.25


def test_words_move_64_bytes_of_a_large_array() -> None:
    # Published nowhere: the limit of the counted rows, a sector read and written for each word.
    p = scatter(1 << 22, 1, 16 << 30)
    assert np.max(p.traffic["dram_read_bytes"]) == pytest.approx(32 * 2**22, rel=0.05)
    assert np.max(p.traffic["dram_write_bytes"]) == pytest.approx(32 * 2**22, rel=0.05)


def test_small_arrays_stay_in_l2_in_part() -> None:
    # Counted: 3.6 kB read of DRAM for a million stores to 2 MiB, whose lines are 1/30 of L2's.
    assert np.max(scatter(1 << 20, 1, 2 * MIB).traffic["dram_read_bytes"]) < 1e5


def test_whole_lines_are_not_read() -> None:
    # Property: what is stored whole needs nothing of DRAM.
    assert np.max(scatter(1 << 18, 32, 512 * MIB).traffic["dram_read_bytes"]) == 0
