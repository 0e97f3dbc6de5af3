"""DRAM writes of a launch: what stores change, less what L2 still holds dirty at the end.

Each byte that stores change is written to DRAM once, unless it was evicted and changed again, which
adds one more write. What is dirty in L2 when the launch ends is written later and does not count.
Atomics whose elements outgrow L2, and tables that are changed at random places, add the write-backs
of their own modules.

Stores of one loop write no more of a buffer than it has. Lines that are read and then written in
place take room in L2 only once.
"""

from collections.abc import Collection, Sequence
from functools import reduce
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.dram.dirty_lines import dirty_left, dirty_room, eviction_pressure, replayed
from perfmodel.models.dram.scattered_stores import (
    scattered_stores,
    strided_parts,
    walked_parts,
)
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.stage import L1
from perfmodel.models.l2.l2_misses import Misses
from perfmodel.models.l2.residency import WAYS, granted_ways
from perfmodel.models.l2.stage import L2
from perfmodel.models.l2.table_costs import drawn_lines_cost
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import dirty_knee, resident_share
from perfmodel.records import record

_ONE: Final = np.ones(1)
_ZERO: Final = np.zeros(1)

WRITTEN_BACK = Formula(
    name="bytes written back during the launch",
    unit="B",
    text="max(changed + again - left, 0)",
    symbols={
        "changed": "distinct bytes that stores change [B]",
        "again": "bytes that were written back and then changed again [B]",
        "left": "bytes that are still dirty in L2 at the end [B]",
    },
    holds="as its inputs",
    source="definition",
)


@record
class Writes:
    """What a launch writes to DRAM [B]."""

    written: Array  # before it ends
    taken: Array  # what that takes of DRAM, in bytes of a stream
    left: Array  # what L2 still holds changed at the end
    found: Array  # share of what a launch before has left that is still there; of a warm launch [1]
    made_whole: Array  # read from DRAM for sectors of which stores wrote a part
    strided: Array  # of these, what strided stores left in part
    waited: Array  # what scattered stores wait for
    ways: Array  # ways of L2 set aside [1]
    replayed: Array  # what a profiler's passes have left dirty, and is written besides

    @property
    def cost(self) -> Array:
        """What a byte written takes of DRAM, in bytes of a stream."""
        return np.where(self.written > 0, self.taken / np.maximum(self.written, 1), 1.0)


def dram_writes(accesses: GlobalAccesses, l1: L1, l2: L2) -> Writes:
    """Return what the accesses of all configurations write to DRAM."""
    misses, atomics, l2_size = l2.misses, l2.atomics.values(), accesses.l2_size
    in_tables = {i for t in l2.tables for i in t.members}
    alone = [i for i in accesses.of("store") if i not in l1.local and i not in in_tables]
    scattered = scattered_stores(accesses, alone)
    separate = {i for s in scattered for i in s.members}
    strided = strided_parts(accesses, [i for i in alone if i not in separate], misses.touched)
    strided = strided * (1 - l2.left if accesses.warm else _ONE)
    walked, waited = walked_parts(accesses, misses.in_parts, misses.open_lines)
    changing = accesses.of("store", "atomic")
    touched = _changed(accesses, misses, [i for i in changing if i not in {*separate, *l2.atomics}])
    reads = summed(misses.dram_bytes[i] for i in accesses.of("load", "atomic"))
    ways = granted_ways(accesses.control.set_aside, l2_size)
    if accesses.warm:
        room = dirty_room(l2_size, ways, accesses.device)
        found = l2.left * resident_share(touched, room, dirty_knee(accesses.device))
        left, passes = found * touched, _ZERO
    else:
        # Sectors that stores leave in part pass through L2 twice: as what makes them whole, too.
        passing_reads = reads - _in_place(accesses, misses, separate) + strided
        found = l2.left
        left, passes = _left(accesses, l2, passing_reads, touched, alone)
    new = 1 - found if accesses.warm else _ONE
    written_back = summed(a.written for a in atomics)
    again = np.maximum(misses.rewritten, walked)
    written = WRITTEN_BACK(changed=touched, again=again, left=left)
    written = np.where(written < 1, 0.0, written) + written_back  # what is left is rounded
    written = written + summed(s.written for s in scattered)
    written = written + summed(local.written for local in l1.local.values())
    taken = sum((a.written * a.write_cost for a in atomics), written - written_back)
    granted = ways * l2_size / WAYS
    return Writes(
        written=written,
        taken=taken + drawn_lines_cost(l2.tables, granted, reads, written, accesses.device),
        left=left + summed(s.left for s in scattered),
        found=found,
        made_whole=summed(s.filled for s in scattered) * new + strided + walked,
        strided=strided,
        waited=summed(s.waited for s in scattered) + waited,
        ways=ways,
        replayed=passes,
    )


def _left(
    accesses: GlobalAccesses, l2: L2, reads: Array, touched: Array, stores: Sequence[int]
) -> tuple[Array, Array]:
    """Return what a cold launch leaves in L2 of `touched`, and the writes of passes [B]."""
    if accesses.start.dirty:  # as much as a launch leaves it writes back of what it found
        return _ZERO, _ZERO
    l2_size, device = accesses.l2_size, accesses.device
    ways = granted_ways(accesses.control.set_aside, l2_size)
    # How often a thread stores.
    runs = (accesses.instance.runs(accesses.requests[i].access.loop) for i in stores)
    once = accesses.running / np.asanyarray(reduce(np.maximum, runs, _ONE))
    passing = eviction_pressure(l2.tables, reads, touched, l2_size, once, device)
    left = dirty_left(passing.reads, touched, l2_size, device, ways, passing.drawn)
    return left, replayed(passing, touched, l2_size, device)


def _changed(accesses: GlobalAccesses, misses: Misses, chosen: Sequence[int]) -> Array:
    """Return the bytes that stores change: those of one loop no more of a buffer than it has.

    What another loop changes again may have been written in between.
    """
    buffers: dict[tuple[str, str | None], list[int]] = {}
    for i in chosen:
        access = accesses.requests[i].access
        buffers.setdefault((access.buffer, access.loop), []).append(i)
    sizes = (
        np.minimum(
            summed(misses.touched[i] for i in found),
            buffer_bytes(accesses.instance, accesses.requests[found[0]]),
        )
        if len(found) > 1
        else misses.touched[found[0]]
        for found in buffers.values()
    )
    return summed(sizes)


def _in_place(accesses: GlobalAccesses, misses: Misses, separate: Collection[int]) -> Array:
    """Return the bytes read of lines that are then written: they take their room in L2 once."""
    read: dict[str, Array] = {}
    written: dict[str, Array] = {}
    for i, r in enumerate(accesses.requests):
        name = r.access.buffer
        if r.access.kind == "load":
            read[name] = read.get(name, _ZERO) + misses.dram_bytes[i]
        elif r.access.kind == "store" and i not in separate:
            written[name] = written.get(name, _ZERO) + misses.touched[i]
    both = (np.minimum(read[name], written[name]) for name in read.keys() & written.keys())
    return summed(both)
