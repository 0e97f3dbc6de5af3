"""Blocks that read the same data: where they run, against the SMs that were recorded."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels import kernel_from_table
from perfmodel.models.launch.placed_blocks import Placed, placed
from perfmodel.prediction import predict

H100 = load_device("h100-sxm")
COLUMNS = Path(__file__).parents[2] / "measurements/l1/h100-sxm/shared-columns"


def of(grid: tuple[int, ...], tells: str, held: float) -> Placed:
    """Return where blocks of a grid run that read the same, as the axes say that tell."""
    extents = tuple(np.array([float(n)]) for n in (*grid, 1, 1)[:3])
    instance: Any = SimpleNamespace(grid=extents)
    return placed(instance, lambda name: np.array(name[-1] in tells), np.full(1, float(held)), H100)


def rows(name: str) -> list[dict[str, str]]:
    with (COLUMNS / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_columns_of_an_sm_are_as_recorded() -> None:
    # measured: the SM of each block of 468 grids; nothing was fitted on them
    first, later = [], []
    for row in rows("places.csv"):
        grid, on_sm = (int(row["columns"]), int(row["rows"])), float(row["blocks_on_sm"])
        found = on_sm / of(grid, "x", on_sm).first[0]
        first.append(abs(found / float(row["first_columns"]) - 1))
        if row["later_columns"]:
            held = float(row["held"])
            found = held / of(grid, "x", held).later[0]
            later.append(abs(found / float(row["later_columns"]) - 1))
    assert np.median(first) < 0.10
    assert np.quantile(first, 0.9) < 0.18
    assert np.median(later) < 0.01
    assert np.quantile(later, 0.9) < 0.04


def test_blocks_that_share_an_sm_by_hand() -> None:
    # 4 divides the 132 SMs and the 8 by which turns differ: one column an SM
    assert of((4, 264), "x", 8).first[0] == 8
    # 8 of 8: every second of the columns
    assert of((8, 132), "x", 8).first[0] == pytest.approx(8 / (2 * (1 - 0.5**8)))
    # all of them read the same; none does; each row of 264 comes twice to an SM
    assert of((1, 1056), "x", 8).first[0] == of((1056, 1), "", 8).first[0] == 8
    assert of((1056, 1), "x", 8).first[0] == of((1056, 1), "x", 8).later[0] == 1
    assert of((264, 4), "y", 8).first[0] == 2
    # rows of few blocks change from one block of an SM to the next
    assert of((32, 33), "y", 8).first[0] == 1


def test_slabs_of_blocks_read_sets_of_their_own() -> None:
    # hand count: 4 columns of 33 rows are one slab, and an SM has one block of each slab
    assert of((4, 33, 8), "xz", 8).first[0] == 1
    # of 8 slabs of 4 columns of 66 rows, two
    assert of((4, 66, 4), "xz", 8).first[0] == 2


def column_sums(block: int, columns: int, rows_of: int, depth: int) -> Any:
    width = block * columns
    return kernel_from_table(
        {
            "name": "columns",
            "launch": {"grid": [columns, rows_of], "block": [block]},
            "buffers": {"in": {"length": width * depth, "element_bytes": 4}},
            "loops": [{"variable": "r", "trips": depth}],
            "accesses": [
                {
                    "load": "in",
                    "index": f"r*{width} + blockIdx.x*{block} + threadIdx.x",
                    "loop": "r",
                }
            ],
        }
    )


def test_shared_columns_come_once_to_an_sm_and_to_a_gpc() -> None:
    # measured: L2 reads of columns that the blocks of a column read, in one wave: without what
    # they share four to thirty times as many
    errors, every = [], []
    for row in rows("columns.csv"):
        block, columns, rows_of = (int(row[n]) for n in ("block", "columns", "rows"))
        if columns * rows_of > 132 * (2048 // block) or block == 1024 or columns > 8:
            continue
        kernel = column_sums(block, columns, rows_of, int(row["depth"]))
        found = predict(kernel, device=H100, timing="profiler", cache="cold").traffic
        measured = float(row["l2_read_sectors"])
        errors.append(abs(np.log2(found["l2_read_sectors"] / measured)))
        every.append(float(row["global_load_sectors"]) / measured)
    assert len(errors) > 50
    assert np.median(errors) < 0.7
    assert max(errors) < 1.5
    assert min(every) > 3


def test_what_all_blocks_read_comes_again_in_every_wave_that_l1_cannot_hold_it() -> None:
    # hand count: 512 rows of 1 KiB are twice what L1 holds, and an SM has 8 of the blocks at a time
    one, three = (
        predict(column_sums(256, 1, n, 512), device=H100).details.traffic.l1_fill_sectors
        for n in (1056, 3168)
    )
    assert three[0] == pytest.approx(3 * one[0], rel=1e-6)
    # half of that stays
    one, three = (
        predict(column_sums(256, 1, n, 64), device=H100).details.traffic.l1_fill_sectors
        for n in (1056, 3168)
    )
    assert three[0] == pytest.approx(one[0], rel=1e-6)
