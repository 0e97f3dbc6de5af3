"""Counting instead of a closed form: the exact addresses of sampled warps, all lanes at once.

The fallback for indices that are not affine, for irregular blocks and for guards that are no
interval. Whole blocks are sampled at block and loop indices that lie evenly; with few enough, all
of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, evaluate, names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.histogram import BIN, Histogram, histogram, random_part
from perfmodel.models.agreement import alone
from perfmodel.models.grid.distinct import first_of_equals
from perfmodel.models.grid.geometry import AXES
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.bank_conflicts import counted_turns
from perfmodel.models.requests.coalescing import LINE, PAGE, SECTOR
from perfmodel.models.requests.contention import counted_sharing
from perfmodel.models.requests.random_places import uses_random
from perfmodel.models.requests.request_record import Requests, no_requests
from perfmodel.models.requests.sampled_places import counted_places
from perfmodel.models.requests.wavefronts import (
    data_wavefronts,
    ordered_wavefronts,
    tag_wavefronts,
)
from perfmodel.records import record

MAX_LANES: Final = 1 << 19
"""Lanes of a sample at most."""
ALL_LANES: Final = 1 << 23
"""Lanes of the samples of all accesses of a kernel together, at most: time stays in seconds."""
_BASE: Final = 1 << 36
"""Any base address [B]: the hash of the tag banks repeats, and buffers are aligned to lines."""
_PIECE: Final = 1 << 14
"""Lanes that are looked at together: what is made of them stays in a core's cache."""
_STORES: Final = 1 << 11
"""Store requests of which popular places are looked for."""
_WHOLE_BLOCKS: Final = 1 << 16
"""Lanes of which whole blocks are compared at most: sorting them takes longer than warps."""

STORED_LINES: Final = 1 << 16
STORED_TOGETHER: Final = 1 << 16
"""Lines that L2 may hold sectors of that are stored in part, a little more than
`scattered_stores.PART_LINES`; and threads whose stores take no more of them."""


class Drawn(NamedTuple):
    """A random part of an index whose values are not equally likely: its key, and the chances."""

    key: Node
    histogram: Histogram


@record
class _Executions:
    """The block executions of a launch whose requests may differ."""

    index: Node  # element index; where `drawn` says so, ``bin`` in it is drawn
    drawn: Drawn | None
    values: Mapping[str, int]  # parameters and dimensions, plain numbers
    extents: Mapping[str, int]  # of the block and loop indices that decide
    alike: int  # executions of the launch that repeat the requests of each

    @property
    def number(self) -> int:
        return math.prod(self.extents.values())


def counted_requests(a: Addressing) -> Requests:
    """Count the requests of one access of one configuration, scaled from the sample."""
    instance, access = a.instance, a.access
    alone(math.prod(instance.shape))  # what a count leaves open is told of one at a time
    different = _executions(a)
    if different.number * different.alike == 0:
        none, triple, one = np.zeros(1), np.zeros((3, 1)), np.ones(1)
        nothing = no_requests(access, a.width, a.variables)
        nothing = replace(nothing, different=none, pairs=none, pages=none, in_blocks=triple)
        return replace(nothing, seams=triple, step=one, filled=one, sampled=1.0)
    atomic, stores = access.kind == "atomic", access.kind == "store"
    lanes = MAX_LANES >> 3 if atomic else min(MAX_LANES, ALL_LANES // len(instance.kernel.accesses))
    most = max(1, lanes // (a.shape.warps * WARP_SIZE))
    points = _sample(list(different.extents.values()), most)
    sample = _looked_at(a, different, points)
    address, active = sample.address, sample.active
    samples = len(points[0]) if points else 1
    scale = different.alike * different.number / samples
    found, *touched, data, tags = np.sum(sample.sums * scale, axis=0)[:, None]
    sectors, pairs, lines, pages = touched
    meets = atomic and sample.requests > 0
    return Requests(
        access=access,
        width=a.width,
        requests=np.array([float(sample.requests) * scale * a.pieces]),
        sectors=sectors,
        lines=lines,
        active_lanes=np.array([float(sample.lanes) * scale * a.pieces]),
        data_wavefronts=data,
        tag_wavefronts=tags,
        variables=a.variables,
        sampled=min(1.0, samples / different.number),
        sharing=counted_sharing(address, active) if meets else None,
        banks=counted_turns(address, active, a.width) if meets else None,
        stored=counted_places(*sample.stores, a.buffer_bytes) if sample.stores else None,
        different=found,
        pairs=pairs,
        step=np.array([float(sample.bits & -sample.bits)]),
        pages=pages,
        in_blocks=_in_blocks(address, active, scale * samples * a.pieces),
        seams=_seams(a, different, points, address, active),
        filled=np.array([_filled(a, different, most) if stores else 1.0]),
    )


def addresses_at(a: Addressing, at: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the addresses of some executions by blocks [B], and which lanes take part.

    `at` has ``blockIdx.x`` and so on, and loop variables, an array of one length each; others are
    0. Both results have the shape (executions, warps, 32); addresses count from the start of the
    buffer, those of lanes that take no part are 0.
    """
    different = _executions(a)
    executions = max((len(each) for each in at.values()), default=1)
    none = np.zeros(executions, dtype=np.int64)
    points = [np.asanyarray(at.get(name, none)) for name in different.extents]
    address, active = _addresses(a, different, points)
    # What none of these decides is the same in all executions.
    shape = (executions, *address.shape[1:])
    taken = bool(np.all(a.taken > 0))
    return np.broadcast_to(address, shape), np.broadcast_to(active, shape) & taken


def _executions(a: Addressing) -> _Executions:
    values = {name: _number(value) for name, value in a.values.items()}
    part = random_part(a.index) if a.access.weights is not None else None
    index, drawn = a.index, None
    if part is not None:
        index, (key, bins) = part[0], part[1].operands
        drawn = Drawn(key, histogram(a.access, int(evaluate(bins, values)), values))
    grid = zip((f"blockIdx.{axis}" for axis in AXES), a.instance.grid, strict=True)
    every = {name: _number(n) for name, n in (*grid, *a.trips.items())}
    # What neither index nor guards depend on repeats the same requests.
    used = names(index).union(*map(names, a.guards), names(drawn.key) if drawn else ())
    return _Executions(
        index,
        drawn,
        values,
        extents={name: extent for name, extent in every.items() if name in used},
        alike=math.prod(extent for name, extent in every.items() if name not in used),
    )


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
    ratio = 2.0
    for _ in range(40):
        ratio = (1 + ratio) ** (1 / (len(extents) + 1))
    turn = np.arange(1, most + 1)
    return [
        ((0.5 + turn * ratio ** -(axis + 1.0)) % 1 * extent).astype(np.int64)
        for axis, extent in enumerate(extents)
    ]


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


def _looked_at(a: Addressing, different: _Executions, points: Sequence[Array]) -> _Sample:
    """Look at a sample's executions, some at a time."""
    samples, each = len(points[0]) if points else 1, a.shape.warps * WARP_SIZE
    most, first = max(1, _PIECE // each), max(1, _WHOLE_BLOCKS // each)
    first = samples if a.access.kind == "atomic" else first
    rows = _some_rows(samples * a.shape.warps) if a.access.kind == "store" else None
    requests, lanes, bits, sums = 0, 0, LINE, np.zeros((a.pieces, 7))
    kept: list[tuple[Array, Array]] = []
    stores: list[tuple[Array, ...]] = []
    for begin in range(0, samples, most):
        address, active = _addresses(a, different, [at[begin : begin + most] for at in points])
        requests += int(np.count_nonzero(active.any(axis=-1)))
        lanes += int(np.count_nonzero(active))
        bits |= int(np.bitwise_or.reduce(address, axis=None))
        sums += _sums(a, address, active)
        if begin < first:
            kept.append((address[: first - begin], active[: first - begin]))
        if rows is not None:
            warp = rows - begin * a.shape.warps
            here = np.flatnonzero((warp >= 0) & (warp < address.size // WARP_SIZE))
            parts = (x.reshape(-1, WARP_SIZE)[warp[here]] for x in (address, active))
            stores.append((here, *parts))
    address, active = (_joined(parts) for parts in zip(*kept, strict=True))
    some = None
    if rows is not None:
        place, where, there = (_joined(each) for each in zip(*stores, strict=True))
        order = np.argsort(place)
        some = where[order], there[order]
    return _Sample(requests, lanes, sums, bits, address, active, some)


def _joined(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _sums(a: Addressing, address: Array, active: Array) -> Array:
    """Return what is summed over requests, as `_Sample.sums` has it: whole numbers."""
    takes_part = active.any(axis=-1)
    in_order = not a.from_shared and bool(active.all())
    total = np.zeros((a.pieces, 7))
    for piece in range(a.pieces):
        moved = address + piece * a.width
        ordered = _ordered(moved, active)
        waves = ordered_wavefronts(ordered + _BASE, a.width) if in_order else None
        if waves is None:
            based = moved + _BASE
            waves = (
                data_wavefronts(based, a.width, active, a.from_shared) * takes_part,
                tag_wavefronts(based, active) * takes_part,
            )
        touched = (_first(ordered, part) for part in (a.width, SECTOR, LINE // 2, LINE, PAGE))
        total[piece] = [int(each.sum()) for each in (*touched, *waves)]
    return total


def _in_blocks(address: Array, active: Array, executions: float) -> Array:
    """Return the sectors, halves and lines of whole blocks over so many block executions."""
    few = max(1, _WHOLE_BLOCKS // address[0].size)
    together = address[:few].reshape(min(few, len(address)), -1)
    there = active[:few].reshape(together.shape)
    blocks = executions / len(together)
    ordered = _ordered(together, there)
    parts = (SECTOR, LINE // 2, LINE)
    return np.array([[float(_first(ordered, p).sum()) * blocks] for p in parts])


def _seams(
    a: Addressing, different: _Executions, points: Sequence[Array], address: Array, active: Array
) -> Array:
    """Return the shares of blocks' sectors, halves and lines that the next one touches as well.

    Of loads at random places: others are counted over many blocks where it matters.
    """
    if "blockIdx.x" not in different.extents or not uses_random(a.index):
        return np.zeros((3, 1))
    axis = [*different.extents].index("blockIdx.x")
    few = max(1, _WHOLE_BLOCKS // address[0].size)
    beside = [np.asanyarray(at[:few]) + (n == axis) for n, at in enumerate(points)]
    inside = beside[axis] < [*different.extents.values()][axis]
    beside = [np.where(inside, at, at - (n == axis)) for n, at in enumerate(beside)]
    after, there = _addresses(a, different, beside)
    blocks = len(inside)
    both = [x[:blocks].reshape(blocks, -1) for x in (address, after)]
    taking = [active[:blocks].reshape(blocks, -1), there.reshape(blocks, -1) & inside[:, None]]
    alone = [_ordered(x, t) for x, t in zip(both, taking, strict=True)]
    joint = np.sort(np.concatenate(alone, axis=1), axis=-1)
    shares = []
    for part in (SECTOR, LINE // 2, LINE):
        own, next_, together = (int(_first(x, part).sum()) for x in (*alone, joint))
        shares.append([(own + next_ - together) / max(own, 1)])
    return np.array(shares)


def _some_rows(count: int) -> Array:
    """Return which of so many requests are looked at for popular places."""
    if count > _STORES:
        return np.random.default_rng(0).integers(0, count, _STORES)
    return np.arange(count)


def _filled(a: Addressing, different: _Executions, most: int) -> float:
    """Return the share of their sectors that the first blocks store before L2 gives lines up."""
    filled, several = 1.0, STORED_TOGETHER // (a.shape.warps * WARP_SIZE)
    extents = list(different.extents.values())
    while True:
        # The first blocks: they run together, each iteration of all of them after the last.
        some = min(different.number, max(1, several))
        first = np.unravel_index(np.arange(some), extents, order="F") if extents else ()
        places, there = _addresses(a, different, first)
        places = np.sort(places[there])
        sectors = np.count_nonzero(first_of_equals(places // SECTOR))
        crowded = np.count_nonzero(first_of_equals(places // LINE)) > STORED_LINES
        if sectors and (filled == 1 or not crowded):
            words = np.count_nonzero(first_of_equals(places))
            filled = min(1.0, words * a.width * a.pieces / (sectors * SECTOR))
        several *= 2
        if crowded or filled == 1 or some >= min(different.number, most):
            return filled


def _addresses(
    a: Addressing, different: _Executions, points: Sequence[Array]
) -> tuple[Array, Array]:
    """Return addresses [B] and which lanes take part, both by execution, warp and lane."""
    threads = a.shape.thread_indices()
    inside = a.shape.inside
    env: dict[str, Any] = dict(different.values)
    for name, at in zip(different.extents, points, strict=True):
        env[name] = np.asanyarray(at, dtype=np.int64)[:, None, None]
    env |= {name: np.maximum(part, 0)[None] for name, part in threads.items()}
    full = (max((len(at) for at in points), default=1), *inside.shape)
    active = np.broadcast_to(inside[None], full).copy()
    for guard in a.guards:
        active &= np.broadcast_to(np.asanyarray(evaluate(guard, env), dtype=bool), full)
    drawn = different.drawn
    if drawn is not None:
        env[BIN] = drawn.histogram.draw(
            np.broadcast_to(np.asanyarray(evaluate(drawn.key, env)), full)
        )
    element = np.broadcast_to(np.asanyarray(evaluate(different.index, env)), full)
    return np.where(active, element * a.element, 0).astype(np.int64), active


def _ordered(address: Array, active: Array) -> Array:
    """Return the addresses of each request in order; -1 for lanes that take no part."""
    return np.sort(np.where(active, address, -1), axis=-1)


def _first(ordered: Array, granule: int) -> Array:
    """Mark the first of the sorted addresses of each request in a granule; below 0 are none."""
    return np.asanyarray(first_of_equals(ordered // granule) & (ordered >= 0))


def _number(value: Any) -> int:
    return int(np.ravel(value)[0])
