"""Handing out blocks one by one, compiled: what `handout` does with arrays, a grid at a time.

Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from perfmodel.arrays import Array

_BUCKETS: Final = 64
"""Buckets of ends for the work of one block."""


@njit(cache=True, nogil=True)
def busiest_of_grids(counts: Array, cuts: Array, held: Array, sm_count: int) -> Array:
    """Return the work of the SM that ends last, for grids in rows.

    `counts` and `cuts`: blocks along each axis, and work of the last of them; `held`: blocks that
    an SM holds at a time.
    """
    found = np.zeros(len(held))
    most = held.max()
    ends, values = np.zeros((most, sm_count)), np.zeros(most * sm_count)
    sms, starts = np.zeros(most * sm_count, dtype=np.int64), np.zeros(4 * _BUCKETS, dtype=np.int64)
    place, works = np.zeros(counts.shape[1], dtype=np.int64), np.zeros(sm_count)
    for grid in range(len(held)):
        size = held[grid]
        turn = alike = _whole_first(place, counts[grid], cuts[grid], sm_count)
        left, shift = np.prod(counts[grid]) - turn * sm_count, max(turn - size, 0)
        for age in range(size):
            ends[age] = shift + age + 1.0 if age < turn else 0.0
        while left > 0:
            given = min(sm_count, left)
            _next_works(works[:given], place, counts[grid], cuts[grid])
            if turn < size:  # places that were never taken, one on each SM
                for sm in range(given):
                    ends[turn, sm] = (ends[turn - 1, sm] if turn else 0.0) + works[sm]
            else:
                if turn > alike:
                    _sort(ends[:size], given, sms, values, starts)
                for block in range(given):
                    sm = sms[block] if turn > alike else block
                    last = ends[size - 1, sm] + works[block]
                    for age in range(1, size):
                        ends[age - 1, sm] = ends[age, sm]
                    ends[size - 1, sm] = last
            left, turn = left - given, turn + 1
        found[grid] = ends[:size].max()
    return found


@njit(cache=True, nogil=True)
def _whole_first(place: Array, counts: Array, cuts: Array, sm_count: int) -> int:
    """Return the turns before any that has a smaller block, and set the place after them.

    In such turns all SMs do the same.
    """
    before, blocks = 1, np.prod(counts)
    for axis in range(len(counts)):
        if cuts[axis] < 1:
            blocks = min(blocks, before * (counts[axis] - 1))
        before *= counts[axis]
    turns = int(blocks // sm_count)
    index = turns * sm_count
    for axis in range(len(counts)):
        place[axis] = index % counts[axis]
        index //= counts[axis]
    return turns


@njit(cache=True, nogil=True)
def _next_works(works: Array, place: Array, counts: Array, cuts: Array) -> None:
    """Set the work of the next blocks of a grid, and go on to the place after them."""
    block = 0
    while block < len(works):
        row, last = 1.0, cuts[0]  # work of the blocks of a row, and of its last
        for axis in range(1, len(counts)):
            if place[axis] == counts[axis] - 1:
                row, last = row * cuts[axis], last * cuts[axis]
        end = min(block + counts[0] - place[0], len(works))
        works[block:end] = row
        place[0] += end - block
        block = end
        if place[0] == counts[0]:
            works[end - 1] = last
            place[0] = 0
            for axis in range(1, len(counts)):
                place[axis] += 1
                if place[axis] < counts[axis]:
                    break
                place[axis] = 0


@njit(cache=True, nogil=True)
def _sort(ends: Array, given: int, sms: Array, values: Array, starts: Array) -> None:
    """Set the SMs of the `given` places that have had room for longest, equal ones as they come.

    Sorted into buckets, and by insertion in these: most ends are equal.
    """
    size, sm_count = ends.shape
    lowest, latest, last = ends[0].min(), ends[0].max(), len(starts) - 1
    while size > 1 and ends[size - 1].min() >= latest:  # after one place on each SM
        size -= 1
    starts[:] = 0
    for place in range(size):
        for sm in range(sm_count):
            starts[min(int((ends[place, sm] - lowest) * _BUCKETS), last)] += 1
    before, used = 0, 0
    while before < given:
        before, starts[used] = before + starts[used], before
        used += 1
    for place in range(size):
        for sm in range(sm_count):
            bucket = min(int((ends[place, sm] - lowest) * _BUCKETS), last)
            if bucket < used:
                sms[starts[bucket]], values[starts[bucket]] = sm, ends[place, sm]
                starts[bucket] += 1
    for place in range(1, before):
        sm, end, at = sms[place], values[place], place
        while at > 0 and values[at - 1] > end:
            sms[at], values[at] = sms[at - 1], values[at - 1]
            at -= 1
        sms[at], values[at] = sm, end
