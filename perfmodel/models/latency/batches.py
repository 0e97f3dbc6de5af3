"""Batches: loads of a loop that a warp waits for together, and how late the slowest of them is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest, smallest, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.atomics.global_atomics import RETURN_LATENCY
from perfmodel.models.execution import Execution
from perfmodel.models.l2.table_costs import batch_misses
from perfmodel.models.latency.batch import MOST_SPREAD, Batch, BatchLatency
from perfmodel.models.latency.batch_loads import BatchLoads, BatchPlace, batch_loads
from perfmodel.models.latency.leading_blocks import pages_at_once, reading_alike
from perfmodel.models.latency.reads_behind_writes import WRITE_WAIT
from perfmodel.models.latency.sector_phases import new_sectors, sector_phases
from perfmodel.models.latency.waiting_share import waiting_share
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.conflict_latency import PASS_CLOCKS, further_passes
from perfmodel.models.requests.footprint import RUN_GRANULES
from perfmodel.models.reuse.groups import grouped
from perfmodel.models.reuse.placement import buffer_bytes

DRAM_SPREAD: Final = Coefficient("latency.batches.dram_spread")
NEAR_SPREAD: Final = Coefficient("latency.batches.near_spread")
NEAR_BYTES: Final = Coefficient("latency.batches.near_bytes")
WIDE_CLOCKS: Final = Coefficient("latency.batches.wide_clocks")
LINE_CLOCKS: Final = Coefficient("latency.batches.line_clocks")
WHOLE_LINE: Final = 2.0
"""Fetches of 64 B of a line."""
READ_ONCE: Final = 1.5
"""Bytes brought into L1 over those of a buffer, up to which each is read at one time only: what is
more are sectors that blocks share at their ends. Chosen; what is read again is brought in twice."""


def load_batch(
    execution: Execution,
    place: BatchPlace,
    depths: Sequence[int],
    missing: Array,
    late: Array,
    wave: Array,
) -> Batch | None:
    """Return the batches of loads of one place; None if there are no such loads.

    `depths` is `depths_of` all requests. Of the SMs' L2 reads, a share of `missing` goes to DRAM;
    data from L2 is `late` at the slowest SM [s]; a `wave` of blocks runs at a time.
    """
    b = batch_loads(execution, place, depths)
    if b is None:
        return None
    of_first = _own_missing(b, missing, wave)
    missing = _own_missing(b, missing, np.ones(1))
    latencies = _latencies(b, missing, late)
    more = np.maximum(of_first / np.maximum(missing, 1e-9), 1.0)
    advance, new = None, None
    if b.loop is not None and b.in_order:
        advance, new = new_sectors(b)
    # Those that are used before the loop's first loads go out are waited for by themselves.
    joins = {r.access.joins for r in b.own}
    return Batch(
        *(b.loop, b.count, b.filled, b.unroll, place.depth, place.ahead, latencies),
        lead_miss=np.minimum(np.asanyarray(latencies.l2_miss) * more, 1.0),
        lead_reads=np.maximum(pages_at_once(b.own, b.execution.device), latencies.reads),
        advance=advance,
        new=new,
        joins=joins.pop() if len(joins) == 1 else "",
        members=b.members,
    )


def _latencies(b: BatchLoads, missing: Array, late: Array) -> BatchLatency:
    """Return the latencies of a batch; `missing` is the share of its L2 reads that miss."""
    share, new = waiting_share(b)
    lines = np.where(b.alone, b.fresh, np.maximum(b.fresh, b.lines))
    traffic, requests = b.execution.traffic, b.execution.requests
    reads = _reads_apart(b, missing)
    misses = batch_misses(traffic, requests, b.members, missing, lines)
    found = _met_before(b, sector_phases(b, new, _unloaded(b, late, reads, share, misses)))
    if b.scattered:  # the slowest of its places
        most = MOST_SPREAD(b.execution.device)
        several = np.clip(np.where(b.alone, b.fresh, b.lines) * missing, 1.0, most)
        reads = np.where(b.alone, np.maximum(found.reads, several), several)
        found = replace(found, reads=reads)
    return _of_others(b, found)


def _reads_apart(b: BatchLoads, missing: Array) -> Array:
    """Return the DRAM reads of a batch, as `reads` of `BATCH_LATENCY`."""
    device = b.execution.device
    most = MOST_SPREAD(device)
    loads = b.unroll * len(b.members)
    if b.loop is not None and b.in_order:
        # Loads of a line, such as bytes one after the other, miss together.
        lines = summed(g.granules({b.loop: b.unroll}, LINE) for g in grouped(b.own))
        loads = np.minimum(loads, np.maximum(lines, 1.0))
    every = np.clip(loads * missing, 1.0, most)
    if b.loop is None or not b.in_order:
        return np.asanyarray(every)
    strides = np.broadcast_arrays(*(np.abs(r.strides[b.loop]) for r in b.own if r.strides))
    near = (smallest(*strides) >= LINE) & (largest(*strides) <= NEAR_BYTES(device))
    beside = np.clip(np.minimum(b.unroll, every), 1.0, most)
    return np.asanyarray(np.where(near, every * beside ** (NEAR_SPREAD(device) - 1), every))


def _unloaded(
    b: BatchLoads, late: Array, reads: Array, l1_miss: Array, l2_miss: Array
) -> BatchLatency:
    """Return the latencies of a batch where DRAM has nothing else to do; blocks are `late` [s]."""
    device, traffic = b.execution.device, b.execution.traffic
    far = RETURN_LATENCY(device) if any(r.access.kind == "atomic" for r in b.own) else 1.0
    written = traffic.dram_write_bytes * traffic.dram_write_cost
    moved = traffic.dram_read_bytes * traffic.dram_read_cost + written
    most, others = further_passes(b.own, b.unroll) if b.execution.kernel.paces else (0.0, 0.0)
    l1 = device.l1_latency + PASS_CLOCKS(device) * (most + others) / device.sm_clock
    # What misses is delivered a line per clock.
    later = _delivery_clocks(b) / device.sm_clock + late + others / device.sm_clock
    return BatchLatency(
        l1=l1,
        l2=np.maximum(device.l2_latency * far + later, l1),
        dram=np.maximum(max(device.dram_latency, device.l2_latency * far) + later, l1),
        l1_miss=l1_miss,
        l2_miss=l2_miss,
        reads=reads,
        written=np.atleast_1d(written / np.maximum(moved, 1)),
        load=np.zeros(1),
        spread=DRAM_SPREAD(device),
        wait=WRITE_WAIT(device),
    )


def _delivery_clocks(b: BatchLoads) -> Array:
    """Return the clocks by which data from L2 is later where a load is wide, or of many lines."""
    device = b.execution.device
    words = max(float(np.max(r.width)) for r in b.own) / 4
    lines_each = (r.lines / np.maximum(r.requests, 1e-9) for r in b.own)
    far_apart = np.maximum(largest(*lines_each) - words, 0.0)
    # While the lines of one load come, L1 looks up those of the next.
    passes = [r.tag_wavefronts / np.maximum(r.requests, 1e-9) for r in b.own]
    longest = largest(*passes)
    meanwhile = summed(passes) * b.unroll - longest
    apart_clocks = np.maximum(LINE_CLOCKS(device) * far_apart - np.maximum(meanwhile, 0.0), 0.0)
    return np.asanyarray(WIDE_CLOCKS(device) * max(words - 1, 0.0) + apart_clocks)


def _met_before(b: BatchLoads, found: BatchLatency) -> BatchLatency:
    """Return the latencies where whole iterations find what an earlier loop has touched."""
    l1 = largest(*(a.again_l1 for a in b.traffic))
    l2 = largest(*(a.again_l2 for a in b.traffic))
    l1_miss, l2_miss = np.minimum(found.l1_miss, l1), np.minimum(found.l2_miss, l2)
    return replace(found, l1_miss=l1_miss, l2_miss=l2_miss)


def _of_others(b: BatchLoads, found: BatchLatency) -> BatchLatency:
    """Return the latencies of loads that wait for lines which their neighbours fetch."""
    requests = b.execution.requests
    if b.loop is None:
        if all(r.access.name != needing.access.needs for needing in requests for r in b.own):
            return found
        # Indices are read once, in order (a table is not): warps that share a line wait for it.
        once_read = [i for i in b.members if requests[i].period is None]
        share = fetched_share(b, once_read)
        return replace(
            found,
            l1_miss=np.where(share > 0, 1.0, found.l1_miss),
            l2_miss=np.where(share > 0, share, found.l2_miss),
        )
    if b.execution.kernel.paces:
        return found
    waits, fetches = neighbours_wait(b)
    return replace(
        found,
        reads=np.where(waits > found.l2_miss, found.reads * fetches, found.reads),
        l2_miss=np.maximum(found.l2_miss, waits),
    )


def _own_missing(b: BatchLoads, missing: Array, wave: Array) -> Array:
    """Return the share of these loads' L2 reads that wait for DRAM, from that of all loads."""
    own, traffic = b.traffic, b.execution.traffic
    # Neighbouring blocks that ask for the same at a time all wait for it.
    pairs = zip(own, b.own, strict=True)
    waited = (reading_alike(r, wave) if a.alike is None else a.alike for a, r in pairs)
    fetched = summed(a.dram_bytes * w for a, w in zip(own, waited, strict=True))
    # As do blocks that have caught up with others.
    for t in traffic.tables:
        part = len({*b.members} & {*t.members}) / len(t.members)
        fetched = fetched + part * t.again * t.waiting
    filled = summed(a.l1_fill_sectors for a in own)
    loads = [a for a in traffic.accesses if a.kind == "load"]
    every = summed(a.dram_bytes for a in loads)
    all_filled = summed(a.l1_fill_sectors for a in loads)
    relative = fetched * all_filled / np.maximum(filled * every, 1e-9)
    return np.asanyarray(np.clip(missing * np.where(every > 0, relative, 1.0), 0.0, 1.0))


def fetched_share(b: BatchLoads, members: Sequence[int]) -> Array:
    """Return the share of their buffers that some of these loads fetch from DRAM."""
    fetched = summed(b.execution.traffic.accesses[i].dram_bytes for i in members)
    return np.asanyarray(np.minimum(1.0, fetched / np.maximum(_buffers(b, members), 1.0)))


def _buffers(b: BatchLoads, members: Sequence[int]) -> Array:
    """Return the bytes of the buffers of some of these loads."""
    instance, requests = b.execution.instance, b.execution.requests
    return summed(buffer_bytes(instance, requests[i]) for i in members)


def neighbours_wait(b: BatchLoads) -> tuple[Array, Array]:
    """Return how often loads wait for DRAM that go once and in order over their buffers.

    That is the share of the waits, 0 for other loads, and what takes the place of a load of whole
    lines in `BATCH_LATENCY`'s `reads`.

    Derived: neighbours that ask for other sectors of what one has fetched wait as long, so that by
    a larger fetch granularity no wait is rarer but at the ends of a block's part, which the block
    beside it may have fetched. A warp waits for the slowest of its fetches: `DRAM_SPREAD` was
    fitted to loads of whole lines, two of 64 B each. Lookups beside 40 B each of a stream take 2.6%
    more with 32 B and 2.3% less with 128 B than with 64, by this 1.0 and 2.9
    (measurements/gather, blocks/windows.csv, rows marked fit).
    """
    if any(r.strides is None or r.period is not None for r in b.own):
        return np.zeros(1), np.ones(1)
    size, loads = b.execution.traffic.fetch_bytes, len(b.members)
    every = _buffers(b, b.members)
    part = every / (b.execution.blocks * loads)
    touched = _fetches(part, part, 4.0, size) * size
    share = fetched_share(b, b.members) * part / np.maximum(touched, 1.0)
    found = np.zeros(1)
    for r in b.own:
        lanes = r.active_lanes / np.maximum(r.requests, 1e-9) * r.width
        pitch = part / b.execution.warps_per_block
        found = found + _fetches(lanes, pitch, float(r.width), size) / WHOLE_LINE / loads
    once = (b.sectors * SECTOR < READ_ONCE * every) & (share > 0)
    return np.where(once, np.minimum(share, 1.0), 0.0), np.where(once, found, 1.0)


def _fetches(run: Array, pitch: Array, width: float, size: int) -> Array:
    """Return how many fetches a run of bytes takes, of runs that start a pitch apart."""
    step = np.gcd(np.maximum(np.rint(pitch), 1.0).astype(np.int64), size).astype(float)
    run = np.maximum(run, width)
    return RUN_GRANULES(run=run, w=width, g=np.maximum(step, 4.0), G=float(size))
