"""Walks of a buffer by blocks that read runs: range by range as lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.kernels import bind, kernel_from_table
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.addressing import Addressing, addressing
from perfmodel.models.reuse import walked_blocks
from perfmodel.models.reuse.followed_blocks import patterns_of
from perfmodel.models.reuse.walked_blocks import Walks

pytest.importorskip("numba")

ROW = "(blockIdx.y*rows + r)*pitch"
PLACES = {
    "whole": (f"{ROW} + c*128 + threadIdx.x", "c*128 + threadIdx.x < cols", "c"),
    "others": (f"{ROW} + shift + (blockIdx.x*128 + threadIdx.x)", "blockIdx.x < 2", "r"),
    "end": (f"{ROW} + cols - 20 + threadIdx.x", "threadIdx.x < 20 and r < rows - 1", "r"),
    "first": ("blockIdx.x*pitch + 0*threadIdx.x", "threadIdx.x < 1", None),
    "apart": (f"{ROW} + threadIdx.x*16", None, "r"),
}


def loads(places: list[str], columns: dict[str, Any]) -> list[Addressing]:
    """Return the loads at some places, in blocks of 128 threads."""
    accesses = []
    for name in places:
        index, guard, loop = PLACES[name]
        given = {
            "load": "x",
            "index": index,
            "guard": guard,
            "loop": loop,
            "name": f"a{len(accesses)}",
        }
        accesses.append({key: value for key, value in given.items() if value is not None})
    table = {
        "name": "walks",
        "parameters": {name: {} for name in columns},
        "launch": {"grid": ["across", "down"], "block": 128},
        "definitions": {"pitch": "cols + shift"},
        "buffers": {"x": {"length": "(down*rows + across)*pitch + 999999", "element_bytes": 4}},
        "loops": [
            {"variable": "r", "trips": "rows"},
            {"variable": "c", "trips": "ceil_div(cols, 128)", "parent": "r"},
        ],
        "accesses": accesses,
    }
    instance = bind(kernel_from_table(table), columns)
    return [addressing(instance, i, block_shape((128, 1, 1))) for i in range(len(accesses))]


SIZES = {
    name: st.lists(st.integers(*ends), min_size=3, max_size=3)
    for name, ends in {
        "cols": (128, 900),
        "shift": (1, 70),
        "rows": (1, 4),
        "across": (1, 5),
        "down": (1, 40),
    }.items()
}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(list(PLACES)[:4]), min_size=2, max_size=4),
    st.fixed_dictionaries(SIZES),
    st.integers(1, 3),
    st.sampled_from([32, 64]),
    st.integers(1, 100),
)
def test_ranges_are_what_lanes_touch(
    places: list[str], sizes: dict[str, list[int]], first: int, atom: int, wave: int
) -> None:
    # expected (independent): every lane's sector
    every = loads(places, {name: np.array(column) for name, column in sizes.items()})
    runs = walked_blocks._runs_of(every)
    assert runs is not None
    tests, loops, columns = runs
    first = min(first, len(places) - 1)
    patterns, numbers = patterns_of(every)
    lengths = first, len(places) - first
    walks = Walks(patterns, lengths, (True, False), atom, tests, loops)
    numbers = [np.full(3, wave), *(np.broadcast_to(np.ravel(n), 3) for n in numbers)]
    found = walked_blocks.by_runs(walks, len(numbers), *numbers, *columns)
    for by_runs, by_lanes in zip(found, walked_blocks.by_lanes(walks, *numbers), strict=True):
        np.testing.assert_allclose(by_runs, by_lanes, rtol=1e-14)


def test_threads_with_sectors_between_them_read_no_range() -> None:
    # expected (by hand): 64 bytes from one thread to the next
    sizes = {"cols": 2048, "shift": 1, "rows": 2, "across": 3, "down": 5}
    assert walked_blocks._runs_of(loads(["whole", "apart"], sizes)) is None
