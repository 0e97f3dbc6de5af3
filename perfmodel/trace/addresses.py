"""From a kernel to the lines that its warps ask for, in the order in which they ask.

Blocks run as many at a time as the SMs hold, in the order of the grid: the first on SM after SM,
the next wherever others end, which is drawn; those without a thread to do anything give their slot
to the next. All blocks on the GPU make their first access, warp after warp, then all their second,
and so on. Real ones drift apart; the order between them is not known, and this is the simplest.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, Operation, evaluate, names
from perfmodel.kernels.histogram import BIN, Histogram, histogram, random_part
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.intervals import Interval, Ranges
from perfmodel.trace.cache import COUNT, LINE, Engine, mix, uses_numba
from perfmodel.trace.coalescer import (
    LANES,
    MOST,
    Patterns,
    Warps,
    atomic_groups,
    lines_of,
    ordered,
    patterns,
    warps,
)
from perfmodel.trace.layout import Layout

AXES: Final = "xyz"
THREAD: Final = frozenset(f"threadIdx.{axis}" for axis in AXES)


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of one access of all warps of a wave in some iterations, as lines."""

    # As in `perfmodel.trace.coalescer.Lines`: of all iterations, blocks and warps, the warps
    # fastest; where those of each block of an iteration end, 0 first; and their sectors.
    line: Array
    sectors: Array
    words: Array
    ends: Array
    sums: Array
    # Requests that have a lane, and their lanes.
    requests: int
    lanes: int
    # Of atomics: distinct addresses, lanes at each request's busiest one, and passes through
    # sectors.
    addresses: int = 0
    busiest: int = 0
    passes: int = 0


@dataclass(frozen=True, slots=True)
class Wave:
    """Blocks that are on the GPU together, and which of their threads do anything."""

    blocks: Array  # their positions in the grid
    # Threads for which the kernel's guard holds; None is all; array of bool, shape (blocks, warps,
    # 32), or None
    mask: Array | None
    # Which lanes of warps do anything, a bit each: all masks, and their numbers, shape (blocks,
    # warps)
    masks: Array
    numbers: Array

    def part(self, blocks: slice) -> "Wave":
        """Return some of the blocks."""
        mask = None if self.mask is None else self.mask[blocks]
        return Wave(self.blocks[blocks], mask, self.masks, self.numbers[blocks])


class _Plan(NamedTuple):
    """What is the same in all waves of an access.

    An element has `size` bytes, and each of a vector's `pieces` instructions moves `width`; `drawn`
    is histogram and key of random places that are not equally likely.
    """

    place: Node
    guard: Node | None
    size: int
    width: int
    pieces: int
    drawn: tuple[Histogram, Node] | None
    warps: Warps | None  # of separable indices


def sms_of(blocks: Array, sms: int, slots: int, seed: int) -> Array:
    """Return the SMs that blocks run on.

    `blocks`: their positions in the grid. `sms` and `slots`: SMs, and blocks that they hold at a
    time. `seed`: decides in what order the SMs take the blocks after the first `slots`: each takes
    one of every `sms` in a row.
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
        self.plans = [self._plan(i) for i in range(len(kernel.accesses))]
        self._patterns: dict[tuple[int, int], tuple[bytes, Patterns]] = {}

    def waves(self, slots: int) -> Iterator[Wave]:
        """Yield the blocks of the grid, `slots` at a time; those without work make room."""
        blocks, masks = np.zeros(0, dtype=np.int64), None
        for first in range(0, self.total_blocks, slots):
            wave = self.wave(np.arange(first, min(first + slots, self.total_blocks)))
            if wave.mask is None and masks is None:
                yield wave
                continue
            mask = self._full(wave)
            busy = mask.any(axis=(1, 2))
            blocks = np.concatenate([blocks, wave.blocks[busy]])
            masks = mask[busy] if masks is None else np.concatenate([masks, mask[busy]])
            if len(blocks) >= slots:
                yield self._wave(blocks[:slots], masks[:slots])
                blocks, masks = blocks[slots:], masks[slots:]
        if masks is not None and len(blocks):
            yield self._wave(blocks, masks)

    def wave(self, blocks: Array) -> Wave:
        """Return some blocks as a wave."""
        if self._holds(self.guard, blocks):
            return self._wave(blocks, None)
        assert self.guard is not None
        holds = evaluate(self.guard, self._values(blocks, {}) | self.threads)
        full = np.broadcast_to(np.asarray(holds, dtype=bool), (1, len(blocks), self.warps, LANES))
        return self._wave(blocks, full[0] & self.inside)

    def _wave(self, blocks: Array, mask: Array | None) -> Wave:
        lanes = self.inside if mask is None else mask
        bits = np.packbits(lanes, axis=-1, bitorder="little").view("<u4")[..., 0]
        masks, numbers = np.unique(bits, return_inverse=True)
        numbers = np.broadcast_to(numbers.reshape(bits.shape), (len(blocks), self.warps))
        return Wave(blocks, mask, masks, np.ascontiguousarray(numbers, dtype=np.int32))

    def requests(
        self, position: int, piece: int, wave: Wave, loops: Mapping[str, Array], iterations: int
    ) -> Requests:
        """Return what an access asks for, in some iterations of a wave."""
        access, plan = self.instance.kernel.accesses[position], self.plans[position]
        values = self._values(wave.blocks, loops)
        shape = (iterations, len(wave.blocks), self.warps, LANES)
        base = self.layout.start(access.buffer) + piece * plan.width
        if self.by_pattern(position, wave):
            return self._by_pattern(position, piece, wave, values, shape[:3])
        everything = values | self.threads
        if plan.drawn:
            likely, key = plan.drawn
            keys = np.broadcast_to(np.asarray(evaluate(key, everything)), shape)
            everything |= {BIN: likely.draw(keys)}
        element = np.broadcast_to(np.asarray(evaluate(plan.place, everything)), shape)
        address = (element * plan.size + base).reshape(-1, LANES)
        active, free = None, self._holds(plan.guard, wave.blocks)
        if wave.mask is not None or not free or not self.inside.all():
            taking = np.broadcast_to(self._full(wave), shape)
            if plan.guard is not None and not free:
                taking = taking & np.asarray(evaluate(plan.guard, everything), dtype=bool)
            active = taking.reshape(-1, LANES)
        address = ordered(address, active, self.engine)
        lines = lines_of(address, plan.width, access.kind != "load", self.engine)
        lanes = address.size if active is None else int(active.sum())
        requests = len(address) if active is None else int(active.any(axis=1).sum())
        groups = atomic_groups(address, self.engine) if access.kind == "atomic" else (0, 0, 0)
        ends = np.searchsorted(lines.request, np.arange(0, len(address) + 1, self.warps))
        sums = np.diff(np.concatenate([[0], np.cumsum(COUNT[lines.sectors], dtype=np.int64)])[ends])
        return Requests(*lines[1:], ends, sums, requests, lanes, *groups)

    def by_pattern(self, position: int, wave: Wave) -> bool:
        """Say whether a few patterns stand for all requests of an access."""
        plan = self.plans[position]
        if plan.warps is None or self.instance.kernel.accesses[position].kind == "atomic":
            return False
        patterns = len(wave.masks) * len(plan.warps.steps) * LINE
        return patterns <= MOST and self._holds(plan.guard, wave.blocks)

    def pieces(self, position: int) -> int:
        """Return how many instructions move an element of an access."""
        return self.plans[position].pieces

    def most_lines(self, position: int) -> int:
        """Return how many lines a request of an access can touch."""
        of_warps = self.plans[position].warps
        if of_warps is None:
            return LANES
        spans = np.ptp(of_warps.steps // LINE, axis=1) + 2
        return min(LANES, int(spans.max()))

    def _plan(self, position: int) -> _Plan:
        access, instance = self.instance.kernel.accesses[position], self.instance
        index = instance.expression(access.index)
        guard = None if access.guard is None else instance.expression(access.guard)
        size = int(instance.element_bytes[access.buffer])
        moved = size * int(instance.vectors[position])
        width = next(w for w in (16, 8, 4, 2, 1) if moved % w == 0)
        drawn, part = None, random_part(index) if access.weights is not None else None
        if part is not None:
            index, (key, bins) = part[0], part[1].operands
            drawn = histogram(access, int(evaluate(bins, instance.known)), instance.known), key
        lanes = None
        if drawn is None and uses_numba(self.engine) and _separable(index, self.moving):
            still = dict.fromkeys(self.moving, 0)
            place = np.asarray(evaluate(index, {**instance.known, **still, **self.threads}))
            origin = evaluate(index, {**instance.known, **still, **dict.fromkeys(THREAD, 0)})
            lanes = warps((np.broadcast_to(place, self.inside.shape)[0] - origin) * size)
        return _Plan(index, guard, size, width, moved // width, drawn, lanes)

    def _by_pattern(
        self,
        position: int,
        piece: int,
        wave: Wave,
        values: Mapping[str, Any],
        shape: tuple[int, ...],
    ) -> Requests:
        """As `requests`, for separable indices; see `perfmodel.trace.coalescer`."""
        from perfmodel.trace.coalescer_loop import expand

        access, plan = self.instance.kernel.accesses[position], self.plans[position]
        assert plan.warps is not None
        base = self.layout.start(access.buffer) + piece * plan.width
        known, made = self._patterns.get((position, piece), (b"", None))
        if made is None or known != wave.masks.tobytes():
            step = math.gcd(plan.size, LINE)
            how = plan.width, access.kind != "load"
            made = patterns(wave.masks, plan.warps.steps, base, step, how)
            self._patterns[position, piece] = wave.masks.tobytes(), made
        place = np.asarray(evaluate(plan.place, {**values, **dict.fromkeys(THREAD, 0)}))
        place = place.reshape(place.shape[:3] if place.ndim == 4 else (1, 1, 1))
        address = np.broadcast_to(place[..., 0] * plan.size + base, shape[:2]).reshape(-1)
        most = math.prod(shape) * int(np.diff(made.start).max())
        line, sectors, words = (np.empty(most, column.dtype) for column in made[1:4])
        ends, sums = np.zeros(len(address) + 1, np.int64), np.empty(len(address), np.int64)
        lead, kind, steps = plan.warps
        out = (line, sectors, words, ends, sums)
        n = expand(address, wave.numbers, (lead, kind, len(steps)), tuple(made), out)
        times = np.bincount(wave.numbers.reshape(-1), minlength=len(wave.masks)) * shape[0]
        lanes = [int(mask).bit_count() for mask in wave.masks]
        some = int(times[wave.masks != 0].sum())
        return Requests(line[:n], sectors[:n], words[:n], ends, sums, some, int(times @ lanes))

    def _values(self, blocks: Array, loops: Mapping[str, Array]) -> dict[str, Any]:
        """Return parameters, and blocks and loops as arrays over (iteration, block, 1, 1)."""
        values: dict[str, Any] = dict(self.instance.known)
        place = np.unravel_index(blocks, self.grid[::-1])[::-1]
        for axis, part in zip(AXES, place, strict=True):
            values[f"blockIdx.{axis}"] = np.asarray(part, dtype=np.int64)[None, :, None, None]
        for name, value in loops.items():
            values[name] = np.asarray(value, dtype=np.int64)[:, None, None, None]
        return values

    def _holds(self, guard: Node | None, blocks: Array) -> bool:
        """Say whether a guard surely holds for all threads of blocks, which are in order."""
        if guard is None:
            return True
        ranges = dict(self.ranges)
        first, last = int(blocks[0]), int(blocks[-1])
        for axis, extent in zip(AXES, self.grid, strict=True):
            within = first // extent == last // extent
            ranges[f"blockIdx.{axis}"] = (
                Interval(first % extent, last % extent) if within else Interval(0, extent - 1)
            )
            first, last = first // extent, last // extent
        found = Ranges(ranges).of(guard)
        return found is not None and (found.low > 0 or found.high < 0)

    def _full(self, wave: Wave) -> Array:
        """Return which threads of a wave do anything."""
        shape = (len(wave.blocks), self.warps, LANES)
        return np.broadcast_to(self.inside, shape) if wave.mask is None else wave.mask


def _separable(node: Node, moving: frozenset[str]) -> bool:
    """Say whether an expression is a sum of terms in `THREAD` alone and terms in `moving` alone.

    `moving`: variables that change besides: of blocks and loops. All others are constants.
    """
    used = names(node)
    if not (used & THREAD) or not (used & moving):
        return True
    assert isinstance(node, Operation)
    if node.operator in ("+", "-", "neg"):
        return all(_separable(operand, moving) for operand in node.operands)
    if node.operator == "*":
        varying = [o for o in node.operands if names(o) & (THREAD | moving)]
        # A constant factor keeps the sum a sum; it must be whole, or the parts would not be.
        return len(varying) == 1 and _separable(varying[0], moving)
    return False
