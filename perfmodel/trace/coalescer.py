"""Coalescing: the lanes of warp requests to the 32 B sectors and 128 B lines that they touch.

A request is charged the distinct sectors of all its lanes. Lanes of 8 and 16 B go in halves and
quarters of a warp, but a sector that two of them touch is charged once (measured:
measurements/suite/h200-sxm/foundation/coalescer.csv). A broadcast is one sector; lanes whose guard
fails ask for nothing. Lanes of an atomic that hit the same address are one operation of L2.

Requests of separable indices are an address a warp, and each pattern of lanes is coalesced once. A
pattern is which lanes take part, how far they are from the first, and where that one lies in its
line. All requests of a pattern touch the same lines but for where these start.
"""

from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.trace.cache import COUNT, LINE, SECTOR, WORD, Engine, uses_numba

LANES = 32
_SECTOR_SHIFT = SECTOR.bit_length() - 1
_IN_LINE = (LINE // SECTOR).bit_length() - 1
_UNUSED = np.iinfo(np.int64).max


class Lines(NamedTuple):
    """Lines that requests touch, ordered by request and address; arrays of one length."""

    request: Array  # row of the request
    line: Array  # byte address // 128
    sectors: Array  # touched sectors, a bit each
    words: Array  # words of 4 B of which every byte is touched, a bit each; 0 unless asked for


def coalesce(
    address: Array,
    active: Array | None,
    width: int,
    words: bool = False,
    engine: Engine = "auto",
) -> Lines:
    """Return the lines that warp requests touch.

    `address`: byte address of every lane, a multiple of `width`. `active`: lanes that take part;
    None is all. `width`: bytes a lane: 1, 2, 4, 8 or 16. `words`: whether to work out which words
    are filled: for stores. `engine`: who counts; the lines are the same. "auto" is numba if it is
    installed.
    """
    return lines_of(ordered(address, active, engine), width, words, engine)


def ordered(address: Array, active: Array | None, engine: Engine = "auto") -> Array:
    """Return the addresses of each request in order, lanes that take no part last.

    `address`, `active`: as for `coalesce`.
    """
    if uses_numba(engine):
        from perfmodel.trace.coalescer_loop import order

        lanes = np.empty((0, LANES), bool) if active is None else np.ascontiguousarray(active)
        return np.asarray(order(np.ascontiguousarray(address), lanes))
    if active is not None:
        address = np.where(active, address, _UNUSED)
    if np.any(address[:, 1:] < address[:, :-1]):
        address = np.sort(address, axis=1)
    return address


def lines_of(address: Array, width: int, words: bool, engine: Engine = "auto") -> Lines:
    """Return what `coalesce` does, from the addresses that `ordered` returns."""
    if uses_numba(engine):
        from perfmodel.trace.coalescer_loop import lines

        return Lines(*lines(address, width, words))
    sector = address >> _SECTOR_SHIFT
    first = np.empty(address.shape, dtype=bool)
    first[:, 0] = True
    np.not_equal(sector[:, 1:], sector[:, :-1], out=first[:, 1:])
    first &= address != _UNUSED
    at = np.flatnonzero(first)
    touched = sector.reshape(-1)[at]
    request = at >> LANES.bit_length() - 1
    line = touched >> _IN_LINE
    new = np.empty(len(at), dtype=bool)
    new[:1] = True
    new[1:] = (line[1:] != line[:-1]) | (request[1:] != request[:-1])
    starts = np.flatnonzero(new)
    bits = np.left_shift(np.uint8(1), (touched & 3).astype(np.uint8))
    masks = np.bitwise_or.reduceat(bits, starts) if len(at) else bits
    filled = (
        _filled(address.reshape(-1), at[starts], width)
        if words and len(at)
        else np.zeros(len(starts), dtype=np.uint32)
    )
    return Lines(request[starts], line[starts], masks, filled)


def atomic_groups(address: Array, engine: Engine = "auto") -> tuple[int, int, int]:
    """Return how the lanes of atomics meet, all requests together.

    These are distinct addresses, lanes at each request's busiest one, and passes through sectors:
    lanes at one address take turns, and those at others of its sector go with them.

    `address`: as `ordered` returns them.

    The profiler counts passes as L2 sectors of atomics: 32 for 32 lanes at one address, and 4 for
    4 lanes each at the 8 words of a sector
    (measurements/suite/h200-sxm/sweeps/atomics-counters.csv).
    """
    if uses_numba(engine):
        from perfmodel.trace.coalescer_loop import groups

        return tuple(map(int, groups(address)))  # type: ignore[return-value]
    new = np.ones(address.shape, dtype=bool)
    new[:, 1:] = address[:, 1:] != address[:, :-1]
    start = np.flatnonzero(new)
    place = address.reshape(-1)[start]
    lanes = np.diff(start, append=address.size)
    request, place, lanes = (each[place != _UNUSED] for each in (start // LANES, place, lanes))
    if not place.size:
        return 0, 0, 0
    other = np.diff(request, prepend=-1) != 0
    sector = place >> _SECTOR_SHIFT
    passes = np.maximum.reduceat(lanes, np.flatnonzero(other | (np.diff(sector, prepend=-1) != 0)))
    busiest = np.maximum.reduceat(lanes, np.flatnonzero(other))
    return len(place), int(busiest.sum()), int(passes.sum())


def _filled(address: Array, starts: Array, width: int) -> Array:
    """Return the words that are filled from the lane at each of `starts` to the next."""
    # Lanes that take no part are sorted last; their bits would fall to the line before.
    used = address != _UNUSED
    in_line = address & (LINE - 1)
    if width >= WORD:
        bits = ((1 << width // WORD) - 1) << (in_line // WORD)
        bits = np.where(used, bits, 0).astype(np.uint32)
        return np.asarray(np.bitwise_or.reduceat(bits, starts))
    found = np.full(len(starts), 0xFFFFFFFF, dtype=np.uint32)
    for byte in range(WORD):
        covers = used & (in_line % WORD <= byte) & (byte < in_line % WORD + width)
        bits = np.where(covers, 1 << (in_line // WORD), 0).astype(np.uint32)
        found &= np.bitwise_or.reduceat(bits, starts)
    return found


MOST: Final = 1 << 16
"""Most patterns that are coalesced beforehand."""


class Warps(NamedTuple):
    """Lanes of a block's warps: [warp], and [kind, lane]."""

    lead: Array  # address of the first lane from the block's [B]
    kind: Array  # which of `steps` the warp has
    steps: Array  # distances of lanes from the first [B]


class Patterns(NamedTuple):
    """Lines of all patterns, ordered by lanes that take part, kind of warp, and byte in a line."""

    start: Array  # where a pattern's lines start, one more than there are patterns
    # As in `perfmodel.trace.coalescer.Lines`; lines from that of the first lane.
    line: Array
    sectors: Array
    words: Array
    total: Array  # sectors of a pattern


def warps(lanes: Array) -> Warps:
    """Return the lanes of warps from their addresses in a block, shape (warps, 32) [B]."""
    steps, kind = np.unique(lanes - lanes[:, :1], axis=0, return_inverse=True)
    return Warps(np.ascontiguousarray(lanes[:, 0]), kind.reshape(-1), steps)


def patterns(masks: Array, steps: Array, first: int, step: int, how: tuple[int, bool]) -> Patterns:
    """Coalesce all patterns.

    `masks`: lanes that take part, a bit each. `steps`: distances of lanes from the first [B].
    `first` and `step`: addresses of first lanes are `first` and multiples of `step` more [B].
    `how`: `width` and `words` of `perfmodel.trace.coalescer.coalesce`.
    """
    shape = (len(masks), len(steps), LINE)
    bytes_ = np.arange(first % step, LINE, step)
    number = np.arange(np.prod(shape)).reshape(shape)[..., bytes_].reshape(-1)
    address = bytes_[:, None] + steps[:, None, :]
    address = np.broadcast_to(address, (len(masks), *address.shape)).reshape(-1, LANES)
    active = (masks[:, None] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)
    active = np.repeat(active, len(steps) * len(bytes_), axis=0)
    # With NumPy, for they are few: the compiled loops need not be loaded.
    request, line, sectors, words = coalesce(address, active, *how, "numpy")
    which = number[request]
    count = np.bincount(which, minlength=int(np.prod(shape)))
    total = np.bincount(which, weights=COUNT[sectors], minlength=len(count)).astype(np.int64)
    return Patterns(np.concatenate([[0], np.cumsum(count)]), line, sectors, words, total)
