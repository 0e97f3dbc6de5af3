"""Atomics at known places of an H100, which their figures were fitted on: what the forms reach."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from perfmodel import predict_many
from perfmodel.hardware import load_device
from perfmodel.models.l2.slices import most_answers, most_pieces
from perfmodel.validation.cases import stated

FOLDER = Path(__file__).parents[2] / "measurements" / "atomics/h100-sxm/addresses"
DEVICE = stated(load_device("h100-sxm"), {"event_floor": 3.04e-6})
CLOCK = 1.98e9


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="") as file:
        return list(csv.DictReader(file))


def errors(chosen: list[dict[str, str]], dtype: str, pattern: str, returns: bool) -> np.ndarray:
    """Return predicted over measured times less one, of additions."""
    width = 8 if "64" in dtype else 4
    found = predict_many(
        "atomic-add",
        device=DEVICE,
        timing="events",
        cache="warm",
        dtype=dtype,
        pattern=pattern,
        returns=str(returns).lower(),
        n=[int(r["n"]) for r in chosen],
        addresses=[int(r["addresses"]) for r in chosen],
        spacing=[int(r["pitch"]) // width for r in chosen],
    )
    measured = np.array([float(r["time_us"]) for r in chosen])
    return np.asarray(np.asarray(found.time_s) * 1e6 / measured - 1)


# type, pattern, whether old values are used, median and 90th percentile that are allowed
ADDS = [
    ("int32", "modulo", False, 0.03, 0.08),
    ("int32", "warp", False, 0.04, 0.08),
    ("float64", "modulo", False, 0.04, 0.10),
    ("int32", "modulo", True, 0.03, 0.10),
    ("uint64", "random", True, 0.05, 0.11),
]


@pytest.mark.parametrize(("dtype", "pattern", "returns", "middle", "most"), ADDS)
def test_additions_of_aligned_buffers(
    dtype: str, pattern: str, returns: bool, middle: float, most: float
) -> None:
    # fitted: places of 32 KiB, where slices are as counted; neighbours up to 256 B apart
    op = dtype + "_returns" * returns
    chosen = [
        r
        for r in rows("adds.csv")
        if r["op"] == op and r["pattern"] == pattern and r["offset"] == "0"
        if int(r["pitch"]) <= 256
    ]
    assert len(chosen) > 150
    found = np.abs(errors(chosen, dtype, pattern, returns))
    assert np.median(found) < middle
    assert np.quantile(found, 0.9) < most


def test_two_doubles_of_a_sector() -> None:
    # measured: those of one half of a sector go together, those 16 B apart take turns
    found = {
        pitch: next(
            r
            for r in rows("adds.csv")
            if (r["op"], r["pattern"], r["addresses"]) == ("float64", "modulo", "2")
            if (r["offset"], r["pitch"]) == ("0", pitch)
        )
        for pitch in ("8", "16")
    }
    near, apart = (float(r["time_us"]) - 2.9 for r in found.values())
    assert apart / near == pytest.approx(4.62 / 3.47, rel=0.03)
    assert np.all(np.abs(errors(list(found.values()), "float64", "modulo", False)) < 0.04)


def test_answers_share_ways_that_do_not_go_by_slice() -> None:
    # measured: from 48 to 52 pieces those that return step up, and the others do not
    found = {
        (r["op"], int(r["addresses"])): float(r["time_us"])
        for r in rows("answers.csv")
        if (r["pattern"], r["offset"], r["pitch"]) == ("modulo", "0", "256")
    }

    def of_piece(op: str, pieces: int) -> float:
        return (found[op, pieces] - 2.9) * pieces

    returning, silent = (of_piece(op, 52) / of_piece(op, 48) for op in ("int32_returns", "int32"))
    assert returning == pytest.approx(1.17, abs=0.02)
    assert silent == pytest.approx(1.0, abs=0.02)
    pieces = np.array([48.0, 52.0, 128.0, 256.0])
    most = most_pieces(pieces, DEVICE)
    back = most_answers(pieces, most, DEVICE)
    assert most == pytest.approx([3, 3, 3, 6])
    for n, ways in zip(pieces[1:], back[1:], strict=True):
        clocks = of_piece("int32_returns", int(n)) * 1e-6 * CLOCK / (1 << 20) if n < 160 else 9.63
        assert 1.54 * ways == pytest.approx(clocks, rel=0.03)


def test_a_loop_is_near_or_far() -> None:
    # measured: eight stretches of 4 KiB, half of them near the one SM; predicted: between
    found = [r for r in rows("near.csv") if r["op"] == "cas" and r["n"] == "256"]
    same = [r for r in found if (r["pattern"], r["addresses"]) == ("modulo", "1")]
    times = sorted(float(r["time_us"]) - 2.9 for r in same)
    assert len(times) == 8
    assert median(times[4:]) / median(times[:4]) == pytest.approx(1.4, abs=0.05)
    p = predict_many(
        "cas-loop", device=DEVICE, timing="events", cache="warm", n=[256], addresses=[1]
    )
    assert times[0] < float(p.time_s[0]) * 1e6 - 2.9 < times[-1]
