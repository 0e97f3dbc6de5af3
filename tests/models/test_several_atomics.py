"""Atomics beside one another and beside loads (measurements/atomics/h200-sxm/streams)."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from perfmodel import Prediction, predict
from perfmodel.hardware import load_device
from perfmodel.models.power_mean import power_mean
from perfmodel.models.time.atomic_terms import ATOMICS_OVERLAP

FOLDER = Path(__file__).parents[2] / "measurements" / "atomics/h200-sxm/streams"
FLOOR = 5.38
"""An empty kernel between events [us]: tails.csv."""
PROFILED = 2.4
"""What the profiler sees of a launch that does next to nothing [us]."""

BUFFER = """
[buffers.{name}]
length = "(words - 1)*spacing + 1"
element_bytes = {width}
"""
ATOMIC = """
[[accesses]]
atomic = "{name}"
index = "random(blockIdx.x*blockDim.x + threadIdx.x, words)*spacing"
dtype = "{dtype}"
"""
KERNEL = """
name = "beside"
summary = "additions of a thread to some arrays, at the same hashed place of each"
guard = "blockIdx.x*blockDim.x + threadIdx.x < n"

[parameters]
n = {{ default = 1048576, summary = "threads", maximum = 2147483648 }}
words = {{ default = 64, summary = "of each array", maximum = 4294967296 }}
spacing = {{ default = 1, summary = "words from one to the next", maximum = 65536 }}

[launch]
grid = "ceil_div(n, 256)"
block = 256
registers = 16
"""
ARRAYS = {"a": ("uint32", 4), "b": ("uint32", 4), "c": ("uint64", 8), "d": ("float32", 4)}


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="") as file:
        return list(csv.DictReader(file))


def predicted(folder: Path, arrays: str, **params: int) -> Prediction:
    text = KERNEL.format()
    text += "".join(BUFFER.format(name=x, width=ARRAYS[x][1]) for x in arrays)
    text += "".join(ATOMIC.format(name=x, dtype=ARRAYS[x][0]) for x in arrays)
    path = folder / f"{arrays}.toml"
    path.write_text(text)
    return predict(path, device="h200-sxm", timing="profiler", cache="warm", **params)


@pytest.mark.parametrize("words", [1, 64, 4096, 1 << 20])
def test_several_take_no_less_than_one_and_no_more_than_all(tmp_path: Path, words: int) -> None:
    # property: of each array the busiest slice has its own work to do, and no slice more than all
    found = predicted(tmp_path, "abd", words=words)
    alone = [float(np.max(a.time_s)) for a in found.details.time.atomics]
    together = float(np.max(found.terms_s["atomics"]))
    assert max(alone) <= together * 1.0001
    assert together <= sum(alone) * 1.0001


def test_one_word_of_each_array_has_a_slice_of_its_own(tmp_path: Path) -> None:
    # derived: of 94 slices two words seldom meet one, so that both are added to side by side
    one, two = (predicted(tmp_path, arrays, words=1) for arrays in ("a", "ab"))
    assert two.time_s == pytest.approx(one.time_s, rel=0.1)


def test_arrays_all_over_l2_add_up(tmp_path: Path) -> None:
    # derived: every slice has its part of both
    one, two = (predicted(tmp_path, arrays, words=1 << 20) for arrays in ("a", "ab"))
    terms = [float(np.max(p.terms_s["atomics"])) for p in (one, two)]
    assert terms[1] == pytest.approx(2 * terms[0], rel=0.05)


def test_two_to_four_arrays_at_sizes_that_nothing_was_fitted_on(tmp_path: Path) -> None:
    # measured on an H200, median of eight places: 2 to 100,000 words, whole and apart
    times = defaultdict(list)
    for r in rows("several.csv"):
        if r["use"] == "validation" and not r["kernel"].startswith("one"):
            key = (r["kernel"], int(r["n"]), int(r["words"]), int(r["spacing"]))
            times[key].append(float(r["time_us"]) - FLOOR + PROFILED)
    off = []
    for (kernel, n, words, spacing), found in times.items():
        p = predicted(tmp_path, kernel.partition("_")[2], n=n, words=words, spacing=spacing)
        off.append(abs(p.time_s * 1e6 / median(found) - 1))
    assert len(off) == 56
    assert median(off) < 0.08
    assert sorted(off)[50] < 0.26


def test_streams_and_what_they_add_take_longer_than_the_longer_of_both() -> None:
    # measured, never fitted on: a stream, and an addition of each warp to one integer behind it;
    # what these take on their own is measured too, by streams of one load
    found = {
        (r["kernel"], int(r["loads"]), int(r["rounds"]), int(r["warps"]), int(r["block"])): r
        for r in rows("tails.csv")
        if r["use"] == "validation"
    }
    off, plain, p = [], [], ATOMICS_OVERLAP(load_device("h200-sxm"))
    for (kernel, *launch), r in found.items():
        if kernel != "warp_float" or launch[0] < 12 or launch[2] < 64:
            continue
        stream = float(found["none", *launch]["time_us"]) - FLOOR
        passes = 132 * launch[1] * launch[2]
        alone = passes * 3.47 / 1980  # clocks of a float's turn at one sector (atomics.csv)
        both = float(power_mean((np.array([stream]), np.array([alone])), p)[0])
        measured = float(r["time_us"]) - FLOOR
        off.append(abs(both / measured - 1))
        plain.append(abs(max(stream, alone) / measured - 1))
    assert len(off) >= 8
    assert median(off) < 0.07
    assert median(off) < median(plain) / 2
