"""Latencies of instructions, and how stores merge, against the H200 that they are from."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from perfmodel.cuda.sass.opcodes import latencies
from perfmodel.hardware import load_device
from perfmodel.models.l1.merged_stores import MERGED, SENT_SECTORS, after_loads
from perfmodel.models.latency.latency import BARRIER_START, BARRIER_WARP

H200 = load_device("h200-sxm")
FOLDER = Path(__file__).parents[2] / "measurements" / "instructions/h200-sxm/latency"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def chain(op: str, warps: int = 1) -> float:
    """Return the clocks of an instruction of a chain, by one warp."""
    (found,) = (
        r for r in rows("latency") if (r["op"], r["ilp"], r["warps"]) == (op, "1", str(warps))
    )
    return float(found["clocks"])


@pytest.mark.parametrize(
    ("pipe", "op"),
    [
        ("fma32", "ffma"),
        ("int32", "lop3_"),
        ("imad", "imad"),
        ("fma64", "dfma"),
        ("sfu", "ex2"),
        ("conversion", "f2i_only"),
        ("tensor16", "MMA"),
    ],
)
def test_a_pipes_latency_is_the_measured_one(pipe: str, op: str) -> None:
    assert latencies().pipe[pipe] == pytest.approx(chain(op), rel=0.07)


def test_what_lanes_do_together() -> None:
    assert latencies().pipe["shuffle"] == pytest.approx(chain("shfl_bfly"), rel=0.07)
    assert latencies().redux == pytest.approx(chain("redux_"), rel=0.07)
    assert latencies().match == pytest.approx(chain("match_"), rel=0.07)


def test_shared_memory_and_barriers() -> None:
    assert latencies().shared == pytest.approx(chain("LDS4"), rel=0.02)
    assert latencies().shared_atomic == pytest.approx(chain("ATOMS_CAS"), rel=0.05)
    for warps in (1, 2, 4, 8, 16, 32):
        clocks = BARRIER_START(H200) + BARRIER_WARP(H200) * warps
        assert clocks == pytest.approx(chain("BAR", warps), rel=0.01)


@pytest.mark.parametrize("words", [2, 3, 4])
def test_neighbouring_stores_reach_l2_together(words: int) -> None:
    for row in rows("stores"):
        key = (row["function"], row["a"], row["c"])
        if key == ("apart", str(words), "0"):
            asked = float(row["global_store_sectors"])
            # Lanes are `words` words apart: so many lines a request. A smaller launch merged more
            # of 3 words (measurements/source-kernels/h200-sxm/features, apart): 0.94 of what it
            # could, here 0.80.
            merged = MERGED(lines=words, **after_loads(0, 1, load_device("h200-sxm")))
            found = SENT_SECTORS(asked=asked, merged=merged, union=1 / words)
            assert np.max(found) == pytest.approx(float(row["l2_write_sectors"]), rel=0.12)
