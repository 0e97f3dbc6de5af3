"""Matrix products on a GPU that we have no measurement of: published throughput."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from perfmodel.prediction import predict

DATA = Path(__file__).parents[1] / "published" / "gemm" / "rtx-a6000.csv"


def cases() -> list[tuple[str, int, float]]:
    with DATA.open(newline="") as file:
        return [(r["mapping"], int(r["n"]), float(r["gflop_per_s"])) for r in csv.DictReader(file)]


@pytest.mark.parametrize(("mapping", "n", "gflop_per_s"), cases())
def test_published_throughput(mapping: str, n: int, gflop_per_s: float) -> None:
    # published: siboehm/SGEMM_CUDA, see README.md beside the data; nothing was fitted on it.
    # Reached: naive -7% to -1%; coalesced -21% at 256 (a launch of 25 us), else -7% to +3%
    found = predict("gemm", mapping=mapping, device="rtx-a6000", N=n, timing="events", cache="warm")
    error = found.roofline.flop_per_s / (gflop_per_s * 1e9) - 1
    print(f"{mapping:10}{n:6}  published {gflop_per_s:7.1f} GFLOP/s  error {error:+.1%}")
    assert abs(error) < (0.25 if n == 256 else 0.15)
