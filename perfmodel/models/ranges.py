"""Ranges: where the closed forms and the trace simulator part, so that a prediction can say so.

The closed forms' coefficients are fitted to hardware where it could be measured. The simulator
gives others (``ranges.toml``). Where a launch's traffic hangs on which of the two is taken, by more
than the limits, the closed form is outside its range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, get_type_hints

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.dram.dirty_lines import dirty_left
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.geometry import BLOCK_INDICES
from perfmodel.models.l1.stage import L1
from perfmodel.models.l2.l2_misses import REWRITTEN, Knees, Misses, fitted_knees, l2_misses
from perfmodel.models.l2.private_sets import PRIVATE_KNEE
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import Group, grouped, loads_by_l1
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import resident_share
from perfmodel.packaged import packaged_toml
from perfmodel.records import record
from perfmodel.traffic import Traffic

RANGES: Final = Path(__file__).parent / "ranges.toml"

_LEAST: Final = 0.01
"""Share of L2 under which DRAM bytes are no matter."""


@record
class Limits:
    """Relative differences of what is counted from which on a warning is due."""

    l2_sectors: float
    dram_bytes: float

    def of(self, what: str) -> float:
        """Return the limit of "L2 sectors" or of "DRAM bytes"."""
        return self.l2_sectors if what == "L2 sectors" else self.dram_bytes


@record
class SimulatedKnee:
    """Footprint over L2 at which reuse starts to fail, at which none is left, and the spread."""

    low: float
    high: float
    spread: float
    origin: str

    @property
    def ends(self) -> tuple[float, float]:
        """Where it starts to fail, and where none is left."""
        return self.low, self.high


@record
class SparedMisses:
    """Share of a table's re-reads that the simulator hits and the closed form misses."""

    spared: float
    origin: str


@record
class DirtyLines:
    """Written bytes that stay in L2: at most of L2, and a share of it by writes over all."""

    most: float
    share: float
    origin: str


@record
class Ranges:
    """What ``ranges.toml`` has, table by table."""

    limits: Limits
    reread: SimulatedKnee
    table: SparedMisses
    dirty: DirtyLines
    rewritten: SimulatedKnee


@cache
def ranges() -> Ranges:
    """Return ``ranges.toml``."""
    found = packaged_toml(RANGES)
    kinds = get_type_hints(Ranges)
    return Ranges(**{name: kind(**found[name]) for name, kind in kinds.items()})


@record
class Differences:
    """By how much the closed form and the simulator differ: arrays of launches, or plain numbers.

    `sectors` are those that L2 is asked for, and of these `shared` those that blocks may find in L1
    as other blocks left it. `moved` are DRAM bytes, and `causes` those by which it may be more than
    the simulator's, in the order of `_CAUSES`; none where the two were not compared.
    """

    sectors: Any
    shared: Any
    moved: Any
    causes: tuple[Any, ...] = ()

    def numbers(self) -> tuple[Any, ...]:
        """Return them in a row, the causes last."""
        return (self.sectors, self.shared, self.moved, *self.causes)

    @classmethod
    def of(cls, numbers: Sequence[Any]) -> Differences:
        """Return what `numbers` gave."""
        sectors, shared, moved, *causes = numbers
        return cls(sectors, shared, moved, tuple(causes))


_CAUSES: Final = (
    "data that is read again takes nearly all of L2",
    "a table is read again next to stores",
    "part of what is written again may wait in L2",
    "much of what is written is still in L2 at the end",
)


@record
class _Launch:
    """Launches: their global accesses, as they are and in groups, and what they move."""

    accesses: GlobalAccesses
    groups: Sequence[Group]
    traffic: Traffic

    @property
    def requests(self) -> Sequence[Requests]:
        return self.accesses.requests


def differences(accesses: GlobalAccesses, traffic: Traffic, cold: bool) -> Differences:
    """Return by how much the closed form and the simulator differ on launches.

    DRAM's bytes were compared only where L2 starts empty, `cold`, but for L1.
    """
    launch = _Launch(accesses, grouped(accesses.requests), traffic)
    of_l2 = traffic.l2_read_sectors + traffic.l2_write_sectors + traffic.l2_atomic_sectors
    moved = (traffic.dram_read_bytes + traffic.dram_write_bytes) * accesses.control.compression
    causes = (_rereads, _tables, _rewritten, _left) if cold else ()
    return Differences(
        of_l2, _shared_by_blocks(launch), moved, tuple(cause(launch) for cause in causes)
    )


def outside(found: Differences, l2_size: float) -> Iterator[tuple[str, float, str]]:
    """Yield what the closed form may have wrong of one launch: what is counted, how much, and why.

    What is "L2 sectors" or "DRAM bytes", and how much a relative difference. `found` are plain
    numbers.
    """
    limits = ranges().limits
    if found.sectors and found.shared / found.sectors > limits.l2_sectors:
        yield (
            "L2 sectors",
            found.shared / (found.sectors - found.shared),
            "blocks that follow each other on an SM may find what they share in its L1",
        )
    if not found.causes:
        return
    largest = max(found.causes, key=abs)
    # Causes may add up, or cancel by chance.
    relative = max(
        abs(difference) / max(found.moved - difference, _LEAST * l2_size)
        for difference in (largest, sum(found.causes))
    )
    if relative > limits.dram_bytes:
        yield "DRAM bytes", relative, _CAUSES[found.causes.index(largest)]


def _rereads(launch: _Launch) -> Array:
    """Return the bytes read, less those with the simulator's knee: by loops and by tables."""
    (low, high), spread = ranges().reread.ends, ranges().reread.spread
    requests, traffic, device = launch.requests, launch.traffic, launch.accesses.device
    total = np.zeros(1)
    for table in traffic.tables:
        if table.parts is not None and table.parts.knee is PRIVATE_KNEE:
            used, capacity = table.parts.used, table.parts.capacity
            missing = 1 - resident_share(used, capacity, (low, high))
            lost = table.lines.normal_miss - missing
            near = np.abs(used / capacity - (low + high) / 2) < ((high - low) / 2 + spread)
            lost = lost + np.where(near, np.copysign(spread, lost), 0.0)
            total = total + table.again * table.lines.normal * lost
    in_tables = {i for t in traffic.tables for i in t.members}
    loads = [
        i
        for i, r in enumerate(requests)
        if r.access.kind == "load" and r.strides is not None and i not in in_tables
    ]
    buffers = {
        requests[i].access.buffer: buffer_bytes(launch.accesses.instance, requests[i])
        for i in loads
    }
    asked = summed(traffic.accesses[i].l1_fill_sectors * SECTOR for i in loads)
    once = summed(buffers.values())
    fits = (asked < 1.1 * once) | (once * device.l2_partitions < low * device.l2_size)
    if not loads or np.all(fits):
        return total
    fitted = fitted_knees(device)
    both = fitted, fitted._replace(reuse=(low, high))
    reads = [_again(launch, each).dram_bytes for each in both]
    more = summed(reads[0][i] - reads[1][i] for i in loads)
    return total + np.where(fits, 0.0, more)


def _again(launch: _Launch, knees: Knees) -> Misses:
    """Return what `l2_misses` does, with other knees."""
    fills = [a.l1_fill_sectors for a in launch.traffic.accesses]
    return l2_misses(launch.accesses, L1(launch.groups, {}, (), (), fills, {}), knees)


def _tables(launch: _Launch) -> Array:
    """Return the bytes that tables miss beside stores, less those that the simulator gives."""
    spared, requests = ranges().table.spared, launch.requests
    stores = any(r.access.kind == "store" for r in requests)
    total = np.zeros(1)
    for table in launch.traffic.tables:
        if stores and any(requests[i].period is not None for i in table.members):
            few = np.minimum(table.misses / spared, 1.0)
            normal = table.lines.persisting + table.lines.streaming == 0
            total = total + np.where(normal, table.again * spared * few * (1 - table.misses), 0.0)
    return total


def _rewritten(launch: _Launch) -> Array:
    """Return the bytes written again that may or may not be written back in between."""
    stores = (r for r in launch.requests if r.access.kind == "store")
    stored, once = summed(r.sectors * SECTOR for r in stores), _stored_once(launch)
    (low, high), spread = ranges().rewritten.ends, ranges().rewritten.spread
    device = launch.accesses.device
    fits = (stored <= REWRITTEN * once) | ~(low - spread < once / device.l2_size)
    if np.all(fits):
        return np.zeros(1)

    fitted = fitted_knees(device)

    def written(ends: tuple[float, float]) -> Array:
        return _again(launch, fitted._replace(rewritten=ends)).rewritten

    # Knees that much to either side change the share by the spread.
    shift = spread * (high - low)
    around = written((low - shift, high - shift)) - written((low + shift, high + shift))
    difference = written(fitted.rewritten) - written((low, high))
    return np.where(fits, 0.0, difference + np.copysign(around / 2, difference))


def _stored_once(launch: _Launch) -> Array:
    """Return the bytes of all sectors that are stored to."""
    first = ((g, launch.requests[g.members[0]]) for g in launch.groups)
    stores = (g for g, r in first if r.access.kind == "store")
    return summed(g.granules(g.counts, SECTOR) * SECTOR for g in stores)


def _left(launch: _Launch) -> Array:
    """Return the bytes written back, less those if L2 keeps as much as in the simulator."""
    control, device = launch.accesses.control, launch.accesses.device
    if control.set_aside:
        return np.zeros(1)
    size = float(device.l2_size)
    written = _stored_once(launch)
    reads = launch.traffic.dram_read_bytes * control.compression
    share = written / np.maximum(reads + written, 1.0)
    dirty = ranges().dirty
    there = np.minimum(dirty.most * size, dirty.share * size * share)
    return np.asanyarray(np.minimum(there, written) - dirty_left(reads, written, size, device))


def _shared_by_blocks(launch: _Launch) -> Array:
    """Return the L2 sectors that blocks would spare if L1 kept what earlier ones on its SM read.

    An SM takes blocks as they come, as in the simulator; which of a grid's columns it has seen
    before is chance. It matters where these fit its L1, or a good part of them does.
    """
    sms, blocks = launch.accesses.device.sm_count, launch.accesses.blocks
    extents = map(np.asanyarray, launch.accesses.instance.grid)
    grid = dict(zip(BLOCK_INDICES, extents, strict=True))
    turns = np.ceil(blocks / sms)
    cached = loads_by_l1(launch.requests, launch.groups)
    if not cached or np.all(turns < 2):
        return np.zeros(1)
    seen = {name: _seen(extent, turns) for name, extent in grid.items()}
    first = BLOCK_INDICES[0]
    seen[first] = np.where(grid[first] == blocks, turns, seen[first])
    at_a_time, spared = np.zeros(1), np.zeros(1)
    for g in cached:
        moving = {name: _moves(g, name, extent) for name, extent in grid.items()}
        every = {name: np.where(moving[name], seen[name], 1.0) for name in grid}
        window = {name: count for name, count in g.counts.items() if "blockIdx" not in name}
        if g.period is not None:
            one = g.granules(window, SECTOR)
            own = one * _seen(np.maximum(1.0, g.period / (one * SECTOR)), turns)
            at_a_time = at_a_time + own
        else:
            at_a_time = at_a_time + g.granules({**window, first: every[first]}, SECTOR)
            own = g.granules({**window, **every}, SECTOR)
        fills = summed(launch.traffic.accesses[i].l1_fill_sectors for i in g.members)
        few = summed(each * 1 for each in moving.values()) < 2
        spared = spared + np.where(few, np.maximum(0.0, fills - own * np.minimum(sms, blocks)), 0.0)
    held = np.minimum(1.0, launch.accesses.occupied.l1_size / np.maximum(at_a_time * SECTOR, 1.0))
    return np.where(turns < 2, 0.0, spared * held)


def _moves(g: Group, name: str, extent: Array) -> Array:
    """Return whether blocks along an axis of the grid, of so many, touch other data of a group."""
    stride = g.strides.get(name)
    if stride is None:
        return np.zeros(1, dtype=bool)
    return np.asanyarray((extent > 1) & (stride != 0) & (g.counts[name] > 1))


def _seen(extent: Array, turns: Array) -> Array:
    """Return how many of `extent` columns an SM has seen after so many draws."""
    return np.asanyarray(extent * (1 - (1 - 1 / extent) ** turns))
