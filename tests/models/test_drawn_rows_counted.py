"""Rows at random places: many warps side by side as lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.kernels import bind
from perfmodel.kernels.files import parse_kernel
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests import drawn_rows, patterns
from perfmodel.models.requests.addressing import addressing
from perfmodel.models.requests.enumeration import lanes_counted

KERNEL = """
name = "rows"
summary = "rows of a table, one after the other"
parameters = {{ n = {{}}, run = {{}}, rows = {{}}, b = {{ minimum = 0 }} }}
launch = {{ grid = "ceil_div(n, {threads}*{trips})", block = {threads} }}
definitions = {{ i = "blockIdx.x*blockDim.x + threadIdx.x + t*gridDim.x*blockDim.x" }}
buffers = {{ x = {{ length = "rows*(run + 64) + n", element_bytes = 4 }} }}
loops = [{{ variable = "t", trips = {trips} }}]
accesses = [{{ load = "x", index = "{index}", guard = "{guard}", loop = "t" }}]
"""
OWN = (
    "random(i // run, rows)*run + i % run",
    "random((i + b) // run, rows)*(run + b) + (i + b) % run",
    "random(i // 32, rows)*run + threadIdx.x % 32",
    "i // run",
)
"""Indices of rows, and of their numbers."""
OTHERS = (
    "random(i // run, rows)*run + (i + 1) % run",
    "random(i // run, rows)*run + threadIdx.x % run",
    "random(i // run, rows)*run + i % rows",
    "random(i // run, t + 1)*run + i % run",
)
GUARDS = ("i < n", "i // 32 < n // 40", "i < n and threadIdx.x < 50 + b")
WORDS = {
    "threads": st.sampled_from([32, 64, 256]),
    "trips": st.sampled_from([1, 3]),
    "index": st.sampled_from(OWN),
    "guard": st.sampled_from(GUARDS),
}


def rows_of(columns: dict[str, Any], **words: Any) -> tuple[Any, ...] | None:
    """Return what is counted of a kernel's access."""
    instance = bind(parse_kernel(KERNEL.format(**words)), columns)
    a = addressing(instance, 0, block_shape((words["threads"], 1, 1)))
    return drawn_rows.rows_of(a)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 50), min_size=3, max_size=3),
    st.sampled_from([1, 7, 64, 1000, 1 << 20, (1 << 26) - 5]),
    st.integers(1, 100_000),
    st.integers(0, 9),
    st.fixed_dictionaries(WORDS),
    st.sampled_from([patterns.MAX_LANES, 1 << 12]),
)
def test_rows_ask_for_what_their_lanes_do(
    runs: list[int], rows: int, n: int, b: int, words: dict[str, Any], lanes: int
) -> None:
    # expected (independent): the same sampled blocks, counted lane by lane with NumPy
    pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "MAX_LANES", lanes)
        found = rows_of({"n": n, "run": np.array(runs), "rows": rows, "b": b}, **words)
    assert found is not None
    what, *columns = found
    size = len(runs)
    numbers = [np.broadcast_to(np.ravel(c), size) for c in columns[: what.numbers]]
    by_lanes = lanes_counted(what.pattern, *numbers)
    by_rows = drawn_rows.by_rows(what, *columns)
    for here, expected in zip(by_rows, by_lanes, strict=True):
        np.testing.assert_array_equal(here, np.broadcast_to(expected, here.shape))


@pytest.mark.parametrize("index", OTHERS)
def test_other_indices_are_no_rows(index: str) -> None:
    # expected (by hand): places in a row that are not those of the element that the row is of, as
    # blocks of 64 are no whole rows of 24; or rows that differ between iterations
    words = {"threads": 64, "trips": 3, "index": index, "guard": "i < n"}
    assert rows_of({"n": 5000, "run": np.array([24, 5]), "rows": 70, "b": 0}, **words) is None
