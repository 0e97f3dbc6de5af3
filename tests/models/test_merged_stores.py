"""Stores of a thread one after the other: which of their sectors reach L2."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.measure.folders import root
from perfmodel.models.l1.merged_stores import MERGED, SENT_SECTORS, after_loads

with (root() / "l1/h100-sxm/narrow-stores/stores.csv").open(newline="") as file:
    ROWS = list(csv.DictReader(file))


def l2_writes(stores: list[dict[str, Any]], bytes_: int = 4) -> tuple[float, float]:
    """Return the sectors that stores of 2^20 threads send to L2, and those of their requests."""
    table: dict[str, Any] = {
        "name": "stores",
        "parameters": {},
        "launch": {"grid": [4096, 1, 1], "block": [256, 1, 1]},
        "buffers": {
            "in": {"length": 2**20, "element_bytes": bytes_},
            "out": {"length": 2**24, "element_bytes": bytes_},
        },
        "accesses": [
            {"load": "in", "name": "load", "index": "blockIdx.x * 256 + threadIdx.x"},
            *({"store": "out", "name": f"store-{n}"} | s for n, s in enumerate(stores)),
        ],
    }
    traffic = predict(kernel_from_table(table)).traffic
    return traffic["l2_write_sectors"], traffic["global_store_sectors"]


def merged(row: dict[str, str]) -> float:
    """Return the share of the sectors asked for that reaches L2, by the formula."""
    size, stores = int(row["bytes"]), int(row["stores"])
    lines = max(size * stores * 32 / 128, stores)
    union = max(1 / stores, size / 32)
    how = after_loads(int(row["loads"]), stores, load_device("h100-sxm"))
    share = MERGED(lines=lines, **how)
    return float(SENT_SECTORS(asked=1.0, merged=share, union=union))


@pytest.mark.parametrize(("loads", "most"), [(1, 0.11), (0, 0.25)])
def test_narrow_stores_merge_as_counted(loads: int, most: float) -> None:
    # measured: shares of the sectors asked for, 1 to 8 bytes, two to eight stores, 8 to 64 warps
    # of an SM; rms. At once the formula says too much merging of bytes and halves
    many = [r for r in ROWS if int(r["loads"]) == loads]
    seen = [float(r["l2_write_sectors"]) / float(r["global_store_sectors"]) for r in many]
    errors = np.array([merged(r) for r in many]) - seen
    assert len(errors) == 48
    assert np.sqrt(np.mean(np.square(errors))) < most


def test_the_stores_count_where_they_are_more_than_the_lines() -> None:
    # measured: eight stores of 2 B in 4 lines send 0.79 of their sectors, of 4 B in 8 lines 0.86
    place = "(blockIdx.x * 256 + threadIdx.x) * 8"
    stores = [{"index": f"{place} + {n}"} for n in range(8)]
    for size, share in ((2, 0.79), (4, 0.86)):
        sent, asked = l2_writes(stores, size)
        assert sent / asked == pytest.approx(share, abs=0.08)


def test_stores_to_one_address_are_of_branches_of_which_one_is_taken() -> None:
    # by hand: a compiler leaves out a store that is overwritten, so each thread makes one of two
    place = "blockIdx.x * 256 + threadIdx.x"
    branches = [
        {"index": place, "guard": f"{place} < 500000"},
        {"index": place, "guard": f"{place} >= 500000"},
    ]
    sent, asked = l2_writes(branches)
    assert sent == asked == pytest.approx(2**20 / 8, abs=1)
    # two words by either branch: those of one branch merge as they do alone
    both = [b | {"index": f"({place}) * 2 + {n}"} for n in range(2) for b in branches]
    alone = [{"index": f"({place}) * 2 + {n}"} for n in range(2)]
    assert l2_writes(both)[0] == pytest.approx(l2_writes(alone)[0], rel=1e-3)
