"""Table uses: what a launch asks of a table that it reads again, and what passes concurrently."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest, smallest, summed
from perfmodel.models.derivation import number
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l2 import residency
from perfmodel.models.l2.random_lines import ONE_PHASE, TablePhases
from perfmodel.models.l2.windows import marked, spilled_share
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import Group
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.records import record

_ANYWHERE: Final = 0.9
"""Share of sectors that are new to their block from which on a load's places are anywhere."""


@record
class BufferUse:
    """What a launch asks of one buffer."""

    members: tuple[int, ...]  # positions of its loads and stores among the requests
    # loads and stores: bytes that they ask of L2
    loads: Array
    stores: Array
    touched: Array  # bytes that are touched at least once


@record
class TableLaunch:
    """A launch as its tables see it."""

    accesses: GlobalAccesses
    # bytes that each access reads from DRAM by `perfmodel.models.reuse.reuse_windows`, for what
    # loops read again
    dram_bytes: Sequence[Array]
    uses: Mapping[str, BufferUse]  # what it asks of each buffer

    def requests_of(self, use: BufferUse) -> list[Requests]:
        """Return the requests of a buffer's accesses."""
        return [self.accesses.requests[i] for i in use.members]


@record
class TableUse:
    """One table of a launch, and what passes concurrently."""

    own: BufferUse
    random: bool  # whether it is read at random places
    size: Array  # bytes of it that are used
    passes: Array  # times that it is read
    # persisting, streaming and normal: shares of its lines with each property
    persisting: Array
    streaming: Array
    normal: Array
    spilled: Array  # share of the persisting ones that find no way
    capacity: float  # L2 that is left by what other kernels keep [B]
    passing: residency.Streams  # in one pass over it, with its own lines marked streaming
    streaming_marked: residency.Streams  # of these, what is marked streaming
    resident: Array  # bytes that it and other tables want to keep in L2
    streams: Array  # bytes of streams of other buffers in one pass over it
    # first and again: bytes that first reads and all others ask for, where it is read in order
    first: Array
    again: Array
    # parts that are drawn from one after the other, where it is read at random places
    waves: TablePhases = ONE_PHASE


def buffer_uses(
    requests: Sequence[Requests],
    fills: Sequence[Array],
    touched: Sequence[Array],
    groups: Sequence[Group] = (),
) -> dict[str, BufferUse]:
    """Return what a launch asks of each buffer; groups share out what they touch."""
    # Accesses of one group touch each a part of what they do together.
    of_group = {i: summed(touched[j] for j in g.members) for g in groups for i in g.members}
    members: dict[str, list[int]] = {}
    for i, r in enumerate(requests):
        members.setdefault(r.access.buffer, []).append(i)
    uses = {}
    for buffer, positions in members.items():
        loads = [i for i in positions if requests[i].access.kind == "load"]
        stores = [i for i in positions if requests[i].access.kind != "load"]
        uses[buffer] = BufferUse(
            tuple(positions),
            summed(fills[i] * SECTOR for i in loads),
            summed(requests[i].sectors * SECTOR for i in stores),
            largest(*(of_group.get(i, touched[i]) for i in positions)),
        )
    return uses


def table_use(launch: TableLaunch, buffer: str, tables: Sequence[str]) -> TableUse:
    """Return what a launch does to a table, and concurrently to others."""
    accesses, own = launch.accesses, launch.uses[buffer]
    control, claimed, l2_size = accesses.control, accesses.start.claimed, accesses.l2_size
    random = any(r.random for r in launch.requests_of(own))
    size, waves = own.touched, ONE_PHASE
    if random:
        whole = buffer_bytes(accesses.instance, accesses.requests[own.members[0]])
        size, waves = _drawn_from(launch, own, whole)
    passes = np.maximum(own.loads / np.maximum(size, 1.0), 1.0)
    granted = residency.granted(control.set_aside, l2_size)
    persisting, streaming = marked(control, buffer, size)
    own_resident = np.asanyarray(size * (1 - streaming))
    passing, streaming_marked, resident = _passing(launch, own, tables, passes, own_resident)
    first = np.minimum(size, own.loads)
    return TableUse(
        own=own,
        random=random,
        size=size,
        passes=passes,
        persisting=persisting,
        streaming=streaming,
        normal=1 - persisting - streaming,
        spilled=spilled_share(control, buffer, size, random, claimed, l2_size, accesses.device),
        capacity=number(residency.ROOM(c=l2_size, others=claimed, granted=granted)),
        passing=residency.Streams(passing.read + size * streaming, passing.written),
        streaming_marked=residency.Streams(
            streaming_marked.read + size * streaming, streaming_marked.written
        ),
        resident=resident,
        streams=passing.read + passing.written,
        first=first,
        again=own.loads - first,
        waves=waves,
    )


def _drawn_from(launch: TableLaunch, own: BufferUse, size: Array) -> tuple[Array, TablePhases]:
    """Return the bytes of a buffer that loads draw from, and the waves in which they do."""
    drawn = [r for r in launch.requests_of(own) if r.random]
    places = [r.places for r in drawn if r.places is not None]
    if len(places) < len(drawn):
        return size, ONE_PHASE
    blocks = launch.accesses.blocks
    whole, live = (
        np.minimum(size, largest(*(p.of(n) for p in places)))
        for n in (blocks, np.maximum(blocks * launch.accesses.running, 1.0))
    )
    alone = smallest(*(p.alone for p in places))
    return whole, TablePhases(np.maximum(whole / live, 1.0), alone)


def _passing(
    launch: TableLaunch, own: BufferUse, tables: Sequence[str], passes: Array, resident: Array
) -> tuple[residency.Streams, residency.Streams, Array]:
    """Return what other buffers read and write in one pass over one, what of it is streaming [B].

    And what tables want to keep in L2, `resident` this one: of longer ones, what is read of them in
    that time.
    """
    read = written = streaming_read = streaming_written = np.zeros(1)
    for name, use in launch.uses.items():
        if use is own:
            continue
        _, streaming = marked(launch.accesses.control, name, use.touched)
        if name in tables:
            resident = resident + np.minimum(use.touched, use.loads / passes) * (1 - streaming)
            continue
        loads = np.minimum(use.loads, use.touched) / passes
        stores = np.minimum(use.stores, use.touched) / passes
        # What is read and then written takes its lines once.
        loads = np.maximum(loads - stores, 0.0)
        read, written = read + loads, written + stores
        streaming_read = streaming_read + loads * streaming
        streaming_written = streaming_written + stores * streaming
    every = residency.Streams(read, written)
    return every, residency.Streams(streaming_read, streaming_written), resident


def comes_back(loads: Sequence[Requests]) -> bool:
    """Say whether followed loads of a buffer go on from where their block was, not anywhere."""
    # Walks in order, whose strides say it, come as well.
    counts = [r.access.counted for r in loads if r.random or r.access.counted is not None]
    known = [c for c in counts if c is not None and c.misses and not c.drawn]
    if not known or len(known) < len(counts):
        return False
    if all(c.apart for c in known):
        return True
    every = sum(c.sectors for c in known)
    return sum(c.sectors * c.once[0] for c in known) < _ANYWHERE * every
