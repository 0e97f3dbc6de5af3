"""Kernels of half a of corpus blind14, as an H100 ran them: mechanisms made before or without them.

No row was fitted. What places ahead of a thread's own do was modelled before it was measured; that
a loop which only counts waits for nobody was seen here.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from perfmodel import Prediction, predict
from perfmodel.cuda.compile.program import load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.launch_file import read_launches

MEASURED = Path(__file__).parents[2] / "measurements"
pytestmark = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")


def both(source: str, number: int) -> tuple[Prediction, dict[str, str]]:
    """Return what is predicted of a launch, and what was measured."""
    path = MEASURED / "source-kernels/h100-sxm/corpus-blind14/program" / f"{source}.cu"
    with (MEASURED / "source-kernels/h100-sxm/corpus-blind14" / "corpus.csv").open(
        newline=""
    ) as file:
        row = next(
            r
            for r in csv.DictReader(file)
            if (r["source"], r["launch"], r["timing"]) == (source, str(number), "profiler")
        )
    chosen = read_launches(path.with_suffix(".toml"))[number - 1]
    return predict(translated(load_program(path), chosen), device="h100-sxm"), row


def test_places_up_to_16_kib_ahead_are_read_once() -> None:
    found, row = both("lists", 1)  # 123.5 us for 114.4
    assert found.time_s * 1e6 == pytest.approx(float(row["time_us"]), rel=0.082)
    for name, within in (("dram_read_bytes", 0.01), ("l2_read_sectors", 0.06)):
        assert found.traffic[name] == pytest.approx(float(row[name]), rel=within)


def test_counters_of_a_long_loop_are_all_raised() -> None:
    found, row = both("counts", 5)
    assert found.time_s * 1e6 == pytest.approx(float(row["time_us"]), rel=0.05)
    assert found.traffic["l2_atomic_sectors"] == pytest.approx(
        float(row["l2_atomic_sectors"]), rel=0.01
    )
