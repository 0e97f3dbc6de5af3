"""Where the accesses of an epoch go in L2, one after the other: loops that numba compiles.

They give what the functions of the same names in `perfmodel.trace.l2` give with NumPy. Imported
only where numba is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from perfmodel.trace import cache
from perfmodel.trace.cache import COPY, PASS, PERSISTING, READ, STREAMING, WRITE

mixed = njit(cache.mixed)


@njit(nogil=True, cache=True)
def near_rows(
    sets: int,
    parts: int,
    run: int,
    line: Any,
    sectors: Any,
    words: Any,
    kind: Any,
    rank: Any,
    side: Any,
) -> tuple[Any, Any, Any, Any]:
    """Return the first set of each access (-1: none), its set at home, and kind and rank there."""
    row, home_row = np.full(len(line), -1), np.empty(len(line), np.int64)
    near_kind, near_rank = kind.copy(), rank.copy()
    per_side = sets // parts
    known = -1
    start = np.int64(0)
    for i in range(len(line)):
        where = line[i]
        if run:
            stretch = where // run
            if stretch != known:
                known = stretch
                start = np.int64(mixed(np.uint64(stretch)) % np.uint64(sets))
            where += start - stretch * run
            if where >= sets:
                where -= sets
        else:
            where %= sets
        home = where % parts
        where //= parts
        home_row[i] = home * per_side + where
        if home == side[i]:
            row[i] = home_row[i]
        elif kind[i] == READ or kind[i] == WRITE:
            row[i] = side[i] * per_side + where
            near_kind[i] = COPY if kind[i] == READ else PASS
            if rank[i] == PERSISTING:
                near_rank[i] = STREAMING
    return row, home_row, near_kind, near_rank


@njit(nogil=True, cache=True)
def far_rows(
    row: Any, home_row: Any, kind: Any, sectors: Any, hit: Any, fetched: Any
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Return what goes on, and what the first set answered."""
    n = len(row)
    far_row, early = np.full(n, -1), np.zeros(n, np.bool_)
    onward, near, missed, brought = (
        np.zeros(n, np.uint8),
        np.zeros(n, np.uint8),
        np.zeros(n, np.uint8),
        np.zeros(n, np.uint8),
    )
    for i in range(n):
        left = sectors[i] & ~hit[i]
        if row[i] < 0 or kind[i] == PASS:
            onward[i] = sectors[i]
            far_row[i] = home_row[i]
            continue
        near[i] = hit[i]
        if kind[i] != COPY:
            missed[i] = left
            brought[i] = fetched[i]
        elif left:
            onward[i] = left
            far_row[i] = home_row[i]
            early[i] = True
    return far_row, onward, early, near, missed, brought
