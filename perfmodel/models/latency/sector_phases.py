"""Sector boundaries in loops: lanes and warps that need a new sector in the same iteration.

A thread that walks along a row in 4 B steps needs a new sector every eighth iteration. If all lanes
are whole sectors from one another, they all miss in the same iteration and all hit in the next
seven, so the latency of a miss is paid every eighth time. If the lanes are at different offsets in
their sectors, some lane misses in nearly every iteration, and the warp waits each time, though the
miss rate is the same.

The share of iterations with a miss is the number of distinct offsets times the step over the sector
size. Measured: rows of 1024 and 4096 B take 146 clocks per element, warm, and rows of 1028 B 317;
cold 189, 193 and 721 (`measurements/instructions`, one-warp). Where a loop around goes the same way
again, and L1 keeps what is touched, the share is that of its first iteration alone
(`measurements/l1`, private-walks).
"""

from dataclasses import replace
from itertools import takewhile

import numpy as np

from perfmodel.arrays import Array, largest, summed
from perfmodel.models.agreement import agreed
from perfmodel.models.grid.affine import Variable
from perfmodel.models.latency.batch import MOST_SPREAD, BatchLatency
from perfmodel.models.latency.batch_loads import BatchLoads
from perfmodel.models.latency.leading_blocks import active_iterations, extents_at_work
from perfmodel.models.launch.waves import side_by_side, warps_let_in
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.footprint import Extent, footprint
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import grouped
from perfmodel.models.reuse.reuse_windows import l1_knee, resident_share


@mechanism(neutral=lambda b, new, latencies: latencies, evidence=["instructions", "source-kernels"])
def sector_phases(b: BatchLoads, new: Array, latencies: BatchLatency) -> BatchLatency:
    """Return the latencies where lanes come to new sectors in the same iterations.

    Lanes whole sectors apart, as those that go along a row each, all miss in one batch, and all hit
    in the next; `new` is the share of a batch's sectors that are new to L1. Lanes 200 bytes
    apart are at 4 places in their sectors, and some come to new ones in every eighth iteration
    (measurements/source-kernels, textbook, compare_strings).
    """
    loads = all(r.access.kind == "load" for r in b.own)
    if b.loop is None or not (b.regular and b.in_order and loads):
        return latencies
    together = np.ones(1, dtype=bool)
    reach, rows, often = np.zeros(1), np.ones(1), _often(b)
    for r in b.own:
        assert r.strides is not None
        reach = np.maximum(reach, np.abs(r.strides[b.loop]) * b.unroll)
        for v, _ in r.lanes:
            together = together & (np.asanyarray(r.strides[v.name]) % SECTOR == 0)
        rows = np.maximum(rows, footprint(extents_at_work(r, lanes=True), r.width, LINE))
    first = np.clip(np.maximum(new, often), 0.0, 1.0)
    device, own = b.execution.device, latencies
    atom = np.clip(np.maximum(reach, SECTOR) / device.dram_access_size, 0.0, 1.0)
    return replace(
        own,
        l1_miss=np.minimum(own.l1_miss, first),
        l2_miss=np.where(together, np.minimum(own.l2_miss, atom), own.l2_miss),
        reads=np.where(together, np.clip(rows, own.reads, MOST_SPREAD(device)), own.reads),
    )


def _often(b: BatchLoads) -> Array:
    """Return the share of a loop's batches in which some lane needs a new sector.

    Where an iteration waits several times, each array's new sectors are waited for separately.
    """
    assert b.loop is not None
    often, own = np.zeros(1), []
    for r, missed in zip(b.own, _not_kept(b), strict=True):
        # Turns that a guard keeps it out of come to nothing.
        there = active_iterations(b.execution.instance, r, b.loop) / _turns(b)
        steps = _steps_on(b, r)
        own.append(steps * there * missed)
        often = np.maximum(often, np.minimum(steps, 1.0) * there * missed)
    if not np.any(b.unroll < 1):
        return often
    # Loads of one array with equal strides need together what each of them would need.
    each = [
        np.minimum(largest(*(own[i] for i in g.members)) / b.unroll, len(g.members))
        for g in grouped(b.own)
    ]
    others = 1 - np.minimum(summed(each) / len(b.own), 1.0)
    several = 1 - others ** np.maximum(len(b.own) * b.unroll, 1.0)
    return np.where(b.unroll < 1, np.maximum(often, several), often)


def _not_kept(b: BatchLoads) -> list[Array]:
    """Return for each load the share of its way through the loop for which L1 has not its data.

    Loops around that do not move it go the same way again, and find what L1 keeps.
    """
    again = [_times_again(b, r) for r in b.own]
    if all(times is None for times in again):
        return [np.ones(1)] * len(again)
    device, on_sm = b.execution.device, b.execution.occupied
    blocks = side_by_side(on_sm.resident, b.execution.blocks, device.sm_count)
    walked = summed(_walked(b, r) * SECTOR for r in b.own)
    capacity = np.asanyarray(on_sm.l1_size, dtype=float)
    kept = resident_share(walked * blocks, capacity, l1_knee(device))
    return [np.ones(1) if n is None else np.asanyarray(1 - kept * (1 - 1 / n)) for n in again]


def _times_again(b: BatchLoads, r: Requests) -> Array | None:
    """Return how often loops around a load's loop repeat its way; None where none does."""
    assert b.loop is not None
    strides, instance = r.strides, b.execution.instance
    assert strides is not None
    around = [v.variable for v in instance.kernel.loop_nest(b.loop) if v.variable != b.loop]
    again = list(takewhile(lambda v: agreed(strides[v] == 0), reversed(around)))
    times = np.ones(1)
    for variable in again:
        times = times * np.maximum(np.asanyarray(instance.trips[variable], dtype=float), 1.0)
    return times if again else None


def _walked(b: BatchLoads, r: Requests) -> Array:
    """Return the sectors that a block's load comes to on its way through the loop."""
    assert b.loop is not None
    assert r.strides is not None
    trips = np.asanyarray(b.execution.instance.trips[b.loop], dtype=float)
    return footprint([Extent(r.strides[b.loop], trips), *extents_at_work(r)], r.width, SECTOR)


def in_step(r: Requests, warps: Array) -> Array:
    """Return the distinct sectors that the warps of a block ask for in one iteration."""
    every = np.asanyarray(r.sectors / np.maximum(r.requests, 1e-9)) * warps * warps_let_in(r)
    if r.strides is None:
        return every
    extents = [
        Extent(r.strides[v.name], np.maximum(v.extent * _lanes_let_in(r, v), 1.0))
        for v in r.variables
        if not v.is_block and v.target.startswith("threadIdx")
    ]
    return np.minimum(every, footprint(extents, r.width, SECTOR))


def _lanes_let_in(r: Requests, v: Variable) -> Array:
    """Return the share of a variable's values that guards let in, where it is a lane's."""
    return np.asanyarray(r.shares.get(v.name, 1.0) if v.in_lane else 1.0)


def new_sectors(b: BatchLoads) -> tuple[Array, Array]:
    """Return `advance` and `new` of a `Batch` of loads in order in a loop."""
    assert b.loop is not None
    advance = apart = np.zeros(1)
    for r in b.own:
        # Arrays side by side reach new sectors in the same steps, as do lanes sectors apart.
        advance = np.maximum(advance, _steps_on(b, r))
        apart = apart + _walked(b, r) / _batches(b)
    new = np.minimum(b.filled / b.part / np.maximum(apart, 1e-9), 1.0)
    return np.asanyarray(advance), np.asanyarray(1 - (1 - new) ** np.maximum(b.fresh, 1.0))


def _turns(b: BatchLoads) -> Array:
    """Return how many iterations the loop makes, at least one."""
    assert b.loop is not None
    trips = np.asanyarray(b.execution.instance.trips[b.loop], dtype=float)
    return np.asanyarray(np.maximum(trips, 1.0))


def _batches(b: BatchLoads) -> Array:
    """Return how many batches of a thread's loads its loop makes."""
    return np.asanyarray(np.maximum(_turns(b) / np.maximum(b.unroll, 1.0), 1.0))


def _steps_on(b: BatchLoads, r: Requests) -> Array:
    """Return how often a batch's load comes to new sectors: more than once where lanes part.

    Lanes whole sectors apart come to theirs together, and lanes side by side share what they touch.
    """
    assert b.loop is not None
    assert r.strides is not None
    stride = r.strides[b.loop]
    turn = Extent(stride, np.asanyarray(b.execution.instance.trips[b.loop], dtype=float))
    lanes = [
        Extent(np.where(e.stride % SECTOR == 0, 0.0, e.stride), e.count)
        for e in extents_at_work(r, lanes=True)
    ]
    touched = footprint([turn, *lanes], r.width, SECTOR) / _batches(b)
    return np.asanyarray(np.minimum(touched, _phases(r) * np.abs(stride) * b.unroll / SECTOR))


def _phases(r: Requests) -> Array:
    """Return how many places in their sectors the lanes of a warp are at."""
    assert r.strides is not None
    found = np.ones(1)
    for v, count in r.lanes:
        apart = np.abs(np.asanyarray(r.strides[v.name])).astype(np.int64)
        found = found * np.minimum(count, SECTOR // np.gcd(apart, SECTOR))
    return np.asanyarray(np.minimum(found, SECTOR))
