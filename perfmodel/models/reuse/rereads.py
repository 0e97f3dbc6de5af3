"""Reuse between consecutive loops: a loop that reads what an earlier loop has read or written.

A softmax reads its row for the maximum, and again for the sum. Between the two reads of an element
the block touches all of its data once, and so do the other resident blocks. A loop that starts
again from the same end finds everything if that fits the cache, and nothing if it does not (cyclic
LRU). One that runs backward, as a back substitution does, finds what was touched last: as much as
the cache holds.

Near the capacity the hit share falls between two fitted bounds, for L1 and for L2. Reuse within one
loop is in `perfmodel.models.reuse.reuse_windows`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
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
from perfmodel.models.reuse.reuse_windows import Knee, resident_share
from perfmodel.records import record

L1_AGAIN: Final = Knee("reuse.rereads.l1_again")
L2_AGAIN: Final = Knee("reuse.rereads.l2_again")
L1_BACK: Final = Coefficient("reuse.rereads.l1_back")
L2_BACK: Final = Coefficient("reuse.rereads.l2_back")
_DENSE: Final = 1.6
"""Factor within which two traversals go through data alike: of rows, 3 are at most half as much
again in their range as many are."""
_NEARLY: Final = 0.02
"""Part of what a traversal goes through that may differ from the other's: by choice."""


Position = tuple[float, ...]

_MOSTLY: Final = 0.5
_WHOLE: Final = 0.9
"""Share of a group's data that it has in common with an earlier one from which on that counts, and
share of a range that is all of it: sliding windows, what is left of whose loop runs first."""


@record
class Reread:
    """A group of loads that reads what an earlier group has read."""

    members: tuple[int, ...]  # positions of its loads among the requests
    # bytes that a block touches from the first time on to the second, both groups and what lies
    # between
    per_block: Array
    back: bool = False  # whether it goes through the data in the other direction
    # share of what it reads that the earlier group has read
    common: Array = field(default_factory=lambda: np.ones(1))
    # bytes between them that all blocks read alike: weights of a layer, which are there once
    alike: Array = field(default_factory=lambda: np.zeros(1))

    def missing_l1(self, blocks: Array, capacity: Array, device: Device) -> Array:
        """Return the share that L1 does not have, with so many blocks on it at a time."""
        touched = self.per_block * blocks + self.alike
        if self.back:
            return _missing(touched, capacity * L1_BACK(device))
        lost = 1 - resident_share(touched, capacity, L1_AGAIN(device))
        return np.asanyarray(1 - self.common * (1 - lost))

    def missing_l2(self, blocks: Array, capacity: float, near: Array, device: Device) -> Array:
        """Return the same of L2, of the share `near` that L1 does not have."""
        touched = self.per_block * blocks + self.alike
        if self.back:  # what L1 has is what came last in L2 too
            missing = _missing(touched, capacity * L2_BACK(device))
            return np.asanyarray(np.minimum(missing / np.maximum(near, 1e-9), 1.0))
        lost = 1 - resident_share(touched, capacity, L2_AGAIN(device))
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
    traversals, found = [_Traversal(instance, requests, g) for g in groups], []
    for traversal in traversals:
        known: list[tuple[Position, Reread]] = []
        for earlier in traversals if traversal.first.access.kind == "load" else ():
            if earlier.position >= traversal.position or not _same_blocks(earlier, traversal):
                continue
            back = earlier.backwards() != traversal.backwards()
            common = _in_common(traversal, earlier, back)
            if agreed(common > _MOSTLY):
                own, alike = _between(traversals, earlier, traversal)
                again = Reread(traversal.group.members, own, back, common, alike)
                known.append((earlier.position, again))
        if known:  # the last to read it; of several at one position, the one that reads most of it
            found.append(max(known, key=lambda one: (one[0], float(np.max(one[1].common))))[1])
    return found


class _Traversal:
    """How the first block goes through a buffer by a group of accesses."""

    def __init__(self, instance: Instance, requests: Sequence[Requests], group: Group) -> None:
        self.instance, self.group = instance, group
        self.every = [requests[i] for i in group.members]
        self.first = self.every[0]
        self.buffer, self.loop = self.first.access.buffer, self.first.access.loop
        self.nest = [loop.variable for loop in instance.kernel.loop_nest(self.loop)]
        self._bytes: dict[frozenset[str], Array] = {}

    @property
    def position(self) -> Position:
        """What tells the order in which a thread comes to groups.

        A program's accesses are in its order. Of a kernel file the loops are, and in each of them,
        as outside of all, what is loaded comes before inner loops, and what is stored after them.
        """
        if self.instance.kernel.translated:
            return (min(self.group.members),)
        order = {loop.variable: n for n, loop in enumerate(self.instance.kernel.loops)}
        load = self.first.access.kind == "load"
        return (*(order[loop] for loop in self.nest), -1.0 if load else math.inf)

    def bytes_in(self, around: frozenset[str] = frozenset()) -> Array:
        """Return the bytes that a block touches in an iteration of the loops `around`."""
        if around not in self._bytes:
            window = {
                v.name: np.atleast_1d(np.asanyarray(v.extent, dtype=float))
                for v in self.first.variables
                if not v.is_block and v.name not in around
            }
            granules = np.atleast_1d(self.group.granules(window, SECTOR))
            self._bytes[around] = np.asanyarray(granules * float(SECTOR))
        return self._bytes[around]

    def ends(self) -> tuple[Array, Array]:
        """Return the least address that the first block touches, and past the last [B]."""
        offsets = np.stack(np.broadcast_arrays(*(r.offset for r in self.every)))
        low = np.asanyarray(offsets.min(axis=0), dtype=float)
        high = np.asanyarray(offsets.max(axis=0), dtype=float) + self.first.width
        for v in self.first.variables:
            if not v.is_block:
                reach = self.group.strides[v.name] * (v.extent - 1)
                low, high = low + np.minimum(reach, 0.0), high + np.maximum(reach, 0.0)
        return low, high

    def backwards(self) -> bool:
        """Say whether its loops go down in memory."""
        every = self.first.variables
        loops = (v.name for v in every if not v.target.startswith(("threadIdx", "blockIdx")))
        return any(agreed(self.group.strides[name] < 0) for name in loops)

    def on_axes(self, holds: Callable[[str], Any]) -> bool:
        """Say whether something holds along all axes that have several blocks."""
        return all(
            agreed(holds(name) | (np.asanyarray(extent) <= 1))
            for name, extent in zip(BLOCK_INDICES, self.instance.grid, strict=True)
        )

    def by_all_alike(self) -> bool:
        """Say whether all blocks read the same."""
        load = self.first.access.kind == "load"
        return load and self.on_axes(lambda name: self.group.strides[name] == 0)

    def all_make(self) -> bool:
        """Say whether about every warp that has work makes the accesses at all."""
        r = self.first
        once = r.executions / np.maximum(self.instance.runs(self.loop), 1.0)
        return agreed(r.requests >= _WHOLE * once * taking_part([r]))


def _between(
    traversals: Sequence[_Traversal], earlier: _Traversal, traversal: _Traversal
) -> tuple[Array, Array]:
    """Return the bytes touched from an earlier group's touch on: a block's own, and all blocks'."""
    # A loop goes on while the earlier group's does.
    same_loop = [w for w in traversals if earlier.loop is not None and w.loop == earlier.loop]
    since = [
        w
        for w in traversals
        if w.position < traversal.position and (w.position >= earlier.position or w in same_loop)
    ]
    alike = [w for w in since if w.by_all_alike()]
    # A loop around both, as over the rows of a block, comes back in every iteration.
    around = frozenset(traversal.nest) & frozenset(earlier.nest)
    own = [w for w in since if w not in alike]
    # Blocks are not in step: some write while this one reads, other data than it reads.
    stores = [w for w in traversals if w.first.access.kind == "store"]
    later = (w for w in stores if w not in since and w.buffer != traversal.buffer)
    others = (w for w in later if not any(_same_data(w, known) for known in since))
    loads = (w for w in traversals if w not in stores)
    passed, every = (summed(w.bytes_in(around) for w in some) for some in (own, loads))
    share = np.minimum(passed / np.maximum(every, 1.0), 1.0)
    touched, written, common = (_together(some, around) for some in (own, others, alike))
    return touched + written * share, common


def _together(some: Iterable[_Traversal], around: frozenset[str]) -> Array:
    """Return the bytes that a block touches by groups, those that are changed in place once."""
    different: list[_Traversal] = []
    for traversal in some:
        if not any(_same_data(traversal, known) for known in different):
            different.append(traversal)
    return summed(w.bytes_in(around) for w in different)


def _same_data(one: _Traversal, other: _Traversal) -> bool:
    """Say whether blocks touch the same parts of a buffer by both: loads, and stores over them."""
    if one.buffer != other.buffer:
        return False
    if not one.on_axes(lambda name: one.group.strides[name] == other.group.strides[name]):
        return False
    (low, high), (lowest, highest) = one.ends(), other.ends()
    alike = (low == lowest) & (high == highest)
    return agreed(alike & np.isclose(one.bytes_in(), other.bytes_in(), rtol=_NEARLY))


def _same_blocks(one: _Traversal, other: _Traversal) -> bool:
    """Say whether blocks go through the same parts of a buffer by both, in different loops."""
    if one.buffer != other.buffer or one.loop == other.loop:
        return False
    if one.first.period is not None or other.first.period is not None:
        return False
    return one.on_axes(lambda name: one.group.strides[name] == other.group.strides[name])


def _in_common(inner: _Traversal, outer: _Traversal, back: bool) -> Array:
    """Return the share of a group's data, in the first block, that an earlier group has read.

    All of it, or a part that is as dense: what is left of a loop whose iterations are put together.
    Iterations that are left may lie at the other end: a few of them are beyond the other's. Else,
    of data without gaps, what both go through.
    """
    (lowest, highest), (low, high) = inner.ends(), outer.ends()
    sizes, reach = (inner.bytes_in(), outer.bytes_in()), highest - lowest
    whole = (lowest == low) & np.isclose(*sizes, rtol=_NEARLY)
    dense = (sizes[0] / reach) / (sizes[1] / (high - low))
    beyond = np.maximum(low - lowest, 0.0) + np.maximum(highest - high, 0.0)
    part = (beyond <= _NEARLY * reach) & (dense > 1 / _DENSE) & (dense < _DENSE)
    if agreed(whole | part):
        return np.ones(1)
    if back or not outer.all_make():
        return np.zeros(1)
    common = (np.minimum(high, highest) - np.maximum(low, lowest)) / reach
    full = (sizes[0] >= _WHOLE * reach) & (sizes[1] >= _WHOLE * (high - low))
    return np.asanyarray(np.where(full, np.clip(common, 0.0, 1.0), 0.0))


def without_rereads(
    again: Sequence[Reread], values: Sequence[Array], missing: Sequence[Array]
) -> list[Array]:
    """Return what accesses bring into a cache, less what rereads find there."""
    found = list(values)
    for reread, share in zip(again, missing, strict=True):
        for i in reread.members:
            found[i] = np.asanyarray(found[i] * share)
    return found
