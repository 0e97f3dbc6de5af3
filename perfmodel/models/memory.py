"""Memory traffic in closed form: L1 fills, L2 misses and DRAM bytes of every access of a kernel."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.l2_control import DRIVERS_L2, L2Control
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.atomic_memory import AtomicMemory, atomic_memory, l2_passes
from perfmodel.models.atomics.shared_atomics import bank_clocks
from perfmodel.models.dram.dram_writes import Writes, dram_writes
from perfmodel.models.dram.throughput import found_early, room_early, row_costs
from perfmodel.models.dram.writeback import (
    crowds_writes,
    dearer_writes,
    streams_between,
    writebacks,
)
from perfmodel.models.grid.geometry import BlockShape
from perfmodel.models.l1.local_memory import LocalTraffic, counted_apart, is_local, local_traffic
from perfmodel.models.l1.merged_stores import sent
from perfmodel.models.l2.access_misses import GlobalAccesses, Misses, access_misses, total
from perfmodel.models.l2.common_buffers import changed_once
from perfmodel.models.l2.l2_misses import fetch_granule
from perfmodel.models.l2.later_waves import read_by_later_waves
from perfmodel.models.l2.slices import lone_sector, working_share
from perfmodel.models.l2.table_costs import (
    filled_share,
    kept_share,
    marked_reads,
    normal_reads,
    random_misses,
    scattered_cost,
)
from perfmodel.models.l2.tables import Table, find_tables
from perfmodel.models.l2.throughput import store_cost
from perfmodel.models.l2.warm_lines import WARM_HALF, warm_held
from perfmodel.models.launch.occupancy import Occupancy
from perfmodel.models.launch.waves import side_by_side
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.warp_requests import ActivityCache, Requests, access_requests
from perfmodel.models.reuse.irregular_unions import Union
from perfmodel.models.reuse.placement import buffer_bytes, dram_read_cost, line_bytes
from perfmodel.models.reuse.reuse_windows import atoms_over_sectors
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
    full: bool = False,
    asked: tuple[Sequence[Requests], Sequence[Requests]] | None = None,
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
    full : bool
        Whether what the launch has not left in L2 is others' lines: only profilers empty it.
    asked : pair of sequences of Requests, optional
        Global and shared requests of the same instance, if they are known: they depend on neither
        caches nor L2 control.
    """
    requests, on_chip = map(list, asked or _requests(instance, shape))
    local = {i for i, r in enumerate(requests) if is_local(instance, r)}
    for i in local:  # what is read again there follows rules of its own
        requests[i] = replace(requests[i], strides=None, period=None, random=False)
    granule, warm = fetch_granule(device, control), cache == "warm"
    accesses = GlobalAccesses(instance, requests, device, control, granule, warm)
    misses = access_misses(accesses, shape, occupied)
    blocks = np.asanyarray(instance.blocks, float)
    running = np.minimum(1.0, device.sm_count * occupied.resident / blocks)
    later = read_by_later_waves(misses.unions, misses.fills, misses.touched, running)
    tables = find_tables(
        instance,
        [replace(r, period=misses.touched[i]) if i in later else r for i, r in enumerate(requests)],
        [fills * later.get(i, _ONE) for i, fills in enumerate(misses.fills)],
        misses.touched,
        misses.dram_bytes,
        device,
        control,
        claimed,
        running,
        granule,
        warm,
        full,
        misses.groups,
    )
    own = {i: local_traffic(instance, requests[i], device, occupied) for i in local}
    misses = _apart(misses, own)
    kept = besides = _ZERO
    if warm:
        # A line has one tag, however few of its sectors are there.
        sizes = zip(requests, misses.touched, misses.copies, strict=True)
        lines = [line_bytes(instance, r, t) * w for r, t, w in sizes]
        random = sum((n for r, n in zip(requests, lines, strict=True) if r.random), _ZERO)
        half = device.l2_kept_half or WARM_HALF * working_share(device)
        kept = warm_held(sum(lines, _ZERO), accesses.l2_size, random, half)
        tables = [replace(t, kept=np.maximum(kept, t.kept)) for t in tables]
        misses, besides = _without_kept(accesses, misses, tables, kept)
    for table in tables:
        misses = _with_table(table, accesses, misses)
    atomics = {
        i: atomic_memory(r, accesses.l2_size, warm, buffer_bytes(instance, r), device)
        for i, r in enumerate(requests)
        if r.sharing is not None
    }
    misses = _with_own_rules(misses, own, atomics)
    new = changed_once(instance, requests, misses.dram_bytes, atomics, accesses.l2_size)
    atomics = {i: a._replace(read=a.read * new[i]) for i, a in atomics.items()}
    misses = _with_own_rules(misses, own, atomics)
    writes = dram_writes(accesses, misses, tables, atomics, own, kept, running)
    traffic = Traffic(
        **counted_apart(requests, local),
        shared_requests=np.asanyarray(sum((r.requests for r in on_chip), _ZERO)),
        shared_wavefronts=np.asanyarray(sum((bank_clocks(instance, r) for r in on_chip), _ZERO)),
        l1_data_wavefronts=total([r.data_wavefronts for r in requests], range(len(requests))),
        l1_tag_wavefronts=total([r.tag_wavefronts for r in requests], range(len(requests))),
        accesses=tuple(_access_traffic(accesses, misses, i) for i in range(len(requests))),
        fetch_bytes=accesses.granule,
        tables=tuple(tables),
        compression=np.full(1, float(control.compression)),
        cold=not warm,
        **_below_l1(accesses, misses, tables, atomics, writes, besides, _on_sm(accesses, occupied)),
    )
    return traffic, requests, on_chip


def _requests(instance: Instance, shape: BlockShape) -> tuple[list[Requests], list[Requests]]:
    """Return the requests of all accesses: to global and local memory, and to shared memory."""
    kernel = instance.kernel
    known: ActivityCache = {}
    every = [access_requests(instance, i, shape, known) for i in range(len(kernel.accesses))]
    on_chip = [r for r in every if kernel.buffer(r.access.buffer).space == "shared"]
    return [r for r in every if kernel.buffer(r.access.buffer).space != "shared"], on_chip


def _apart(misses: Misses, local: Mapping[int, LocalTraffic]) -> Misses:
    """Return the misses where local memory touches nothing that outlasts the launch."""
    touched, copies = list(misses.touched), list(misses.copies)
    for i in local:
        touched[i], copies[i] = _ZERO, _ONE
    return misses._replace(touched=touched, copies=copies)


def _without_kept(
    accesses: GlobalAccesses, misses: Misses, tables: Sequence[Table], kept: Array
) -> tuple[Misses, Array]:
    """Return the misses less what the launch before has left, and the DRAM bytes of others [B]."""
    sectors, dram_bytes = list(misses.sectors), list(misses.dram_bytes)
    brought = atoms_over_sectors(misses.groups, accesses.granule)
    in_step = {i for t in tables if agreed(t.settled > 0) for i in t.members}
    besides = _ZERO
    for i, r in enumerate(accesses.requests):
        if r.access.kind != "store":
            touched = misses.touched[i]
            once = np.minimum(touched * brought.get(i, _ONE), dram_bytes[i])
            if i not in in_step:
                besides = besides + kept * (dram_bytes[i] - once)
            dram_bytes[i] = dram_bytes[i] - kept * once
            sectors[i] = sectors[i] - kept * np.minimum(touched / SECTOR, sectors[i])
    return misses._replace(sectors=sectors, dram_bytes=dram_bytes), besides


def _with_table(table: Table, accesses: GlobalAccesses, misses: Misses) -> Misses:
    """Return the misses where a table's loads miss by their shares, and its stores write again."""
    requests, fills = accesses.requests, misses.fills
    sectors, dram_bytes = list(misses.sectors), list(misses.dram_bytes)
    loads = [i for i in table.members if requests[i].access.kind == "load"]
    walks = [i for i in loads if table.random and not requests[i].random]
    loads = [i for i in loads if i not in walks]
    asked = sum((fills[i] for i in loads), _ZERO)
    fetched = table.read(accesses.warm)
    rewritten = _ZERO
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
    return misses._replace(
        sectors=sectors, dram_bytes=dram_bytes, rewritten=misses.rewritten + rewritten
    )


def _with_own_rules(
    misses: Misses, local: Mapping[int, LocalTraffic], atomics: Mapping[int, AtomicMemory]
) -> Misses:
    """Return the misses where local memory and atomics follow their own rules."""
    fills, sectors = list(misses.fills), list(misses.sectors)
    dram_bytes = list(misses.dram_bytes)
    for i, found in local.items():
        fills[i], sectors[i], dram_bytes[i] = found.fills, found.misses, found.read
    for i, atomic in atomics.items():
        sectors[i], dram_bytes[i] = atomic.misses, atomic.read
    return misses._replace(fills=fills, sectors=sectors, dram_bytes=dram_bytes)


def _on_sm(accesses: GlobalAccesses, occupied: Occupancy) -> Array:
    """Return the warps that an SM has at a time: fewer of a small launch."""
    blocks = side_by_side(occupied.resident, accesses.instance.blocks, accesses.device.sm_count)
    a_block = np.asanyarray(occupied.warps_per_sm) / np.maximum(occupied.blocks_per_sm, 1)
    return np.asanyarray(np.maximum(blocks * a_block, 1.0))


def _below_l1(
    accesses: GlobalAccesses,
    misses: Misses,
    tables: Sequence[Table],
    atomics: Mapping[int, AtomicMemory],
    writes: Writes,
    besides: Array,
    warps: Array,
) -> dict[str, Array]:
    """Return what L2 and DRAM move and what it costs them, by the field of `Traffic`.

    `warps` are those that an SM has at a time.
    """
    requests, device, control = accesses.requests, accesses.device, accesses.control
    granule, warm = accesses.granule, accesses.warm
    loads, stores = accesses.of("load"), accesses.of("store")
    fetching = accesses.of("load", "atomic")
    reaching = sent(misses.groups, requests, warps)
    stored = [r.sectors * part for r, part in zip(requests, reaching, strict=True)]
    store_sectors = total(stored, stores)
    atomic_sectors = total([l2_passes(r) for r in requests], accesses.of("atomic"))
    l2_reads = total(misses.fills, loads)
    asked = l2_reads + store_sectors + atomic_sectors
    reads, written = total(misses.dram_bytes, fetching), writes.written
    of_atomics = sum((a.read * a.read_cost for a in atomics.values()), _ZERO)
    cost = _read_cost(accesses, misses, tables, atomics) + of_atomics
    cost = cost + scattered_cost(tables, reads, written, warm)
    cost = cost + sum((t.read(warm) * t.pinned for t in tables), _ZERO)
    persisting, fleeting = marked_reads(tables, warm)
    again = normal_reads(tables, warm)
    # Parts that are read again and again take DRAM's time first, L2's later.
    settled = sum((t.again * t.settled for t in tables), _ZERO)
    besides = besides + sum((t.again * t.settled * t.settled_misses for t in tables), _ZERO)
    lone, rows = lone_sector(device), row_costs(device).rows
    filled, waited = random_misses(tables, requests, granule, warm, lone, rows)
    reads, cost = reads + writes.made_whole, cost + writes.made_whole
    if control.compression > 1:
        reads, written = reads / control.compression, written / control.compression
        cost = cost / control.compression
        persisting, fleeting = persisting / control.compression, fleeting / control.compression
        again = again / control.compression
    normal = np.maximum(reads - fleeting - persisting, 0.0)
    *_, (held_up, given) = writebacks(
        written,
        normal,
        fleeting,
        filled_share(tables, writes.granted, reads, warm, stores),
        writes.ways if crowds_writes(device) else writes.ways * 0,
        bool(tables),
        persisting,
        again,
        kept_share(tables, writes.granted),
    )
    if warm:
        touched = sum(misses.touched, _ZERO)
        moved = (l2_reads + store_sectors) * SECTOR
        early = found_early(writes.kept, moved, touched, store_sectors * SECTOR)
    else:
        early = room_early(writes.left, reads, store_sectors * SECTOR)
    missed = total(misses.sectors, fetching)
    return {
        "global_atomic_requests": total([r.requests for r in requests], accesses.of("atomic")),
        "l1_hit_sectors": total([r.sectors for r in requests], loads) - l2_reads,
        "l2_read_sectors": l2_reads,
        "l2_write_sectors": store_sectors,
        "l2_atomic_sectors": atomic_sectors,
        "l2_hit_rate": np.where(asked > 0, 1 - missed / np.maximum(asked, 1), 0.0),
        "l2_write_cost": _store_cost(accesses, stored, reaching, store_sectors),
        "l2_filled_sectors": filled,
        "l2_repeated_sectors": total(
            misses.fills,
            [
                i
                for t in tables
                for i in t.members
                if i in loads and (requests[i].random or not t.random)
            ],
        ),
        "dram_read_bytes": reads,
        "dram_write_bytes": written,
        "dram_replay_bytes": writes.replayed,
        "dram_read_cost": np.where(reads >= 1, cost / np.maximum(reads, 1), 1.0),
        "dram_write_cost": writes.cost * dearer_writes(device, writes.ways),
        "atomic_dram_share": of_atomics / np.maximum(cost + writes.taken, 1.0),
        "scattered_bytes": waited + writes.waited,
        "made_whole_bytes": writes.strided,
        "writeback_bytes": np.asanyarray(held_up(**given)),
        "writeback_streams": streams_between(normal, again, written),
        "early_share": np.maximum(settled / np.maximum(asked * SECTOR, 1.0), early),
        "early_read_bytes": np.minimum(besides, reads),
    }


def _read_cost(
    accesses: GlobalAccesses, misses: Misses, tables: Sequence[Table], atomics: Collection[int]
) -> Array:
    """Return what reads take of DRAM but for those of atomics, in bytes of a stream [B]."""
    within = {i: t.size / t.rounds.number for t in tables if t.random for i in t.members}
    usual = (i for i in accesses.of("load", "atomic") if i not in atomics)
    filled = {i: union.of_lines for i, union in misses.unions.items()}
    rows = row_costs(accesses.device)
    costs = (
        misses.dram_bytes[i]
        * dram_read_cost(
            accesses.instance,
            accesses.requests[i],
            accesses.granule,
            rows,
            filled.get(i, 0.0),
            within.get(i),
        )
        for i in usual
    )
    return np.asanyarray(sum(costs, _ZERO))


def _store_cost(
    accesses: GlobalAccesses, stored: Sequence[Array], reaching: Sequence[Array], sectors: Array
) -> Array:
    """Return what L2 takes for a stored sector over one of whole lines, a mean."""
    costs = (
        stored[i] * store_cost(stored[i], r.lines * reaching[i], r.wanted_bytes, accesses.device)
        for i, r in enumerate(accesses.requests)
        if r.access.kind == "store"
    )
    return np.where(sectors > 0, sum(costs, _ZERO) / np.maximum(sectors, 1e-9), 1.0)


def _access_traffic(accesses: GlobalAccesses, misses: Misses, i: int) -> AccessTraffic:
    """Return the record of the access at a position."""
    r = accesses.requests[i]
    again_l1, again_l2 = misses.again[i]
    return AccessTraffic(
        name=r.access.name,
        buffer=r.access.buffer,
        kind=r.access.kind,
        requests=r.requests,
        sectors=r.sectors,
        lines=r.lines,
        wanted_bytes=r.wanted_bytes,
        data_wavefronts=r.data_wavefronts,
        tag_wavefronts=r.tag_wavefronts,
        l1_fill_sectors=misses.fills[i],
        dram_bytes=misses.dram_bytes[i],
        sampled=r.sampled,
        again_l1=again_l1,
        again_l2=again_l2,
        alike=_alike(r, misses.unions.get(i)),
    )


def _alike(r: Requests, union: Union | None) -> float | None:
    """Return how many neighbouring blocks ask for the same, where they were followed."""
    if r.access.counted is not None and r.strides is None:
        return r.access.counted.alike
    return None if union is None else union.alike
