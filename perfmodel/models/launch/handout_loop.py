"""Handing out blocks one by one, compiled: what `handout` does with arrays, a grid at a time.

Imported only where numba is installed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perfmodel.arrays import Array


@njit(cache=True, nogil=True)
def busiest_of_grids(counts: Array, cuts: Array, held: Array, sm_count: int) -> Array:
    """Return the work of the SM that ends last, for grids in rows.

    `counts` and `cuts`: blocks along each axis, and work of the last of them; `held`: blocks that
    an SM holds at a time.
    """
    found = np.zeros(len(held))
    most = held.max()
    ends, values = np.zeros((most, sm_count)), np.zeros(most * sm_count)
    first = np.zeros(most * sm_count, dtype=np.int64)
    order = np.zeros((most, sm_count), dtype=np.int64)
    place, works = np.zeros(counts.shape[1], dtype=np.int64), np.zeros(sm_count)
    for grid in range(len(held)):
        size = held[grid]
        ends[:size] = 0.0
        place[:] = 0
        left, turn = np.prod(counts[grid]), 0
        while left > 0:
            given = min(sm_count, left)
            _next_works(works[:given], place, counts[grid], cuts[grid])
            if turn < size:  # places that were never taken, one on each SM
                for sm in range(given):
                    ends[turn, sm] = (ends[turn - 1, sm] if turn else 0.0) + works[sm]
            else:
                _order(ends[:size], order[:size], values, first)
                _give(ends[:size], order[:size], works[:given])
            left, turn = left - given, turn + 1
        found[grid] = ends[:size].max()
    return found


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
def _order(ends: Array, order: Array, values: Array, first: Array) -> None:
    """Set the order of places by how long they have had room, equal ones as they come."""
    distinct, latest = 0, 0
    for place in range(ends.shape[0]):
        for sm in range(ends.shape[1]):
            end = ends[place, sm]
            if latest >= distinct or values[latest] != end:  # neighbours mostly end together
                latest = 0
                while latest < distinct and values[latest] != end:
                    latest += 1
                if latest == distinct:
                    values[latest], first[latest] = end, 0
                    distinct += 1
            first[latest] += 1
            order[place, sm] = latest
    before = 0
    for at in np.argsort(values[:distinct]):
        before, first[at] = before + first[at], before
    for place in range(ends.shape[0]):
        for sm in range(ends.shape[1]):
            at = order[place, sm]
            order[place, sm] = first[at]
            first[at] += 1


@njit(cache=True, nogil=True)
def _give(ends: Array, order: Array, works: Array) -> None:
    """Give a block to each of the places that come first."""
    size, sm_count = ends.shape
    for sm in range(sm_count):
        last = ends[size - 1, sm]
        for place in range(size):
            if order[place, sm] < len(works):
                last += works[order[place, sm]]
                ends[place, sm] = last
        for place in range(1, size):  # by age again
            end, before = ends[place, sm], place - 1
            while before >= 0 and ends[before, sm] > end:
                ends[before + 1, sm] = ends[before, sm]
                before -= 1
            ends[before + 1, sm] = end
