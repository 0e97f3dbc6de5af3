"""Handing out blocks one by one, compiled: what `handout` does with arrays, a grid at a time.

Imported only where numba is installed.
"""

from typing import Final

import numpy as np
from numba import njit

from perfmodel.arrays import Array

_SPREAD: Final = 0.618034 * 2**40
"""Factor whose product with an end tells it from others in its last bits."""
_FEW: Final = 40
"""Distinct ends up to which sorting them by insertion takes less time than NumPy's sort."""


@njit(cache=True, nogil=True)
def busiest_of_grids(counts: Array, cuts: Array, held: Array, sm_count: int) -> Array:
    """Return the work of the SM that ends last, for grids in rows.

    `counts` and `cuts`: blocks along each axis, and work of the last of them; `held`: blocks that
    an SM holds at a time.
    """
    found = np.zeros(len(held))
    most = held.max()
    ends, slots = np.zeros((most, sm_count)), np.zeros((most, sm_count), dtype=np.int64)
    sms, keys = np.zeros(ends.size, dtype=np.int64), np.full(_table_size(ends.size), -1.0)
    starts = np.zeros(len(keys), dtype=np.int64)
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
                    _sort(ends[:size], given, sms, slots, keys, starts)
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
def _sort(ends: Array, given: int, sms: Array, slots: Array, keys: Array, starts: Array) -> None:
    """Set the SMs of the `given` places that have had room for longest, equal ones as they come.

    Many ends are equal: the distinct ones are sorted, and places counted by these.
    """
    size = len(ends)
    latest = _largest(ends[0])
    while size > 1 and _all_from(ends[size - 1], latest):  # after one place on each SM
        size -= 1
    distinct = _distinct(ends[:size], slots, keys, starts)
    distinct = _in_order(distinct, keys)
    before = 0
    for slot in distinct:
        count, starts[slot] = starts[slot], before if before < given else -1
        before, keys[slot] = before + count, -1.0
    for place in range(size):
        for sm in range(ends.shape[1]):
            slot = slots[place, sm]
            at = starts[slot]
            if at >= 0:
                sms[at] = sm
                starts[slot] = at + 1


@njit(cache=True, nogil=True)
def _distinct(ends: Array, slots: Array, keys: Array, counts: Array) -> Array:
    """Return the slots of the distinct ends in a table, whose `keys` are -1 where it is empty.

    Sets the slot of each end, and how many there are of each.
    """
    last, used = len(keys) - 1, np.empty(ends.size, dtype=np.int64)
    distinct = 0
    for place in range(len(ends)):
        for sm in range(ends.shape[1]):
            end = ends[place, sm]
            slot = int(end * _SPREAD) & last
            while keys[slot] != end:
                if keys[slot] < 0:
                    keys[slot], counts[slot], used[distinct] = end, 0, slot
                    distinct += 1
                    break
                slot = slot + 1 & last
            slots[place, sm] = slot
            counts[slot] += 1
    return used[:distinct]


@njit(cache=True, nogil=True)
def _in_order(slots: Array, keys: Array) -> Array:
    """Return slots by their keys; of few by insertion, which takes less time."""
    if len(slots) > _FEW:
        return slots[np.argsort(keys[slots])]
    for place in range(1, len(slots)):
        slot, at = slots[place], place
        while at > 0 and keys[slots[at - 1]] > keys[slot]:
            slots[at] = slots[at - 1]
            at -= 1
        slots[at] = slot
    return slots


@njit(cache=True, nogil=True)
def _table_size(most: int) -> int:
    """Return a power of two over twice as many slots as there are ends."""
    size = 1
    while size < 2 * most:
        size *= 2
    return size


@njit(cache=True, nogil=True)
def _largest(ends: Array) -> float:
    found = 0.0
    for end in ends:
        found = max(found, end)
    return found


@njit(cache=True, nogil=True)
def _all_from(ends: Array, least: float) -> bool:
    at = 0
    while at < len(ends) and ends[at] >= least:
        at += 1
    return at == len(ends)
