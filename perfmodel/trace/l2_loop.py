"""Where the accesses of an epoch go in L2, one after the other: loops that numba compiles.

They do what `perfmodel.trace.l2` does with NumPy. Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from perfmodel.trace.cache import COPY, PASS, PERSISTING, READ, STREAMING, WRITE


@njit(nogil=True, cache=True)
def near_rows(
    sets: int,
    parts: int,
    run: int,
    line: Any,
    kind: Any,
    rank: Any,
    side: Any,
    row: Any,
    home_row: Any,
    near_kind: Any,
    near_rank: Any,
) -> None:
    """Fill in every access's first set (-1: none), its set at home, and kind and rank there."""
    per_side = sets // parts
    known = -1
    start = np.int64(0)
    for i in range(len(line)):
        where = line[i]
        if run:
            stretch = where // run
            if stretch != known:
                known = stretch
                # As perfmodel.trace.cache.mix.
                x = np.uint64(stretch)
                x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                start = np.int64((x ^ (x >> np.uint64(31))) % np.uint64(sets))
            where += start - stretch * run
            if where >= sets:
                where -= sets
        else:
            where %= sets
        home = where % parts
        where //= parts
        near_kind[i] = kind[i]
        near_rank[i] = rank[i]
        row[i] = -1
        home_row[i] = home * per_side + where
        if home == side[i]:
            row[i] = home_row[i]
        elif kind[i] == READ or kind[i] == WRITE:
            row[i] = side[i] * per_side + where
            near_kind[i] = COPY if kind[i] == READ else PASS
            if rank[i] == PERSISTING:
                near_rank[i] = STREAMING


@njit(nogil=True, cache=True)
def far_rows(
    row: Any,
    home_row: Any,
    near_kind: Any,
    sectors: Any,
    hit: Any,
    fetched: Any,
    near: Any,
    missed: Any,
    brought: Any,
    onward: Any,
    far_row: Any,
    stamp: Any,
    late: int,
    far_age: int,
) -> None:
    """Say what the near side answered, and what goes on to which set at home (-1: nothing).

    Stamps become those of the far side: `late` later, and for reads `far_age` earlier.
    """
    for i in range(len(row)):
        far_row[i] = -1
        onward[i] = 0
        stamp[i] += late
        if row[i] < 0 or near_kind[i] == PASS:
            near[i] = 0
            missed[i] = 0
            brought[i] = 0
            onward[i] = sectors[i]
            far_row[i] = home_row[i]
            continue
        near[i] = hit[i]
        left = sectors[i] & ~hit[i]
        if near_kind[i] != COPY:
            missed[i] = left
            brought[i] = fetched[i]
            continue
        missed[i] = 0
        brought[i] = 0
        if left:
            onward[i] = left
            far_row[i] = home_row[i]
            stamp[i] -= far_age
