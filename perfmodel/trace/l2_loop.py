"""L2's accesses by groups of sets, and counts of what they met: the loops that numba compiles.

Imported only where numba is installed; `perfmodel.trace.l2_groups` calls them.
"""

from typing import Any

import numpy as np
from numba import njit

from perfmodel.trace.cache import ATOMIC, COPY, COUNT, PERSISTING, READ, STREAMING
from perfmodel.trace.cache_loop import run, sets_of

# What an access of each kind is where the line's home is the other side: COPY, PASS, nothing.
FAR = COPY - READ
FAR_ATOMIC = ATOMIC + FAR
# Where a place has the set; below are the home partition, and a bit for the far one.
WHERE_SHIFT = 9
HOME = (1 << WHERE_SHIFT - 1) - 1


@njit(nogil=True, cache=True, error_model="numpy")
def locate(asked: Any, shape: Any, memo: Any, place: Any, count: Any) -> None:
    """Find the set of each access in its partition, and count the accesses of each group.

    `place`: the set in its partition, the home partition, and whether it is the far one, in bits.
    """
    line, _, _, _, _, side = asked
    sets, run_, partitions, shift = shape
    sets_of(line, sets, run_, memo, place)
    for i in range(len(line)):
        where, home = np.int64(place[i]), np.int64(0)
        if partitions > 1:
            where, home = where // partitions, where % partitions
        place[i] = where << WHERE_SHIFT | home << 1 | (home != side[i])
        count[where >> shift] += 1


@njit(nogil=True, cache=True)
def scatter(asked: Any, place: Any, shift: int, first: int, at: Any, ordered: Any) -> None:
    """Put accesses, numbered from `first` on, where their groups have their next places, `at`."""
    line, sectors, _, kind, rank, side = asked
    number, lines, places, packed = ordered
    for i in range(len(line)):
        group = place[i] >> (WHERE_SHIFT + shift)
        j = at[group]
        at[group] = j + 1
        number[j] = first + i
        lines[j] = line[i]
        places[j] = place[i]
        packed[j] = (
            np.int64(sectors[i])
            | np.int64(kind[i]) << 4
            | np.int64(rank[i]) << 8
            | np.int64(side[i]) << 12
        )


@njit(nogil=True, cache=True, error_model="numpy")
def serve(cache: Any, asked: Any, shape: Any, ends: Any, room: Any, answers: Any, gone: Any) -> int:
    """Run groups of accesses, whose ends are given; return how many lines were written back.

    `room`: touches, outcome and numbers, of an epoch's length; `answers`: arrays of
    `perfmodel.trace.l2.Answers`; `gone`: as for `perfmodel.trace.cache_loop`.
    """
    rules, table = cache
    ordered, filled = asked
    number = ordered[0]
    each, epoch, far_age, time, total = shape
    touches, outcome, waiting = room
    out = 0
    for group in range(len(ends) - 1):
        low, end = ends[group], ends[group + 1]
        while low < end:
            first = number[low] // epoch * epoch
            high = low
            while high < end and number[high] < first + epoch:
                high += 1
            _ask_near(ordered, filled, low, high, (each, time + first), touches)
            out += run(rules, table, touches, outcome, gone[out:], high - low)
            far = _answer_near(
                number, low, high, (touches[2], touches[4], outcome, waiting), answers
            )
            # All that are under way have reached the near side by then.
            later = time + first + min(epoch, total - first)
            _ask_far(ordered, filled, waiting[:far], (each, later, far_age), touches, answers)
            out += run(rules, table, touches, outcome, gone[out:], far)
            _answer_far(number, waiting[:far], outcome, answers)
            low = high
    return out


@njit(nogil=True)
def _ask_near(ordered: Any, filled: Any, low: int, high: int, shape: Any, touches: Any) -> None:
    """Ask the partition next to the SM; for far lines it takes one that never persists."""
    number, lines, places, packed = ordered
    row, line, sectors, words, kind, rank, stamp = touches
    each, time = shape
    for j in range(low, high):
        i, bits, k = np.int64(number[j]), np.int64(packed[j]), j - low
        far = np.int64(places[j]) & 1
        kind[k] = ((bits >> 4) & 15) + FAR * far
        rank[k] = (bits >> 8) & 15
        if far and rank[k] == PERSISTING:
            rank[k] = STREAMING
        row[k] = (bits >> 12) * each + (places[j] >> WHERE_SHIFT)
        if kind[k] == FAR_ATOMIC:
            row[k] = -1
        line[k] = lines[j]
        sectors[k] = bits & 15
        stamp[k] = time + i
        if (bits >> 4) & 15 != READ:
            words[k] = filled[i]


@njit(nogil=True)
def _answer_near(number: Any, low: int, high: int, found: Any, answers: Any) -> int:
    """Note what it had, and which accesses go on to the far side; return their number."""
    sectors, kind, (hit, bring, _), waiting = found
    near, missed, fetched = answers
    m = 0
    for k in range(high - low):
        i = number[low + k]
        near[i] = hit[k]
        missed[i] = sectors[k] & ~hit[k]
        fetched[i] = bring[k]
        # Without a branch, which could not be foreseen.
        waiting[m] = low + k
        m += (kind[k] >= FAR) & (missed[i] != 0)
    return m


@njit(nogil=True)
def _ask_far(
    ordered: Any, filled: Any, waiting: Any, shape: Any, touches: Any, answers: Any
) -> None:
    """Ask the home of lines for the sectors that are missing."""
    number, lines, places, packed = ordered
    row, line, sectors, words, kind, rank, stamp = touches
    each, time, far_age = shape
    for k in range(len(waiting)):
        j = waiting[k]
        i, bits = np.int64(number[j]), np.int64(packed[j])
        row[k] = (places[j] >> 1 & HOME) * each + (places[j] >> WHERE_SHIFT)
        line[k] = lines[j]
        sectors[k] = answers[1][i]
        kind[k] = (bits >> 4) & 15
        rank[k] = (bits >> 8) & 15
        stamp[k] = time + i
        if kind[k] == READ:
            stamp[k] -= far_age
        else:
            words[k] = filled[i]


@njit(nogil=True)
def _answer_far(number: Any, waiting: Any, outcome: Any, answers: Any) -> None:
    hit, bring, _ = outcome
    _, missed, fetched = answers
    for k in range(len(waiting)):
        i = number[waiting[k]]
        missed[i] &= ~hit[k]
        fetched[i] = bring[k]


@njit(nogil=True, cache=True)
def tally_answers(asked: Any, answers: Any, spans: Any, sums: Any) -> None:
    """Add the sectors that accesses met; see `perfmodel.trace.launch.Met`."""
    line, sectors, access, when = asked
    near, missed, fetched = answers
    by_access, over_time, by_buffer = sums
    for i in range(len(line)):
        waited = COUNT[missed[i]]
        by_access[access[i], 0] += COUNT[near[i]]
        by_access[access[i], 1] += waited
        over_time[when[i]] += COUNT[sectors[i]] - waited
        if fetched[i]:
            brought = COUNT[fetched[i]]
            by_access[access[i], 2] += brought
            by_buffer[owner(line[i], spans), 0] += brought


@njit(nogil=True, cache=True)
def tally_written(written: Any, spans: Any, by_buffer: Any) -> None:
    """Add the sectors of lines that were written back."""
    line, sectors, partial = written
    for i in range(len(line)):
        buffer = owner(line[i], spans)
        by_buffer[buffer, 1] += COUNT[sectors[i]]
        by_buffer[buffer, 2] += COUNT[partial[i]]


@njit(nogil=True)
def owner(line: int, spans: Any) -> int:
    """Return the buffer that a line belongs to; see `perfmodel.trace.layout.Layout.owner`."""
    for buffer in range(len(spans)):
        if spans[buffer, 0] <= line < spans[buffer, 1]:
            return buffer
    return len(spans)
