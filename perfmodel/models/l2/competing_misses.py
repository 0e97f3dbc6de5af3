"""How re-reads of a table's lines miss that compete for L2: normal ones, and what sets cannot hold.

A table is read at random places, in order by all SMs, or in parts, each block its own; of
others, `perfmodel.models.reuse.reuse_windows` says what misses.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.dram.writeback import reaching_writes
from perfmodel.models.l2 import residency
from perfmodel.models.l2.merged_rereads import caught
from perfmodel.models.l2.private_sets import READ_BEFORE, PartedSet, private_set
from perfmodel.models.l2.random_tables import RandomReads, random_reads
from perfmodel.models.l2.rotated_sets import NEIGHBOURS, rotated_set
from perfmodel.models.l2.sides import near_lost
from perfmodel.models.l2.slices import working_share
from perfmodel.models.l2.table_uses import TableLaunch, TableUse
from perfmodel.models.l2.windows import PINNED
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.reuse_windows import resident_share, warm_knee

INTRUDING: Final = Coefficient("l2.competing_misses.intruding")
BEFORE_COPIES: Final = Coefficient("l2.competing_misses.before_copies")
_ZERO: Final = np.zeros(1)


class CompetingMisses(NamedTuple):
    """How re-reads of a table's competing lines miss; the rest as in `Table`."""

    lost: Array  # share of them that miss
    scattered: Array = _ZERO
    crossing: Array = _ZERO
    merged: Array = _ZERO
    waiting: Array = _ZERO
    pinned: Array = _ZERO
    left: Array = np.ones(1)  # share of the first reads that the launch before has left in L2
    parts: PartedSet | None = None  # the table, where each block has its own part of it
    moves: Array = _ZERO  # by how many blocks a block's part is another's in the next pass
    drawn: RandomReads | None = None  # what is read at random places


def competing_misses(launch: TableLaunch, one: TableUse) -> CompetingMisses:
    """Return how re-reads of a table's competing lines miss."""
    own = launch.requests_of(one.own)
    if one.random:
        drawn = random_reads(launch, one)
        return CompetingMisses(
            drawn.misses, scattered=np.ones(1), crossing=drawn.crossing, drawn=drawn
        )
    if any(r.period is not None for r in own):
        return _in_order(launch, one)
    if all(is_private(launch.accesses.instance, r) for r in own):
        return _in_parts(launch, one, own)
    dram = summed(launch.dram_bytes[i] for i in one.own.members)
    again = np.maximum(one.own.loads - one.size, 1.0)
    return CompetingMisses(np.clip((dram - one.size) / again, 0.0, 1.0))


def _in_order(launch: TableLaunch, one: TableUse) -> CompetingMisses:
    device, control = launch.accesses.device, launch.accesses.control
    every, streaming_marked = one.passing, one.streaming_marked
    reaching = reaching_writes(device, residency.granted_ways(control.set_aside, device.l2_size))
    lost, scattered = residency.normal_misses(
        one.resident,
        residency.Streams(every.read, every.written * reaching),
        residency.Streams(streaming_marked.read, streaming_marked.written * reaching),
        one.capacity,
        device,
    )
    early = BEFORE_COPIES(device)
    passing = residency.Streams(
        every.read - early * streaming_marked.read, every.written - early * streaming_marked.written
    )
    used = residency.distance(residency.TABLE_WEIGHT, one.resident, passing, device)
    set_aside_share = one.persisting * (1 - one.spilled)
    competing = one.persisting * one.spilled + one.normal
    return CompetingMisses(
        lost,
        scattered=scattered,
        crossing=near_lost(used, one.capacity, set_aside_share, competing, lost, device),
    )


def _in_parts(launch: TableLaunch, one: TableUse, own: Sequence[Requests]) -> CompetingMisses:
    """Return the misses of blocks that come back to their own parts while they run."""
    accesses, instance = launch.accesses, launch.accesses.instance
    first_of = instance.kernel.accesses.index(own[0].access)
    moves = np.asanyarray(instance.moves[first_of]) % np.asanyarray(instance.blocks)
    parts, lost = _part_misses(launch, one, moves)
    merged = waiting = _ZERO
    if not agreed(moves == 0):
        merged, waiting = caught(accesses, own, parts, moves, one.passes)
    granted = residency.granted(accesses.control.set_aside, accesses.device.l2_size)
    stays = one.size * one.persisting * (1 - one.spilled * lost)
    room = {"set_aside": granted, "c": one.capacity}
    return CompetingMisses(
        lost,
        pinned=PINNED.on(accesses.device, size=one.size, picked=stays, **room),
        parts=parts,
        merged=merged,
        waiting=waiting,
        # What a launch before has left has to outlast all blocks, not the concurrent ones only.
        left=resident_share(one.resident + one.streams, one.capacity, warm_knee(accesses.device)),
        moves=moves,
    )


def _part_misses(launch: TableLaunch, one: TableUse, moves: Array) -> tuple[PartedSet, Array]:
    """Return a set that is read part by part, and the share of the re-reads that miss.

    Only what runs concurrently with a block is in its way. Where `moves` are, blocks move on by as
    many after each time; 0: a block comes back to its own part.
    """
    accesses, running = launch.accesses, launch.accesses.running
    device, passes, streaming = accesses.device, one.passes, one.size * one.streaming
    resident = (one.resident + INTRUDING(device) * one.size * one.streaming) * running
    streams = residency.Streams(
        (one.passing.read - streaming) * running, one.passing.written * running
    )
    # Rows that blocks read twice miss as settled sets do: 19% were counted of 4096 rows, each
    # of 16 KiB (measurements/operators, stalls/seen.csv).
    times = np.where(running < 1, 1e9, passes)
    before = READ_BEFORE(device) * np.sqrt(np.asanyarray(passes, dtype=float)) * accesses.warm
    own = private_set(resident, streams, one.capacity, times, before, device)
    lost = own.lost(own.young)
    if not agreed(moves > 0):
        return own, lost
    distance = moves % device.sm_count
    near = np.minimum(distance, device.sm_count - distance) <= NEIGHBOURS(device)
    working = one.capacity * working_share(device)
    moved = rotated_set(resident, streams, working, passes, near, accesses.warm, device)
    return moved, np.where(moves > 0, moved.lost(moved.young), lost)


def is_private(instance: Instance, request: Requests) -> bool:
    """Return whether an outer loop reads the same again, each block its own part."""
    nest = instance.kernel.loop_nest(request.access.loop)
    if not nest or request.strides is None or request.access.kind != "load":
        return False
    if agreed(request.strides[nest[0].variable] != 0):
        return False
    moves = (
        (request.strides[v.name] != 0) | (v.extent <= 1) for v in request.variables if v.is_block
    )
    return all(agreed(m) for m in moves)
