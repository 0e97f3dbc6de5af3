"""Ranges of the closed forms: against the simulator's counts and an H200's counters."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median

import pytest

from perfmodel.calibration.against_simulator import (
    WANTED_BYTES,
    WANTED_SECTORS,
    Case,
    Comparison,
    grid,
    small_gpu,
)
from perfmodel.hardware import load_device
from perfmodel.kernels import Kernel, kernel_from_table
from perfmodel.models.ranges import Limits, ranges
from perfmodel.prediction import predict

ROOT = Path(__file__).parents[2]
EVERY = 13  # of the 2,096 launches; a divisor of none of the grid's steps


def simulated() -> list[tuple[dict[str, str], Case]]:
    """Return launches that the simulator has counted, and what they are."""
    with (ROOT / "reports" / "simulator-grid.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return list(zip(rows, grid(), strict=True))


def compared(row: dict[str, str], case: Case) -> tuple[Comparison, bool]:
    """Return both counts of a launch, and whether its prediction says that it is out of range."""
    found = predict(case.kernel, device=small_gpu(), **case.params)
    numbers = {name: float(row[name]) for name in row if name not in ("family", "params")}
    asked = ("l2_read_sectors", "l2_write_sectors", "l2_atomic_sectors")
    numbers["closed_sectors"] = sum(found.traffic[name] for name in asked)
    numbers["closed_reads"] = found.traffic["dram_read_bytes"]
    numbers["closed_writes"] = found.traffic["dram_write_bytes"]
    numbers["passes"] = case.passes
    says = any(w.startswith("outside the closed form's range") for w in found.warnings)
    return Comparison(case.family, row["params"], **numbers), says  # type: ignore[arg-type]


def test_what_differs_says_so() -> None:
    # independent: counts of the trace simulator, committed in reports/
    off = missed = fine = alarms = 0
    for row, case in simulated()[::EVERY]:
        both, says = compared(row, case)
        differs = abs(both.sector_error) > WANTED_SECTORS or abs(both.byte_error) > WANTED_BYTES
        off, missed = off + differs, missed + (differs and not says)
        fine, alarms = fine + (not differs), alarms + (says and not differs)
    assert off > 15
    assert missed <= 0.1 * off
    assert alarms <= 0.08 * fine


def test_limits_are_those_that_were_asked_for() -> None:
    found = ranges()
    assert found.limits == Limits(l2_sectors=WANTED_SECTORS, dram_bytes=WANTED_BYTES)
    assert all(entry.origin for entry in (found.reread, found.table, found.dirty, found.rewritten))


def test_a_large_product_is_within() -> None:
    found = predict("gemm", mapping="coalesced", N=4096)
    assert not any("outside" in w for w in found.warnings)


def working_set(blocks: int) -> Kernel:
    """Return a kernel that writes a set again and again, each thread its own part."""
    return kernel_from_table(
        {
            "name": "working-set",
            "parameters": {"bytes": {}, "iterations": {}},
            "launch": {"grid": blocks, "block": 1024},
            "buffers": {"x": {"length": "bytes // 16", "element_bytes": 16}},
            "loops": [
                {"variable": "r", "trips": "iterations"},
                {
                    "variable": "k",
                    "trips": f"ceil_div(bytes // 16, {blocks}*1024)",
                    "parent": "r",
                },
            ],
            "definitions": {"i": f"(k*{blocks} + blockIdx.x)*1024 + threadIdx.x"},
            "accesses": [{"store": "x", "index": "i", "loop": "k", "guard": "i < bytes // 16"}],
        }
    )


def test_sets_that_are_written_again_and_again() -> None:
    # published: the profiler's DRAM writes on an H200, 32 to 256 MiB
    with (ROOT / "measurements/suite/h200-sxm/foundation/working-set.csv").open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["kernel"] == "working-set-write"]
    errors = []
    for row in rows:
        size = int(row["bytes"])
        if row["timing"] != "profiler" or not 32 << 20 <= size <= 256 << 20:
            continue
        found = predict(
            working_set(264), device="h200-sxm", bytes=size, iterations=int(row["iterations"])
        )
        errors.append(found.traffic["dram_write_bytes"] / float(row["dram_write_bytes"]) - 1)
    assert len(errors) >= 12
    assert median(map(abs, errors)) < 0.07
    assert max(map(abs, errors)) < 0.15


def test_sets_that_fit_are_not_written_back() -> None:
    found = predict(working_set(264), device="h200-sxm", bytes=16 << 20, iterations=16)
    assert found.traffic["dram_write_bytes"] < 1e-4 * (16 << 20)  # a smooth end: no exact 0


@pytest.mark.parametrize(("kib", "held"), [(64, True), (512, False)])
def test_small_tables_come_to_each_sm_once(kib: int, held: bool) -> None:
    # by hand: 64 KiB are 2048 sectors an SM; 512 KiB do not fit an L1, and each read asks L2
    gpu = load_device("h200-sxm")
    table = kernel_from_table(
        {
            "name": "table",
            "parameters": {"n": {}, "m": {}},
            "launch": {"grid": "n // 256", "block": 256},
            "buffers": {
                "in": {"length": "m", "element_bytes": 16},
                "out": {"length": "n", "element_bytes": 16},
            },
            "definitions": {"i": "blockIdx.x*256 + threadIdx.x"},
            "accesses": [{"load": "in", "index": "i % m"}, {"store": "out", "index": "i"}],
        }
    )
    n = 1 << 22
    found = predict(table, device=gpu, n=n, m=kib * 64).traffic["l2_read_sectors"]
    assert found == pytest.approx(gpu.sm_count * kib * 32 if held else n / 2, rel=1e-9)
