"""One access after the other: the loop that numba compiles, in the plainest Python.

The names are those of `CacheState`, `Touches` and `Outcome` in `perfmodel.trace.cache`. Imported
only where numba is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from perfmodel.trace import cache
from perfmodel.trace.cache import (
    ATOMIC,
    CLASS_SHIFT,
    COPY,
    NORMAL,
    PASS,
    PERSISTING,
    STREAMING,
    WRITE,
)

SHIFT = CLASS_SHIFT
AGE = (1 << SHIFT) - 1
LAST = np.int64(1 << 62)


draw = njit(cache.draw)


@njit(nogil=True, cache=True)
def run(rules: Any, state: Any, touches: Any, outcome: Any, low: int, high: int) -> None:
    """Run accesses to the sets from `low` to before `high`; see `perfmodel.trace.cache.access`.

    `rules` are those of `perfmodel.trace.cache_rounds`.
    """
    renewed, fetch, dirty_age = rules
    lines, ranks, valid, dirty, words, dirty_lines, dirty_most, persisting, persisting_most = state
    row, line, sectors, filled, kind, rank, stamp = touches
    hit, fetched, victim, written, partial, cleaned, clean_written, clean_partial = outcome
    ways = lines.shape[1]
    for i in range(len(line)):
        s = row[i]
        if s < low or s >= high:
            continue
        wanted = line[i]
        w = -1
        # Without a break, so that it is done in vectors.
        for k in range(ways):
            if lines[s, k] == wanted:
                w = k
        new = w < 0
        level = np.int64(rank[i])
        if level == PERSISTING and persisting_most[s] == 0:
            level = np.int64(NORMAL)
        joins = level == PERSISTING and (new or ranks[s, w] >> SHIFT != PERSISTING)
        if joins and persisting[s] >= persisting_most[s]:
            # One more than the set keeps: the oldest becomes a normal line.
            oldest = -1
            for k in range(ways):
                if ranks[s, k] >> SHIFT == PERSISTING and (
                    oldest < 0 or ranks[s, k] < ranks[s, oldest]
                ):
                    oldest = k
            ranks[s, oldest] = (NORMAL << SHIFT) | (ranks[s, oldest] & AGE)
            persisting[s] -= 1
        if new:
            # A streaming line takes the place of another one, if there is one.
            among = False
            if level == STREAMING:
                for k in range(ways):
                    if lines[s, k] >= 0 and ranks[s, k] >> SHIFT == STREAMING:
                        among = True
            w = 0
            least = LAST
            for k in range(ways):
                r = ranks[s, k]
                if among and (lines[s, k] < 0 or r >> SHIFT != STREAMING):
                    r = LAST
                if r < least:
                    least = r
                    w = k
            if lines[s, w] >= 0:
                victim[i] = lines[s, w]
                if dirty[s, w]:
                    written[i] = dirty[s, w]
                    partial[i] = np.int64(dirty[s, w]) & ~np.int64(valid[s, w])
                    dirty_lines[s] -= 1
                if ranks[s, w] >> SHIFT == PERSISTING:
                    persisting[s] -= 1
            lines[s, w] = wanted
            valid[s, w] = 0
            dirty[s, w] = 0
            words[s, w] = 0
        elif ranks[s, w] >> SHIFT == PERSISTING:
            persisting[s] -= 1
        if level == PERSISTING:
            persisting[s] += 1
        age = stamp[i] if new or renewed else ranks[s, w] & AGE
        ranks[s, w] = (level << SHIFT) | age

        asked = np.int64(sectors[i])
        here = np.int64(valid[s, w])
        if kind[i] == WRITE:
            hit[i] = asked
        elif kind[i] != PASS:
            hit[i] = asked & here
            bring = asked & ~here
            if kind[i] != COPY:
                if fetch == 2:
                    bring = bring | ((bring & 5) << 1) | ((bring & 10) >> 1)
                elif fetch == 4 and bring:
                    bring = np.int64(15)
            bring &= ~here
            fetched[i] = bring
            here |= bring
        if kind[i] == WRITE or kind[i] == ATOMIC:
            mask = np.int64(words[s, w]) | np.int64(filled[i])
            for k in range(4):
                if (mask >> 8 * k) & 255 == 255:
                    here |= 1 << k
            words[s, w] = mask
            if dirty[s, w] == 0:
                dirty_lines[s] += 1
            dirty[s, w] = np.int64(dirty[s, w]) | asked
        if dirty[s, w]:
            ranks[s, w] += dirty_age
        valid[s, w] = here
        if dirty_lines[s] > dirty_most[s]:
            left = draw(stamp[i], s) % dirty_lines[s]
            for k in range(ways):
                if dirty[s, k]:
                    if left == 0:
                        gone = np.int64(dirty[s, k])
                        cleaned[i] = lines[s, k]
                        clean_written[i] = gone
                        clean_partial[i] = gone & ~np.int64(valid[s, k])
                        valid[s, k] = gone | np.int64(valid[s, k])
                        dirty[s, k] = 0
                        ranks[s, k] -= dirty_age
                        words[s, k] = 0
                        dirty_lines[s] -= 1
                        break
                    left -= 1
