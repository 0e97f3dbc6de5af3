"""Counting instead of a closed form: the exact addresses of sampled warps, all lanes at once.

The fallback for indices that are not affine, for irregular blocks and for guards that are no
interval. Whole blocks are sampled at random block and loop indices; with few enough, all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.expressions import Node, evaluate, names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.histogram import BIN, Histogram
from perfmodel.models.grid.distinct import first_of_equals
from perfmodel.models.grid.geometry import AXES, BlockShape
from perfmodel.models.requests.bank_turns import BankTurns, counted_turns
from perfmodel.models.requests.coalescing import LINE, PAGE, SECTOR
from perfmodel.models.requests.contention import Sharing, counted_sharing
from perfmodel.models.requests.wavefronts import data_wavefronts, tag_wavefronts

Array = npt.NDArray[Any]

MAX_LANES: Final = 1 << 19
"""Lanes that a sample holds at most: memory stays under 100 MB."""
ALL_LANES: Final = 1 << 23
"""Lanes of the samples of all accesses of a kernel together, at most: time stays in seconds."""
_STORES: Final = 1 << 11
"""Store requests of which popular places are looked for."""
_WHOLE_BLOCKS: Final = 1 << 16
"""Lanes of which whole blocks are compared at most: sorting them takes longer than warps."""

STORED_LINES: Final = 1 << 16
STORED_TOGETHER: Final = 1 << 16
"""Lines that L2 may hold sectors of that are stored in part, a little more than
`scattered_stores.PART_LINES`; and threads whose stores take no more of them."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals over the launch, scaled from the sample.

    Attributes
    ----------
    requests, sectors, lines, data_wavefronts, tag_wavefronts : float
    active_lanes : float
        Lanes that took part, summed over requests.
    sampled : float
        Share of the block executions that was counted; 1 is exact.
    pairs : float
        Distinct 64 B halves of lines, summed over requests.
    step : float
        The largest power of two that divides every address, a line at most [B].
    pages : float
        Distinct pages, summed over requests.
    in_blocks : tuple of three float
        Distinct sectors, 64 B halves and lines of a block's warps together, summed over block
        executions.
    banks : BankTurns or None
        How the lanes of an atomic meet in banks, were they in shared memory.
    sharing : Sharing or None
        How the lanes of an atomic share addresses, as far as the sample shows.
    filled : float
        Share of their sectors that the first blocks store before they touch `STORED_LINES`.
    stored : (array, array) or None
        Addresses of some stores, and which lanes take part, by request and lane.
    """

    requests: float
    sectors: float
    lines: float
    data_wavefronts: float
    tag_wavefronts: float
    active_lanes: float
    sampled: float
    pairs: float
    step: float
    pages: float
    in_blocks: tuple[float, float, float]
    sharing: Sharing | None = None
    banks: BankTurns | None = None
    filled: float = 1.0
    stored: tuple[Array, Array] | None = None


class Drawn(NamedTuple):
    """A random part of an index whose values are not equally likely.

    Attributes
    ----------
    key : Node
        What it is drawn by: the same value for the same key.
    histogram : Histogram
    """

    key: Node
    histogram: Histogram


def count(
    index: Node,
    guards: Sequence[Node],
    values: Mapping[str, Any],
    shape: BlockShape,
    grid: Sequence[int],
    trips: Mapping[str, int],
    element_bytes: int,
    width: int,
    pieces: int = 1,
    atomic: bool = False,
    drawn: Drawn | None = None,
    shared: bool = False,
    stored: bool = False,
    accesses: int = 1,
) -> Counts:
    """Count the requests of one access of one configuration.

    Parameters
    ----------
    index : Node
        Element index.
    guards : sequence of Node
        Conditions for a thread to take part.
    values : mapping
        Parameters and dimensions, plain numbers.
    shape : BlockShape
    grid : three int
    trips : mapping
        Iterations of each loop around the access.
    element_bytes, width : int
        Bytes of an element, and of one lane's access.
    pieces : int
        Accesses that an element takes, `width` apart.
    atomic : bool
        Whether to find out how lanes share addresses too.
    drawn : Drawn, optional
        Where ``bin`` in the index comes from.
    shared : bool
        Whether these are loads from shared memory.
    stored : bool
        Whether to find out how far neighbouring blocks fill sectors.
    accesses : int
        Of the kernel, all of which may have to be counted.
    """
    every = dict(zip((f"blockIdx.{axis}" for axis in AXES), grid, strict=True)) | dict(trips)
    if math.prod(every.values()) == 0:
        return Counts(0, 0, 0, 0, 0, 0, 1.0, 0, 1.0, 0, (0, 0, 0))
    # What neither index nor guards depend on repeats the same requests.
    used = names(index).union(*map(names, guards), names(drawn.key) if drawn else ())
    alike = math.prod(extent for name, extent in every.items() if name not in used)
    every = {name: extent for name, extent in every.items() if name in used}
    extents = list(every.values())
    executions = math.prod(extents)
    lanes = MAX_LANES >> 3 if atomic else min(MAX_LANES, ALL_LANES // max(accesses, 1))
    most = max(1, lanes // (shape.warps * WARP_SIZE))
    if executions <= most:
        flat = np.arange(executions)
        coordinates = list(np.unravel_index(flat, extents)) if extents else []
    else:
        coordinates = spread(extents, most)
    samples = len(coordinates[0]) if coordinates else 1

    def lanes_at(points: Sequence[Array]) -> tuple[Array, Array]:
        named = dict(zip(every, points, strict=True))
        return _addresses(index, guards, values, shape, named, element_bytes, drawn)

    address, active = lanes_at(coordinates)
    takes_part = active.any(axis=-1)
    scale = alike * executions / samples
    filled, some_stores = 1.0, None
    if stored:
        rows = np.arange(address.size // WARP_SIZE)
        if len(rows) > _STORES:
            rows = np.random.default_rng(0).integers(0, len(rows), _STORES)
        some_stores = (address.reshape(-1, WARP_SIZE)[rows], active.reshape(-1, WARP_SIZE)[rows])
    several = STORED_TOGETHER // (shape.warps * WARP_SIZE)
    while stored:
        # The first blocks: they run together, each iteration of all of them after the last.
        some = min(executions, max(1, several))
        places, there = lanes_at(
            np.unravel_index(np.arange(some), extents, order="F") if extents else ()
        )
        places = np.sort(places[there])
        sectors = np.count_nonzero(first_of_equals(places // SECTOR))
        crowded = np.count_nonzero(first_of_equals(places // LINE)) > STORED_LINES
        if sectors and (filled == 1 or not crowded):
            words = np.count_nonzero(first_of_equals(places))
            filled = min(1.0, words * width * pieces / (sectors * SECTOR))
        several *= 2
        stored = not crowded and filled < 1 and some < min(executions, most)

    summed = ("sectors", "pairs", "lines", "pages", "data_wavefronts", "tag_wavefronts")
    totals = dict.fromkeys(summed, 0.0)
    for piece in range(pieces):
        moved = address + piece * width
        # Any base address: the hash of the tag banks repeats, and buffers are aligned to lines.
        based = moved + (1 << 36)
        for name, found in (
            ("sectors", _distinct(moved // SECTOR, active)),
            ("pairs", _distinct(moved // (LINE // 2), active)),
            ("lines", _distinct(moved // LINE, active)),
            ("pages", _distinct(moved // PAGE, active)),
            ("data_wavefronts", data_wavefronts(based, width, active, shared) * takes_part),
            ("tag_wavefronts", tag_wavefronts(based, active) * takes_part),
        ):
            totals[name] += float(found.sum()) * scale
    few = max(1, _WHOLE_BLOCKS // address[0].size)
    together = address[:few].reshape(min(few, samples), -1)
    there = active[:few].reshape(together.shape)
    parts = (SECTOR, LINE // 2, LINE)
    within = [float(_distinct(together // part, there).sum()) for part in parts]
    blocks = scale * samples / len(together) * pieces
    bits = int(np.bitwise_or.reduce(address, axis=None)) | LINE
    return Counts(
        requests=float(takes_part.sum()) * scale * pieces,
        active_lanes=float(active.sum()) * scale * pieces,
        sharing=counted_sharing(address, active) if atomic and takes_part.any() else None,
        banks=counted_turns(address, active, width) if atomic and takes_part.any() else None,
        sampled=min(1.0, samples / executions),
        step=float(bits & -bits),
        filled=filled,
        stored=some_stores,
        in_blocks=(within[0] * blocks, within[1] * blocks, within[2] * blocks),
        **totals,
    )


def spread(extents: Sequence[int], most: int) -> list[Array]:
    """Return points of a grid that lie evenly along every axis, and in every box.

    A sample at random would have a part p of the grid sqrt((1 - p)/(p*most)) too often or too
    seldom: 3% of 2000 where every other thread takes part.

    Parameters
    ----------
    extents : sequence of int
        Points along each axis.
    most : int
        Points that are wanted.

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


def _addresses(
    index: Node,
    guards: Sequence[Node],
    values: Mapping[str, Any],
    shape: BlockShape,
    named: Mapping[str, Array],
    element_bytes: int,
    drawn: Drawn | None,
) -> tuple[Array, Array]:
    """Return addresses [B] and which lanes take part, both by execution, warp and lane."""
    threads = shape.thread_indices()
    inside = threads["threadIdx.x"] >= 0
    env: dict[str, Any] = dict(values)
    env |= {name: np.asarray(c, dtype=np.int64)[:, None, None] for name, c in named.items()}
    env |= {name: np.maximum(part, 0)[None] for name, part in threads.items()}
    full = (max((len(c) for c in named.values()), default=1), *inside.shape)
    active = np.broadcast_to(inside[None], full).copy()
    for guard in guards:
        active &= np.broadcast_to(np.asarray(evaluate(guard, env), dtype=bool), full)
    if drawn is not None:
        env[BIN] = drawn.histogram.draw(np.broadcast_to(np.asarray(evaluate(drawn.key, env)), full))
    element = np.broadcast_to(np.asarray(evaluate(index, env)), full)
    return np.where(active, element * element_bytes, 0).astype(np.int64), active


def _distinct(granule: Array, active: Array) -> Array:
    """Mark the first of the active lanes of each request that touch the same granule."""
    ordered = np.sort(np.where(active, granule, -1), axis=-1)
    return np.asarray(first_of_equals(ordered) & (ordered >= 0))
