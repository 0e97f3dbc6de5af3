"""Distinct columns of numbers, compiled: by a table of those that came before.

Imported only where numba is installed.
"""

from typing import Final

import numpy as np
from numba import njit

from perfmodel.arrays import Array

_SPREAD: Final = 0x1E3779B97F4A7C15
"""An odd number near 2^61 whose products have their upper bits spread (Knuth, TAOCP 3, 6.4)."""
_SHIFT: Final = 30


@njit(cache=True, nogil=True)
def distinct_columns(every: Array) -> tuple[Array, Array]:
    """Return where the distinct columns of (rows, columns) first are, and the number of each.

    That is, the place of each column among the distinct ones.
    """
    rows, columns = every.shape
    slots = 1
    while slots < 2 * columns:
        slots *= 2
    table = np.full(slots, -1)
    first, numbers = np.empty(columns, dtype=np.int64), np.empty(columns, dtype=np.int64)
    count = 0
    for column in range(columns):
        key = 0
        for row in range(rows):
            key = ((key ^ key >> _SHIFT) + int(every[row, column])) * _SPREAD
        slot = key >> _SHIFT & slots - 1
        while table[slot] >= 0 and not _equal(every, first[table[slot]], column):
            slot = slot + 1 & slots - 1
        if table[slot] < 0:
            table[slot], first[count] = count, column
            count += 1
        numbers[column] = table[slot]
    return first[:count], numbers


@njit(cache=True, nogil=True)
def _equal(every: Array, one: int, other: int) -> bool:
    row = 0
    while row < len(every) and every[row, one] == every[row, other]:
        row += 1
    return row == len(every)
