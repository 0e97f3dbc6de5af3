"""Numbers of pairs put among those that are known, compiled; LLVM comes with numba."""

from __future__ import annotations

import numpy as np
from numba import njit

from perfmodel.arrays import Array


@njit(cache=True, nogil=True)
def rows_left(found: Array, rows: Array, columns: Array) -> Array:
    """Return those of some rows of an array that have NaN in any of some columns."""
    left = np.zeros(len(rows), dtype=np.bool_)
    for at, row in enumerate(rows):
        for column in columns:
            if np.isnan(found[row, column]):
                left[at] = True
                break
    return rows[left]


@njit(cache=True, nogil=True)
def least_known(found: Array, rows: Array) -> Array:
    """Return the least number of each of some rows that is not NaN: infinity if none is."""
    least = np.full(len(rows), np.inf)
    for at, row in enumerate(rows):
        for number in found[row]:
            if number < least[at]:
                least[at] = number
    return least


@njit(cache=True, nogil=True)
def put(found: Array, rows: Array, columns: Array, numbers: Array) -> None:
    """Put numbers of (rows, columns) where an array has NaN at these."""
    for at, row in enumerate(rows):
        for place, column in enumerate(columns):
            if np.isnan(found[row, column]):
                found[row, column] = numbers[at, place]
