"""Reads of several SMs that L2 sees as one: by what blocks share, and how many run."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfmodel.kernels import kernel_from_table
from perfmodel.models.l2.merged_reads import MERGED_READS
from perfmodel.prediction import Prediction, predict

FOLDER = Path(__file__).parents[2] / "measurements" / "l2/h200-sxm/merged-reads"
HELD = {1: 120, 2: 100, 4: 50, 8: 24}  # KiB of shared memory that let so many blocks on an SM


def tiles(
    blocks: int, share: int, held: int, work: int, count: int = 64, cache: Any = "cold"
) -> Prediction:
    """Return what is predicted of blocks of which so many neighbours read the same tiles."""
    which = "0" if share >= blocks else f"blockIdx.x // {share}"
    sets = -(-blocks // share)
    table = {
        "name": "tiles",
        "launch": {
            "grid": [blocks],
            "block": [256],
            "registers": 32,
            "shared_bytes": HELD[held] * 1024,
        },
        "buffers": {"x": {"length": sets * count * 256, "element_bytes": 16}},
        "loops": [{"variable": "t", "trips": count}],
        "barriers": [{"loop": "t", "count": 2}],
        "arithmetic": [
            {"pipe": "fma32", "count": work, "loop": "t"},
            {"pipe": "other", "count": round(0.4 * work) + 1, "loop": "t"},
        ],
        "accesses": [
            {"load": "x", "index": f"(({which})*{count} + t)*256 + threadIdx.x", "loop": "t"}
        ],
    }
    return predict(kernel_from_table(table), device="h200-sxm", cache=cache)


def merged(found: Prediction) -> float:
    """Return how many sectors come into L1 for each that L2 is asked for."""
    return float(found.details.traffic.l1_fill_sectors[0]) / found.traffic["l2_read_sectors"]


@pytest.mark.parametrize(("alike", "reads"), [(1, 1), (2, 1 / 2), (4, 1 / 4), (16, 1 / 4)])
def test_at_most_four_sms_are_answered_at_once(alike: int, reads: float) -> None:
    # limit: of reads that all meet; measured of 16 SMs of a GPC in test_of_more_sms_four_are_merged
    assert float(MERGED_READS(merged=1.0, alike=float(alike), most=4.0)) == reads
    assert float(MERGED_READS(merged=0.0, alike=float(alike), most=4.0)) == 1


def test_what_neighbours_read_alike_is_merged_and_what_others_do_is_not() -> None:
    # property: blocks one after the other are on the SMs of a GPC
    assert merged(tiles(528, 1 << 20, 4, 20)) > 3
    assert merged(tiles(528, 16, 4, 20)) > 3
    assert merged(tiles(528, 2, 4, 20)) == pytest.approx(1.9, rel=0.05)
    assert merged(tiles(528, 1, 4, 20)) == pytest.approx(1)


def test_tiles_against_counters() -> None:
    # regression: rows that the constants were chosen on; twelve of blocks that drift from each
    # other are off by most, as L1 loses what they share too
    with (FOLDER / "kept.csv").open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if (r["kernel"], r["apart"]) == ("tile", "0")]
    off = []
    for row in rows[::4]:
        found = tiles(
            *(int(row[c]) for c in ("grid_x", "share", "resident", "work", "n")), row["cache"]
        )
        counted = float(row["l1_fill_sectors"]) / float(row["l2_read_sectors"])
        off.append(np.log(merged(found) / counted))
    assert len(off) > 20
    assert np.median(np.abs(off)) < 0.15
    assert np.quantile(np.abs(off), 0.9) < 0.6


def test_a_gpu_without_a_figure_merges_nothing() -> None:
    table = {
        "name": "alike",
        "launch": {"grid": [108], "block": [256]},
        "buffers": {"x": {"length": 256}},
        "accesses": [{"load": "x", "index": "threadIdx.x"}],
    }
    assert merged(predict(kernel_from_table(table), device="a100-sxm-40")) == pytest.approx(1)
