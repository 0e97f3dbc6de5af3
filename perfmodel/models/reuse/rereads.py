"""Loops that read what an earlier loop has read or written: a row's maximum, then its sum.

Within one loop `perfmodel.models.reuse.reuse_windows` counts what comes again. Between loops a
block comes back to the same data after it has touched all of it, and finds what the cache could
hold: from the same end all or nothing, from the other end, as a backward substitution does, what
was touched last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.grid.geometry import BLOCK_INDICES
from perfmodel.models.launch.waves import taking_part
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import Group
from perfmodel.models.reuse.reuse_windows import resident_share

L1_AGAIN_LOW: Final = Coefficient("reuse.rereads.l1_again_low")
L1_AGAIN_HIGH: Final = Coefficient("reuse.rereads.l1_again_high")
L2_AGAIN_LOW: Final = Coefficient("reuse.rereads.l2_again_low")
L2_AGAIN_HIGH: Final = Coefficient("reuse.rereads.l2_again_high")
L1_BACK: Final = Coefficient("reuse.rereads.l1_back")
L2_BACK: Final = Coefficient("reuse.rereads.l2_back")
_DENSE: Final = 1.6
"""Factor within which two ways go through data alike: of rows, 3 are at most half as much again in
their range as many are."""
_NEARLY: Final = 0.02
"""Part of what a way goes through that may differ from the other's: by choice."""


Position = tuple[float, ...]

_MOSTLY: Final = 0.5
_WHOLE: Final = 0.9
"""Share of a group's data that it has in common with an earlier one from which on that counts, and
share of a range that is all of it: sliding windows, what is left of whose loop runs first."""


@dataclass(frozen=True, slots=True)
class Reread:
    """A group of loads that reads what an earlier group has read."""

    members: tuple[int, ...]  # positions of its loads among the requests
    # bytes that a block touches from the first time on to the second, both groups and what lies
    # between
    per_block: Array
    back: bool = False  # whether it goes through the data the other way round
    # share of what it reads that the earlier group has read
    common: Array = field(default_factory=lambda: np.ones(1))
    # bytes between them that all blocks read alike: weights of a layer, which are there once
    alike: Array = field(default_factory=lambda: np.zeros(1))

    def missing_l1(self, blocks: Array, capacity: Array, device: Device) -> Array:
        """Return the share that L1 does not have, with so many blocks on it at a time."""
        touched = self.per_block * blocks + self.alike
        if self.back:
            return _missing(touched, capacity * L1_BACK(device))
        knee = L1_AGAIN_LOW(device), L1_AGAIN_HIGH(device)
        lost = 1 - resident_share(touched, capacity, knee)
        return np.asanyarray(1 - self.common * (1 - lost))

    def missing_l2(self, blocks: Array, capacity: float, near: Array, device: Device) -> Array:
        """Return the same of L2, of the share `near` that L1 does not have."""
        touched = self.per_block * blocks + self.alike
        if self.back:  # what L1 has is what came last in L2 too
            missing = _missing(touched, capacity * L2_BACK(device))
            return np.asanyarray(np.minimum(missing / np.maximum(near, 1e-9), 1.0))
        knee = L2_AGAIN_LOW(device), L2_AGAIN_HIGH(device)
        lost = 1 - resident_share(touched, capacity, knee)
        new = 1 - self.common
        known = np.maximum(near - new, 0.0)
        return np.asanyarray((known * lost + new) / np.maximum(known + new, 1e-9))


def _missing(touched: Array, resident: Array | float) -> Array:
    return np.asanyarray(np.maximum(1 - resident / np.maximum(touched, 1.0), 0.0))


@mechanism(neutral=lambda instance, requests, groups: list[Reread](), evidence=["instructions"])
def rereads(
    instance: Instance, requests: Sequence[Requests], groups: Sequence[Group]
) -> list[Reread]:
    """Return the groups of loads that read again what an earlier group has read or written."""
    order = _Order(instance, requests, groups)
    found = []
    for i, g in enumerate(groups):
        if requests[g.members[0]].access.kind != "load":
            continue
        known: list[tuple[Position, Reread]] = []
        for j, other in enumerate(groups):
            if order.positions[j] >= order.positions[i] or not _same_blocks(
                instance, requests, other, g
            ):
                continue
            back = _backwards(requests, other) != _backwards(requests, g)
            sizes = order.bytes_of(i), order.bytes_of(j)
            common = _in_common(instance, requests, g, other, *sizes, back)
            if agreed(common > _MOSTLY):
                own, alike = order.between(i, j)
                known.append((order.positions[j], Reread(g.members, own, back, common, alike)))
        if known:  # the last to read it; of several at one position, the one that reads most of it
            found.append(max(known, key=lambda one: (one[0], float(np.max(one[1].common))))[1])
    return found


class _Order:
    """The order in which a thread comes to groups, and what a block touches between them."""

    def __init__(
        self, instance: Instance, requests: Sequence[Requests], groups: Sequence[Group]
    ) -> None:
        self.instance, self.requests, self.groups = instance, requests, groups
        self.positions = [_position(instance, requests, g) for g in groups]
        self._first = [requests[g.members[0]] for g in groups]
        self._known: dict[tuple[int, frozenset[str]], Array] = {}

    def bytes_of(self, i: int, around: frozenset[str] = frozenset()) -> Array:
        """Return the bytes of a group that a block reads, in an iteration of the loops `around`."""
        if (i, around) not in self._known:
            self._known[i, around] = _block_bytes(self.requests, self.groups[i], around)
        return self._known[i, around]

    def between(self, i: int, j: int) -> tuple[Array, Array]:
        """Return the bytes from group j's touch of something to group i's: own, and all blocks'."""
        since = self._since(i, j)
        alike = [k for k in since if _by_all_alike(self.instance, self._first[k])]
        loop, other = (self._first[k].access.loop for k in (i, j))
        # A loop around both, as over the rows of a block, comes back in every iteration.
        around = _nest(self.instance, loop) & _nest(self.instance, other)
        own = self._together((k for k in since if k not in alike), around)
        # Blocks are not in step: some write while this one reads, other data than it reads.
        stores = [k for k, r in enumerate(self._first) if r.access.kind == "store"]
        loads = (k for k in range(len(self.groups)) if k not in stores)
        buffer = self._first[i].access.buffer
        others = (k for k in stores if k not in since and self._first[k].access.buffer != buffer)
        share = np.minimum(own / np.maximum(self._together(loads, around), 1.0), 1.0)
        return own + self._together(others, around) * share, self._together(alike, around)

    def _since(self, i: int, j: int) -> list[int]:
        """Return the groups from group j to group i; a loop goes on while group j's does."""
        loop, positions = self._first[j].access.loop, self.positions
        return [
            k
            for k, position in enumerate(positions)
            if position < positions[i]
            and (
                position >= positions[j]
                or (loop is not None and self._first[k].access.loop == loop)
            )
        ]

    def _together(self, some: Iterable[int], around: frozenset[str]) -> Array:
        return np.asanyarray(sum((self.bytes_of(k, around) for k in some), np.zeros(1)))


def _position(instance: Instance, requests: Sequence[Requests], group: Group) -> Position:
    """Return what tells the order in which a thread comes to groups.

    A program's accesses are in its order. Of a kernel file the loops are, and in each of them, as
    outside of all, what is loaded comes before inner loops, and what is stored after them.
    """
    if instance.kernel.translated:
        return (min(group.members),)
    access = requests[group.members[0]].access
    order = {loop.variable: n for n, loop in enumerate(instance.kernel.loops)}
    nest = [order[loop.variable] for loop in instance.kernel.loop_nest(access.loop)]
    return (*nest, -1.0 if access.kind == "load" else math.inf)


def _in_common(
    instance: Instance,
    requests: Sequence[Requests],
    inner: Group,
    outer: Group,
    inner_bytes: Array,
    outer_bytes: Array,
    back: bool,
) -> Array:
    """Return the share of a group's data, in the first block, that an earlier group has read."""
    if _within(requests, inner, outer, inner_bytes, outer_bytes):
        return np.ones(1)
    if back or not _all_make(instance, requests, outer):
        return np.zeros(1)
    return _overlap(requests, inner, outer, inner_bytes, outer_bytes)


def _same_blocks(
    instance: Instance, requests: Sequence[Requests], one: Group, other: Group
) -> bool:
    a, b = requests[one.members[0]], requests[other.members[0]]
    if a.access.buffer != b.access.buffer or a.access.loop == b.access.loop:
        return False
    if a.period is not None or b.period is not None:
        return False
    return all(
        agreed((one.strides[name] == other.strides[name]) | (np.asanyarray(extent) <= 1))
        for name, extent in zip(BLOCK_INDICES, instance.grid, strict=True)
    )


def _by_all_alike(instance: Instance, r: Requests) -> bool:
    """Say whether all blocks read the same by an access with strides."""
    assert r.strides is not None
    return r.access.kind == "load" and all(
        agreed((r.strides[name] == 0) | (np.asanyarray(extent) <= 1))
        for name, extent in zip(BLOCK_INDICES, instance.grid, strict=True)
    )


def _within(
    requests: Sequence[Requests], inner: Group, outer: Group, inner_bytes: Array, outer_bytes: Array
) -> bool:
    """Say whether a group of the first block goes through data that another goes through.

    All of it, or a part that is as dense: what is left of a loop whose iterations are put together.
    Iterations that are left may lie at the other end: a few of them are beyond the other's.
    """
    lowest, highest = _ends(requests, inner)
    low, high = _ends(requests, outer)
    whole = (lowest == low) & np.isclose(inner_bytes, outer_bytes, rtol=_NEARLY)
    dense = (inner_bytes / (highest - lowest)) / (outer_bytes / (high - low))
    beyond = np.maximum(low - lowest, 0.0) + np.maximum(highest - high, 0.0)
    part = (beyond <= _NEARLY * (highest - lowest)) & (dense > 1 / _DENSE) & (dense < _DENSE)
    return agreed(whole | part)


def _overlap(
    requests: Sequence[Requests], inner: Group, outer: Group, inner_bytes: Array, outer_bytes: Array
) -> Array:
    """Return the share of a group's data, in the first block, that another goes through as well.

    Of data without gaps; 0 where there are any.
    """
    lowest, highest = _ends(requests, inner)
    low, high = _ends(requests, outer)
    common = (np.minimum(high, highest) - np.maximum(low, lowest)) / (highest - lowest)
    whole = (inner_bytes >= _WHOLE * (highest - lowest)) & (outer_bytes >= _WHOLE * (high - low))
    return np.asanyarray(np.where(whole, np.clip(common, 0.0, 1.0), 0.0))


def _all_make(instance: Instance, requests: Sequence[Requests], group: Group) -> bool:
    """Say whether about every warp that has work makes the group's loads at all."""
    r = requests[group.members[0]]
    once = r.executions / np.maximum(instance.runs(r.access.loop), 1.0)
    return agreed(r.requests >= _WHOLE * once * taking_part([r]))


def _ends(requests: Sequence[Requests], group: Group) -> tuple[Array, Array]:
    """Return the least address that a group of the first block touches, and past the last [B]."""
    first = requests[group.members[0]]
    offsets = np.stack(np.broadcast_arrays(*(requests[i].offset for i in group.members)))
    low = np.asanyarray(offsets.min(axis=0), dtype=float)
    high = np.asanyarray(offsets.max(axis=0), dtype=float) + first.width
    for v in first.variables:
        if not v.is_block:
            reach = group.strides[v.name] * (v.extent - 1)
            low, high = low + np.minimum(reach, 0.0), high + np.maximum(reach, 0.0)
    return low, high


def _backwards(requests: Sequence[Requests], group: Group) -> bool:
    """Say whether a group's loops go down in memory."""
    variables = requests[group.members[0]].variables
    loops = (v.name for v in variables if not v.target.startswith(("threadIdx", "blockIdx")))
    return any(agreed(group.strides[name] < 0) for name in loops)


def _nest(instance: Instance, loop: str | None) -> frozenset[str]:
    return frozenset(around.variable for around in instance.kernel.loop_nest(loop))


def _block_bytes(requests: Sequence[Requests], group: Group, around: frozenset[str]) -> Array:
    """Return the bytes that a block reads by a group in an iteration of some loops around it."""
    window: dict[str, Array] = {}
    r = requests[group.members[0]]
    for v in r.variables:
        if not v.is_block and v.name not in around:
            window[v.name] = np.atleast_1d(np.asanyarray(v.extent, dtype=float))
    return np.asanyarray(np.atleast_1d(group.granules(window, SECTOR)) * float(SECTOR))


def without_rereads(
    again: Sequence[Reread], values: Sequence[Array], missing: Sequence[Array]
) -> list[Array]:
    """Return what accesses bring into a cache, less what rereads find there."""
    found = list(values)
    for reread, share in zip(again, missing, strict=True):
        for i in reread.members:
            found[i] = np.asanyarray(found[i] * share)
    return found
