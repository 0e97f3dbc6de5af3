"""Loops that come back to a block's data: what is touched, counted by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from perfmodel.kernels import kernel_from_table
from perfmodel.prediction import Prediction, predict

WAYS = Path(__file__).parents[2] / "measurements" / "instructions/h200-sxm/straight-code"
WIDTH = 132 * 256 * 4  # bytes of a row: a float a thread, one block an SM


def columns(
    rows: int, *, first: str = "load", back: bool = True, blocks: int = 132, element: int = 4
) -> Prediction:
    """Return what is predicted of columns that are gone through twice."""
    there, again = "k*n + {}", "(rows - 1 - k2)*n + {}" if back else "k2*n + {}"
    place = "blockIdx.x*256 + threadIdx.x"
    table = {
        "name": "columns",
        "parameters": {"rows": rows, "n": blocks * 256},
        "launch": {"grid": [blocks], "block": [256]},
        "buffers": {"x": {"length": "rows*n", "element_bytes": element}},
        "loops": [{"variable": "k", "trips": "rows"}, {"variable": "k2", "trips": "rows"}],
        "accesses": [
            {first: "x", "name": "there", "index": there.format(place), "loop": "k"},
            {"load": "x", "name": "again", "index": again.format(place), "loop": "k2"},
        ],
    }
    return predict(kernel_from_table(table), device="h200-sxm")


@pytest.mark.parametrize("back", [True, False])
def test_what_a_cache_holds_is_brought_once(back: bool) -> None:
    # 64 rows are 64 KiB an SM: in L1 from the first loop on, whichever end the second begins at
    found = columns(64, back=back).traffic
    assert found["dram_read_bytes"] == pytest.approx(64 * WIDTH, rel=1e-3)
    assert found["l2_read_sectors"] == pytest.approx(64 * WIDTH / 32, rel=1e-3)


def test_what_was_written_is_not_read_from_dram() -> None:
    assert columns(64, first="store").traffic["dram_read_bytes"] == 0


def test_second_ways_against_counters() -> None:
    # measured: H200, what the second way asks of L2 and of DRAM; only reads were fitted on
    with (WAYS / "ways.csv").open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["use"] == "validation"]
    assert len(rows) > 150
    off = []
    for row in rows[::3]:
        element = 8 if "doubles" in row["kernel"] else 4
        count, blocks = int(row["rows"]), int(row["blocks"])
        found = columns(
            count,
            first="store" if "write" in row["kernel"] else "load",
            back="back" in row["kernel"],
            blocks=blocks,
            element=element,
        ).traffic
        data = count * blocks * 256 * element
        off += [
            float(found["l2_read_sectors"] - int(row["l2_read_sectors"])) * 32 / data,
            float(found["dram_read_bytes"] - int(row["dram_read_bytes"])) / data,
        ]
    # the worst are at L2's knee, where half a share hangs on a tenth of the data
    assert np.sqrt(np.mean(np.square(off))) < 0.06
    assert np.quantile(np.abs(off), 0.95) < 0.12


def test_ways_that_begin_a_few_iterations_apart_are_the_same() -> None:
    # a sweep down that starts at row 1, and one back up that starts below the last row: all but
    # one of 511 rows are read again, and 33 MB of them are in L2
    table = {
        "name": "sweeps",
        "launch": {"grid": [132], "block": [256]},
        "buffers": {"x": {"length": 512 * 132 * 256, "element_bytes": 2}},
        "loops": [{"variable": "k", "trips": 511}, {"variable": "k2", "trips": 511}],
        "accesses": [
            {
                "store": "x",
                "index": "(k + 1)*33792 + blockIdx.x*256 + threadIdx.x",
                "loop": "k",
            },
            {
                "load": "x",
                "index": "(510 - k2)*33792 + blockIdx.x*256 + threadIdx.x",
                "loop": "k2",
            },
        ],
    }
    found = predict(kernel_from_table(table), device="h200-sxm").traffic
    assert float(found["dram_read_bytes"]) < 0.02 * 512 * 132 * 256 * 2


def test_rows_read_twice_by_unequal_turns_come_once() -> None:
    # rows of 1000 floats, 256 threads: a guarded turn each, then all of it again; 4000 B a block
    place = "blockIdx.x*1000 + threadIdx.x + 256*{}"
    table = {
        "name": "rows",
        "launch": {"grid": [512], "block": [256]},
        "buffers": {"x": {"length": 512 * 1000, "element_bytes": 4}},
        "loops": [{"variable": k, "trips": 4} for k in ("k", "k2")],
        "accesses": [
            {
                "load": "x",
                "name": f"x-{k}",
                "index": place.format(k),
                "guard": f"{k} < (1255 - threadIdx.x) // 256",
                "loop": k,
            }
            for k in ("k", "k2")
        ],
    }
    found = predict(kernel_from_table(table), device="h200-sxm").traffic
    assert float(found["l2_read_sectors"]) == pytest.approx(512 * 1000 * 4 / 32, rel=0.01)


def test_a_window_that_slides_on_after_what_was_left_of_its_loop() -> None:
    # By hand: the first loop reads x to x + 3, the second x + 3 to x + 10: no byte comes twice, and
    # blocks share the few that stick out. 65 MB with what is written: twice as much where each
    # loop brought its own.
    place = "blockIdx.x*256 + threadIdx.x"
    table = {
        "name": "window",
        "launch": {"grid": [32768], "block": [256]},
        "buffers": {"x": {"length": 32768 * 256 + 16}, "y": {"length": 32768 * 256}},
        "loops": [{"variable": "k", "trips": 3}, {"variable": "j", "trips": 8}],
        "accesses": [
            {"load": "x", "index": f"{place} + k", "loop": "k"},
            {"load": "x", "name": "on", "index": f"{place} + 3 + j", "loop": "j"},
            {"store": "y", "index": place},
        ],
    }
    found = predict(kernel_from_table(table), device="h200-sxm").traffic
    assert found["dram_read_bytes"] == pytest.approx(32768 * 1024, rel=0.03)


def rows_twice(**launch: int) -> Prediction:
    """Return what is predicted of rows that are read twice, with weights read beside."""
    table = {
        "name": "rows",
        "parameters": {"n": 4096, "rows": 16384, "turns": launch["turns"]},
        "launch": {"grid": ["rows // turns"], "block": [128]},
        "buffers": {
            "x": {"length": "rows*n", "element_bytes": 2},
            "w": {"length": "n", "element_bytes": 8},
        },
        "loops": [
            {"variable": "turn", "trips": "turns"},
            {"variable": "k", "trips": "n // 1024", "parent": "turn"},
            {"variable": "k2", "trips": "n // 1024", "parent": "turn"},
        ],
        "accesses": [
            {
                "load": "x",
                "name": "there",
                "index": "(blockIdx.x + turn*gridDim.x)*n + k*1024 + threadIdx.x*8",
                "vector": 8,
                "loop": "k",
            },
            {
                "load": "w",
                "name": "weights",
                "index": "k2*1024 + threadIdx.x*8",
                "vector": 2,
                "loop": "k2",
            },
            {
                "load": "x",
                "name": "again",
                "index": "(blockIdx.x + turn*gridDim.x)*n + k2*1024 + threadIdx.x*8",
                "vector": 8,
                "loop": "k2",
            },
        ],
    }
    return predict(kernel_from_table(table), device="h100-sxm", cache="cold")


@pytest.mark.parametrize("turns", [1, 16])
def test_weights_are_there_once_and_rows_come_back_in_their_turn(turns: int) -> None:
    # by hand: 16 blocks of an SM hold rows of 8 KiB, 17 MB of all SMs, and weights that are common;
    # of a block's 16 rows only the last two ways through one follow each other
    found = rows_twice(turns=turns).traffic["dram_read_bytes"]
    assert found == pytest.approx(16384 * 4096 * 2, rel=0.02)


def in_place(rows: int, *, into: str) -> dict[str, float]:
    """Return the traffic of blocks that read rows, write them changed, and read both again."""
    table = {
        "name": "again",
        "parameters": {"n": rows},
        "launch": {"grid": [16 * 132], "block": [256]},
        "buffers": {x: {"length": "2112*n*256", "element_bytes": 4} for x in ("x", "y")},
        "loops": [{"variable": "k", "trips": "n"}, {"variable": "j", "trips": "n"}],
        "accesses": [
            {"load": "x", "name": "first", "index": PLACE.format("k"), "loop": "k"},
            {"store": into, "name": "changed", "index": PLACE.format("k"), "loop": "k"},
            {"load": into, "name": "second", "index": PLACE.format("j"), "loop": "j"},
        ],
    }
    return dict(predict(kernel_from_table(table), device="h100-sxm").traffic)


PLACE = "(blockIdx.x*n + {})*256 + threadIdx.x"


def test_data_that_is_changed_in_place_takes_its_room_once() -> None:
    # by hand: 8 blocks of 132 SMs touch 32 KiB each, 34.6 MB of 52 MB of L2, where it is found
    # again; with the changed data in another buffer 69 MB, of which L2 has lost all by then
    data = 2112 * 32 * 256 * 4
    assert in_place(32, into="x")["dram_read_bytes"] == pytest.approx(data, rel=0.01)
    assert in_place(32, into="y")["dram_read_bytes"] == pytest.approx(2 * data, rel=0.05)
