"""From a kernel to the lines that its warps ask for, in the order in which they ask.

Blocks run as many at a time as the SMs hold, in the order of the grid: the first on SM after SM,
the next wherever others end, which is drawn; those without a thread to do anything give their slot
to the next. All blocks on the GPU make their first access, warp after warp, then all their second,
and so on. Real ones drift apart; the order between them is not known, and this is the simplest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.expressions import Node, Number, Operation, evaluate, names
from perfmodel.expressions.nodes import COMPARISONS
from perfmodel.kernels.histogram import BIN, Histogram, histogram, random_part
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.intervals import Interval, Ranges
from perfmodel.trace.cache import Engine, mix
from perfmodel.trace.coalescer import LANES, Lines, atomic_groups, coalesce
from perfmodel.trace.layout import Layout

Array = npt.NDArray[Any]
AXES: Final = "xyz"
THREAD: Final = frozenset(f"threadIdx.{axis}" for axis in AXES)


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of one access of all warps of a wave in some iterations, as lines."""

    lines: Lines  # `request` counts iterations, blocks and warps, the warps fastest
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


class _Plan(NamedTuple):
    """What is the same in all waves of an access.

    An element has `size` bytes, and each of a vector's `pieces` instructions moves `width`; `drawn`
    is histogram and key of random places that are not equally likely.
    """

    place: Node
    guard: Node | None
    separable: bool
    size: int
    width: int
    pieces: int
    drawn: tuple[Histogram, Node] | None


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
        self.plans = [self._plan(i) for i in range(len(kernel.accesses))]

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
                yield Wave(blocks[:slots], masks[:slots])
                blocks, masks = blocks[slots:], masks[slots:]
        if masks is not None and len(blocks):
            yield Wave(blocks, masks)

    def wave(self, blocks: Array) -> Wave:
        """Return some blocks as a wave."""
        if self._holds(self.guard, blocks):
            return Wave(blocks, None)
        assert self.guard is not None
        holds = evaluate(self.guard, self._values(blocks, {}) | self.threads)
        full = np.broadcast_to(np.asarray(holds, dtype=bool), (1, len(blocks), self.warps, LANES))
        return Wave(blocks, full[0] & self.inside)

    def requests(
        self, position: int, piece: int, wave: Wave, loops: Mapping[str, Array], iterations: int
    ) -> Requests:
        """Return what an access asks for, in some iterations of a wave."""
        access, plan = self.instance.kernel.accesses[position], self.plans[position]
        values = self._values(wave.blocks, loops)
        base = self.layout.start(access.buffer) + piece * plan.width
        stores = access.kind != "load"
        shape = (iterations, len(wave.blocks), self.warps, LANES)
        free = self._holds(plan.guard, wave.blocks)
        if plan.separable and free and access.kind != "atomic":
            return self._by_pattern(plan, wave, values, shape, base, stores)
        everything = values | self.threads
        if plan.drawn:
            likely, key = plan.drawn
            keys = np.broadcast_to(np.asarray(evaluate(key, everything)), shape)
            everything |= {BIN: likely.draw(keys)}
        element = np.broadcast_to(np.asarray(evaluate(plan.place, everything)), shape)
        address = (element * plan.size + base).reshape(-1, LANES)
        active = None
        if wave.mask is not None or not free or not self.inside.all():
            taking = np.broadcast_to(self._full(wave), shape)
            if plan.guard is not None and not free:
                taking = taking & np.asarray(evaluate(plan.guard, everything), dtype=bool)
            active = taking.reshape(-1, LANES)
        lines = coalesce(address, active, plan.width, stores, self.engine)
        lanes = address.size if active is None else int(active.sum())
        requests = len(address) if active is None else int(active.any(axis=1).sum())
        if access.kind != "atomic":
            return Requests(lines, requests, lanes)
        return Requests(lines, requests, lanes, *atomic_groups(address, active))

    def pieces(self, position: int) -> int:
        """Return how many instructions move an element of an access."""
        return self.plans[position].pieces

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
        split = _separable(index, self.moving)
        return _Plan(index, guard, split, size, width, moved // width, drawn)

    def _by_pattern(
        self,
        plan: _Plan,
        wave: Wave,
        values: Mapping[str, Any],
        shape: tuple[int, ...],
        base: int,
        stores: bool,
    ) -> Requests:
        """As `requests`, for separable indices: an address a warp, and each pattern coalesced once.

        Patterns are lanes that take part, their distances from the first, and its place in a line.
        """
        still = dict.fromkeys(self.moving, 0)
        zero = dict.fromkeys(THREAD, 0)
        known = self.instance.known
        origin = evaluate(plan.place, {**known, **still, **zero})
        lane = np.asarray(evaluate(plan.place, {**known, **still, **self.threads}))
        lane = np.broadcast_to(lane, self.inside.shape)[0] - origin
        rest = np.asarray(evaluate(plan.place, {**values, **zero}))
        rest = rest.reshape(rest.shape[:3] if rest.ndim == 4 else (1, 1, 1))
        address = np.broadcast_to((rest + lane[:, 0]) * plan.size + base, shape[:3]).reshape(-1)
        steps = (lane - lane[:, :1]) * plan.size
        _, kinds = np.unique(steps, axis=0, return_inverse=True)
        mask = self._full(wave)
        bits = np.packbits(mask, axis=-1, bitorder="little").view("<u4")[..., 0]
        masks, number, times = np.unique(bits, return_inverse=True, return_counts=True)
        key = (number.reshape(bits.shape) * self.warps + kinds.reshape(-1)) << 7
        key = np.broadcast_to(key, shape[:3]).reshape(-1) | (address & 127)

        # Any request of a pattern is its example.
        example = np.full(int(key.max(initial=0)) + 1, -1)
        example[key] = np.arange(len(key))
        first = example[example >= 0]
        example[example >= 0] = np.arange(len(first))
        row = example[key]
        warp = first % (len(wave.blocks) * self.warps)
        lanes = address[first][:, None] + steps[warp % self.warps]
        active = mask.reshape(-1, LANES)[warp]
        found = coalesce(lanes, active, plan.width, stores, self.engine)

        count = np.bincount(found.request, minlength=len(first))
        start, many = np.cumsum(count) - count, count[row]
        request = np.repeat(np.arange(len(row)), many)
        at = np.arange(len(request)) + np.repeat(start[row] - (np.cumsum(many) - many), many)
        line = found.line[at] + (address - address[first][row] >> 7)[request]
        lines = Lines(request, line, found.sectors[at], found.words[at])
        some = sum(int(n) for m, n in zip(masks, times, strict=True) if m)
        taking = sum(int(n) * int(m).bit_count() for m, n in zip(masks, times, strict=True))
        return Requests(lines, some * shape[0], taking * shape[0])

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
        return _always(guard, Ranges(ranges))

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


def _always(node: Node, ranges: Ranges) -> bool:
    """Say whether interval arithmetic shows that a condition holds for all values."""
    if isinstance(node, Number):
        return bool(node.value)
    if not isinstance(node, Operation):
        return False
    if node.operator == "and":
        return all(_always(operand, ranges) for operand in node.operands)
    if node.operator not in COMPARISONS:
        return False
    left, right = (ranges.of(operand) for operand in node.operands)
    if left is None or right is None:
        return False
    surely = {
        "<": left.high < right.low,
        "<=": left.high <= right.low,
        ">": left.low > right.high,
        ">=": left.low >= right.high,
    }
    return surely.get(node.operator, False)
