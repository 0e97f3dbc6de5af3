"""Turns that start past an edge: arrays and the compiled loop against turns one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.models.requests import row_alignment
from perfmodel.models.requests.row_alignment import turns_past_edge


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[tuple[bool, int, int, int, int]], int]:
    granule = draw(st.sampled_from([32, 128]))
    line = st.integers(0, 127)
    row = st.tuples(st.booleans(), line, line, line, st.integers(1, granule))
    return draw(st.lists(row, min_size=1, max_size=20)), granule


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=100, deadline=None)
@given(rows())
def test_turns_past_an_edge(
    compiled: bool, given: tuple[list[tuple[bool, int, int, int, int]], int]
) -> None:
    # independent: turn by turn
    if compiled:
        pytest.importorskip("numba")
    every, granule = given
    columns = [np.array(column) for column in zip(*every, strict=True)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(row_alignment, "worth_loop", lambda *_: compiled)
        found = turns_past_edge(*columns, granule)
    expected = [
        sum((at + turn * step) % granule >= edge for turn in range(left)) if here else 0
        for here, at, step, left, edge in every
    ]
    assert found.tolist() == expected
    assert found.dtype == np.int64
