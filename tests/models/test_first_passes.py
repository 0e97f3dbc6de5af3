"""First passes: which batches of nested loops ask for what no earlier pass has brought."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels import kernel_from_table
from perfmodel.prediction import Prediction, predict


def nested(index: str, outer: int = 16, inner: int = 64, length: int = 1 << 24) -> Prediction:
    """Predict blocks of 128 threads that read in a loop within a loop."""
    table = {
        "name": "nested",
        "loads_in_flight": 1,
        "paces": [{"clocks": 20, "loop": "d"}],
        "launch": {"grid": [264], "block": [128]},
        "buffers": {"x": {"length": length}, "y": {"length": 264 * 128}},
        "loops": [
            {"variable": "c", "trips": outer},
            {"variable": "d", "trips": inner, "parent": "c"},
        ],
        "accesses": [
            {"load": "x", "index": index, "loop": "d"},
            {"store": "y", "index": "blockIdx.x*128 + threadIdx.x"},
        ],
    }
    return predict(kernel_from_table(table), device=load_device("h200-sxm"))


def share(found: Prediction) -> float:
    (batch,) = (b for b in found.details.time.chain.batches if b.loop == "d")
    return float(np.max(batch.first_time))


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        # By hand: passes over the same data; the first of 16.
        ("(d*264 + blockIdx.x)*128 + threadIdx.x", 1 / 16),
        # Data of their own: each is a first one.
        ("((c*64 + d)*264 + blockIdx.x)*128 + threadIdx.x", 1.0),
        # Columns one float apart, of rows 16 floats long: eight of them share a sector.
        ("((d*264 + blockIdx.x)*128 + threadIdx.x)*16 + c", 1 / 8),
        # Rows 17 floats long: in each pass some lanes come to a new sector.
        ("((d*264 + blockIdx.x)*128 + threadIdx.x)*17 + c", 1.0),
    ],
)
def test_shares_of_passes_by_hand(index: str, expected: float) -> None:
    assert share(nested(index, inner=4, length=1 << 26)) == pytest.approx(expected)


def test_what_l1_does_not_hold_is_waited_for_again() -> None:
    # 1000 turns of 128 floats a block, two blocks an SM, are four times L1.
    assert share(nested("(d*264 + blockIdx.x)*128 + threadIdx.x", inner=1000, length=1 << 26)) == 1


def test_the_first_of_the_waits_is_as_long_as_without_passes() -> None:
    again = nested("(d*264 + blockIdx.x)*128 + threadIdx.x").details.time.chain
    once = nested("(d*264 + blockIdx.x)*128 + threadIdx.x", outer=1).details.time.chain
    assert again.slowest == pytest.approx(once.slowest, rel=0.1)
    assert again.loads < 4 * once.loads  # of 16 passes, 15 find their data in L1
