"""Memory traffic in closed form: L1 fills, L2 misses and DRAM bytes of every access of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.l2_control import DRIVERS_L2, L2Control
from perfmodel.models.agreement import agreed
from perfmodel.models.atomic_memory import atomic_memory, l2_passes
from perfmodel.models.coalescing import SECTOR
from perfmodel.models.common_buffers import brought_once
from perfmodel.models.dram import dirty_left, dirty_room, found_early, room_early
from perfmodel.models.geometry import BlockShape
from perfmodel.models.irregular_unions import Union, irregular_unions
from perfmodel.models.l1_fills import l1_fills
from perfmodel.models.l2 import store_cost
from perfmodel.models.l2_misses import fetch_granule, l2_misses
from perfmodel.models.local_memory import counted_apart, is_local, local_traffic
from perfmodel.models.merged_reads import gpc_run
from perfmodel.models.merged_stores import sent
from perfmodel.models.occupancy import Occupancy
from perfmodel.models.placement import dram_read_cost, line_bytes
from perfmodel.models.requests import ActivityCache, Requests, access_requests
from perfmodel.models.rereads import rereads, without_rereads
from perfmodel.models.residency import WAYS, granted_ways
from perfmodel.models.reuse import (
    DIRTY_KNEE,
    atoms_over_sectors,
    grouped,
    held,
    warm_held,
)
from perfmodel.models.scattered_stores import scattered_stores
from perfmodel.models.shared_atomics import bank_clocks
from perfmodel.models.table_costs import (
    crowding_lines,
    filled_share,
    held_cost,
    marked_reads,
    random_misses,
    scattered_cost,
)
from perfmodel.models.tables import Table, find_tables
from perfmodel.models.waves import side_by_side
from perfmodel.models.writeback import crowds_writes, dearer_writes, writebacks
from perfmodel.traffic import AccessTraffic, Traffic

Array = npt.NDArray[Any]
CacheState = Literal["cold", "warm"]

_ONE: Final = np.ones(1)
_ZERO: Final = np.zeros(1)


def closed_form_traffic(
    instance: Instance,
    shape: BlockShape,
    device: Device,
    occupied: Occupancy,
    cache: CacheState,
    control: L2Control = DRIVERS_L2,
    claimed: float = 0.0,
) -> tuple[Traffic, list[Requests], list[Requests]]:
    """Return the traffic of all configurations of an instance, its global and its shared requests.

    Parameters
    ----------
    instance : Instance
        Configurations of one block shape.
    shape : BlockShape
    device : Device
    occupied : Occupancy
        Of the same configurations.
    cache : {"cold", "warm"}
        Whether L2 starts empty, or as the same launch just left it.
    control : L2Control
        Set-aside, window, fetch granularity and compression in effect.
    claimed : float
        Bytes that concurrent kernels keep in the set-aside.
    """
    kernel = instance.kernel
    known: ActivityCache = {}
    every = [access_requests(instance, i, shape, known) for i in range(len(kernel.accesses))]
    on_chip = [r for r in every if kernel.buffer(r.access.buffer).space == "shared"]
    requests = [r for r in every if kernel.buffer(r.access.buffer).space != "shared"]
    local = {i for i, r in enumerate(requests) if is_local(instance, r)}
    for i in local:  # what is read again there follows rules of its own
        requests[i] = replace(requests[i], strides=None, period=None, random=False)
    groups = grouped(requests)
    resident = occupied.resident
    blocks = np.asarray(instance.blocks, dtype=float)
    granule = fetch_granule(device, control)
    row = int(np.max(gpc_run(blocks, device)))
    unions = irregular_unions(instance, requests, shape, granule, row)
    fills = l1_fills(instance, requests, groups, device, occupied, resident, blocks, unions)
    again = rereads(instance, requests, groups)
    on_sm = side_by_side(resident, blocks, device.sm_count)
    capacity = np.asarray(occupied.l1_size, dtype=float)
    near = [
        g.missing_l1(on_sm, capacity) if requests[g.members[0]].access.cache == "l1" else _ONE
        for g in again
    ]
    fills = without_rereads(again, fills, near)
    sector_misses, dram_reads, touched, rewritten = l2_misses(
        instance, requests, groups, device, resident, blocks, fills, control, unions
    )
    l2_size = float(device.l2_size)
    wave = np.minimum(blocks, device.sm_count * resident)
    far = [g.missing_l2(wave, l2_size, n) for g, n in zip(again, near, strict=True)]
    sector_misses = without_rereads(again, sector_misses, far)
    still = dict.fromkeys(range(len(requests)), (_ONE, _ONE))
    for reread, n, f in zip(again, near, far, strict=True):
        still |= dict.fromkeys(reread.members, (n, f))
    # DRAM's bytes were counted for all that is touched, L1 or not.
    both = [n * f for n, f in zip(near, far, strict=True)]
    dram_reads = without_rereads(again, dram_reads, both)
    touched_once = without_rereads(again, [t for t, _ in touched], both)
    touched = [(t, w) for t, (_, w) in zip(touched_once, touched, strict=True)]
    apart = {i for g in again for i in g.members}
    dram_reads = brought_once(
        instance, requests, dram_reads, [t for t, _ in touched], l2_size, apart
    )
    warm = cache == "warm"
    tables = find_tables(
        instance,
        requests,
        fills,
        [t for t, _ in touched],
        dram_reads,
        device,
        control,
        claimed,
        np.minimum(1.0, device.sm_count * resident / blocks),
        granule,
        warm,
    )
    own = {i: local_traffic(instance, requests[i], device, occupied) for i in local}
    for i in own:
        touched[i] = (_ZERO, _ONE)
    besides = _ZERO
    if warm:
        # A line has one tag, however few of its sectors are there.
        lines = (
            line_bytes(instance, r, t) * w for r, (t, w) in zip(requests, touched, strict=True)
        )
        kept = warm_held(sum(lines, _ZERO), l2_size)
        tables = [replace(t, kept=np.atleast_1d(kept)) for t in tables]
        brought = atoms_over_sectors(groups, granule)
        in_step = {i for t in tables if agreed(t.settled > 0) for i in t.members}
        for i, r in enumerate(requests):
            if r.access.kind != "store":
                once = np.minimum(touched[i][0] * brought.get(i, _ONE), dram_reads[i])
                if i not in in_step:
                    besides = besides + kept * (dram_reads[i] - once)
                dram_reads[i] = dram_reads[i] - kept * once
                sector_misses[i] = sector_misses[i] - kept * np.minimum(
                    touched[i][0] / SECTOR, sector_misses[i]
                )
    for table in tables:
        rewritten = rewritten + _put_in(table, requests, fills, sector_misses, dram_reads, cache)
    changed = {
        i: atomic_memory(r, l2_size, warm) for i, r in enumerate(requests) if r.sharing is not None
    }
    for i, found in own.items():
        fills[i], sector_misses[i], dram_reads[i] = found.fills, found.misses, found.read
    for i, atomic in changed.items():
        sector_misses[i], dram_reads[i] = atomic.misses, atomic.read
    loads = [i for i, r in enumerate(requests) if r.access.kind == "load"]
    stores = [i for i, r in enumerate(requests) if r.access.kind == "store"]
    atomics = [i for i, r in enumerate(requests) if r.access.kind == "atomic"]

    def total(values: Sequence[Any], chosen: Sequence[int]) -> Array:
        return np.asarray(sum((values[i] for i in chosen), _ZERO))

    load_sectors = total([r.sectors for r in requests], loads)
    reaching = sent(groups, requests)
    stored = [r.sectors * part for r, part in zip(requests, reaching, strict=True)]
    store_sectors = total(stored, stores)
    atomic_sectors = total([l2_passes(r) for r in requests], atomics)
    l2_reads = total(fills, loads)
    reads = total(dram_reads, [*loads, *atomics])
    others = [i for i in atomics if i not in changed]
    in_tables = {i for t in tables for i in t.members}
    scattered = scattered_stores(
        instance, requests, [i for i in stores if i not in local and i not in in_tables], l2_size
    )
    apart = {i for s in scattered for i in s.members}
    written = total([t for t, _ in touched], [i for i in (*stores, *others) if i not in apart])
    ways = granted_ways(control.set_aside, l2_size)
    granted = ways * l2_size / WAYS
    crowding = reads + crowding_lines(tables, requests, granule, warm)
    if warm:
        kept = kept * held(written, dirty_room(l2_size, ways), DIRTY_KNEE)
        left = kept * written
    else:
        left = dirty_left(crowding, written, l2_size, ways)
    made_whole = sum((s.filled for s in scattered), _ZERO) * (1 - kept if warm else _ONE)
    written_back = sum((c.written for c in changed.values()), _ZERO)
    dram_written = np.maximum(written + rewritten - left, 0.0) + written_back
    dram_written = dram_written + sum((s.written for s in scattered), _ZERO)
    left = left + sum((s.left for s in scattered), _ZERO)
    dram_written = dram_written + sum((found.written for found in own.values()), _ZERO)
    asked = l2_reads + store_sectors + atomic_sectors
    missed = total(sector_misses, [*loads, *atomics])
    cost = sum(
        (dram_reads[i] * dram_read_cost(instance, requests[i], granule) for i in [*loads, *others]),
        _ZERO,
    )
    of_atomics = sum((c.read * c.read_cost for c in changed.values()), _ZERO)
    cost = cost + of_atomics
    back_cost = sum(
        (c.written * c.write_cost for c in changed.values()), dram_written - written_back
    )
    back_cost = back_cost + held_cost(tables, granted, reads, dram_written)
    write_back_cost = np.where(dram_written > 0, back_cost / np.maximum(dram_written, 1), 1.0)
    cost = cost + scattered_cost(tables, reads, dram_written, warm)
    persisting, fleeting = marked_reads(tables, warm)
    # Parts that are read again and again take DRAM's time first, L2's later.
    settled = sum((t.again * t.settled for t in tables), _ZERO)
    besides = besides + sum((t.again * t.settled * t.settled_misses for t in tables), _ZERO)
    filled, waited = random_misses(tables, requests, granule, warm)
    waited = waited + sum((s.waited for s in scattered), _ZERO)
    reads, cost = reads + made_whole, cost + made_whole
    if control.compression > 1:
        reads, dram_written = reads / control.compression, dram_written / control.compression
        cost = cost / control.compression
        persisting, fleeting = persisting / control.compression, fleeting / control.compression
    write_cost = sum(
        (
            stored[i]
            * store_cost(stored[i], requests[i].lines * reaching[i], requests[i].wanted_bytes)
            for i in stores
        ),
        _ZERO,
    ) / np.maximum(store_sectors, 1e-9)
    *_, (held_up, given) = writebacks(
        dram_written,
        np.maximum(reads - fleeting - persisting, 0.0),
        fleeting,
        filled_share(tables, granted, reads, warm),
        ways if crowds_writes(device) else ways * 0,
        bool(tables),
        persisting,
    )
    traffic = Traffic(
        **counted_apart(requests, local),
        global_atomic_requests=total([r.requests for r in requests], atomics),
        l1_hit_sectors=load_sectors - l2_reads,
        l2_read_sectors=l2_reads,
        l2_write_sectors=store_sectors,
        l2_atomic_sectors=atomic_sectors,
        l2_hit_rate=np.where(asked > 0, 1 - missed / np.maximum(asked, 1), 0.0),
        dram_read_bytes=reads,
        dram_write_bytes=dram_written,
        l1_data_wavefronts=total([r.data_wavefronts for r in requests], range(len(requests))),
        l1_tag_wavefronts=total([r.tag_wavefronts for r in requests], range(len(requests))),
        shared_requests=np.asarray(sum((r.requests for r in on_chip), _ZERO)),
        shared_wavefronts=np.asarray(sum((bank_clocks(instance, r) for r in on_chip), _ZERO)),
        dram_read_cost=np.where(reads >= 1, cost / np.maximum(reads, 1), 1.0),
        l2_write_cost=np.where(store_sectors > 0, write_cost, 1.0),
        dram_write_cost=write_back_cost * dearer_writes(device, ways),
        accesses=tuple(
            AccessTraffic(
                name=r.access.name,
                buffer=r.access.buffer,
                kind=r.access.kind,
                requests=r.requests,
                sectors=r.sectors,
                lines=r.lines,
                wanted_bytes=r.wanted_bytes,
                data_wavefronts=r.data_wavefronts,
                tag_wavefronts=r.tag_wavefronts,
                l1_fill_sectors=fills[i],
                dram_bytes=dram_reads[i],
                sampled=r.sampled,
                again_l1=still[i][0],
                again_l2=still[i][1],
                alike=_alike(r, unions.get(i)),
            )
            for i, r in enumerate(requests)
        ),
        tables=tuple(tables),
        l2_filled_sectors=filled,
        compression=np.full(1, float(control.compression)),
        atomic_dram_share=of_atomics / np.maximum(cost + back_cost, 1.0),
        scattered_bytes=waited,
        l2_repeated_sectors=total(fills, [i for t in tables for i in t.members if i in loads]),
        writeback_bytes=np.asarray(held_up(**given)),
        cold=not warm,
        early_share=np.maximum(
            settled / np.maximum(asked * SECTOR, 1.0),
            found_early(
                kept, (l2_reads + store_sectors) * SECTOR, sum((t for t, _ in touched), _ZERO)
            )
            if warm
            else room_early(left, reads, store_sectors * SECTOR),
        ),
        early_read_bytes=np.minimum(besides, reads),
    )
    return traffic, requests, on_chip


def _put_in(
    table: Table,
    requests: Sequence[Requests],
    fills: Sequence[Array],
    sector_misses: list[Array],
    dram_reads: list[Array],
    cache: CacheState,
) -> Array:
    """Set what a table's loads miss, by their shares; return what its stores write again [B]."""
    loads = [i for i in table.members if requests[i].access.kind == "load"]
    asked = sum((fills[i] for i in loads), _ZERO)
    fetched = table.read(cache == "warm")
    rewritten = _ZERO
    for i in table.members:
        if i in loads:
            part = fills[i] / np.maximum(asked, 1e-9)
            dram_reads[i] = fetched * part
            sector_misses[i] = np.minimum(fetched / SECTOR * part, fills[i])
        elif requests[i].sharing is None:  # what atomics write back is worked out on its own
            again = np.maximum(requests[i].sectors * SECTOR - table.size, 0.0)
            rewritten = rewritten + again * table.misses
    return rewritten


def _alike(r: Requests, union: Union | None) -> float | None:
    """Return how many neighbouring blocks ask for the same, where they were followed."""
    if r.access.counted is not None and r.strides is None:
        return r.access.counted.alike
    return None if union is None else union.alike
