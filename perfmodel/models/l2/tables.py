"""Tables: buffers that a launch reads again and again, and what of them comes from DRAM.

A table is a buffer whose index repeats (``i % m``) or is random, or one under a window that loops
read several times. What else the launch moves passes by as streams.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.agreement import agreed
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.stage import L1
from perfmodel.models.l2 import residency
from perfmodel.models.l2.competing_misses import (
    CompetingMisses,
    competing_misses,
    is_private,
)
from perfmodel.models.l2.l2_misses import Misses
from perfmodel.models.l2.private_sets import PartedSet, settled_share
from perfmodel.models.l2.random_lines import ONE_PHASE, TablePhases
from perfmodel.models.l2.table_uses import TableLaunch, TableUse, buffer_uses, comes_back, table_use
from perfmodel.models.l2.windows import DRAWN_IN_WAVE, IN_WAVE, streaming_misses
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.random_places import uses_random
from perfmodel.records import record

ALONE: Final = Coefficient("l2.tables.alone")
_AGAIN: Final = 1.5
"""Passes over a buffer from which loops that read it under a window make it a table."""


@record
class TableLines:
    """A table's lines by their property, and how re-reads of each miss: see `TABLE_MISSES`."""

    persisting: Array
    overflow: Array
    spilled_miss: Array
    normal: Array
    normal_miss: Array
    streaming: Array
    streaming_miss: Array

    @property
    def resident(self) -> Array:
        """Share of the table that a set-aside keeps."""
        return np.asanyarray(self.persisting * (1 - self.overflow))

    @property
    def competing(self) -> Array:
        """Share of the table that competes for L2: normal lines, and what sets cannot hold."""
        return self.persisting * self.overflow + self.normal

    @property
    def competing_misses(self) -> Array:
        """Share of the re-reads that miss of these."""
        spilled = self.persisting * self.overflow * self.spilled_miss
        return np.asanyarray(spilled + self.normal * self.normal_miss)

    @property
    def misses(self) -> Array:
        """Share of the re-reads that miss."""
        return residency.TABLE_MISSES.of(self)


@record
class Table:
    """A buffer that is read again and again."""

    buffer: str
    members: tuple[int, ...]  # positions of its loads and stores among the requests
    random: bool  # whether it is read at random places
    # size, first and again: bytes of it that are used; bytes that first reads fetch; and that the
    # others would fetch if all of them missed
    size: Array
    first: Array
    again: Array
    lines: TableLines
    misses: Array  # share of the re-reads that miss
    first_misses: Array  # share of the first reads that miss, though the same launch ran before
    scattered: Array  # share of the misses at places that no neighbour misses at
    parts: PartedSet | None = None  # where each block has its own part of it
    # share of its first reads that the launch before has left in L2, where it is random
    left: Array = field(default_factory=lambda: np.zeros(1))
    # draws and wide: of a random one: lines drawn, and bytes that a miss brings of each
    draws: Array = field(default_factory=lambda: np.zeros(1))
    wide: Array = field(default_factory=lambda: np.ones(1))
    waves: TablePhases = ONE_PHASE  # parts of a random one that are drawn from one after the other
    # share of the re-reads that hit whose line has to come from L2's other side, or might be on
    # either: half of them do
    crossing: Array = field(default_factory=lambda: np.zeros(1))
    # settled and settled_misses: share of the re-reads, and what misses of them, that come when L2
    # decides and no longer DRAM; none where blocks are not in step
    settled: Array = field(default_factory=lambda: np.zeros(1))
    settled_misses: Array = field(default_factory=lambda: np.zeros(1))
    # merged and waiting: share of the re-reads merged with others' on the way to L2, and of those
    # that wait for DRAM
    merged: Array = field(default_factory=lambda: np.zeros(1))
    waiting: Array = field(default_factory=lambda: np.zeros(1))
    # what a byte read takes of L2 beyond one, with persisting lines set aside
    pinned: Array = field(default_factory=lambda: np.zeros(1))

    @property
    def found_by_walks(self) -> Array:
        """Share of what loads in order touch of it that draws at random places have brought.

        Derived: of its lines a share is drawn at all, wherever the walk is, and not missed later.
        """
        drawn = np.minimum(self.first / np.maximum(self.size, 1.0), 1.0)
        return np.asanyarray(drawn * (1 - self.misses))

    def read(self, warm: bool) -> Array:
        """Bytes that its loads fetch from DRAM [B]."""
        lost = (1 - self.left if self.random else self.first_misses) if warm else 1.0
        return np.asanyarray(self.first * lost + self.again * self.misses)


def find_tables(accesses: GlobalAccesses, l1: L1, misses: Misses) -> list[Table]:
    """Return the tables of a launch and what they miss."""
    uses = buffer_uses(accesses.requests, l1.fills, misses.touched, l1.groups)
    launch = TableLaunch(accesses, misses.dram_bytes, uses)
    chosen = [buffer for buffer in launch.uses if _is_table(launch, buffer)]
    return [_table(launch, buffer, chosen) for buffer in chosen]


def _is_table(launch: TableLaunch, buffer: str) -> bool:
    """Say whether a buffer's index repeats or is random, or loops read it again and again."""
    window, use = launch.accesses.control.window, launch.uses[buffer]
    instance, every = launch.accesses.instance, launch.requests_of(use)
    own = [r for r in every if r.access.kind == "load"]
    # Data may also decide only whether a load takes place, not where it goes.
    drawn = any(r.random and uses_random(instance.expression(r.access.index)) for r in own)
    if (drawn or any(r.period is not None for r in own)) and not comes_back(own):
        return True
    looped = (window is not None and window.buffer == buffer) or any(
        is_private(instance, r) for r in every
    )
    return looped and agreed(use.loads > _AGAIN * use.touched)


def _table(launch: TableLaunch, buffer: str, tables: Sequence[str]) -> Table:
    one = table_use(launch, buffer, tables)
    found = competing_misses(launch, one)
    lines = _lines(launch.accesses, one, found)
    misses, competing = lines.misses, lines.competing
    settled, settled_lost = _settled(launch.accesses, found, misses - lines.competing_misses, lines)
    # Lines that a window did not pick lie alone where it picked their neighbours.
    alone = lines.resident ** ALONE(launch.accesses.device) * lines.streaming * lines.streaming_miss
    scattered = found.scattered * lines.competing_misses + alone
    left = np.where(launch.accesses.running < 1, 1 - found.left, 0.0)
    table = Table(
        buffer=buffer,
        members=one.own.members,
        random=one.random,
        size=np.atleast_1d(one.size),
        first=np.atleast_1d(one.first),
        again=np.atleast_1d(one.again),
        lines=lines,
        misses=misses,
        first_misses=np.maximum(misses, left),
        parts=found.parts,
        crossing=np.atleast_1d(found.crossing),
        settled=np.atleast_1d(settled),
        settled_misses=np.maximum(misses - competing * (found.lost - settled_lost), 0.0),
        scattered=np.atleast_1d(scattered / np.maximum(misses, 1e-9)),
        merged=np.atleast_1d(competing * found.merged),
        waiting=np.atleast_1d(competing * found.waiting),
        pinned=np.asanyarray(found.pinned),
        waves=one.waves,
    )
    drawn = found.drawn
    if drawn is None:
        return table
    return replace(
        table,
        first=np.atleast_1d(drawn.first),
        again=np.atleast_1d(drawn.again),
        left=drawn.left,
        draws=drawn.draws,
        wide=drawn.wide,
    )


def _lines(accesses: GlobalAccesses, one: TableUse, found: CompetingMisses) -> TableLines:
    """Return a table's lines by their property, and how re-reads of each miss."""
    start, size, running = accesses.start, one.size, accesses.running
    spilled_lost = found.lost
    if found.drawn is None:
        together = np.maximum(running * one.own.loads, 1.0)
        passing = 1 - IN_WAVE(size=size, together=together)
    else:
        spilled_lost = found.drawn.spilled / np.maximum(one.spilled, 1e-9)
        places = np.maximum(size / found.drawn.wide, 1.0)
        at_once = np.maximum(running * found.drawn.draws / places, 1e-9)
        passing = 1 - DRAWN_IN_WAVE(x=at_once)
    alone = streaming_misses(
        size, size * one.streaming, one.capacity, start.full, start.warm, accesses.device
    )
    return TableLines(
        persisting=np.atleast_1d(one.persisting),
        overflow=np.atleast_1d(one.spilled),
        spilled_miss=np.atleast_1d(spilled_lost),
        normal=np.atleast_1d(one.normal),
        normal_miss=np.atleast_1d(found.lost),
        streaming=np.atleast_1d(one.streaming),
        streaming_miss=np.atleast_1d(np.where(one.streams > 0, passing, alone)),
    )


def _settled(
    accesses: GlobalAccesses, found: CompetingMisses, uncontended: Array, lines: TableLines
) -> tuple[Array, Array]:
    """Return the share of the re-reads that come when L2 decides, and what misses of them.

    `uncontended` is the share of misses of lines that do not compete for L2.
    """
    if found.parts is None:
        return np.zeros(1), np.zeros(1)
    device = accesses.device
    even = device.dram_bandwidth * device.dram_read_efficiency / device.l2_read_bandwidth
    # What windows keep never misses, and what they let pass misses from first to last.
    settled, lost = settled_share(
        found.parts, (even - uncontended) / np.maximum(lines.competing, 1e-9)
    )
    # Blocks that move on do not stay in step: some find what others fetch at that time.
    lost = np.where(found.moves > 0, found.lost, lost)
    return np.where(accesses.running < 1, 0.0, np.where(found.moves > 0, 1.0, settled)), lost


def with_table(table: Table, accesses: GlobalAccesses, l1: L1, misses: Misses) -> Misses:
    """Return the misses where a table's loads miss by their shares, and its stores write again."""
    requests, fills = accesses.requests, l1.fills
    sectors, dram_bytes = list(misses.sectors), list(misses.dram_bytes)
    loads = [i for i in table.members if requests[i].access.kind == "load"]
    walks = [i for i in loads if table.random and not requests[i].random]
    loads = [i for i in loads if i not in walks]
    asked = summed(fills[i] for i in loads)
    fetched = table.read(accesses.warm)
    rewritten = np.zeros(1)
    found = table.found_by_walks
    for i in table.members:
        if i in walks:
            once = np.minimum(misses.touched[i], dram_bytes[i])
            dram_bytes[i] = dram_bytes[i] - once * found
            once = np.minimum(misses.touched[i] / SECTOR, sectors[i])
            sectors[i] = sectors[i] - once * found
        elif i in loads:
            part = fills[i] / np.maximum(asked, 1e-9)
            dram_bytes[i] = fetched * part
            sectors[i] = np.minimum(fetched / SECTOR * part, fills[i])
        elif requests[i].sharing is None:  # what atomics write back is worked out on its own
            again = np.maximum(requests[i].sectors * SECTOR - table.size, 0.0)
            rewritten = rewritten + again * table.misses
    return replace(
        misses,
        sectors=sectors,
        dram_bytes=dram_bytes,
        rewritten=misses.rewritten + rewritten,
    )
