"""L2's accesses by groups of sets, with compiled loops and two threads.

Sets do not know of each other. So many accesses are put in order by groups of sets, each small
enough for the caches of a CPU's core, and the groups are run one after the other, in two threads.
"""

from itertools import pairwise
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.trace.cache import CacheState, memo, room
from perfmodel.trace.l2 import Answers, L2Shape, Lookups, Written
from perfmodel.trace.l2_loop import locate, scatter, serve
from perfmodel.trace.threads import in_threads, shares

_SHIFT: Final = 7
"""Sets of a group in each partition, as a power of two: 2 x 128 sets of 416 B."""


def run(shape: L2Shape, state: CacheState, asked: Lookups, time: int) -> tuple[Answers, Written]:
    """Run accesses, `shape.epoch` at a time; the first has the stamp `time`."""
    n, each = len(asked.line), shape.cache.sets // shape.partitions
    ordered, ends = _by_group(shape, asked, (each - 1 >> _SHIFT) + 1)
    answers = Answers(*(np.empty(n, np.uint8) for _ in Answers._fields))
    rules = shape.cache.renewed, shape.cache.fetch_sectors, shape.cache.dirty_age
    about = each, shape.epoch, shape.far_age, time, n

    def some(low: int, high: int) -> Array:
        part = ends[low : high + 1]
        # At most two lines an access on either side.
        gone = np.empty((4 * (part[-1] - part[0]), 3), np.int64)
        size = min(shape.epoch, n)
        rooms = *room(size), np.empty(size, np.int64)
        cache, columns = (rules, state.table), (ordered, asked.words)
        return gone[: serve(cache, columns, about, part, rooms, tuple(answers), gone)]

    # As many accesses for either thread as whole groups allow.
    cuts = [0, *(int(np.searchsorted(ends, high)) for _, high in shares(n, n))]
    gone = np.concatenate(in_threads(some, list(pairwise(cuts))))
    masks = gone[:, 1].astype(np.uint8)
    return answers, Written(gone[:, 0], masks & np.uint8(15), masks >> np.uint8(4))


def _by_group(shape: L2Shape, asked: Lookups, groups: int) -> tuple[tuple[Array, ...], Array]:
    """Return accesses in the order of groups, then of time, and the ends of groups."""
    n = len(asked.line)
    parts = shares(n, n)
    place = np.empty(n, np.int64)
    count = np.zeros((len(parts), groups), np.int64)
    sets = shape.cache.sets, shape.run, shape.partitions, _SHIFT

    def part(low: int, high: int) -> tuple[Array, ...]:
        return tuple(column[low:high] for column in asked)

    def find(row: int, low: int, high: int) -> None:
        locate(part(low, high), sets, memo(), place[low:high], count[row])

    in_threads(find, [(row, *ends) for row, ends in enumerate(parts)])
    ends = np.concatenate([[0], np.cumsum(count.sum(axis=0))])
    # Each thread's accesses of a group lie behind those of the one before it.
    at = ends[:-1] + np.cumsum(count, axis=0) - count
    ordered = tuple(np.empty(n, kind) for kind in (np.int32, np.int64, np.int64, np.uint32))

    def put(row: int, low: int, high: int) -> None:
        scatter(part(low, high), place[low:high], _SHIFT, low, at[row], ordered)

    in_threads(put, [(row, *ends) for row, ends in enumerate(parts)])
    return ordered, ends
