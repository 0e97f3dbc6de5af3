"""L2's stage: from the sectors that it is asked for to those that DRAM has to bring."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.atomics.atomic_memory import AtomicMemory, atomic_memory, l2_passes
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.merged_stores import sent
from perfmodel.models.l1.stage import L1
from perfmodel.models.l2.common_buffers import brought_once, changed_once
from perfmodel.models.l2.l2_misses import Misses, fitted_knees, l2_misses
from perfmodel.models.l2.slices import isolated_sector
from perfmodel.models.l2.table_costs import random_fills
from perfmodel.models.l2.tables import Table, find_tables, with_table
from perfmodel.models.l2.throughput import mean_store_cost
from perfmodel.models.l2.warm_lines import left_by_launch, without_left
from perfmodel.models.reuse.joint_traversals import new_shares
from perfmodel.models.reuse.rereads import without_rereads
from perfmodel.records import record

_ONE: Final = np.ones(1)
_ZERO: Final = np.zeros(1)


@record
class L2:
    """What L2 is asked for by a launch, and what of it it has not."""

    misses: Misses  # by access
    reread_misses: Sequence[Array]  # share of each reread that L2 does not have, of what L1 has not
    tables: Sequence[Table]  # buffers that are read again and again
    # what atomics move that follow rules of their own, by position
    atomics: Mapping[int, AtomicMemory]
    # share of the launch's data that the same launch before has left; 0 of a cold launch
    left: Array
    # DRAM bytes that are read while most of the launch's data is found in L2 [B]
    missed_early: Array
    # read_sectors, write_sectors and atomic_sectors: sectors that L2 is asked for
    read_sectors: Array
    write_sectors: Array
    atomic_sectors: Array
    hit_rate: Array  # share of them that need no DRAM read
    write_cost: Array  # mean cost of a written sector, relative to a sector of a full line
    # sectors that misses at random places bring in, where they take its time as reads do
    filled_sectors: Array
    repeated_sectors: Array  # sectors read of tables

    @property
    def asked_sectors(self) -> Array:
        """All sectors that it is asked for."""
        return self.read_sectors + self.write_sectors + self.atomic_sectors


def l2_stage(accesses: GlobalAccesses, l1: L1) -> L2:
    """Return what the accesses of all configurations ask of L2, and what it has not."""
    again = [
        g.missing_l2(accesses.wave, accesses.l2_size, n, accesses.device)
        for g, n in zip(l1.rereads, l1.reread_misses, strict=True)
    ]
    misses = _access_misses(accesses, l1, again)
    tables = find_tables(accesses, l1, misses)
    misses, left, early = _without_local(misses, l1), _ZERO, _ZERO
    if accesses.warm:
        left = left_by_launch(accesses, misses)
        tables = [replace(t, left=np.maximum(left, t.left)) for t in tables]
        misses, early = without_left(accesses, l1, misses, tables, left)
    for table in tables:
        misses = with_table(table, accesses, l1, misses)
    misses, atomics = _with_atomics(accesses, l1, misses)
    asked = l1.asked_sectors
    reads = summed(asked[i] for i in accesses.of("load"))
    writes, write_cost = _stored(accesses, l1)
    changing = (accesses.requests[i] for i in accesses.of("atomic"))
    passes = summed(l2_passes(accesses.instance, r) for r in changing)
    missed = summed(misses.sectors[i] for i in accesses.of("load", "atomic"))
    every = reads + writes + passes
    return L2(
        misses=misses,
        reread_misses=again,
        tables=tables,
        atomics=atomics,
        left=left,
        # Parts that are read again and again take DRAM's time first, L2's later.
        missed_early=early + summed(t.again * t.settled * t.settled_misses for t in tables),
        read_sectors=reads,
        write_sectors=writes,
        atomic_sectors=passes,
        hit_rate=np.where(every > 0, 1 - missed / np.maximum(every, 1), 0.0),
        write_cost=write_cost,
        filled_sectors=random_fills(accesses, tables, isolated_sector(accesses.device)),
        repeated_sectors=_repeated(accesses, asked, tables),
    )


def _stored(accesses: GlobalAccesses, l1: L1) -> tuple[Array, Array]:
    """Return the stored sectors that reach L2, and their mean cost over those of full lines."""
    requests, device = accesses.requests, accesses.device
    reaching = sent(accesses, l1.groups)
    stores = [
        (
            requests[i].sectors * reaching[i],
            requests[i].lines * reaching[i],
            requests[i].wanted_bytes,
        )
        for i in accesses.of("store")
    ]
    sectors = summed(each for each, *_ in stores)
    return sectors, mean_store_cost(stores, sectors, device)


def _with_atomics(
    accesses: GlobalAccesses, l1: L1, misses: Misses
) -> tuple[Misses, dict[int, AtomicMemory]]:
    """Return the misses where local memory and atomics follow their own rules, and the latter."""
    atomics = {
        i: atomic_memory(accesses, r)
        for i, r in enumerate(accesses.requests)
        if r.sharing is not None
    }
    misses = _with_own_rules(misses, l1, atomics)
    new = changed_once(accesses, misses.dram_bytes, atomics)
    atomics = {i: a._replace(read=a.read * new[i]) for i, a in atomics.items()}
    return _with_own_rules(misses, l1, atomics), atomics


def _repeated(accesses: GlobalAccesses, asked: Sequence[Array], tables: Sequence[Table]) -> Array:
    """Return the sectors that loads of tables ask of L2; of random ones, those at random places."""
    requests = accesses.requests
    return summed(
        asked[i]
        for t in tables
        for i in t.members
        if requests[i].access.kind == "load" and (requests[i].random or not t.random)
    )


def _access_misses(accesses: GlobalAccesses, l1: L1, reread_misses: Sequence[Array]) -> Misses:
    """Return what the accesses of all configurations miss in L2.

    `reread_misses` is the share of each reread that L1 does not have, and L2 neither.
    """
    found, again = l2_misses(accesses, l1, fitted_knees(accesses.device)), l1.rereads
    sectors, dram_bytes = list(found.sectors), list(found.dram_bytes)
    for i, new in new_shares(accesses, l1, found.touched, dram_bytes).items():
        sectors[i], dram_bytes[i] = sectors[i] * new, dram_bytes[i] * new
    # DRAM's bytes were counted for all that is touched, L1 or not.
    both = [n * f for n, f in zip(l1.reread_misses, reread_misses, strict=True)]
    touched = without_rereads(again, found.touched, both)
    by_themselves = without_rereads(again, dram_bytes, both)
    return replace(
        found,
        sectors=without_rereads(again, sectors, reread_misses),
        dram_bytes=brought_once(accesses, by_themselves, touched, l1.reread_positions),
        touched=touched,
    )


def _without_local(misses: Misses, l1: L1) -> Misses:
    """Return the misses where local memory touches nothing that outlasts the launch."""
    return replace(
        misses,
        touched=[_ZERO if i in l1.local else t for i, t in enumerate(misses.touched)],
        copies=[_ONE if i in l1.local else c for i, c in enumerate(misses.copies)],
    )


def _with_own_rules(misses: Misses, l1: L1, atomics: Mapping[int, AtomicMemory]) -> Misses:
    """Return the misses where local memory and atomics follow their own rules."""
    sectors, dram_bytes = list(misses.sectors), list(misses.dram_bytes)
    for i, found in l1.local.items():
        sectors[i], dram_bytes[i] = found.misses, found.read
    for i, atomic in atomics.items():
        sectors[i], dram_bytes[i] = atomic.misses, atomic.read
    return replace(misses, sectors=sectors, dram_bytes=dram_bytes)
