"""Turns that start past an edge, compiled: what `row_alignment` does with arrays.

Imported only where numba is installed.
"""

import numpy as np
from numba import njit

from perfmodel.arrays import Array


@njit(cache=True, nogil=True)
def past_edge(columns: Array, granule: int) -> Array:
    """Return how many turns start past an edge, of configurations in rows.

    `columns` of whole numbers: whether a configuration is looked at, where its first turn starts
    [B], the step of each [B], how many there are, and the edge in each granule [B].
    """
    found = np.zeros(columns.shape[1], dtype=np.int64)
    for row in range(len(found)):
        here, at, step, left, edge = columns[:, row]
        count = 0
        for turn in range(left if here else 0):
            count += (at + turn * step) & (granule - 1) >= edge
        found[row] = count
    return found
