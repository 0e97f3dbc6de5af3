"""Loads of runs: warp by warp as lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.kernels import bind
from perfmodel.kernels.files import parse_kernel
from perfmodel.models.grid.affine import plane
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests import patterns, run_requests
from perfmodel.models.requests.addressing import addressing

pytest.importorskip("numba")

KERNEL = """
name = "rows"
summary = "rows that start anywhere in a line"
parameters = {{ n = {{}}, m = {{}}, b = {{ minimum = 0 }} }}
launch = {{ grid = "ceil_div(n, {threads}*{trips})", block = {threads} }}
definitions = {{ i = "blockIdx.x*m + threadIdx.x + t*gridDim.x*m" }}
buffers = {{ x = {{ length = "2*n*m", element_bytes = {width} }} }}
loops = [{{ variable = "t", trips = {trips} }}]
accesses = [{{ load = "x", index = "{index}", guard = "{guard}", loop = "t" }}]
"""
INDICES = ("i", "i + b", "i + b*t", "2*i")
GUARDS = ("i < n*m", "i < n*m and threadIdx.x < 50 + b", "blockIdx.x >= b and threadIdx.x < m")


def both(columns: dict[str, Any], **words: Any) -> tuple[Any, Any] | None:
    """Return what launches ask for, warp by warp and lane by lane; None if they read no runs."""
    instance = bind(parse_kernel(KERNEL.format(**words)), columns)
    a = addressing(instance, 0, block_shape((words["threads"], 1, 1)))
    given = run_requests.runs_of(a, plane(a.index, a.values, a.variables))
    return given and (run_requests.by_runs(*given), run_requests.by_lanes(*given))


WORDS = {
    "width": st.sampled_from([4, 8, 16]),
    "threads": st.sampled_from([32, 64, 256]),
    "trips": st.sampled_from([1, 3]),
    "index": st.sampled_from(INDICES[:3]),
    "guard": st.sampled_from(GUARDS),
}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 9000), min_size=3, max_size=3),
    st.integers(1, 100_000),
    st.integers(0, 9),
    st.fixed_dictionaries(WORDS),
    st.sampled_from([patterns.MAX_LANES, 1 << 12]),
)
def test_runs_ask_for_what_their_lanes_do(
    pitches: list[int], n: int, b: int, words: dict[str, Any], lanes: int
) -> None:
    # expected (independent): the same sampled blocks, counted lane by lane
    columns = {"m": np.array(pitches), "n": n, "b": b}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "MAX_LANES", lanes)
        found = both(columns, **words)
    assert found is not None
    for by_runs, by_lanes in zip(*found, strict=True):
        np.testing.assert_allclose(by_runs, by_lanes, rtol=1e-14)


def test_lanes_apart_are_no_run() -> None:
    # expected (by hand): every other element
    words = {"width": 4, "threads": 64, "trips": 1, "index": INDICES[3], "guard": GUARDS[0]}
    assert both({"n": 100_000, "m": np.array([4001]), "b": 0}, **words) is None
