"""Random tables: lines that reads at random places draw, and what a miss brings of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.extremes import smallest
from perfmodel.models.l2 import residency
from perfmodel.models.l2.drawn_lines import (
    OtherTable,
    Shares,
    drawn_share,
    lost_lines,
    random_line_hits,
    rates,
    stay,
)
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests

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


class Waves(NamedTuple):
    """Parts of a table that are drawn from one after the other, as blocks move on through it."""

    number: Array  # how many: the table over what blocks draw from that run at a time
    alone: Array  # share of the places of a block that no other block draws from [1]


ONE_WAVE: Final = Waves(np.ones(()), np.zeros(()))


@dataclass(frozen=True, slots=True)
class DrawnTable:
    """A table that a launch draws from at random places, and what it shares L2 with."""

    size: Array  # [B]
    # read and written: bytes of streams in one pass over it
    read: Array
    written: Array
    passes: Array  # times that it is read
    capacity: float  # L2 that is left by what other kernels keep, as far as it works [B]
    device: Device
    shares: Shares  # of its lines
    spilled: Array  # share of the persisting ones that find no way
    waves: Waves = ONE_WAVE
    others: Sequence[OtherTable] = ()  # that take room as it does

    def room(self, size: Array) -> Array:
        """Return the L2 that its competing lines and streams have, of so many bytes of it [B]."""
        # What is kept stays on its own side, in ways that nobody else has.
        passing = STREAMING_WAYS * self.capacity / residency.WAYS
        room = RANDOM_ROOM(self.device) * self.capacity - self.shares.resident * size
        return np.asanyarray(room - np.where(self.shares.streaming > 0, passing, 0.0))


@dataclass(frozen=True, slots=True)
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


def random_reads(
    table: DrawnTable, requests: Sequence[Requests], members: Sequence[int], granule: float
) -> RandomReads:
    """Return what a launch reads of a table at random places, by the accesses `members`.

    Each wave is as if it were a table by itself; a miss fetches `granule` bytes.
    """
    shares, number = table.shares, table.waves.number
    every, wide = random_draws(requests, members, granule)
    draws, size = every / number, table.size / number
    atoms, lines = np.maximum(size / wide, 1.0), size / LINE
    pitch = pitch_of([requests[i] for i in members])
    first = atoms * drawn_share(draws / atoms, None if pitch is None else wide / pitch)
    stream = STREAM_LINES * (table.read + table.written) * table.passes / every
    others = [o._replace(often=o.often / number) for o in table.others]
    room, alone = table.room(size), table.waves.alone
    hits, steady, full = random_line_hits(size, stream, draws, room, shares, alone, others)
    # Streams push out what there is room for too, between two draws of the same place: measured,
    # 16 Mi floats of a table of 16 MiB (measurements/gather, runs/kept.csv, session 2).
    between = table.passes / number * np.minimum(atoms / draws, 1.0)
    read, written = table.read * between, table.written * between
    leak = residency.leak(read, written, table.capacity, table.device)
    parts = residency.ATOM_HITS(h=hits, a=LINE / wide)
    missed = np.maximum(draws * np.maximum(1 - parts, leak * full), first)
    # Where no line ever leaves, each part of it is fetched once.
    stays = draws * (1 - hits) <= 1.02 * lines * (1 - np.exp(-draws / lines))
    missed = np.where(stays, first, missed)
    again = np.maximum(draws - first, 1e-9)
    lost = draws * np.maximum(1 - residency.ATOM_HITS(h=steady, a=LINE / wide), leak)
    misses = np.clip((missed - first) / again, 0.0, 1.0)
    y = stay(size, stream * lines, room, shares, alone, rates(others, draws / lines))
    gone, away = lost_lines(y, table.spilled)
    return RandomReads(
        first=first * wide * number,
        again=again * wide * number,
        misses=misses,
        spilled=1 - residency.ATOM_HITS(h=1 - gone, a=LINE / wide),
        crossing=shares.resident * away / 2,
        left=_found_warm(table, np.clip((missed - lost) / first, 0.0, 1.0)),
        draws=every,
        wide=wide,
    )


def _found_warm(table: DrawnTable, left: Array) -> Array:
    """Return the share of the first reads that hit where the same launch ran before.

    Of lines that compete for L2, it has left the share `left`.
    """
    # The launch before has left the last wave's part, this one starts with the first.
    left = left * np.clip(2 - table.waves.number, 0.0, 1.0)
    # Lines of a set-aside outlast the launch.
    shares = table.shares
    competing = np.maximum(1 - shares.resident - shares.streaming, 0.0)
    return np.asanyarray(shares.resident + competing * left)


def pitch_of(requests: Sequence[Requests]) -> Array | None:
    """Return the bytes between places of a table, if none of its loads draws one twice."""
    pitches = [r.pitch for r in requests if r.random]
    known = [p for p in pitches if p is not None]
    return smallest(*known) if known and len(known) == len(pitches) else None


def random_draws(
    requests: Sequence[Requests], members: Sequence[int], granule: float
) -> tuple[Array, Array]:
    """Return how many lines random accesses draw, once a block, and the bytes a miss brings."""
    chosen = [requests[i] for i in members if requests[i].random]
    # What neighbouring blocks read at a time is drawn once.
    alike = [1.0 if r.access.counted is None else r.access.counted.alike for r in chosen]
    lines = [_once(r)[2] / blocks for r, blocks in zip(chosen, alike, strict=True)]
    draws = np.maximum(sum(lines, np.zeros(1)), 1.0)
    parts = (fetched_by(r, granule) * n for r, n in zip(chosen, lines, strict=True))
    wide = sum(parts, np.zeros(1)) / draws
    return draws, np.maximum(wide, granule)


def fetched_by(request: Requests, granule: float) -> Array:
    """Return the bytes that a miss brings of one line, for an access at random places."""
    if granule >= LINE:
        return np.full(1, float(LINE))
    sectors, pairs, lines = _once(request)
    parts = sectors if granule <= SECTOR or pairs is None else pairs
    return np.asanyarray(parts * max(granule, SECTOR) / np.maximum(lines, 1.0))


def _once(request: Requests) -> tuple[Array, Array | None, Array]:
    """Return the sectors, 64 B halves and lines of an access at random places, each drawn once.

    Runs that warps of a block share are, and runs that go on in the next block, which runs then.
    """
    if request.in_blocks is None:
        return request.sectors, request.pairs, request.lines
    seams = np.zeros(3) if request.seams is None else request.seams
    sectors, pairs, lines = (n * (1 - s) for n, s in zip(request.in_blocks, seams, strict=True))
    return sectors, pairs, lines
