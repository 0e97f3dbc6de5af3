"""Memory traffic in closed form: requests, L1, L2, DRAM, and the record that they make."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.atomics.shared_atomics import bank_clocks
from perfmodel.models.dram.stage import Dram, dram_stage
from perfmodel.models.global_accesses import GlobalAccesses, L2Start
from perfmodel.models.grid.geometry import BlockShape
from perfmodel.models.l1.local_memory import is_local
from perfmodel.models.l1.stage import L1, l1_stage
from perfmodel.models.l2.stage import L2, l2_stage
from perfmodel.models.launch.occupancy import Occupancy
from perfmodel.models.requests.drawn_walks import with_walks
from perfmodel.models.requests.random_places import Drawn, drawn_together
from perfmodel.models.requests.warp_requests import ActivityCache, Requests, access_requests
from perfmodel.models.reuse.irregular_unions import Union
from perfmodel.traffic import AccessTraffic, Traffic

Asked = tuple[Sequence[Requests], Sequence[Requests]]
"""Requests to global and local memory, and to shared memory."""


def closed_form_traffic(
    instance: Instance,
    shape: BlockShape,
    device: Device,
    occupied: Occupancy,
    start: L2Start,
    asked: Asked | None = None,
) -> tuple[Traffic, list[Requests], list[Requests]]:
    """Return the traffic of all configurations of an instance, its global and its shared requests.

    Configurations are of one block shape. Requests depend on neither caches nor L2 control: if they
    are known they may be given as `asked`.
    """
    requests, on_chip = map(list, asked or _requests(instance, shape))
    # What is read again in local memory follows rules of its own.
    requests = [
        replace(r, strides=None, period=None, random=False) if is_local(instance, r) else r
        for r in requests
    ]
    accesses = GlobalAccesses(instance, shape, requests, device, occupied, start)
    l1 = l1_stage(accesses)
    l2 = l2_stage(accesses, l1)
    dram = dram_stage(accesses, l1, l2)
    return _traffic(accesses, on_chip, l1, l2, dram), requests, on_chip


def _requests(instance: Instance, shape: BlockShape) -> Asked:
    """Return the requests of all accesses: to global and local memory, and to shared memory."""
    kernel = instance.kernel
    known: ActivityCache = {}
    every = [access_requests(instance, i, shape, known) for i in range(len(kernel.accesses))]
    every = with_walks(_with_common_draws(every))
    on_chip = [r for r in every if kernel.buffer(r.access.buffer).space == "shared"]
    return [r for r in every if kernel.buffer(r.access.buffer).space != "shared"], on_chip


def _with_common_draws(requests: Sequence[Requests]) -> list[Requests]:
    """Return requests of which random loads know what all those of their buffer draw from."""
    draws: dict[str, list[Drawn | None]] = {}
    for r in requests:
        if r.random and r.access.kind == "load":
            draws.setdefault(r.access.buffer, []).append(r.drawn)
    together = {buffer: drawn_together(parts) for buffer, parts in draws.items()}
    return [r if r.drawn is None else replace(r, drawn=together[r.access.buffer]) for r in requests]


def _traffic(
    accesses: GlobalAccesses, on_chip: Sequence[Requests], l1: L1, l2: L2, dram: Dram
) -> Traffic:
    """Return the record of what moves at each level."""
    requests = accesses.requests
    banks = (bank_clocks(accesses.instance, r, accesses.device) for r in on_chip)
    warp_requests, sectors = [r.requests for r in requests], [r.sectors for r in requests]
    load, store = ([i for i in accesses.of(k) if i not in l1.local] for k in ("load", "store"))
    local_load, local_store = (
        [i for i in accesses.of(k) if i in l1.local] for k in ("load", "store")
    )
    return Traffic(
        global_load_requests=summed(warp_requests[i] for i in load),
        global_load_sectors=summed(sectors[i] for i in load),
        global_store_requests=summed(warp_requests[i] for i in store),
        global_store_sectors=summed(sectors[i] for i in store),
        global_atomic_requests=summed(warp_requests[i] for i in accesses.of("atomic")),
        local_load_requests=summed(warp_requests[i] for i in local_load),
        local_load_sectors=summed(sectors[i] for i in local_load),
        local_store_requests=summed(warp_requests[i] for i in local_store),
        local_store_sectors=summed(sectors[i] for i in local_store),
        shared_requests=summed(r.requests for r in on_chip),
        shared_wavefronts=summed(banks),
        l1_data_wavefronts=summed(r.data_wavefronts for r in requests),
        l1_tag_wavefronts=summed(r.tag_wavefronts for r in requests),
        l1_hit_sectors=summed(sectors[i] for i in accesses.of("load")) - l2.read_sectors,
        l2_read_sectors=l2.read_sectors,
        l2_write_sectors=l2.write_sectors,
        l2_atomic_sectors=l2.atomic_sectors,
        l2_hit_rate=l2.hit_rate,
        l2_write_cost=l2.write_cost,
        l2_filled_sectors=l2.filled_sectors,
        l2_repeated_sectors=l2.repeated_sectors,
        dram_read_bytes=dram.read_bytes,
        dram_write_bytes=dram.write_bytes,
        dram_replay_bytes=dram.replay_bytes,
        dram_read_cost=dram.read_cost,
        dram_write_cost=dram.write_cost,
        atomic_dram_share=dram.atomic_share,
        scattered_bytes=dram.scattered_bytes,
        made_whole_bytes=dram.made_whole_bytes,
        writeback_bytes=dram.writeback_bytes,
        writeback_streams=dram.writeback_streams,
        early_share=dram.early_share,
        early_read_bytes=dram.early_read_bytes,
        fetch_bytes=accesses.granule,
        compression=np.full(1, float(accesses.control.compression)),
        cold=not accesses.warm,
        tables=tuple(l2.tables),
        accesses=_access_traffic(accesses, l1, l2),
    )


def _access_traffic(accesses: GlobalAccesses, l1: L1, l2: L2) -> tuple[AccessTraffic, ...]:
    """Return the records of the accesses, by position."""
    fills, dram_bytes = l1.asked_sectors, l2.misses.dram_bytes
    again = zip(l1.by_access(l1.reread_misses), l1.by_access(l2.reread_misses), strict=True)
    return tuple(
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
            dram_bytes=dram_bytes[i],
            sampled=r.sampled,
            again_l1=again_l1,
            again_l2=again_l2,
            alike=_alike(r, l1.unions.get(i)),
        )
        for i, (r, (again_l1, again_l2)) in enumerate(zip(accesses.requests, again, strict=True))
    )


def _alike(r: Requests, union: Union | None) -> Array | float | None:
    """Return how many neighbouring blocks ask for the same, where they were followed."""
    if r.access.counted is not None and r.strides is None:
        return r.access.counted.alike
    return None if union is None else union.alike
