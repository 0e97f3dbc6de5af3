"""Sectors stored in part, constants read for the first time, loads beside arithmetic: an H200's."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from perfmodel import Prediction, predict
from perfmodel.cuda.compile.program import Program, load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.launch_file import launch_from_table

pytestmark = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")

ROOT = Path(__file__).parents[2] / "measurements"


@lru_cache(maxsize=3)
def program(name: str) -> Program:
    return load_program(ROOT / "l1/h200-sxm/overlaps/program" / f"{name}.cu")


def rows(name: str, **wanted: str) -> list[dict[str, str]]:
    with (ROOT / "l1/h200-sxm/overlaps" / f"{name}.csv").open(newline="") as file:
        return [r for r in csv.DictReader(file) if all(r[k] == v for k, v in wanted.items())]


def predicted(
    name: str, kernel: str, blocks: int, threads: int, numbers: list[int], buffers: int, cache: str
) -> Prediction:
    """Return the prediction of a kernel whose parameters are buffers, then numbers."""
    given = [{"bytes": 1 << 28 if name == "stores" else 1 << 24}] * buffers + numbers
    arguments = {f"param_{i}": value for i, value in enumerate(given)}
    table = {"kernel": kernel, "grid": blocks, "block": threads, "arguments": arguments}
    return predict(
        translated(program(name), launch_from_table(table, "here")),
        device="h200-sxm",
        cache=cache,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("function", ["every_float", "every_double"])
def test_sectors_that_strides_leave_in_part_are_read(function: str) -> None:
    # measured: of 25 to 130 MB; of dense floats nothing
    seen = [r for r in rows("stores", function=function) if r["blocks"] == "16384"]
    assert len(seen) >= 4
    for row in seen:
        p = predicted(
            *("stores", f"every<{function.partition('_')[2]}>", 16384, 256),
            *([int(row["n"]), int(row["step"])], 1, "cold"),
        )
        read = float(np.max(p.traffic["dram_read_bytes"]))
        assert read == pytest.approx(float(row["dram_read_bytes"]), rel=0.06, abs=1e5)
        if int(row["step"]) * (8 if function == "every_double" else 4) <= 40:
            assert p.time_s * 1e6 == pytest.approx(float(row["time_us"]), rel=0.13)


# Sixteen places 4 KiB apart may meet in a slice as they did here, or not: within half.
@pytest.mark.parametrize(
    ("use", "middle", "most"), [("fit", 0.07, 0.10), ("validation", 0.10, 0.41)]
)
def test_stores_to_few_places_take_turns(use: str, middle: float, most: float) -> None:
    # measured: 1056 to 75008 stores to 1 to 256 places; 45 to 84% under if nothing is said of them
    off = []
    for row in [r for r in rows("stores", use=use) if r["function"].startswith("flags")]:
        reading = row["function"] == "flags_reading"
        numbers = [int(row[name]) for name in ("places", "apart")]
        numbers += [] if reading else [int(row[name]) for name in ("times", "lanes")]
        p = predicted(
            *("stores", row["function"], int(row["blocks"]), int(row["threads"])),
            *(numbers, 1 + reading, "cold"),
        )
        off.append(abs(p.time_s * 1e6 / float(row["time_us"]) - 1))
    assert len(off) == (6 if use == "fit" else 11)
    assert np.median(off) < middle
    assert np.max(off) < most


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_constants_are_fetched_once(cache: str) -> None:
    # measured: walks of 16 to 4096 words beside each other; the clocks of a fetch were taken from
    # others, 64 and 256 B apart, of which a prediction takes the words to be beside each other
    seen = rows("first_time", function="constants", step="1", cache=cache)
    assert len(seen) == 12
    for row in seen:
        p = predicted(
            *("first_time", "constants", int(row["blocks"]), int(row["threads"])),
            *([int(row["length"]), 1], 1, cache),
        )
        assert p.time_s * 1e6 == pytest.approx(float(row["time_us"]), rel=0.12)


def test_loads_from_shared_memory_run_beside_arithmetic() -> None:
    # measured: 4 and 8 loads at once beside 1 to 8 multiply-adds each, 16 to 64 warps an SM
    off = []
    for row in rows("overlaps", loads="shared", use="fit"):
        side = int(row["warps"]) // 8
        together = int(row["together"])
        numbers = [2000 // together // side * 4]
        kernel = f"front<0, {row['products']}, {together}>"
        p = predicted("overlaps", kernel, 132 * side, 256, numbers, 2, "warm")
        off.append(np.log(p.time_s * 1e6 / float(row["time_us"])))
    assert len(off) == 18
    assert np.sqrt(np.mean(np.square(off))) < 0.045
    assert np.max(np.abs(off)) < 0.10
