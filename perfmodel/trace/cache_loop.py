"""One access after the other: the loop that numba compiles, in the plainest Python.

The names are those of `CacheState`, `Touches` and `Outcome` in `perfmodel.trace.cache`. Imported
only where numba is installed.
"""

from typing import Any

import numpy as np
from numba import njit

from perfmodel.trace import cache
from perfmodel.trace.cache import (
    ATOMIC,
    CLASS_SHIFT,
    COLUMNS,
    COPY,
    LIMITS,
    NORMAL,
    PASS,
    PERSISTING,
    STREAMING,
    WRITE,
)

SHIFT = CLASS_SHIFT
AGE = (1 << SHIFT) - 1
LAST = np.int64(1 << 62)
# Ways of L1 and L2.
USUAL = 16
# Where the third column of a way has what is dirty and which words are filled; the sectors that
# are valid have the lowest bits.
DIRTY_SHIFT, WORDS_SHIFT = 8, 32
# After the ways.
DIRTY_LINES, DIRTY_MOST, PERSISTING_LINES, PERSISTING_MOST = range(LIMITS)


draw = njit(cache.draw)
mixed = njit(cache.mixed)


@njit(nogil=True, cache=True)
def run(rules: Any, table: Any, touches: Any, outcome: Any, gone: Any, n: int) -> int:
    """Run the first `n` accesses; return how many lines were written back.

    `rules` are those of `perfmodel.trace.cache_rounds`; `outcome`: `hit`, `fetched` and `victim`.
    """
    renewed, fetch, dirty_age = rules
    row, line, sectors, filled, kind, rank, stamp = touches
    hit, fetched, victim = outcome
    ways = (table.shape[1] - LIMITS) // COLUMNS
    age_at, held_at, most_at = ways, 2 * ways, COLUMNS * ways
    out = 0
    for i in range(n):
        s = row[i]
        if s < 0:
            hit[i], fetched[i], victim[i] = 0, 0, -1
            continue
        wanted = line[i]
        w = -1
        # Without a break, so that it is done in vectors; 16 ways without a loop.
        if ways == USUAL:
            for k in range(USUAL):
                if table[s, k] == wanted:
                    w = k
        else:
            for k in range(ways):
                if table[s, k] == wanted:
                    w = k
        new = w < 0
        level = np.int64(rank[i])
        if level == PERSISTING and table[s, most_at + PERSISTING_MOST] == 0:
            level = np.int64(NORMAL)
        joins = level == PERSISTING and (new or table[s, age_at + w] >> SHIFT != PERSISTING)
        if joins and table[s, most_at + PERSISTING_LINES] >= table[s, most_at + PERSISTING_MOST]:
            # One more than the set keeps: the oldest becomes a normal line.
            oldest = -1
            for k in range(age_at, age_at + ways):
                if table[s, k] >> SHIFT == PERSISTING and (
                    oldest < 0 or table[s, k] < table[s, oldest]
                ):
                    oldest = k
            table[s, oldest] = (NORMAL << SHIFT) | (table[s, oldest] & AGE)
            table[s, most_at + PERSISTING_LINES] -= 1
        if new:
            # A streaming line takes the place of another one, if there is one.
            among = False
            if level == STREAMING:
                for k in range(ways):
                    if table[s, k] >= 0 and table[s, age_at + k] >> SHIFT == STREAMING:
                        among = True
            least, w = LAST, ways
            if ways == USUAL and not among:
                # The way goes along in the lowest bits.
                for k in range(USUAL):
                    least = min(least, table[s, age_at + k] << 8 | k)
                w = int(least & 255)
            else:
                for k in range(ways):
                    r = table[s, age_at + k]
                    if among and (table[s, k] < 0 or r >> SHIFT != STREAMING):
                        r = LAST
                    if r < least:
                        least, w = r, k
            victim[i] = table[s, w]
            if table[s, w] >= 0:
                held = table[s, held_at + w]
                dirty = (held >> DIRTY_SHIFT) & 15
                if dirty:
                    gone[out, 0] = table[s, w]
                    gone[out, 1] = dirty | (dirty & ~held) << 4
                    gone[out, 2] = i
                    out += 1
                    table[s, most_at + DIRTY_LINES] -= 1
                if table[s, age_at + w] >> SHIFT == PERSISTING:
                    table[s, most_at + PERSISTING_LINES] -= 1
            table[s, w] = wanted
            held = np.int64(0)
        else:
            victim[i] = -1
            held = table[s, held_at + w]
            if table[s, age_at + w] >> SHIFT == PERSISTING:
                table[s, most_at + PERSISTING_LINES] -= 1
        if level == PERSISTING:
            table[s, most_at + PERSISTING_LINES] += 1
        age = stamp[i] if new or renewed else table[s, age_at + w] & AGE

        asked, here = np.int64(sectors[i]), held & 15
        found, bring = asked, np.int64(0)
        if kind[i] == PASS:
            found = np.int64(0)
        elif kind[i] != WRITE:
            found = asked & here
            bring = asked & ~here
            if kind[i] != COPY:
                if fetch == 2:
                    bring = bring | ((bring & 5) << 1) | ((bring & 10) >> 1)
                elif fetch == 4 and bring:
                    bring = np.int64(15)
            bring &= ~here
            held |= bring
        writes = kind[i] == WRITE or kind[i] == ATOMIC
        if writes:
            words = (held >> WORDS_SHIFT) | np.int64(filled[i])
            for k in range(4):
                if (words >> 8 * k) & 255 == 255:
                    held |= 1 << k
            if (held >> DIRTY_SHIFT) & 15 == 0:
                table[s, most_at + DIRTY_LINES] += 1
            held |= words << WORDS_SHIFT | asked << DIRTY_SHIFT
        if (held >> DIRTY_SHIFT) & 15:
            age += dirty_age
        table[s, age_at + w] = (level << SHIFT) + age
        table[s, held_at + w] = held
        if writes and table[s, most_at + DIRTY_LINES] > table[s, most_at + DIRTY_MOST]:
            left = draw(stamp[i], np.int64(s)) % table[s, most_at + DIRTY_LINES]
            for k in range(ways):
                held = table[s, held_at + k]
                if (held >> DIRTY_SHIFT) & 15:
                    if left == 0:
                        dirty = (held >> DIRTY_SHIFT) & 15
                        gone[out, 0] = table[s, k]
                        gone[out, 1] = dirty | (dirty & ~held) << 4
                        gone[out, 2] = ~i
                        out += 1
                        table[s, held_at + k] = (held & 15) | dirty
                        table[s, age_at + k] -= dirty_age
                        table[s, most_at + DIRTY_LINES] -= 1
                        break
                    left -= 1
        hit[i], fetched[i] = found, bring
    return out


@njit(nogil=True, error_model="numpy")
def sets_of(line: Any, sets: int, run: int, memo: Any, found: Any) -> None:
    """Find the sets of lines; see `perfmodel.trace.cache.place`.

    `memo`: where runs that are known start, -1 if none; shape (some power of two, 2).
    """
    for i in range(len(line)):
        if run == 0:
            found[i] = line[i] % sets
            continue
        stretch = line[i] // run
        k = stretch & (len(memo) - 1)
        if memo[k, 0] != stretch or memo[k, 1] < 0:
            memo[k, 0] = stretch
            memo[k, 1] = np.int64(mixed(np.uint64(stretch)) % np.uint64(sets))
        place = line[i] - stretch * run + memo[k, 1]
        found[i] = place - sets if place >= sets else place
