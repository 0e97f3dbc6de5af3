"""Accesses of all sets at a time: a round takes the next access of every set that has one left.

Sets do not know of each other, so only the order within a set counts. What a round does is what
`perfmodel.trace.cache_loop` does to one access; the names are the same.
"""

import numpy as np

from perfmodel.arrays import Array
from perfmodel.trace.cache import (
    ATOMIC,
    CLASS_SHIFT,
    COPY,
    NORMAL,
    PASS,
    PERSISTING,
    STREAMING,
    WRITE,
    CacheState,
    Outcome,
    Touches,
    draw,
)

Rules = tuple[bool, int, int]
"""Whether a use renews a line, sectors fetched, and age of dirty lines."""

SHIFT = CLASS_SHIFT
AGE = (1 << SHIFT) - 1

_WORDS_OF_SECTOR = [np.uint32(255 << 8 * k) for k in range(4)]


def run(rules: Rules, state: CacheState, touches: Touches, outcome: Outcome) -> None:
    """Run accesses through the cache; see `perfmodel.trace.cache.access`."""
    # By set, then by time; then the first of every set, the second of every set, ...
    order = np.argsort(touches.row.astype(np.int32), kind="stable")
    order = order[np.count_nonzero(touches.row < 0) :]
    row = touches.row[order]
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    turn = np.arange(len(row)) - np.repeat(starts, np.diff(starts, append=len(row)))
    order = order[np.argsort(turn.astype(np.int32), kind="stable")]
    for some in np.split(order, np.cumsum(np.bincount(turn))[:-1]):
        _round(rules, state, Touches(*(t[some] for t in touches)), outcome, some)


def _round(
    rules: Rules, state: CacheState, touches: Touches, outcome: Outcome, some: Array
) -> None:
    renewed, fetch, dirty_age = rules
    _, lines, ranks, valid, dirty, words, dirty_lines, dirty_most, persisting, persisting_most = (
        state
    )
    row, line, sectors, filled, kind, rank, stamp = touches
    same = lines[row] == line[:, None]
    w = same.argmax(axis=1)
    new = ~same[np.arange(len(row)), w]
    level = rank.astype(np.int64)
    if persisting_most.any() or persisting.any():
        level[(level == PERSISTING) & (persisting_most[row] == 0)] = NORMAL
        keeps = ~new & (ranks[row, w] >> SHIFT == PERSISTING)
        joins = (level == PERSISTING) & ~keeps
        over = row[joins & (persisting[row] >= persisting_most[row])]
        if over.size:
            # One more than the set keeps: the oldest becomes a normal line.
            key = ranks[over]
            key[key >> SHIFT != PERSISTING] = np.iinfo(np.int64).max
            oldest = key.argmin(axis=1)
            ranks[over, oldest] = NORMAL << SHIFT | ranks[over, oldest] & AGE
            persisting[over] -= 1
        persisting[row] += (level == PERSISTING).astype(np.int16) - keeps
    else:
        level = np.minimum(level, NORMAL)
    at = np.flatnonzero(new)
    if at.size:
        w[at] = _replace(state, touches, level[at] == STREAMING, outcome, some, at)
    age = stamp if renewed else np.where(new, stamp, ranks[row, w] & AGE)
    ranks[row, w] = level << SHIFT | age

    here = valid[row, w]
    writes = kind == WRITE
    bring = sectors & ~here
    if fetch > 1:
        wide = bring | (bring & 5) << 1 | (bring & 10) >> 1 if fetch == 2 else (bring > 0) * 15
        bring = np.where(kind == COPY, bring, wide.astype(np.uint8))
    passes = kind == PASS
    bring = np.where(writes | passes, 0, bring & ~here).astype(np.uint8)
    outcome.hit[some] = np.where(writes, sectors, np.where(passes, 0, sectors & here))
    outcome.fetched[some] = bring
    here |= bring
    stores = np.flatnonzero(writes | (kind == ATOMIC))
    if stores.size:
        r, v = row[stores], w[stores]
        mask = words[r, v] | filled[stores]
        for k, bits in enumerate(_WORDS_OF_SECTOR):
            here[stores] |= ((mask & bits) == bits).astype(np.uint8) << np.uint8(k)
        words[r, v] = mask
        before = dirty[r, v]
        dirty_lines[r] += before == 0
        dirty[r, v] = before | sectors[stores]
    valid[row, w] = here
    if dirty_age:
        ranks[row, w] += np.where(dirty[row, w] > 0, dirty_age, 0)
    if stores.size:
        over = stores[dirty_lines[r] > dirty_most[r]]
        if over.size:
            _clean(dirty_age, state, outcome, some[over], row[over], stamp[over])


def _replace(
    state: CacheState, touches: Touches, streams: Array, outcome: Outcome, some: Array, at: Array
) -> Array:
    """Put new lines in place of others, and return their ways."""
    _, lines, ranks, valid, dirty, words, dirty_lines, _, persisting, _ = state
    row, line = touches.row[at], touches.line[at]
    key = ranks[row]
    if streams.any():
        # A streaming line takes the place of another one, if there is one.
        others = (lines[row] >= 0) & (key >> SHIFT == STREAMING)
        among = streams & others.any(axis=1)
        key[among[:, None] & ~others] = np.iinfo(np.int64).max
    w = key.argmin(axis=1)
    # Empty ways are neither dirty nor persisting.
    gone = dirty[row, w]
    dropped = some[at]
    outcome.victim[dropped] = lines[row, w]
    outcome.written[dropped] = gone
    outcome.partial[dropped] = gone & ~valid[row, w]
    dirty_lines[row] -= gone > 0
    persisting[row] -= ranks[row, w] >> SHIFT == PERSISTING
    lines[row, w] = line
    valid[row, w] = 0
    dirty[row, w] = 0
    words[row, w] = 0
    return np.asarray(w)


def _clean(
    dirty_age: int, state: CacheState, outcome: Outcome, some: Array, row: Array, stamp: Array
) -> None:
    """Write back one of the dirty lines of each set, which stays."""
    _, lines, ranks, valid, dirty, words, dirty_lines, *_ = state
    left = draw(stamp, row) % dirty_lines[row]
    passed = np.cumsum(dirty[row] > 0, axis=1)
    w = (passed > left[:, None]).argmax(axis=1)
    gone = dirty[row, w]
    outcome.cleaned[some] = lines[row, w]
    outcome.clean_written[some] = gone
    outcome.clean_partial[some] = gone & ~valid[row, w]
    valid[row, w] |= gone
    dirty[row, w] = 0
    ranks[row, w] -= dirty_age
    words[row, w] = 0
    dirty_lines[row] -= 1
