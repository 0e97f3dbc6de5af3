"""What operators on rows fetch from DRAM; straight code
(measurements/operators/h200-sxm/stalls)."""

import csv
from itertools import pairwise

import pytest

from perfmodel.measure.folders import root
from perfmodel.prediction.predict import predict

FOLDER = root() / "operators/h200-sxm/stalls"


def counted():
    with (FOLDER / "seen.csv").open(newline="") as file:
        return {row["launch"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    "launch",
    [
        *("layernorm 16384 2048 fp32", "layernorm 32768 1024 fp32", "layernorm 4096 4096 fp32"),
        *("layernorm 131072 512 fp32", "layernorm 5000 1600 fp32"),
    ],
)
def test_rows_that_are_read_twice_do_not_outlast_a_launch(launch):
    # profiler: a block comes back to its row in L1 or L2, but no row of 32 to 268 MB is still there
    # when the next launch begins; predicted as 0 for the first and 44% less for the third before
    _, rows, cols, dtype = launch.split()
    found = predict(
        "layernorm", device="h200-sxm", cache="warm", rows=int(rows), cols=int(cols), dtype=dtype
    )
    fetched = float(counted()[launch]["dram_read_bytes"])
    assert float(found.traffic["dram_read_bytes"]) == pytest.approx(fetched, rel=0.10)


def test_straight_code_is_as_fast_as_the_cache_of_instructions_that_holds_it():
    # measured: what the session says of 32 and of 128 KiB of code (16 bytes an instruction)
    with (FOLDER / "straight.csv").open(newline="") as file:
        found = [
            (int(row["code"]) * 16, float(row["clocks_per_instruction"]))
            for row in csv.DictReader(file)
            if row["blocks_per_sm"] == row["warps"] == "1"
        ]
    assert all(clocks < 1.2 for size, clocks in found if size <= 32 << 10)
    assert all(2.3 < clocks < 2.5 for size, clocks in found if 48 << 10 <= size <= 128 << 10)
    assert all(5.5 < clocks < 5.7 for size, clocks in found if size > 128 << 10)
    assert all(a < b for (a, _), (b, _) in pairwise(found))
