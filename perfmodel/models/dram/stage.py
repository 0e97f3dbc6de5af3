"""DRAM's stage: from what L2 has not, and cannot keep, to the bytes that DRAM moves."""

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.dram.dram_writes import Writes, dram_writes
from perfmodel.models.dram.throughput import found_early, room_early
from perfmodel.models.dram.writeback import delays_writebacks, set_aside_write_cost, streams_between
from perfmodel.models.dram.writeback_loss import DramMix, SetAside, writeback_loss
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.stage import L1
from perfmodel.models.l2.residency import WAYS
from perfmodel.models.l2.stage import L2
from perfmodel.models.l2.table_costs import filled_share, marked_reads, random_waits, scattered_cost
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.reuse.placement import dram_read_cost
from perfmodel.records import record


@record
class Dram:
    """What DRAM moves for a launch: fields as those of `perfmodel.traffic.Traffic`."""

    read_bytes: Array
    write_bytes: Array
    replay_bytes: Array
    read_cost: Array
    write_cost: Array
    atomic_share: Array
    scattered_bytes: Array
    made_whole_bytes: Array
    writeback_bytes: Array
    writeback_streams: Array
    early_share: Array
    early_read_bytes: Array


def dram_stage(accesses: GlobalAccesses, l1: L1, l2: L2) -> Dram:
    """Return what DRAM moves for all configurations, and what it costs."""
    writes = dram_writes(accesses, l1, l2)
    of_atomics = summed(a.read * a.read_cost for a in l2.atomics.values())
    reads, taken = _reads(accesses, l1, l2, writes, of_atomics)
    mix = _mix(accesses, l2, writes, reads)
    early = _early_share(accesses, l2, writes, reads)
    # Parts that are read again and again take DRAM's time first, L2's later.
    settled = summed(t.again * t.settled for t in l2.tables)
    waited = random_waits(accesses, l2.tables)
    return Dram(
        read_bytes=reads,
        write_bytes=mix.written,
        replay_bytes=writes.replayed,
        read_cost=np.where(reads >= 1, taken / np.maximum(reads, 1), 1.0),
        write_cost=writes.cost * set_aside_write_cost(accesses.device, writes.ways),
        atomic_share=of_atomics / np.maximum(taken + writes.taken, 1.0),
        scattered_bytes=waited + writes.waited,
        made_whole_bytes=writes.strided,
        writeback_bytes=_writeback_bytes(accesses, l2, writes, reads, mix),
        writeback_streams=streams_between(mix.normal, mix.again, mix.written),
        early_share=np.maximum(settled / np.maximum(l2.asked_sectors * SECTOR, 1.0), early),
        early_read_bytes=np.minimum(l2.missed_early, reads),
    )


def _reads(
    accesses: GlobalAccesses, l1: L1, l2: L2, writes: Writes, of_atomics: Array
) -> tuple[Array, Array]:
    """Return the bytes read, and what they take of DRAM, in bytes of a stream: compressed [B]."""
    moved = summed(l2.misses.dram_bytes[i] for i in accesses.of("load", "atomic"))
    taken = _usual_cost(accesses, l1, l2) + of_atomics
    taken = taken + scattered_cost(l2.tables, moved, writes.written, accesses.warm, accesses.device)
    taken = taken + summed(t.read(accesses.warm) * t.pinned for t in l2.tables)
    ratio = accesses.control.compression
    return (moved + writes.made_whole) / ratio, (taken + writes.made_whole) / ratio


def _usual_cost(accesses: GlobalAccesses, l1: L1, l2: L2) -> Array:
    """Return what reads take of DRAM but for those of atomics, in bytes of a stream [B]."""
    within = {i: t.size / t.waves.number for t in l2.tables if t.random for i in t.members}
    filled = {i: union.whole.of_lines for i, union in l1.unions.items()}
    costs = (
        l2.misses.dram_bytes[i]
        * dram_read_cost(accesses, accesses.requests[i], filled.get(i, 0.0), within.get(i))
        for i in accesses.of("load", "atomic")
        if i not in l2.atomics
    )
    return summed(costs)


def _mix(accesses: GlobalAccesses, l2: L2, writes: Writes, reads: Array) -> DramMix:
    """Return what DRAM moves by the property of the lines."""
    ratio, warm = accesses.control.compression, accesses.warm
    marked = marked_reads(l2.tables, warm)
    of_tables = summed(t.read(warm) for t in l2.tables)
    persisting, streaming = (part / ratio for part in marked)
    return DramMix(
        written=writes.written / ratio,
        normal=np.maximum(reads - streaming - persisting, 0.0),
        streaming=streaming,
        persisting=persisting,
        again=np.maximum(of_tables - summed(marked), 0.0) / ratio,
    )


def _writeback_bytes(
    accesses: GlobalAccesses, l2: L2, writes: Writes, reads: Array, mix: DramMix
) -> Array:
    """Return what write-backs lose with a set-aside, as bytes that the reference could move [B]."""
    granted, stores = writes.ways * accesses.l2_size / WAYS, accesses.of("store")
    resident = summed(t.lines.resident * t.size for t in l2.tables)
    aside = SetAside(
        ways=writes.ways if delays_writebacks(accesses.device) else writes.ways * 0,
        filled=filled_share(l2.tables, granted, reads, accesses.warm, stores),
        resident=np.minimum(resident / np.maximum(granted, 1.0), 1.0),
    )
    return writeback_loss(mix, aside, accesses.device, tabled=bool(l2.tables))


def _early_share(accesses: GlobalAccesses, l2: L2, writes: Writes, reads: Array) -> Array:
    """Return the share of a launch that finds its data, or room for it, in L2."""
    stored = l2.write_sectors * SECTOR
    if not accesses.warm:
        return room_early(writes.left, reads, stored)
    touched = summed(l2.misses.touched)
    moved = (l2.read_sectors + l2.write_sectors) * SECTOR
    return found_early(writes.found, moved, touched, stored, accesses.device)
