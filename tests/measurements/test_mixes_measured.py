"""Instructions of one kind between those of another: clocks of a scheduler, H200."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.models.time.issue import pipe_cycles
from perfmodel.models.time.pipe_contention import mixed_pipes

H200 = load_device("h200-sxm")
PIPES = {"ffma": "fma32", "lop3": "int32", "imad": "imad", "dfma": "fma64", "mufu": "sfu"}
PIPES |= {"f2i": "conversion", "i2f.f64": "conversion", "popc": "conversion"}


def clocks(row: dict[str, Any]) -> float:
    """Return what the model says of a scheduler's clocks for a warp's turn."""
    count: dict[str, float] = {"other": 3.0}  # the loop
    for kind, each in ((row["a"], row["a_each"]), (row["b"], row["b_each"])):
        if kind != "none":
            count[PIPES[kind]] = count.get(PIPES[kind], 0.0) + each
    every = {pipe: np.full(1, n * H200.sm_count * 4) for pipe, n in count.items()}
    return float(mixed_pipes(pipe_cycles(every, H200), True, H200)[0])


def test_doubles_and_special_functions_beside_others() -> None:
    # independent but for doubles, which take two issue slots: read off the same rows
    known = {*PIPES, "none"}
    found = [
        r
        for r in rows("mixes", root() / "instructions/h200-sxm/mixes")
        if {r["a"], r["b"]} <= known
    ]
    off = np.array([clocks(r) / r["clocks_8"] - 1 for r in found])
    assert len(found) >= 30
    assert np.median(np.abs(off)) <= 0.07
    assert np.max(np.abs(off)) <= 0.32
    doubles = [r for r in found if r["a"] == "dfma" and r["b"] == "ffma"]
    assert len(doubles) == 4
    for r in doubles:
        assert clocks(r) == pytest.approx(r["clocks_8"], rel=0.13)
