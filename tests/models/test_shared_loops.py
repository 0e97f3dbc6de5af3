"""Atomics in shared memory that are loops: of the compiler, and of sources."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.kernels.files import kernel_from_table
from perfmodel.models.requests.bank_conflicts import bank_conflicts, counted_turns
from perfmodel.models.requests.contention import counted_sharing

MEASURED = (
    Path(__file__).parents[2] / "measurements" / "atomics/h200-sxm/shared-memory" / "places.csv"
)
DEVICE = load_device("h200-sxm")
TURNS = 32
"""Atomics of a thread."""
BYTES = {"add_float": 4, "add_double": 8, "loop_float": 4, "loop_double": 8}


def clocks(op: str, pattern: str, m: int, pitch: int, warps: int, held: int) -> float:
    """Return the clocks of a block that the model says."""
    size = BYTES[op]
    index = {"own": f"threadIdx.x // {m}", "same": f"threadIdx.x % {m}"}.get(
        pattern, f"random((blockIdx.x*blockDim.x + threadIdx.x)*{TURNS} + k, {m})"
    )
    words = warps * 32 // m if pattern == "own" else m
    bytes_held = 227 * 1024 // held - 1024
    access: dict[str, Any] = {"atomic": "sums", "index": f"({index})*{pitch}", "loop": "k"}
    access["dtype"] = "float64" if size == 8 else "float32"
    if op.startswith("loop"):
        access |= {"operation": "cas-loop", "returns": True}
    kernel = kernel_from_table(
        {
            "name": "adds",
            "launch": {
                "grid": 132 * held,
                "block": 32 * warps,
                "shared_bytes": bytes_held - bytes_held % 128,
            },
            "buffers": {
                "sums": {"length": words * pitch, "element_bytes": size, "space": "shared"}
            },
            "loops": [{"variable": "k", "trips": TURNS}],
            "accesses": [access],
        }
    )
    found = predict(kernel, device=DEVICE)
    return float(np.max(found.terms_s["shared-loops"])) * DEVICE.sm_clock


def errors(pattern: str, *ops: str) -> Iterator[float]:
    with MEASURED.open(newline="") as file:
        for r in csv.DictReader(file):
            shape = (int(r["warps"]), int(r["held"]))
            few = shape in ((1, 1), (8, 1), (32, 1), (8, 8))
            some = pattern != "random" or int(r["m"]) in (4, 16, 64, 1024)
            if r["op"] in ops and r["pattern"] == pattern and few and some:
                said = clocks(r["op"], pattern, int(r["m"]), int(r["pitch"]), *shape)
                yield np.log(said / float(r["life"]))


@pytest.mark.parametrize(
    ("pattern", "ops", "typical", "worst"),
    [
        ("own", ("add_float", "add_double"), 0.05, 0.35),
        ("random", ("add_float", "add_double"), 0.12, 0.3),
        ("own", ("loop_float", "loop_double"), 0.12, 0.8),
        ("random", ("loop_float",), 0.28, 0.75),
    ],
)
def test_loops_by_where_lanes_meet(
    pattern: str, ops: tuple[str, ...], typical: float, worst: float
) -> None:
    # measured on an H200, rows that the forms were made from
    found = np.abs(list(errors(pattern, *ops)))
    assert len(found) > 10
    assert np.median(found) < typical
    assert found.max() < worst


def test_turns_of_banks_by_hand() -> None:
    # by hand: 32 lanes at 8 words of a bank, four at each; the same of 8 B, of which each half of
    # the warp has four words in a bank; and everybody at one word
    lane = np.arange(32)
    everybody = np.ones((1, 32), dtype=bool)

    def turns(words: Any, width: int) -> tuple[float, ...]:
        found = counted_turns((words * width)[None], everybody, width)
        return tuple(float(column[0]) for column in found)

    assert turns(lane // 4 * 32, 4) == (32, 8, 32)
    assert turns(lane // 4 * 32, 8) == (16, 8, 32)
    assert turns(lane * 0, 4) == (32, 1, 32)
    assert turns(lane * 0, 8)[0] == 32
    assert turns(lane, 4) == (1, 1, 1)
    assert turns(lane, 8) == (1, 2, 2)


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("m", [1, 2, 5, 16, 32, 64])
@pytest.mark.parametrize("pitch", [1, 2, 8])
def test_turns_in_closed_form(m: int, pitch: int, width: int) -> None:
    # independent: counted lane by lane
    lane = np.arange(64).reshape(2, 32)
    addresses = lane % m * pitch * width
    everybody = np.ones(addresses.shape, dtype=bool)
    counted = counted_turns(addresses, everybody, width)
    shared = counted_sharing(addresses, everybody)
    found = bank_conflicts(shared, np.full(1, 32.0), False, width)
    if m != 5:
        assert float(found.turns[0]) == float(counted.turns[0])
    assert float(found.turns[0]) == pytest.approx(float(counted.turns[0]), rel=0.2)
