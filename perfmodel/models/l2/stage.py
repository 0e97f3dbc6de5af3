"""L2's stage: from the sectors that it is asked for to those that DRAM has to bring."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.atomics.atomic_memory import AtomicMemory, atomic_memory, l2_passes
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.merged_stores import sent
from perfmodel.models.l1.record import L1
from perfmodel.models.l2.access_misses import access_misses, total, with_own_rules, without_local
from perfmodel.models.l2.common_buffers import changed_once
from perfmodel.models.l2.l2_misses import Misses
from perfmodel.models.l2.record import L2
from perfmodel.models.l2.slices import isolated_sector
from perfmodel.models.l2.table_costs import random_fills
from perfmodel.models.l2.tables import Table, find_tables, with_table
from perfmodel.models.l2.throughput import mean_store_cost
from perfmodel.models.l2.warm_lines import left_by_launch, without_left
from perfmodel.models.reuse.placement import buffer_bytes

_ZERO: Final = np.zeros(1)


def l2_stage(accesses: GlobalAccesses, l1: L1) -> L2:
    """Return what the accesses of all configurations ask of L2, and what it has not."""
    again = [
        g.missing_l2(accesses.wave, accesses.l2_size, n, accesses.device)
        for g, n in zip(l1.rereads, l1.reread_misses, strict=True)
    ]
    misses = access_misses(accesses, l1, again)
    tables = find_tables(accesses, l1, misses)
    misses, left, early = without_local(misses, l1), _ZERO, _ZERO
    if accesses.warm:
        left = left_by_launch(accesses, misses)
        tables = [replace(t, left=np.maximum(left, t.left)) for t in tables]
        misses, early = without_left(accesses, l1, misses, tables, left)
    for table in tables:
        misses = with_table(table, accesses, l1, misses)
    misses, atomics = _with_atomics(accesses, l1, misses)
    reads, stored = total(l1.asked_sectors, accesses.of("load")), _stored(accesses, l1)
    writes, write_cost = stored
    passes = total([l2_passes(r) for r in accesses.requests], accesses.of("atomic"))
    missed = total(misses.sectors, accesses.of("load", "atomic"))
    every = reads + writes + passes
    return L2(
        misses=misses,
        reread_misses=again,
        tables=tables,
        atomics=atomics,
        left=left,
        # Parts that are read again and again take DRAM's time first, L2's later.
        missed_early=early + sum((t.again * t.settled * t.settled_misses for t in tables), _ZERO),
        read_sectors=reads,
        write_sectors=writes,
        atomic_sectors=passes,
        hit_rate=np.where(every > 0, 1 - missed / np.maximum(every, 1), 0.0),
        write_cost=write_cost,
        filled_sectors=random_fills(accesses, tables, isolated_sector(accesses.device)),
        repeated_sectors=_repeated(accesses, l1, tables),
    )


def _stored(accesses: GlobalAccesses, l1: L1) -> tuple[Array, Array]:
    """Return the stored sectors that reach L2, and their mean cost over those of full lines."""
    requests, device = accesses.requests, accesses.device
    reaching = sent(l1.groups, requests, accesses.warps_on_sm, device)
    stores = [
        (
            requests[i].sectors * reaching[i],
            requests[i].lines * reaching[i],
            requests[i].wanted_bytes,
        )
        for i in accesses.of("store")
    ]
    sectors = np.asanyarray(sum((each for each, *_ in stores), _ZERO))
    return sectors, mean_store_cost(stores, sectors, device)


def _with_atomics(
    accesses: GlobalAccesses, l1: L1, misses: Misses
) -> tuple[Misses, dict[int, AtomicMemory]]:
    """Return the misses where local memory and atomics follow their own rules, and the latter."""
    instance, l2_size = accesses.instance, accesses.l2_size
    atomics = {
        i: atomic_memory(r, l2_size, accesses.warm, buffer_bytes(instance, r), accesses.device)
        for i, r in enumerate(accesses.requests)
        if r.sharing is not None
    }
    misses = with_own_rules(misses, l1, atomics)
    new = changed_once(accesses, misses.dram_bytes, atomics)
    atomics = {i: a._replace(read=a.read * new[i]) for i, a in atomics.items()}
    return with_own_rules(misses, l1, atomics), atomics


def _repeated(accesses: GlobalAccesses, l1: L1, tables: list[Table]) -> Array:
    """Return the sectors that loads of tables ask of L2; of random ones, those at random places."""
    requests = accesses.requests
    members = [
        i
        for t in tables
        for i in t.members
        if requests[i].access.kind == "load" and (requests[i].random or not t.random)
    ]
    return total(l1.asked_sectors, members)
