"""Random tables: lines that reads at random places draw, and what a miss brings of them."""

from typing import Final

import numpy as np

from perfmodel.arrays import Array, smallest
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.l2 import residency
from perfmodel.models.l2.random_lines import (
    OtherTable,
    Shares,
    drawn_share,
    lost_lines,
    random_draws,
    random_line_hits,
    rates,
    stay,
)
from perfmodel.models.l2.slices import working_share
from perfmodel.models.l2.table_uses import TableLaunch, TableUse, comes_back
from perfmodel.models.requests.coalescing import LINE
from perfmodel.models.requests.request_record import past_l1
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.records import record

RANDOM_ROOM: Final = Coefficient("l2.random_tables.random_room")
STREAM_LINES: Final = 1.5
"""Lines of L2 that a line of a stream takes, read or written: half of them come from or go to the
far side, and lie on both. Derived for reads; with one for what is written, DRAM reads of gathers
are off by 0.9 to 1.5% rms (measurements/suite, sweeps/gather.csv).
"""

STREAMING_WAYS: Final = 1.0
"""Ways that lines at random places take from the others if they are marked streaming: whatever
comes pushes one of them out before any other.

Derived: one line of each set. How many of them hit: `perfmodel.models.l2.windows`.
"""


@record
class RandomReads:
    """What a launch reads of a table at random places."""

    # first and again: bytes that first reads fetch, and that the others would if all of them missed
    first: Array
    again: Array
    # share of the others that miss, of lines that a window neither keeps nor lets pass
    misses: Array
    spilled: Array  # the same of lines marked persisting
    # share of the others for which lines that a set-aside keeps have to cross from L2's far side
    crossing: Array
    # share of the first reads that need not miss where the same launch ran before, though L2 cannot
    # hold all of it
    left: Array
    # draws and wide: lines drawn, and bytes that a miss brings of each
    draws: Array
    wide: Array


def random_reads(launch: TableLaunch, one: TableUse) -> RandomReads:
    """Return what a launch reads of a table at random places.

    Each wave is as if it were a table by itself.
    """
    accesses, members, waves = launch.accesses, one.own.members, one.waves
    device, number, granule = accesses.device, one.waves.number, accesses.granule
    capacity = one.capacity * working_share(device)
    shares = Shares(one.persisting * (1 - one.spilled), one.streaming)
    read, written = one.passing.read - one.size * one.streaming, one.passing.written
    requests = past_l1(accesses.requests, members, one.own.loads)
    every, wide = random_draws(requests, members, granule)
    draws, size = every / number, one.size / number
    atoms, lines = np.maximum(size / wide, 1.0), size / LINE
    # Bytes between places, if no load draws one twice.
    pitches = [requests[i].pitch for i in members if requests[i].random]
    known = [p for p in pitches if p is not None]
    pitch = smallest(*known) if known and len(known) == len(pitches) else None
    first = atoms * drawn_share(draws / atoms, None if pitch is None else wide / pitch)
    stream = STREAM_LINES * (read + written) * one.passes / every
    others = [o._replace(often=o.often / number) for o in _other_tables(launch, one)]
    room = _room(shares, size, capacity, device)
    hits, steady, full = random_line_hits(size, stream, draws, room, shares, waves.alone, others)
    # Streams push out what there is room for too, between two draws of the same place: measured,
    # 16 Mi floats of a table of 16 MiB (measurements/gather, runs/kept.csv, session 2).
    between = one.passes / number * np.minimum(atoms / draws, 1.0)
    leak = residency.leak(read * between, written * between, capacity, device)
    parts = residency.ATOM_HITS(h=hits, a=LINE / wide)
    missed = np.maximum(draws * np.maximum(1 - parts, leak * full), first)
    # Where no line ever leaves, each part of it is fetched once.
    stays = draws * (1 - hits) <= 1.02 * lines * (1 - np.exp(-draws / lines))
    missed = np.where(stays, first, missed)
    again = np.maximum(draws - first, 1e-9)
    lost = draws * np.maximum(1 - residency.ATOM_HITS(h=steady, a=LINE / wide), leak)
    y = stay(size, stream * lines, room, shares, waves.alone, rates(others, draws / lines))
    gone, away = lost_lines(y, one.spilled)
    # The launch before has left the last wave's part, this one starts with the first. Lines of a
    # set-aside outlast the launch.
    left = np.clip((missed - lost) / first, 0.0, 1.0) * np.clip(2 - number, 0.0, 1.0)
    competing = np.maximum(1 - shares.resident - shares.streaming, 0.0)
    return RandomReads(
        first=first * wide * number,
        again=again * wide * number,
        misses=np.clip((missed - first) / again, 0.0, 1.0),
        spilled=1 - residency.ATOM_HITS(h=1 - gone, a=LINE / wide),
        crossing=shares.resident * away / 2,
        left=np.asanyarray(shares.resident + competing * left),
        draws=every,
        wide=wide,
    )


def _room(shares: Shares, size: Array, capacity: float, device: Device) -> Array:
    """Return the L2 that a table's competing lines and streams have [B]."""
    # What is kept stays on its own side, in ways that nobody else has.
    room = RANDOM_ROOM(device) * capacity - shares.resident * size
    passing = STREAMING_WAYS * capacity / residency.WAYS
    return np.asanyarray(room - np.where(shares.streaming > 0, passing, 0.0))


def _other_tables(launch: TableLaunch, one: TableUse) -> list[OtherTable]:
    """Return the other tables that a launch draws from, by loads or atomics."""
    accesses, found = launch.accesses, []
    for use in launch.uses.values():
        every = [(i, accesses.requests[i]) for i in use.members]
        loads = [r for _, r in every if r.access.kind == "load"]
        drawn = [i for i, r in every if r.random and r.access.kind != "store"]
        kinds = {accesses.requests[i].access.kind for i in drawn}
        if drawn and use is not one.own and not comes_back(loads):
            size = buffer_bytes(accesses.instance, accesses.requests[drawn[0]])
            draws, _ = random_draws(accesses.requests, drawn, accesses.granule)
            found.append(OtherTable(size, draws * LINE / np.maximum(size, LINE), "load" in kinds))
    return found
