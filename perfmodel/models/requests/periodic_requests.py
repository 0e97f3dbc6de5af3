"""Requests of a table that is read again and again, one element after the other: ``table[i % m]``.

Warps follow each other through the period, whose end cuts one of them, and each traversal starts as
many elements into a warp as the last one left of it. These come again after 32 traversals at most,
so that sums over all traversals are sums over 32, each so many times.
"""

import math
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.agreement import agreed
from perfmodel.models.derivation import definition
from perfmodel.models.grid.activity import Activity
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.block_runs import even, falling_tests
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.footprint import integers
from perfmodel.models.requests.periodic_index import PeriodicIndex
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.run_requests import whole_words
from perfmodel.models.requests.wavefronts import (
    BANK_WORD,
    BANKS,
    PAGE_OF_LINES,
    lines_by_bank,
    most_in_a_bank,
    tags_of_warps,
)

_WARP_BIT: Final = WARP_SIZE.bit_length() - 1
_TOGETHER: Final = 1 << 10
"""Launches that are counted at a time: few enough for the CPU's caches."""
_TURNS: Final = np.arange(1, WARP_SIZE + 1)[:, None]
"""Ends of the period that warps reach, whose cuts differ; further ones cut as these."""


class _Cut(NamedTuple):
    """Warps in two runs: up to the end of the period, and on from its start. In elements."""

    times: Array
    at: Array
    before: Array  # lanes of the first run
    lanes: Array
    start: Array  # of the period, and of the second run
    period: Array


class _Whole(NamedTuple):
    """Runs of full warps that no end of the period cuts."""

    times: Array
    at: Array  # the first, in elements
    warps: Array


def periodic_requests(a: Addressing, activity: Activity, found: PeriodicIndex) -> Requests | None:
    """Return the requests of a load whose threads read on through a period, one after the other.

    None of others: where threads leave elements out, or a guard lets others through than the first
    threads of the launch, or the period is shorter than a warp.
    """
    if not whole_words(a):
        return None
    used = names(a.index).union(*map(names, a.guards))
    moving = [v for v in a.variables if v.in_lane or v.target in used]
    in_order = partial(even, digits=moving)
    index = in_order(a, found.plane)
    if index is None or falling_tests(a, in_order) is None:
        return None
    first, period, start = (n * a.element for n in (found.plane.offset, found.period, found.shift))
    whole = (period % a.width == 0) & ((first - start) % a.width == 0) & (start % a.width == 0)
    if not agreed(whole & (index.step * a.element == a.width) & (period >= WARP_SIZE * a.width)):
        return None
    still = (v.extent for v in a.variables if not v.in_lane and v.target not in used)
    repeats = np.asanyarray(math.prod(still), dtype=float)
    threads = activity.active_lanes / np.maximum(repeats, 1)
    sums = counted_through(a.width, threads, first, period, start)
    sectors, halves, lines, data, tags = (each * repeats for each in sums)
    requests, lanes = activity.requests, activity.active_lanes
    return Requests(
        *(a.access, a.width, requests, sectors, lines, lanes, data, tags, a.variables),
        pairs=halves,
        step=np.full(1, float(a.width)),
    )


@definition
def counted_through(width: int, *columns: Any) -> tuple[Array, ...]:
    """Return what threads ask for that read on through a period, arrays of launches.

    `columns`: threads, the address of the first before it is folded, the period and where it
    starts [B]. Sectors, halves of lines, lines, data and tag wavefronts.
    """
    every = np.broadcast_arrays(*(integers(np.atleast_1d(column)) for column in columns))
    places = range(0, every[0].size, _TOGETHER)
    found = [_counted(width, *(each[at : at + _TOGETHER] for each in every)) for at in places]
    return tuple(map(np.concatenate, zip(*found, strict=True)))


def _counted(width: int, threads: Array, *places: Array) -> list[Array]:
    """Return what `counted_through` does, of launches together."""
    whole, cut = _warps(threads, *(place // width for place in places))
    every, found = whole.times * whole.warps, []
    for granule in (SECTOR, LINE // 2, LINE):
        bit = (granule // width).bit_length() - 1
        off, (own, more) = whole.at & (1 << bit) - 1 != 0, _touched(cut, bit)
        found.append(_sum(every, (WARP_SIZE >> bit) + off) + _sum(cut.times, own + more))
    found.append(_sum(every, width // BANK_WORD) + _sum(cut.times, _cut_data(cut, width)))
    # Granules are lines now.
    banks = lines_by_bank(cut.at >> bit, own) + lines_by_bank(cut.start >> bit, more)
    tags = _sum(cut.times, most_in_a_bank(banks))
    found.append(_sum(whole.times, _tags(whole, width)) + tags)
    return found


def _sum(times: Array, each: Any) -> Array:
    return np.asanyarray((times * each).sum(axis=0).astype(float))


def _warps(threads: Array, first: Array, period: Array, start: Array) -> tuple[_Whole, _Cut]:
    """Return the warps of launches, kinds of them along the first axis; places in elements."""
    warps, left = threads >> _WARP_BIT, threads & WARP_SIZE - 1
    place = (first - start) % period
    # Ends of the period that full warps reach and go on from, and where the last thread's warp is.
    ends = np.maximum(place + warps * WARP_SIZE - 1, 0) // period
    rest = (place + warps * WARP_SIZE) % period
    before = _TURNS * (period & WARP_SIZE - 1) - place & WARP_SIZE - 1
    into = -before & WARP_SIZE - 1
    last = place - ends * period & WARP_SIZE - 1
    after = warps + (place - ends * period - last >> _WARP_BIT)
    passed = np.maximum(ends - 1, 0) - _TURNS + WARP_SIZE >> _WARP_BIT
    one = np.ones_like(place)
    whole = _Whole(
        times=np.vstack([one, one, passed]),
        at=np.vstack([place, last, into]) + start,
        warps=np.vstack(
            [
                np.minimum(warps, period - place >> _WARP_BIT),
                np.where(ends > 0, after, 0),
                period - into >> _WARP_BIT,
            ]
        ),
    )
    cut = _Cut(
        times=np.vstack([left > 0, (before > 0) * (ends - _TURNS + WARP_SIZE >> _WARP_BIT)]),
        at=np.vstack([rest, period - before]) + start,
        before=np.vstack([np.minimum(left, period - rest), before]),
        lanes=np.vstack([left, np.full_like(before, WARP_SIZE)]),
        start=start,
        period=period,
    )
    return whole, cut


def _touched(cut: _Cut, bit: int) -> tuple[Array, Array]:
    """Return granules of so many elements that cut warps touch, of the second run those left."""
    first, second = cut.at >> bit, cut.start >> bit
    own = (cut.at + cut.before - 1 >> bit) - first + 1
    last = np.minimum(cut.start + cut.lanes - cut.before - 1 >> bit, first - 1)
    return own, np.where(cut.lanes > cut.before, last - second + 1, 0)


def _cut_data(cut: _Cut, width: int) -> Array:
    """Return the data wavefronts of cut warps: 2 of a part whose runs meet in a bank."""
    part = BANKS * BANK_WORD // width  # lanes, and the banks that they share
    inside = cut.before & part - 1
    own = np.minimum(part, cut.lanes - cut.before + inside)
    bank = inside - cut.period & part - 1  # of the second run's first lane, from the first run's
    overlaps = (bank < inside) | (bank + own - inside > part)
    twice = (inside > 0) & (inside < own) & overlaps
    return np.asanyarray((cut.lanes + part - 1) // part + twice)


def _tags(whole: _Whole, width: int) -> Array:
    """Return the tag wavefronts of runs of full warps.

    Of a warp across a page of lines, as if the next page's banks were in the same order.
    """
    clocks, stride, each = tags_of_warps(width), width * WARP_SIZE // LINE, LINE // width
    first, row = whole.at // each, (whole.at % each > 0) * clocks.shape[1]
    last, in_page = first + whole.warps * stride, PAGE_OF_LINES - 1
    places = last & in_page, first & in_page, PAGE_OF_LINES + (first & stride - 1)
    until, before, page = (clocks.ravel().take(row + place, mode="clip") for place in places)
    pages = last // PAGE_OF_LINES - first // PAGE_OF_LINES
    return np.asanyarray(until - before + pages * page)
