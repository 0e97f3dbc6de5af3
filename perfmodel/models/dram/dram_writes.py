"""What a launch writes to DRAM: what L2 has no room to keep, and what atomics and tables add."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.models.atomics.atomic_memory import AtomicMemory
from perfmodel.models.dram.dirty_lines import crowding, dirty_left, dirty_room, replayed
from perfmodel.models.dram.scattered_stores import scattered_stores, strided_parts
from perfmodel.models.formula import Formula
from perfmodel.models.l1.local_memory import LocalTraffic
from perfmodel.models.l2.access_misses import GlobalAccesses, Misses, total
from perfmodel.models.l2.residency import WAYS, granted_ways
from perfmodel.models.l2.table_costs import held_cost
from perfmodel.models.l2.tables import Table
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import DIRTY_KNEE, held

Array = npt.NDArray[Any]

_ONE: Final = np.ones(1)
_ZERO: Final = np.zeros(1)

WRITTEN_BACK = Formula(
    name="bytes written back during the launch",
    unit="B",
    text="max(changed + again - left, 0)",
    symbols={
        "changed": "bytes that stores change, each once [B]",
        "again": "bytes that were written back and are changed once more [B]",
        "left": "bytes that L2 still holds changed at the end [B]",
    },
    holds="as its inputs",
    source="definition",
)


class Writes(NamedTuple):
    """What a launch writes to DRAM.

    Attributes
    ----------
    written : array
        Bytes written before it ends [B].
    taken : array
        What they take of DRAM, in bytes of a stream [B].
    cost : array
        The same for a byte.
    left : array
        Bytes that L2 still holds changed at the end [B].
    kept : array
        Share of what a launch before has left that is still there; of a warm launch.
    made_whole : array
        Bytes read from DRAM for sectors of which stores wrote a part [B].
    strided : array
        Of these, what strided stores left in part [B].
    waited : array
        Bytes that scattered stores wait for [B].
    ways, granted : array
        Ways of L2 set aside, and their bytes.
    replayed : array
        Bytes that a profiler's passes have left dirty, and that are written beside these [B].
    """

    written: Array
    taken: Array
    cost: Array
    left: Array
    kept: Array
    made_whole: Array
    strided: Array
    waited: Array
    ways: Array
    granted: Array
    replayed: Array


def dram_writes(
    accesses: GlobalAccesses,
    misses: Misses,
    tables: Sequence[Table],
    atomics: Mapping[int, AtomicMemory],
    local: Mapping[int, LocalTraffic],
    kept: Array,
    running: Array,
) -> Writes:
    """Return what the accesses of all configurations write to DRAM.

    Parameters
    ----------
    accesses : GlobalAccesses
    misses : Misses
        With tables, atomics and local memory in it.
    tables : sequence of Table
    atomics : mapping of int to AtomicMemory
        By position, those with a rule of their own.
    local : mapping of int to LocalTraffic
        By position.
    kept : array
        Share of what a launch before has left that L2 holds at the start; 0 of a cold launch.
    running : array
        Share of the blocks that run together.
    """
    warm, l2_size = accesses.warm, accesses.l2_size
    stores = accesses.of("store")
    others = [i for i in accesses.of("atomic") if i not in atomics]
    in_tables = {i for t in tables for i in t.members}
    alone = [i for i in stores if i not in local and i not in in_tables]
    scattered = scattered_stores(accesses.instance, accesses.requests, alone, l2_size)
    apart = {i for s in scattered for i in s.members}
    strided = strided_parts(
        *(accesses.instance, accesses.requests, [i for i in alone if i not in apart]),
        *(misses.touched, l2_size),
    ) * (1 - kept if warm else _ONE)
    touched = _changed(accesses, misses, [i for i in (*stores, *others) if i not in apart])
    reads = total(misses.dram_bytes, accesses.of("load", "atomic"))
    beside = reads - _in_place(accesses, misses, apart)
    ways = granted_ways(accesses.control.set_aside, l2_size)
    granted = ways * l2_size / WAYS
    again = _ZERO
    if warm:
        kept = kept * held(touched, dirty_room(l2_size, ways), DIRTY_KNEE)
        left = kept * touched
    else:
        once = running / _times(accesses, alone)
        # Sectors that stores leave in part pass through L2 twice: as what makes them whole, too.
        passing = crowding(tables, beside + strided, touched, l2_size, once, warm)
        left = dirty_left(passing.reads, touched, l2_size, ways, passing.drawn)
        again = replayed(passing, touched, l2_size)
    written_back = sum((a.written for a in atomics.values()), _ZERO)
    written = WRITTEN_BACK(changed=touched, again=misses.rewritten, left=left)
    written = np.where(written < 1, 0.0, written) + written_back  # what is left is rounded
    written = written + sum((s.written for s in scattered), _ZERO)
    written = written + sum((found.written for found in local.values()), _ZERO)
    cost = sum((a.written * a.write_cost for a in atomics.values()), written - written_back)
    cost = cost + held_cost(tables, granted, reads, written)
    return Writes(
        written=written,
        taken=cost,
        cost=np.where(written > 0, cost / np.maximum(written, 1), 1.0),
        left=left + sum((s.left for s in scattered), _ZERO),
        kept=kept,
        made_whole=sum((s.filled for s in scattered), _ZERO) * (1 - kept if warm else _ONE)
        + strided,
        strided=strided,
        waited=sum((s.waited for s in scattered), _ZERO),
        ways=ways,
        granted=granted,
        replayed=again,
    )


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
            total(misses.touched, found),
            buffer_bytes(accesses.instance, accesses.requests[found[0]]),
        )
        if len(found) > 1
        else misses.touched[found[0]]
        for found in buffers.values()
    )
    return np.asanyarray(sum(sizes, _ZERO))


def _times(accesses: GlobalAccesses, stores: Sequence[int]) -> Array:
    """Return how often a thread stores."""
    runs = (accesses.instance.runs(accesses.requests[i].access.loop) for i in stores)
    return np.asanyarray(reduce(np.maximum, runs, _ONE))


def _in_place(accesses: GlobalAccesses, misses: Misses, apart: Collection[int]) -> Array:
    """Return the bytes read of lines that are then written: they take their room in L2 once."""
    read: dict[str, Array] = {}
    written: dict[str, Array] = {}
    for i, r in enumerate(accesses.requests):
        name = r.access.buffer
        if r.access.kind == "load":
            read[name] = read.get(name, _ZERO) + misses.dram_bytes[i]
        elif r.access.kind == "store" and i not in apart:
            written[name] = written.get(name, _ZERO) + misses.touched[i]
    both = (np.minimum(read[name], written[name]) for name in read.keys() & written.keys())
    return np.asanyarray(sum(both, _ZERO))
