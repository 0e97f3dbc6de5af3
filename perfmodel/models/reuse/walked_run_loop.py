"""Walks of a buffer by blocks that read runs, compiled. Imported only where numba is installed.

Granules that a walk touches are ranges in order: (ranges, 2), the first and the last of each.
"""

import numpy as np
from numba import njit

from perfmodel.arrays import Array
from perfmodel.models.requests.block_run_loop import (
    next_digits,
    put_digits,
    taking_part,
    value_at,
)


@njit(cache=True, nogil=True)
def first_brought(
    walks: tuple[Array, Array],
    block: tuple[int, int],
    blocks: Array,
    grids: Array,
    extents: Array,
    planes: Array,
) -> Array:
    """Return the granules that walks touch, and are the first to bring, (2*walks, launches).

    `walks` are the loads of each, and whether they are sure to take place; `block` is its threads,
    and the bits that a granule's number is an address without. `blocks`, (4, launches), are the
    first that is followed, how many, the first inner one, whose granules are told, and how many.
    `grids` is (3, launches); `extents`, (loads, loops, launches), are of loops. `planes`, (loads,
    1 + tests, 1 + axes + 1, launches), as in `block_run_loop`, with byte addresses: axes are block
    indices, then loops.
    """
    lengths, sure = walks
    launches = grids.shape[1]
    found = np.zeros((2 * len(lengths), launches), dtype=np.int64)
    for launch in range(launches):
        first, run, inside, inner = blocks[:, launch]
        if run < 1:
            continue
        grid, load = grids[:, launch], 0
        brought = own = every = np.zeros((0, 2), dtype=np.int64)
        last = planes[:0, :, :, launch].copy(), extents[:0, :, launch].copy()
        for walk in range(len(lengths)):
            loads = slice(load, load + lengths[walk])
            load += lengths[walk]
            each = planes[loads, :, :, launch].copy(), extents[loads, :, launch].copy()
            # Of a walk like the one before it all is known, which was as sure.
            if not (_equal(each[0], last[0]) and _equal(each[1], last[1])):
                told = first + inside, inner
                more = sure[walk] and walk + 1 < len(lengths)
                own, every = _touched(each, block, (first, run) if more else told, told, grid)
            last = each
            found[2 * walk, launch] = _size(own)
            found[2 * walk + 1, launch] = _size(own) - _common(own, brought)
            if sure[walk] and walk + 1 < len(lengths):
                brought = _in_order(np.concatenate((brought, every)))
    return found


@njit(cache=True, nogil=True)
def _equal(one: Array, other: Array) -> bool:
    """Say whether arrays are of one shape, and the same."""
    return one.shape == other.shape and bool(np.all(one == other))


@njit(cache=True, nogil=True)
def _touched(
    loads: tuple[Array, Array],
    block: tuple[int, int],
    blocks: tuple[int, int],
    told: tuple[int, int],
    grid: Array,
) -> tuple[Array, Array]:
    """Return the granules that loads touch in some blocks among others, and in all of those.

    Blocks are the first one, and how many from there on.
    """
    planes, extents = loads
    trips = np.zeros(len(planes), dtype=np.int64)
    for load in range(len(planes)):
        trips[load] = np.prod(extents[load])
    found = np.zeros((blocks[1] * trips.sum(), 2), dtype=np.int64)
    place = np.zeros(3 + extents.shape[1], dtype=np.int64)
    put_digits(blocks[0], grid, place, 0)
    used = start = end = 0
    for number in range(blocks[0], blocks[0] + blocks[1]):
        if number == told[0]:
            start = end = used
        elif number == told[0] + told[1]:
            end = used
        since = start if number < told[0] + told[1] else end
        for load in range(len(planes)):
            own = planes[load]
            for _ in range(trips[load]):
                lanes = taking_part(own, place, block[0])
                if lanes > 0:
                    at = value_at(own, 0, place)
                    last = at + (lanes - 1) * own[0, -1] >> block[1]
                    used = _add(found, used, since, at >> block[1], last)
                next_digits(extents[load], place, 3)
        next_digits(grid, place, 0)
    if blocks[0] + blocks[1] == told[0] + told[1]:
        end = used
    return _in_order(found[start:end]), _in_order(found[:used])


@njit(cache=True, nogil=True)
def _add(found: Array, used: int, since: int, first: int, last: int) -> int:
    """Add a range after so many, to the latest if it goes on there; return how many there are.

    To none before those `since` some place.
    """
    if used > since and found[used - 1, 0] <= first <= found[used - 1, 1] + 1:
        found[used - 1, 1] = max(found[used - 1, 1], last)
        return used
    found[used, 0], found[used, 1] = first, last
    return used + 1


@njit(cache=True, nogil=True)
def _in_order(ranges: Array) -> Array:
    """Return ranges in order, none of which touch."""
    separate = in_order = True
    for place in range(1, len(ranges)):
        separate = separate and ranges[place - 1, 1] + 1 < ranges[place, 0]
        in_order = in_order and ranges[place - 1, 0] <= ranges[place, 0]
    if separate:  # they mostly are
        return ranges
    found = np.zeros(ranges.shape, dtype=np.int64)
    used = 0
    order = np.arange(len(ranges)) if in_order else np.argsort(ranges[:, 0], kind="mergesort")
    for place in order:
        used = _add(found, used, 0, ranges[place, 0], ranges[place, 1])
    return found[:used]


@njit(cache=True, nogil=True)
def _size(ranges: Array) -> int:
    """Return the granules in ranges."""
    size = 0
    for place in range(len(ranges)):
        size += ranges[place, 1] - ranges[place, 0] + 1
    return size


@njit(cache=True, nogil=True)
def _common(one: Array, other: Array) -> int:
    """Return the granules that are in both of some ranges in order."""
    size = at = to = 0
    while at < len(one) and to < len(other):
        last = min(one[at, 1], other[to, 1])
        size += max(last - max(one[at, 0], other[to, 0]) + 1, 0)
        if one[at, 1] == last:
            at += 1
        else:
            to += 1
    return size
