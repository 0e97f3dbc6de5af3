"""From a kernel to the lines that its warps ask for, in the order in which they ask.

Blocks run as many at a time as the SMs hold, in the order of the grid: the first on SM after SM,
the next wherever others end, which is drawn; those without a thread to do anything give their slot
to the next. All blocks on the GPU make their first access, warp after warp, then all their second,
and so on. Real ones drift apart; the order between them is not known, and this is the simplest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.expressions import Node, evaluate
from perfmodel.kernels.histogram import BIN, Histogram, histogram, random_part
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.intervals import Interval, Ranges
from perfmodel.kernels.kernel import Access
from perfmodel.trace.cache import COUNT, Engine, mix
from perfmodel.trace.coalescer import LANES, Lines, atomic_groups, coalesce
from perfmodel.trace.layout import Layout
from perfmodel.trace.separable import THREAD, always, separable

Array = npt.NDArray[Any]
AXES: Final = "xyz"

_BIAS: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of one access of all warps of a wave in some iterations, as lines.

    Attributes
    ----------
    lines : Lines
        `request` counts iterations, blocks and warps, the warps fastest.
    requests, lanes : int
        Requests that have a lane, and their lanes.
    addresses, busiest : int
        Of atomics: distinct addresses, and lanes at each request's busiest one.
    """

    lines: Lines
    requests: int
    lanes: int
    addresses: int = 0
    busiest: int = 0


@dataclass(slots=True)
class _Patterns:
    """Coalesced patterns of lanes, by their warp, mask and alignment; a memory, filled as needed.

    Row r has `count[r]` lines from `start[r]` on, relative to the line of the first lane.
    """

    row_of: dict[int, int] = field(default_factory=dict)
    start: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    line: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    sectors: Array = field(default_factory=lambda: np.zeros(0, np.uint8))
    words: Array = field(default_factory=lambda: np.zeros(0, np.uint32))


class Wave:
    """Blocks that are on the GPU together, and which of their threads do anything.

    Attributes
    ----------
    blocks : array
        Their positions in the grid.
    mask : array of bool, shape (blocks, warps, 32), or None
        Threads for which the kernel's guard holds; None is all of full warps.
    """

    def __init__(self, blocks: Array, mask: Array | None) -> None:
        self.blocks = blocks
        self.mask = mask


def sms_of(blocks: Array, sms: int, slots: int, seed: int) -> Array:
    """Return the SMs that blocks run on.

    Parameters
    ----------
    blocks : array
        Their positions in the grid.
    sms, slots : int
        SMs, and blocks that they hold at a time.
    seed : int
        Decides in what order the SMs take the blocks after the first `slots`: each takes one of
        every `sms` in a row.
    """
    turns, turn = np.unique(blocks // sms, return_inverse=True)
    order = np.argsort(mix(turns[:, None] * sms + np.arange(sms) + (seed << 40)), axis=1)
    order[turns < slots // sms] = np.arange(sms)
    return np.asarray(order[turn, blocks % sms])


class Generator:
    """Turns waves of blocks into the lines that their accesses touch."""

    def __init__(self, instance: Instance, layout: Layout, engine: Engine = "auto") -> None:
        self.instance = instance
        self.layout = layout
        self.engine: Engine = engine
        block = tuple(int(n) for n in instance.block)
        self.grid = tuple(int(n) for n in instance.grid)
        threads = math.prod(block)
        self.total_blocks = math.prod(self.grid)
        self.warps = -(-threads // LANES)
        flat = np.arange(self.warps * LANES).reshape(1, -1, LANES)
        self.inside = flat < threads
        x, y, _ = block
        self.threads = {
            name: np.where(self.inside, part, 0)
            for name, part in zip(
                ("threadIdx.x", "threadIdx.y", "threadIdx.z"),
                (flat % x, flat // x % y, flat // (x * y)),
                strict=True,
            )
        }
        kernel = instance.kernel
        self.guard = None if kernel.guard is None else instance.expression(kernel.guard)
        self.moving = frozenset(
            [f"blockIdx.{a}" for a in AXES] + [loop.variable for loop in kernel.loops]
        )
        self.ranges = {
            name: Interval(0, most - 1)
            for name, most in [
                *zip((f"threadIdx.{a}" for a in AXES), block, strict=True),
                *((v, max(1, int(t))) for v, t in instance.trips.items()),
            ]
        } | {n: Interval(int(v), int(v)) for n, v in instance.known.items()}
        self._plans = {i: self._plan(a) for i, a in enumerate(kernel.accesses)}
        self._drawn = {
            i: drawn for i, a in enumerate(kernel.accesses) if (drawn := self._draws(a)) is not None
        }
        self._patterns: dict[tuple[int, int], _Patterns] = {}
        self._masks: dict[int, int] = {}

    def waves(self, slots: int) -> Iterator[Wave]:
        """Yield the blocks of the grid, `slots` at a time."""
        total = self.total_blocks
        if self.guard is None or self._holds(self.guard, 0, total):
            for first in range(0, total, slots):
                yield self.wave(np.arange(first, min(first + slots, total)))
            return
        waiting, masks = np.zeros(0, dtype=np.int64), None
        for first in range(0, total, slots):
            wave = self.wave(np.arange(first, min(first + slots, total)))
            mask = self._full(wave.mask, len(wave.blocks))
            busy = mask.any(axis=(1, 2))
            waiting = np.concatenate([waiting, wave.blocks[busy]])
            masks = mask[busy] if masks is None else np.concatenate([masks, mask[busy]])
            if len(waiting) >= slots:
                yield Wave(waiting[:slots], self._whole(masks[:slots]))
                waiting, masks = waiting[slots:], masks[slots:]
        if len(waiting) and masks is not None:
            yield Wave(waiting, self._whole(masks))

    def wave(self, blocks: Array) -> Wave:
        """Return some blocks as a wave."""
        if self.guard is None or self._holds(self.guard, int(blocks[0]), int(blocks[-1]) + 1):
            return Wave(blocks, None)
        holds = evaluate(self.guard, self._values(blocks, {}, 1) | self.threads)
        full = np.broadcast_to(np.asarray(holds, dtype=bool), (1, len(blocks), self.warps, LANES))
        return Wave(blocks, self._whole(full[0] & self.inside))

    def requests(
        self, position: int, piece: int, wave: Wave, loops: Mapping[str, Array], iterations: int
    ) -> Requests:
        """Return what an access asks for, in some iterations of a wave."""
        access = self.instance.kernel.accesses[position]
        values = self._values(wave.blocks, loops, iterations)
        index, own_guard, split, moved, width = self._plans[position]
        base = self.layout.start(access.buffer) + piece * width
        free = own_guard is None or self._holds(
            own_guard, int(wave.blocks[0]), int(wave.blocks[-1]) + 1
        )
        if split and free and access.kind != "atomic":
            return self._by_pattern(position, piece, wave, values, iterations, base)
        shape = (iterations, len(wave.blocks), self.warps, LANES)
        everything = values | self.threads
        if position in self._drawn:
            index, key, likely = self._drawn[position]
            keys = np.broadcast_to(np.asarray(evaluate(key, everything)), shape)
            everything = everything | {BIN: likely.draw(keys)}
        element = np.broadcast_to(np.asarray(evaluate(index, everything)), shape)
        address = (element * moved + base).reshape(-1, LANES)
        active = (
            None
            if wave.mask is None and self.inside.all()
            else np.broadcast_to(self._full(wave.mask, len(wave.blocks)), shape)
        )
        if own_guard is not None and not free:
            holds = np.broadcast_to(np.asarray(evaluate(own_guard, everything), dtype=bool), shape)
            active = holds if active is None else active & holds
        if active is not None:
            active = active.reshape(-1, LANES)
        lines = coalesce(address, active, width, access.kind != "load", self.engine)
        lanes = address.size if active is None else int(active.sum())
        requests = len(address) if active is None else int(active.any(axis=1).sum())
        groups = atomic_groups(address, active) if access.kind == "atomic" else (0, 0)
        return Requests(lines, requests, lanes, *groups)

    def pieces(self, position: int) -> int:
        """Return how many instructions move an element of an access."""
        _, _, _, moved, width = self._plans[position]
        vector = int(self.instance.vectors[position])
        return moved * vector // width

    def _plan(self, access: Access) -> tuple[Node, Node | None, bool, int, int]:
        """Return index, own guard, whether the index is separable, element and piece bytes."""
        position = self.instance.kernel.accesses.index(access)
        index = self.instance.expression(access.index)
        guard = None if access.guard is None else self.instance.expression(access.guard)
        size = int(self.instance.element_bytes[access.buffer])
        moved = size * int(self.instance.vectors[position])
        width = next(w for w in (16, 8, 4, 2, 1) if moved % w == 0)
        return index, guard, separable(index, self.moving), size, width

    def _draws(self, access: Access) -> tuple[Node, Node, Histogram] | None:
        """Return index, key and histogram where random places are not equally likely."""
        if access.weights is None:
            return None
        part = random_part(self.instance.expression(access.index))
        if part is None:
            return None
        key, bins = part[1].operands
        known = self.instance.known
        return part[0], key, histogram(access, int(evaluate(bins, known)), known)

    def _by_pattern(
        self,
        position: int,
        piece: int,
        wave: Wave,
        values: Mapping[str, Any],
        iterations: int,
        base: int,
    ) -> Requests:
        """As `requests`, for separable indices: an address a warp, and patterns worked out once."""
        index, _, _, moved, width = self._plans[position]
        access = self.instance.kernel.accesses[position]
        still = dict.fromkeys(self.moving, 0)
        zero = dict.fromkeys(THREAD, 0)
        known = self.instance.known
        origin = int(np.asarray(evaluate(index, {**known, **still, **zero})))
        lane = np.broadcast_to(
            np.asarray(evaluate(index, {**known, **still, **self.threads})), self.inside.shape
        )[0]
        steps = (lane - lane[:, :1]) * moved
        rest = np.asarray(evaluate(index, {**values, **zero}))
        shape = (iterations, len(wave.blocks), self.warps)
        address: Array = rest.reshape(rest.shape[:3] if rest.ndim == 4 else (1, 1, 1))
        address = (address + (lane[:, 0] - origin)) * moved + base
        address = np.ascontiguousarray(np.broadcast_to(address, shape)).reshape(-1)
        _, kinds = np.unique(steps, axis=0, return_inverse=True)
        masks = self._mask_numbers(wave)
        key = np.broadcast_to((masks * self.warps + kinds.reshape(-1))[None] << 7, shape).reshape(
            -1
        ) | (address & 127)
        memory = self._patterns.setdefault((position, piece), _Patterns())
        rows, inverse = _small_unique(key)
        self._learn(memory, rows, steps, kinds.reshape(-1), width, access.kind != "load")
        row = np.array([memory.row_of[int(k)] for k in rows], dtype=np.int64)[inverse]
        count = np.array(memory.count, dtype=np.int64)[row]
        start = np.array(memory.start, dtype=np.int64)[row]
        request = np.repeat(np.arange(len(row)), count)
        first = np.cumsum(count) - count
        at = np.arange(len(request)) + np.repeat(start - first, count)
        lines = Lines(
            request,
            (address >> 7)[request] + memory.line[at],
            memory.sectors[at],
            memory.words[at],
        )
        lanes = np.array([_bits(m) for m in self._masks], dtype=np.int64)[masks]
        return Requests(lines, int((lanes > 0).sum()) * iterations, int(lanes.sum()) * iterations)

    def _learn(
        self, memory: _Patterns, keys: Array, steps: Array, kinds: Array, width: int, words: bool
    ) -> None:
        """Coalesce the patterns that have not been met yet."""
        new = [int(k) for k in keys if int(k) not in memory.row_of]
        if not new:
            return
        numbers = list(self._masks)
        lanes = np.arange(LANES)
        address = np.empty((len(new), LANES), dtype=np.int64)
        active = np.empty((len(new), LANES), dtype=bool)
        for i, key in enumerate(new):
            mask, kind = divmod(key >> 7, self.warps)
            address[i] = _BIAS + (key & 127) + steps[int(np.flatnonzero(kinds == kind)[0])]
            active[i] = numbers[mask] >> lanes & 1
        found = coalesce(address, active, width, words, "numpy")
        count = np.bincount(found.request, minlength=len(new))
        start = len(memory.line) + np.cumsum(count) - count
        for i, key in enumerate(new):
            memory.row_of[key] = len(memory.start)
            memory.start.append(int(start[i]))
            memory.count.append(int(count[i]))
        memory.line = np.concatenate([memory.line, found.line - (_BIAS >> 7)])
        memory.sectors = np.concatenate([memory.sectors, found.sectors])
        memory.words = np.concatenate([memory.words, found.words])

    def _mask_numbers(self, wave: Wave) -> Array:
        """Return a number for the active lanes of every block's every warp."""
        if wave.mask is None:
            bits = np.broadcast_to(_packed(self.inside[0]), (len(wave.blocks), self.warps))
        else:
            bits = _packed(wave.mask)
        distinct, inverse = np.unique(bits, return_inverse=True)
        numbers = [self._masks.setdefault(int(b), len(self._masks)) for b in distinct]
        return np.array(numbers, dtype=np.int64)[inverse.reshape(bits.shape)]

    def _values(self, blocks: Array, loops: Mapping[str, Array], iterations: int) -> dict[str, Any]:
        """Return parameters, and blocks and loops as arrays over (iteration, block, 1, 1)."""
        place = np.unravel_index(blocks, self.grid[::-1])[::-1]
        values: dict[str, Any] = dict(self.instance.known)
        for axis, part in zip(AXES, place, strict=True):
            values[f"blockIdx.{axis}"] = np.asarray(part, dtype=np.int64)[None, :, None, None]
        for name, value in loops.items():
            values[name] = np.asarray(value, dtype=np.int64)[:, None, None, None]
        return values

    def _holds(self, guard: Node, first: int, last: int) -> bool:
        """Say whether a guard surely holds for all threads of blocks from `first` to `last`."""
        ranges = dict(self.ranges)
        size = 1
        for axis, extent in zip(AXES, self.grid, strict=True):
            low, high = first // size, (last - 1) // size
            within = low // extent == high // extent
            ranges[f"blockIdx.{axis}"] = (
                Interval(low % extent, high % extent) if within else Interval(0, extent - 1)
            )
            size *= extent
        return always(guard, Ranges(ranges))

    def _full(self, mask: Array | None, blocks: int) -> Array:
        return np.broadcast_to(self.inside, (blocks, self.warps, LANES)) if mask is None else mask

    def _whole(self, mask: Array) -> Array | None:
        """Return None for a mask that leaves out nothing but what is past the last thread."""
        return None if np.array_equal(mask.all(axis=0), self.inside[0]) else mask


def sectors(lines: Lines) -> int:
    """Return the sectors of some lines."""
    return int(COUNT[lines.sectors].sum(dtype=np.int64))


def _small_unique(keys: Array) -> tuple[Array, Array]:
    """Return distinct small integers and the place of each key among them."""
    present = np.zeros(int(keys.max(initial=0)) + 1, dtype=bool)
    present[keys] = True
    distinct = np.flatnonzero(present)
    place = np.zeros(len(present), dtype=np.int64)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[keys]


def _packed(mask: Array) -> Array:
    return np.asarray(np.packbits(mask, axis=-1, bitorder="little").view("<u4")[..., 0])


def _bits(mask: int) -> int:
    return mask.bit_count()
