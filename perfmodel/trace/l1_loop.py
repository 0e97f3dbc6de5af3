"""L1, one SM after the other, and what is left for L2: the loops that numba compiles.

Imported only where numba is installed.
"""

from typing import Any

import numpy as np
from numba import njit

from perfmodel.trace.cache import COUNT, NORMAL, READ
from perfmodel.trace.cache_loop import run, sets_of


@njit(nogil=True, cache=True)
def through_l1(
    cache: Any, batch: Any, cached: Any, by_sm: Any, sms: Any, room: Any, hits: Any
) -> None:
    """Run what a batch's cached loads ask for through the L1 of SMs, from one to before another.

    `cache`: rules of `perfmodel.trace.cache_rounds`, contents of all L1, sets of each, the time,
    what `sets_of` remembers, and room for no line that is written back. `batch`: `line`, `sectors`,
    `starts` and `sizes` of `perfmodel.trace.batch.Asked`. Sectors that hit are taken out. `cached`:
    accesses that are. `by_sm`: blocks in the order of their SMs, and where each SM's start. `sms`:
    the first SM, and the one after the last. `room`: touches, outcome, and three arrays of numbers,
    of the accesses that are run together. `hits`: where sectors that hit are added.
    """
    start, count = batch[2:]
    blocks, first = by_sm
    at, piece, own = room[2:]
    sets, time = cache[2:4]
    n = np.int64(0)
    for sm in range(sms[0], sms[1]):
        for t in range(start.shape[0]):
            for a in range(start.shape[1]):
                if not cached[a]:
                    continue
                for block in blocks[first[sm] : first[sm + 1]]:
                    low = start[t, a, block]
                    for i in range(low, low + count[t, a, block]):
                        if n == len(at):
                            _run(cache, batch, time, room, hits, n)
                            time += n
                            n = np.int64(0)
                        at[n] = i
                        piece[n] = (t * start.shape[1] + a) * start.shape[2] + block
                        own[n] = sm * sets
                        n += 1
    _run(cache, batch, time, room, hits, n)


@njit(nogil=True)
def _run(cache: Any, batch: Any, time: int, room: Any, hits: Any, n: Any) -> None:
    """Run the accesses that are waiting."""
    rules, table, sets, _, memo, none = cache
    line, sectors, _, _ = batch
    touches, outcome, at, piece, own = room
    row, lines, asked, _, kind, rank, stamp = touches
    for k in range(n):
        lines[k] = line[at[k]]
        asked[k] = sectors[at[k]]
        kind[k], rank[k] = READ, NORMAL
        stamp[k] = time + k
    sets_of(lines[:n], sets, sets, memo, row[:n])
    for k in range(n):
        row[k] += own[k]
    # Reads write nothing back.
    run(rules, table, touches, outcome, none, n)
    for k in range(n):
        hit = outcome[0][k]
        sectors[at[k]] &= ~hit
        hits[piece[k]] += COUNT[hit]


@njit(nogil=True, cache=True)
def count_left(sectors: Any, start: Any, count: Any, left: Any) -> None:
    """Count the lines of each piece of which sectors are left."""
    for p in range(len(start)):
        for i in range(start[p], start[p] + count[p]):
            left[p] += sectors[i] != 0


@njit(nogil=True, cache=True)
def collect(columns: Any, start: Any, count: Any, what: Any, out: Any) -> None:
    """Write the lines of pieces of which sectors are left, one after the other.

    `what`: the side, access and point in time of each piece.
    """
    line, sectors, words = columns
    side, access, when = what
    lines, left, filled, sides, accesses, times = out
    n = 0
    for p in range(len(start)):
        for i in range(start[p], start[p] + count[p]):
            if sectors[i]:
                lines[n] = line[i]
                left[n] = sectors[i]
                filled[n] = words[i]
                sides[n] = side[p]
                accesses[n] = access[p]
                times[n] = when[p]
                n += 1
