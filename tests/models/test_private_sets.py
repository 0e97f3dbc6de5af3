"""Sets that SMs read again and again: what misses, and when DRAM decides and when L2."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.models.l2.private_sets import private_set, settled_share
from perfmodel.models.l2.residency import Streams

FOLDER = Path(__file__).parents[2] / "measurements" / "built-in-kernels/h200-sxm/first"
H200 = load_device("h200-sxm")
MIB = 1 << 20


@pytest.mark.parametrize("size", [48, 52, 54, 56, 58, 64])
@pytest.mark.parametrize("passes", [2, 5, 17, 68])
@pytest.mark.parametrize("before", [0.0, 6.0])
def test_two_parts_take_as_long_as_all_passes(size: int, passes: int, before: float) -> None:
    """Derived: each pass takes the longer of L2 and DRAM, of what misses in it."""
    capacity = 60.0 * MIB
    one = private_set(size * MIB, Streams(0.0, 0.0), capacity, passes, before, H200)
    even = 0.53
    at = before + np.linspace(0, passes - 1, 200_001)
    young = (1 + (at / one.half) ** 2) ** -1.5
    missed = one.lost(young)
    one_by_one = np.mean(np.maximum(missed, even)) * (passes - 1)
    share, later = settled_share(one, even)
    everything = one.lost(one.young)
    early = (everything - share * later) * (passes - 1)
    late = (1 - share) * (passes - 1) * even
    found = max(early, late) + share * (passes - 1) * max(later, even)
    assert found == pytest.approx(one_by_one, rel=1e-3)


def test_a_cold_set_is_read_from_dram_first_and_from_l2_then() -> None:
    """Measured: sets that fit L2, read two to five times: 12 to 20% too fast as one part."""
    with (FOLDER / "builtin-working-set-read.csv").open(newline="") as file:
        rows = [
            r
            for r in csv.DictReader(file)
            if (r["timing"], r["cache"]) == ("profiler", "cold")
            and int(r["iterations"]) <= 5
            and 12 * MIB < int(r["bytes"]) < 50 * MIB
        ]
    assert rows
    for row in rows:
        size, times = int(row["bytes"]), int(row["iterations"])
        p = predict("working-set-read", device=H200, bytes=size, iterations=times)
        terms = p.terms_s
        # CUPTI's floor is 0.9 us lower: session.toml.
        time = p.time_s - (H200.launch_floor - 0.608e-6)
        assert time == pytest.approx(float(row["time_us"]) * 1e-6, rel=0.08)
        assert time > terms["dram"] + terms["l2"] * (times - 1) / times
