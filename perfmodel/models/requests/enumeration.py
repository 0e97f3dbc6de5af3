"""Counting instead of a closed form: the exact addresses of sampled warps, all lanes at once.

The fallback for indices that are not affine, for irregular blocks and for guards that are no
interval. Whole blocks are sampled at block and loop indices that lie evenly; with few enough, all
of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.agreement import agreed, alone
from perfmodel.models.derivation import number
from perfmodel.models.each_launch import each_launch
from perfmodel.models.grid.distinct import first_of_equals
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.bank_conflicts import BankConflicts, counted_turns
from perfmodel.models.requests.coalescing import LINE, PAGE, SECTOR
from perfmodel.models.requests.contention import AddressSharing, Conflicts, Hot, counted_sharing
from perfmodel.models.requests.patterns import (
    Executions,
    Pattern,
    addresses,
    executions,
    pattern_of,
)
from perfmodel.models.requests.random_places import uses_random
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.sampled_places import StoredPlaces, counted_places
from perfmodel.models.requests.wavefronts import (
    data_in_order,
    data_wavefronts,
    tags_in_order,
)
from perfmodel.records import record

_BASE: Final = 1 << 36
"""Any base address [B]: the hash of the tag banks repeats, and buffers are aligned to lines."""
_PARTS: Final = (SECTOR, LINE // 2, LINE)
_GRANULES: Final = (SECTOR, LINE // 2, LINE, PAGE)
_PIECE: Final = 1 << 15
"""Lanes that are looked at together: what is made of them stays in a core's cache."""
_STORES: Final = 1 << 11
"""Store requests of which popular places are looked for."""
_WHOLE_BLOCKS: Final = 1 << 16
"""Lanes of which whole blocks are compared at most: sorting them takes longer than warps."""

_MOST_STORING: Final = 1 << 19
"""Lanes whose stores are followed at most, to see whether they fill sectors."""
STORED_LINES: Final = 1 << 16
STORED_TOGETHER: Final = 1 << 16
"""Lines that L2 may hold sectors of that are stored in part, a little more than
`scattered_stores.PART_LINES`; and threads whose stores take no more of them."""


def counted_requests(a: Addressing) -> Requests:
    """Count the requests of one access, of each launch by itself, scaled from a sample."""
    access = a.access
    if access.kind == "atomic":
        alone(math.prod(a.instance.shape))  # its shared addresses: one launch at a time
    found = lanes_counted(*pattern_of(a))
    (
        requests,
        lanes,
        share,
        step,
        filled,
        distinct_per_block,
        next_block_share,
        counted_at,
        *rest,
    ) = found
    sampled: Any = number(share[0]) if share.size == 1 else share
    different, sectors, pairs, lines, pages, data, tags, *places = rest
    counted = Requests(
        *(access, a.width, requests, sectors, lines, lanes, data, tags, a.variables),
        sampled=sampled,
        different=different,
        pairs=pairs,
        step=step,
        pages=pages,
        distinct_per_block=distinct_per_block,
        next_block_share=next_block_share,
        filled=filled,
    )
    if not places or not agreed(counted_at):
        return counted
    if access.kind == "store":
        return replace(counted, stored=StoredPlaces(Hot(*places[:3]), places[3]))
    all_lanes, pitch, hottest = places[7:10]
    conflicts, hot = Conflicts(*places[:7]), Hot(*places[10:13])
    shared = AddressSharing(conflicts, all_lanes, pitch, hottest, hot)
    return replace(counted, sharing=shared, banks=BankConflicts(*places[13:]))


@each_launch
def lanes_counted(a: Pattern, numbers: tuple[int, ...]) -> Sequence[Any]:
    """Return what a launch asks for.

    Requests, lanes, the share that was counted, step, filled, distinct_per_block,
    next_block_share, whether places follow, what `_Sample.sums` has, and the numbers of those
    places.
    """
    kind, size = a.kind, numbers[-1]
    different = executions(a, numbers)
    places = {"atomic": 16, "store": 4}.get(kind, 0)
    if different.number * different.alike == 0:
        triple = np.zeros((3, 1))
        return 0.0, 0.0, 1.0, 1.0, 1.0, triple, triple, False, *[0.0] * (7 + places)
    most = max(1, a.lanes // (a.shape.warps * WARP_SIZE))
    points = _sample(list(different.extents.values()), most)
    sample = _looked_at(a, different, points)
    samples = len(points[0]) if points else 1
    scale = different.alike * different.number / samples
    concentrated = _meeting(a, sample, size)
    return (
        float(sample.requests) * scale * a.pieces,
        float(sample.lanes) * scale * a.pieces,
        min(1.0, samples / different.number),
        float(sample.bits & -sample.bits),
        _filled(a, different) if kind == "store" else 1.0,
        *_of_blocks(a, different, points, sample, scale * samples * a.pieces),
        concentrated is not None,
        *np.sum(sample.sums * scale, axis=0),
        *(concentrated or [0.0] * places),
    )


def _meeting(a: Pattern, sample: _Sample, size: int) -> tuple[Array, ...] | None:
    """Return how atomics share addresses, or where stores to `size` bytes concentrate."""
    if a.kind == "atomic" and sample.requests > 0:
        shared = counted_sharing(sample.address, sample.active)
        of_all = shared.addresses, shared.pitch, shared.hottest
        turns = counted_turns(sample.address, sample.active, a.width)
        return *shared.conflicts, *of_all, *shared.hot, *turns
    found = counted_places(*sample.stores, float(size)) if sample.stores else None
    return None if found is None else (*found.hot, found.pitch)


def _sample(extents: Sequence[int], most: int) -> list[Array]:
    """Return the indices of all executions, or of so many that lie evenly."""
    executions = math.prod(extents)
    if executions <= most:
        return list(np.unravel_index(np.arange(executions), extents)) if extents else []
    return spread(extents, most)


def spread(extents: Sequence[int], most: int) -> list[Array]:
    """Return `most` points of a grid that lie evenly along every axis, and in every box.

    A sample at random would have a part p of the grid sqrt((1 - p)/(p*most)) too often or too
    seldom: 3% of 2000 where every other thread takes part.

    Notes
    -----
    The additive recurrence with powers of the generalised golden ratio: M. Roberts, The
    unreasonable effectiveness of quasirandom sequences (2018).
    """
    shares = zip(evenly(len(extents), most), extents, strict=True)
    return [(share * extent).astype(np.int64) for share, extent in shares]


def evenly(axes: int, most: int) -> list[Array]:
    """Return `most` points of a unit cube that lie as those of `spread`, of each axis an array."""
    ratio = 2.0
    for _ in range(40):
        ratio = (1 + ratio) ** (1 / (axes + 1))
    turn = np.arange(1, most + 1)
    return [(0.5 + turn * ratio ** -(axis + 1.0)) % 1 for axis in range(axes)]


@record
class _Sample:
    """What a sample of executions asks for; counts are whole numbers, the sample's own."""

    requests: int  # warps in which some lane takes part
    lanes: int
    sums: Array  # by piece: distinct elements, sectors, halves of lines, lines, pages; wavefronts
    bits: int  # that are 1 in any address
    address: Array  # of the first executions; of all for atomics
    active: Array
    stores: tuple[Array, Array] | None  # addresses and active lanes of some requests


def _looked_at(a: Pattern, different: Executions, points: Sequence[Array]) -> _Sample:
    """Look at a sample's executions, some at a time."""
    samples, each = len(points[0]) if points else 1, a.shape.warps * WARP_SIZE
    most, first = max(1, _PIECE // each), max(1, _WHOLE_BLOCKS // each)
    first = samples if a.kind == "atomic" else first
    rows = _some_rows(samples * a.shape.warps) if a.kind == "store" else None
    requests, lanes, bits, sums = 0, 0, LINE, np.zeros((a.pieces, 7))
    kept: list[tuple[Array, Array]] = []
    stores: list[tuple[Array, ...]] = []
    for begin in range(0, samples, most):
        some = [at[begin : begin + most] for at in points]
        address, active = addresses(a, different, some)
        found = _summed(a, address, active)
        requests, lanes, bits = requests + found[0], lanes + found[1], bits | found[2]
        sums += found[3]
        if begin < first:
            kept.append((address[: first - begin], active[: first - begin]))
        if rows is not None:
            warp = rows - begin * a.shape.warps
            here = np.flatnonzero((warp >= 0) & (warp < address.size // WARP_SIZE))
            parts = (x.reshape(-1, WARP_SIZE)[warp[here]] for x in (address, active))
            stores.append((here, *parts))
    address, active = (_joined(parts) for parts in zip(*kept, strict=True))
    popular = None
    if rows is not None:
        place, where, there = (_joined(each) for each in zip(*stores, strict=True))
        order = np.argsort(place)
        popular = where[order], there[order]
    return _Sample(requests, lanes, sums, bits, address, active, popular)


def _joined(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _summed(a: Pattern, address: Array, active: Array) -> tuple[int, int, int, Array]:
    """Return what is summed over requests: whole numbers.

    Warps in which some lane takes part, lanes, bits of addresses, and as `_Sample.sums` has it.
    """
    takes_part = active.any(axis=-1)
    total = np.zeros((a.pieces, 7))
    for piece in range(a.pieces):
        moved = address + piece * a.width
        ordered = _ordered(moved, active)
        there = _without_gaps(ordered) + _BASE
        clocks = data_in_order(there, a.width)
        if clocks is None:
            clocks = data_wavefronts(moved + _BASE, a.width, active, a.from_shared)
        waves = clocks, tags_in_order(there)
        touched = _distinct(ordered, (a.width, *_GRANULES))
        total[piece] = [*touched, *(int(each[takes_part].sum()) for each in waves)]
    requests, lanes = int(np.count_nonzero(takes_part)), int(np.count_nonzero(active))
    return requests, lanes, int(np.bitwise_or.reduce(address, axis=None)), total


def _without_gaps(ordered: Array) -> Array:
    """Return addresses in order with the first for lanes that take no part: it adds none."""
    missing = np.count_nonzero(ordered < 0, axis=-1, keepdims=True)
    if not missing.any():
        return ordered
    first = np.take_along_axis(ordered, np.minimum(missing, WARP_SIZE - 1), axis=-1)
    return np.where(ordered < 0, first, ordered)


def _of_blocks(
    a: Pattern,
    different: Executions,
    points: Sequence[Array],
    sample: _Sample,
    executions: float,
) -> tuple[Array, Array]:
    """Return the sectors, halves and lines of whole blocks over so many block executions.

    And the shares of them that the next block touches as well, of loads at random places: others
    are counted over many blocks where it matters.
    """
    few = max(1, _WHOLE_BLOCKS // sample.address[0].size)
    blocks = min(few, len(sample.address))
    own, taking = (x[:few].reshape(blocks, -1) for x in (sample.address, sample.active))
    next_block_share = np.zeros((3, 1))
    if "blockIdx.x" not in different.extents or not uses_random(a.index):
        found: Sequence[int] = _distinct(_ordered(own, taking), _PARTS)
    else:
        axis = [*different.extents].index("blockIdx.x")
        following = [np.asanyarray(at[:few]) + (n == axis) for n, at in enumerate(points)]
        inside = following[axis] < [*different.extents.values()][axis]
        following = [np.where(inside, at, at - (n == axis)) for n, at in enumerate(following)]
        after, there = (x.reshape(blocks, -1) for x in addresses(a, different, following))
        found, others, both = _compared(own, taking, after, there & inside[:, None])
        counts = zip(found, others, both, strict=True)
        next_block_share = np.array(
            [[(one + other - joint) / max(one, 1)] for one, other, joint in counts]
        )
    each = executions / blocks
    return np.array([[float(number) * each] for number in found]), next_block_share


def _compared(own: Array, taking: Array, after: Array, there: Array) -> Sequence[Sequence[int]]:
    """Return the sectors, halves and lines of blocks, of those after them, and of both together."""
    alone = [_ordered(own, taking), _ordered(after, there)]
    joint = np.sort(np.concatenate(alone, axis=1), axis=-1)
    return [_distinct(ordered, _PARTS) for ordered in (*alone, joint)]


def _some_rows(count: int) -> Array:
    """Return which of so many requests are looked at for popular places."""
    if count > _STORES:
        return np.random.default_rng(0).integers(0, count, _STORES)
    return np.arange(count)


def _filled(a: Pattern, different: Executions) -> float:
    """Return the share of their sectors that the first blocks store before L2 gives lines up."""
    threads = a.shape.warps * WARP_SIZE
    filled, several, most = 1.0, STORED_TOGETHER // threads, max(1, _MOST_STORING // threads)
    extents = list(different.extents.values())
    while True:
        # The first blocks: they run together, each iteration of all of them after the last.
        some = min(different.number, max(1, several))
        first = np.unravel_index(np.arange(some), extents, order="F") if extents else ()
        places, there = addresses(a, different, first)
        places = np.sort(places[there])
        sectors = np.count_nonzero(first_of_equals(places // SECTOR))
        crowded = np.count_nonzero(first_of_equals(places // LINE)) > STORED_LINES
        if sectors and (filled == 1 or not crowded):
            words = np.count_nonzero(first_of_equals(places))
            filled = min(1.0, words * a.width * a.pieces / (sectors * SECTOR))
        several *= 2
        if crowded or filled == 1 or some >= min(different.number, most):
            return filled


def _ordered(address: Array, active: Array) -> Array:
    """Return the addresses of each request in order; -1 for lanes that take no part."""
    return np.sort(address if active.all() else np.where(active, address, -1), axis=-1)


def _distinct(ordered: Array, granules: Sequence[int]) -> list[int]:
    """Return the distinct granules, of powers of two, that rows of sorted addresses are in, summed.

    Neighbours that differ in a bit of the granule's number are in two; those below 0 are in none.
    """
    first = int(np.count_nonzero(ordered[..., 0] >= 0))
    differing = (ordered[..., 1:] ^ ordered[..., :-1]).view(np.uint64)
    return [first + int(np.count_nonzero(differing >= granule)) for granule in granules]
