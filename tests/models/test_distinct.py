"""Distinct columns of a table: arrays and the compiled loop against columns one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.models.grid import distinct
from perfmodel.models.grid.distinct import distinct_columns

NUMBERS = st.one_of(st.integers(-2, 2).map(float), st.sampled_from([0.5, 2.0**40, -(2.0**61)]))


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=60))
def test_columns_of_one_place_are_equal(
    compiled: bool, columns: list[tuple[float, float, float]]
) -> None:
    # independent: Python's own equality of tuples
    if compiled:
        pytest.importorskip("numba")
    every = np.array(columns).T
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(distinct, "worth_loop", lambda *_: compiled)
        chosen, place = distinct_columns(every)
    assert len(chosen) == len(set(columns))
    np.testing.assert_array_equal(every[:, chosen[place]], every)
