"""Ranges: where the closed forms and the trace simulator part, so that a prediction can say so.

The closed forms' coefficients are fitted to hardware where it could be measured. The simulator
gives others (``ranges.toml``). Where a launch's traffic hangs on which of the two is taken, by more
than the limits, the closed form is outside its range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, get_type_hints

import numpy as np

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.l2_control import L2Control
from perfmodel.models.dram.dirty_lines import dirty_left
from perfmodel.models.global_accesses import GlobalAccesses, L2Start
from perfmodel.models.grid.geometry import BLOCK_INDICES, block_shape
from perfmodel.models.l1.record import L1
from perfmodel.models.l2.l2_misses import REWRITTEN, Knees, Misses, fitted_knees, l2_misses
from perfmodel.models.l2.private_sets import PRIVATE_KNEE
from perfmodel.models.launch.occupancy import Occupancy
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
class _Launch:
    """One launch: its global accesses, as they are and in groups, and what they move."""

    accesses: GlobalAccesses
    groups: Sequence[Group]
    traffic: Traffic

    @property
    def requests(self) -> Sequence[Requests]:
        return self.accesses.requests


def outside(
    instance: Instance,
    requests: Sequence[Requests],
    traffic: Traffic,
    device: Device,
    occupied: Occupancy,
    control: L2Control,
    cold: bool,
) -> Iterator[tuple[str, float, str]]:
    """Yield what the closed form may have wrong of one launch: what is counted, how much, and why.

    What is "L2 sectors" or "DRAM bytes", and how much a relative difference. The two were compared
    only where L2 starts empty, `cold`, but for L1.
    """
    limits = ranges().limits
    x, y, z = (int(np.max(n)) for n in instance.block)
    start, shape = L2Start(control), block_shape((x, y, z))
    accesses = GlobalAccesses(instance, shape, requests, device, occupied, start)
    launch = _Launch(accesses, grouped(requests), traffic)
    sectors = _number(
        traffic.l2_read_sectors + traffic.l2_write_sectors + traffic.l2_atomic_sectors
    )
    shared = _shared_by_blocks(launch)
    if sectors and shared / sectors > limits.l2_sectors:
        yield (
            "L2 sectors",
            shared / (sectors - shared),
            "blocks that follow each other on an SM may find what they share in its L1",
        )
    if not cold:
        return
    moved = _number(traffic.dram_read_bytes + traffic.dram_write_bytes) * control.compression
    size = float(device.l2_size)
    found = {
        "data that is read again takes nearly all of L2": _rereads(launch),
        "a table is read again next to stores": _tables(requests, traffic),
        "part of what is written again may wait in L2": _rewritten(launch),
        "much of what is written is still in L2 at the end": _left(launch),
    }
    why = max(found, key=lambda name: abs(found[name]))
    # Causes may add up, or cancel by chance.
    relative = max(
        abs(difference) / max(moved - difference, _LEAST * size)
        for difference in (found[why], sum(found.values()))
    )
    if relative > limits.dram_bytes:
        yield "DRAM bytes", relative, why


def _rereads(launch: _Launch) -> float:
    """Return the bytes read, less those with the simulator's knee: by loops and by tables."""
    (low, high), spread = ranges().reread.ends, ranges().reread.spread
    requests, traffic, device = launch.requests, launch.traffic, launch.accesses.device
    total = 0.0
    for table in traffic.tables:
        if table.parts is not None and table.parts.knee is PRIVATE_KNEE:
            used, capacity = table.parts.used, table.parts.capacity
            missing = 1 - resident_share(used, capacity, (low, high))
            lost = table.lines.normal_miss - missing
            near = np.abs(used / capacity - (low + high) / 2) < ((high - low) / 2 + spread)
            lost = lost + np.where(near, np.copysign(spread, lost), 0.0)
            total += _number(table.again * table.lines.normal * lost)
    in_tables = {i for t in traffic.tables for i in t.members}
    loads = [
        i
        for i, r in enumerate(requests)
        if r.access.kind == "load" and r.strides is not None and i not in in_tables
    ]
    buffers = {
        requests[i].access.buffer: _number(buffer_bytes(launch.accesses.instance, requests[i]))
        for i in loads
    }
    asked = sum(_number(traffic.accesses[i].l1_fill_sectors) * SECTOR for i in loads)
    once = sum(buffers.values())
    if not loads or asked < 1.1 * once or once * device.l2_partitions < low * device.l2_size:
        return total
    fitted = fitted_knees(device)
    both = fitted, fitted._replace(reuse=(low, high))
    reads = [_again(launch, each).dram_bytes for each in both]
    return total + sum(_number(reads[0][i] - reads[1][i]) for i in loads)


def _again(launch: _Launch, knees: Knees) -> Misses:
    """Return what `l2_misses` does, with other knees."""
    fills = [a.l1_fill_sectors for a in launch.traffic.accesses]
    return l2_misses(launch.accesses, L1(launch.groups, {}, (), (), fills, {}), knees)


def _tables(requests: Sequence[Requests], traffic: Traffic) -> float:
    """Return the bytes that tables miss beside stores, less those that the simulator gives."""
    spared = ranges().table.spared
    stores = any(r.access.kind == "store" for r in requests)
    total = 0.0
    for table in traffic.tables:
        periodic = any(requests[i].period is not None for i in table.members)
        if stores and periodic and not np.any(table.lines.persisting + table.lines.streaming):
            few = np.minimum(table.misses / spared, 1.0)
            total += _number(table.again * spared * few * (1 - table.misses))
    return total


def _rewritten(launch: _Launch) -> float:
    """Return the bytes written again that may or may not be written back in between."""
    stored = sum(_number(r.sectors) * SECTOR for r in launch.requests if r.access.kind == "store")
    once = _stored_once(launch)
    (low, high), spread = ranges().rewritten.ends, ranges().rewritten.spread
    device = launch.accesses.device
    if stored <= REWRITTEN * once or not low - spread < once / device.l2_size:
        return 0.0

    fitted = fitted_knees(device)

    def written(ends: tuple[float, float]) -> float:
        return _number(_again(launch, fitted._replace(rewritten=ends)).rewritten)

    # Knees that much to either side change the share by the spread.
    shift = spread * (high - low)
    around = written((low - shift, high - shift)) - written((low + shift, high + shift))
    difference = written(fitted.rewritten) - written((low, high))
    return difference + math.copysign(around / 2, difference)


def _stored_once(launch: _Launch) -> float:
    """Return the bytes of all sectors that are stored to."""
    first = ((g, launch.requests[g.members[0]]) for g in launch.groups)
    stores = (g for g, r in first if r.access.kind == "store")
    return sum((_number(g.granules(g.counts, SECTOR)) * SECTOR for g in stores), 0.0)


def _left(launch: _Launch) -> float:
    """Return the bytes written back, less those if L2 keeps as much as in the simulator."""
    control, device = launch.accesses.control, launch.accesses.device
    if control.set_aside:
        return 0.0
    size = float(device.l2_size)
    written = _stored_once(launch)
    reads = _number(launch.traffic.dram_read_bytes) * control.compression
    share = written / max(reads + written, 1.0)
    dirty = ranges().dirty
    there = float(min(dirty.most * size, dirty.share * size * share))
    here = _number(dirty_left(reads, written, size, device))
    return min(there, written) - here


def _shared_by_blocks(launch: _Launch) -> float:
    """Return the L2 sectors that blocks would spare if L1 kept what earlier ones on its SM read.

    An SM takes blocks as they come, as in the simulator; which of a grid's columns it has seen
    before is chance. It matters where these fit its L1, or a good part of them does.
    """
    sms = launch.accesses.device.sm_count
    extents = (int(np.max(extent)) for extent in launch.accesses.instance.grid)
    grid = dict(zip(BLOCK_INDICES, extents, strict=True))
    blocks = math.prod(grid.values())
    turns = -(-blocks // sms)
    cached = loads_by_l1(launch.requests, launch.groups)
    if turns < 2 or not cached:
        return 0.0
    seen = {name: _seen(extent, turns) for name, extent in grid.items()}
    first = BLOCK_INDICES[0]
    if grid[first] == blocks:
        seen[first] = turns
    at_a_time, spared = 0.0, 0.0
    for g in cached:
        moving = [n for n in BLOCK_INDICES if grid[n] > 1 and g.moves_with(n)]
        window = {name: count for name, count in g.counts.items() if "blockIdx" not in name}
        if g.period is not None:
            one = _number(g.granules(window, SECTOR))
            own = one * _seen(max(1.0, _number(g.period) / (one * SECTOR)), turns)
            at_a_time += own
        else:
            column = {first: np.full(1, seen[first] if first in moving else 1.0)}
            at_a_time += _number(g.granules({**window, **column}, SECTOR))
            every = {n: np.full(1, seen[n]) for n in moving}
            own = _number(g.granules({**window, **every}, SECTOR))
        fills = sum(_number(launch.traffic.accesses[i].l1_fill_sectors) for i in g.members)
        if len(moving) < 2:
            spared += max(0.0, fills - own * min(sms, blocks))
    return spared * min(
        1.0, _number(launch.accesses.occupied.l1_size) / max(at_a_time * SECTOR, 1.0)
    )


def _seen(extent: float, turns: int) -> float:
    """Return how many of `extent` columns an SM has seen after so many draws."""
    return extent * (1 - (1 - 1 / extent) ** turns)


def _number(value: Any) -> float:
    return float(np.max(np.asanyarray(value, dtype=float)))
