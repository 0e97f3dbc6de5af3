"""Local memory, copies past registers and matrix loads, from source, against what was counted.

Expected values are the profiler's of an H200. Requests and sectors were fitted on by nothing; two
coefficients of `perfmodel.models.l1.local_memory` were, to DRAM bytes and L1 hits of `local.cu`.
"""

from __future__ import annotations

import csv
import json
import tomllib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

from perfmodel import predict
from perfmodel.cuda.compile.program import Program, resources
from perfmodel.cuda.compile.to_ptx import compile_ptx
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec, Scalar
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.measure.seal import checksums
from perfmodel.prediction import Prediction

ROOT = Path(__file__).parents[2] / "measurements"
FOLDER = ROOT / "source-kernels/h200-sxm/copies"
with (FOLDER / "counters.csv").open(newline="") as file:
    ROWS = list(csv.DictReader(file))

SLOW = {"words_512"}  # minutes in all, and no other mechanism than words_128

needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")


class Case(NamedTuple):
    row: dict[str, str]
    prediction: Prediction

    def measured(self, column: str) -> float:
        return float(self.row[column])


def sizes(text: str) -> tuple[int, int, int]:
    x, y, z = (int(n) for n in text.split("x"))
    return x, y, z


@lru_cache
def program(source: str) -> Program:
    compiled = compile_ptx(
        ROOT / "source-kernels/h200-sxm/copies/program" / f"{source}.cu", "sm_90a"
    )
    module = parse_ptx(compiled.ptx)
    made = resources(module, compiled.ptx, "sm_90a")
    for row in ROWS:
        if row["source"] == source:
            name = row["kernel"]
            made[name] = replace(made[name], registers=int(row["registers"]))
    return Program(source, module, "", "sm_90a", None, made, {})


@lru_cache
def cases(source: str) -> tuple[Case, ...]:
    found = []
    for row in (r for r in ROWS if r["source"] == source and r["kernel"] not in SLOW):
        grid, block = (sizes(row[key]) for key in ("grid", "block"))
        given = json.loads(row["arguments"])
        named = {k: Buffer(v) if v == 256 << 20 else Scalar(v) for k, v in given.items()}
        spec = LaunchSpec(grid, block, kernel=row["kernel"], named=named)
        found.append(Case(row, predict(translated(program(source), spec), device="h200-sxm")))
    assert found
    return tuple(found)


def test_the_folder_is_sealed() -> None:
    session = tomllib.loads((FOLDER / "session.toml").read_text())
    assert session["files"] == checksums(FOLDER)
    assert len(ROWS) == 44


@needs_nvcc
@pytest.mark.parametrize("kind", ["load", "store"])
def test_local_requests_and_sectors_equal_the_profilers(kind: str) -> None:
    for case in cases("local"):
        # lanes that read words which data decides: at random here, nearly so there
        exact = case.row["kernel"] != "words_and_stream"
        for what in ("requests", "sectors"):
            column = f"local_{kind}_{what}"
            expected = pytest.approx(case.measured(column), rel=1e-9 if exact else 0.02)
            assert case.prediction.traffic[column] == expected, case.row["kernel"]


@needs_nvcc
def test_local_stores_are_written_through_to_l2() -> None:
    for case in cases("local"):
        if case.row["kernel"] != "bytes_64":  # L1 joins some stores of single bytes
            assert case.prediction.traffic["l2_write_sectors"] == pytest.approx(
                case.measured("l2_write_sectors"), rel=0.01
            ), case.row["kernel"]


@needs_nvcc
def test_local_memory_beyond_the_caches() -> None:
    # regression of what was fitted: where the resident threads' arrays are beyond L1 and L2
    for case in cases("local"):
        if case.measured("l2_read_sectors") > 2e7:
            traffic = case.prediction.traffic
            for column in ("l2_read_sectors", "dram_read_bytes", "dram_write_bytes"):
                rel = 0.35 if column == "dram_read_bytes" else 0.15
                assert traffic[column] == pytest.approx(case.measured(column), rel=rel), (
                    case.row["kernel"],
                    column,
                )


@needs_nvcc
def test_local_memory_is_shown_as_local() -> None:
    kernel = cases("local")[0].prediction.details.instance.kernel
    assert {b.name: b.space for b in kernel.buffers}["local-memory"] == "local"
    assert cases("local")[0].prediction.traffic["global_load_requests"] == 0


@needs_nvcc
def test_copies_past_registers_count_exactly() -> None:
    for case in cases("copies"):
        traffic, name = case.prediction.traffic, case.row["kernel"]
        assert traffic["l2_read_sectors"] == pytest.approx(
            case.measured("l2_read_sectors"), rel=1e-3
        ) or name in ("async_again", "matrix_store"), name
        bulk = case.measured("bulk_load_sectors")
        asked = bulk or case.measured("global_load_sectors")
        requests = case.measured("bulk_loads") or case.measured("global_load_requests")
        if name == "tensor_copy":
            requests = 16384  # one each; the profiler counts those that fetch the tensor map too
        # Strided pieces of 16 B past L1: the profiler's count before L1 is half of what L2 sees.
        if not (name == "async_16_past" and case.measured("l2_read_sectors") != asked):
            assert traffic["global_load_sectors"] == pytest.approx(asked), name
        assert traffic["global_load_requests"] == pytest.approx(requests), name
        written = case.measured("bulk_store_sectors") or case.measured("global_store_sectors")
        assert traffic["global_store_sectors"] == pytest.approx(written), name
        assert traffic["global_atomic_requests"] == case.measured("reduction_requests"), name
        assert traffic["l2_atomic_sectors"] == case.measured("reduction_sectors"), name


@needs_nvcc
def test_matrix_loads_conflict_as_counted() -> None:
    checked = 0
    for case in cases("copies"):
        loads = case.measured("matrix_loads")
        if not loads:
            continue
        details = case.prediction.details
        (shared,) = {
            float(r.data_wavefronts.max() / r.requests.max())
            for r in details.on_chip
            if r.access.kind == "load" and r.access.loop is not None
        }
        assert case.measured("shared_load_wavefronts") / loads == pytest.approx(shared, rel=0.02)
        checked += 1
    assert checked == 8


@needs_nvcc
def test_tensor_copies_say_what_they_assume() -> None:
    (case,) = (c for c in cases("copies") if c.row["kernel"] == "tensor_copy")
    assert "boxes of tensor copies are not in PTX" in " ".join(case.prediction.warnings)


@needs_nvcc
def test_times() -> None:
    # regression; the clock's figures are nowhere fitted, but for DRAM bytes of local memory
    ratios = sorted(
        c.prediction.time_s * 1e6 / c.measured("time_us")
        for source in ("local", "copies")
        for c in cases(source)
    )
    errors = sorted(abs(r - 1) for r in ratios)
    assert errors[len(errors) // 2] < 0.25
