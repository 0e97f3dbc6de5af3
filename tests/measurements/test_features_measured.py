"""Kernels with what users' kernels have, from their source, against what the profiler counted.

No row was fitted on, but none is blind: most of what is named here was wrong at first, and mended
after it had been measured (measurements/source-kernels/h200-sxm/features). Bands are regression
bands, where no count is exact.
"""

from __future__ import annotations

import csv
import tomllib
from functools import lru_cache
from statistics import median

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.cuda.compile.program import Program, load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.launch_file import read_launches
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.measure.seal import checksums
from perfmodel.models.l1.merged_stores import MERGED, SENT_SECTORS, after_loads
from perfmodel.prediction import Prediction

H200 = load_device("h200-sxm")
FOLDER = root() / "source-kernels/h200-sxm/features"
SOURCES = root() / "source-kernels/h200-sxm/features/program"
SESSION = tomllib.loads((FOLDER / "session.toml").read_text())
with (FOLDER / "corpus.csv").open(newline="") as file:
    ROWS = list(csv.DictReader(file))
LAUNCHES = {
    (path.stem, str(launch.kernel)): (number, launch)
    for path in sorted(SOURCES.glob("*.toml"))
    for number, launch in enumerate(read_launches(path), 1)
}
needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")

EXACT = {
    "loops": "axpy_wide<float> row_sums_unsigned lower_times_vector running_backwards "
    "volume_edges uneven_repeats one_thread_chain rows_of_sparse",
    "bits": "power_modulo network_sort<9> unpack_bits divide_wide_index dot_bytes",
    "warps": "sum_last_block warp_transpose queue_blocks queue_warps leaders_in_turn "
    "group_prefix two_roles copy_ahead",
    "places": "permute_axes move_particles move_arrays reverse_rows rotate_all convolve_row "
    "call_by_table",
    "functions": "add_halves insert_keys heat_steps nearest_means product_tiled<16> welford_rows "
    "attend_one",
    "extra": "gray_walk lu_in_shared odd_block_stencil backward_solve max_pool knapsack",
}
EVERY = [(source, kernel) for source, names in EXACT.items() for kernel in names.split()]
COUNTS = {
    "global_load_requests": ("global_load_requests",),
    "global_load_sectors": ("global_load_sectors",),
    "global_store_requests": ("global_store_requests",),
    "global_store_sectors": ("global_store_sectors",),
    "global_atomic_requests": ("global_atomic_requests", "global_reduction_requests"),
}


def measured(source: str, kernel: str, *columns: str, cache: str = "cold") -> float:
    row = next(r for r in ROWS if (r["source"], r["kernel"], r["cache"]) == (source, kernel, cache))
    return sum(float(row[column] or 0) for column in columns)


@lru_cache
def loaded(source: str) -> Program:
    return load_program(SOURCES / f"{source}.cu", "sm_90")


@lru_cache
def predicted(source: str, kernel: str, *, assume: bool = False) -> Prediction:
    _, launch = LAUNCHES[source, kernel]
    return predict(translated(loaded(source), launch, assume=assume), device="h200-sxm")


def test_it_is_sealed_and_documented() -> None:
    assert SESSION["files"] == checksums(FOLDER)
    assert set(ROWS[0]) <= set(SESSION["columns"])


def test_every_launch_has_its_rows() -> None:
    told = {(r["source"], r["kernel"], int(r["launch"]), r["cache"]) for r in ROWS}
    assert told == {
        (*key, number, cache) for key, (number, _) in LAUNCHES.items() for cache in ("cold", "warm")
    }
    assert {r["use"] for r in ROWS} == {"validation"}


@needs_nvcc
@pytest.mark.parametrize(("source", "kernel"), EVERY)
def test_requests_and_sectors_equal_the_profilers(source: str, kernel: str) -> None:
    # measured; issue 8 allows 3% where data decides. The table is filled in another order: 5%.
    traffic = predicted(source, kernel).traffic
    for name, columns in COUNTS.items():
        expected = measured(source, kernel, *columns)
        band = 0.05 if kernel == "insert_keys" else 0.03
        assert float(np.max(traffic[name])) == pytest.approx(expected, rel=band, abs=1), name


# Blocks of 200, 250, 150 and 17 x 5 x 3 threads; fields of a structure; loads beside followed ones;
# tables that several loads read; loops that go as far as an outer one has come.
@needs_nvcc
@pytest.mark.parametrize(
    ("source", "kernel", "name", "band"),
    [
        ("bits", "power_modulo", "l2_read_sectors", 0.03),
        ("loops", "uneven_repeats", "l2_read_sectors", 0.03),
        ("extra", "odd_block_stencil", "l2_read_sectors", 0.10),
        ("loops", "volume_edges", "l2_read_sectors", 0.17),
        ("places", "move_particles", "l2_read_sectors", 0.03),
        ("warps", "compact_coalesced", "l2_read_sectors", 0.05),
        ("loops", "pairs_above", "l2_read_sectors", 0.22),
        ("loops", "cholesky_small", "l2_read_sectors", 0.6),  # 56% short: parts read again
        ("functions", "nearest_means", "dram_read_bytes", 0.03),
    ],
)
def test_what_comes_from_below_is_what_was_counted(
    source: str, kernel: str, name: str, band: float
) -> None:
    found = float(np.max(predicted(source, kernel).traffic[name]))
    assert found == pytest.approx(measured(source, kernel, name), rel=band)


@needs_nvcc
def test_times_and_intervals() -> None:
    # measured, none fitted on; regression: 6% and 0.93 when this was written
    errors, inside = [], []
    for source, kernel in EVERY:
        time = measured(source, kernel, "time_us") * 1e-6
        found = predicted(source, kernel)
        errors.append(abs(found.time_s / time - 1))
        inside.append(found.interval_s[0] <= time <= found.interval_s[1])
    assert median(errors) < 0.09
    assert np.mean(inside) > 0.8


@needs_nvcc
@pytest.mark.parametrize("kernel", ["spin_lock_sum", "lookback_scan", "heap_scratch"])
def test_who_waits_in_turn_may_take_as_long_as_it_did(kernel: str) -> None:
    # measured: what is not modelled is said, and the interval holds the time
    if kernel == "heap_scratch":  # two thirds of its accesses are to memory that it allocates
        with pytest.raises(PerfmodelError, match="addresses that no buffer has"):
            predicted("rare", kernel)
    found = predicted("rare", kernel, assume=kernel == "heap_scratch")
    assert found.interval_s[1] > measured("rare", kernel, "time_us") * 1e-6
    said = any("not modelled" in w or "left out" in w for w in found.warnings)
    assert said or kernel == "spin_lock_sum"  # its lock is modelled, from hand to hand


def test_words_stored_one_by_one_merge_as_they_did() -> None:
    # measured: rows marked validation, 0.11 rms, each within a third: larger launches, which the
    # formula is of as well (measurements/instructions/h200-sxm/latency, apart), merge less than
    # these
    with (FOLDER / "apart.csv").open(newline="") as rows:
        found = [r for r in csv.DictReader(rows) if r["kernel"] == "store_apart"]
    errors = []
    for row in (r for r in found if r["use"] == "validation" and int(r["count"]) > 1):
        count, asked = int(row["count"]), float(row["global_store_sectors"])
        # 32 lanes of 4 B, `stride` words apart, in lines of 128 B
        how = after_loads(int(row["loaded"]), count, H200)
        merged = MERGED(lines=float(min(int(row["stride"]), 32)), **how)
        sent = float(np.max(SENT_SECTORS(asked=asked, merged=merged, union=1 / count)))
        errors.append(sent / float(row["l2_write_sectors"]) - 1)
    assert np.sqrt(np.mean(np.square(errors))) < 0.12
    assert max(map(abs, errors)) < 0.33
