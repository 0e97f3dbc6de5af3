"""Fills of L1: sectors that loads bring into it, for a block and for all that follow on its SM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.coalescing import SECTOR
from perfmodel.models.followed_loads import followed_fills
from perfmodel.models.geometry import AXES
from perfmodel.models.l1_tables import table_fills
from perfmodel.models.occupancy import Occupancy
from perfmodel.models.pipeline import multicast_fills
from perfmodel.models.placement import buffer_bytes, reached_bytes
from perfmodel.models.requests import Requests
from perfmodel.models.reuse import Group, Window, fetched, held

Array = npt.NDArray[Any]

_ONE: Final = np.ones(1)
_ZERO: Final = np.zeros(1)


def l1_fills(
    instance: Instance,
    requests: Sequence[Requests],
    groups: Sequence[Group],
    device: Device,
    occupied: Occupancy,
    resident: Array,
    blocks: Array,
) -> list[Array]:
    """Return the sectors that each access brings into L1; those past L1 bring all they ask for."""
    cached = [
        g
        for g in groups
        if requests[g.members[0]].access.kind == "load"
        and requests[g.members[0]].access.cache == "l1"
    ]
    base: dict[str, Array] = {}
    for g in cached:
        for v in requests[g.members[0]].variables:
            if not v.is_block and v.target.startswith("threadIdx"):
                base[v.name] = v.extent
    capacity = np.asarray(occupied.l1_size, dtype=float)
    sharing = np.minimum(resident, np.ceil(blocks / device.sm_count))
    windows = loop_windows(instance)
    found = fetched(cached, base, windows, capacity, SECTOR, [_ONE] * len(cached), sharing)
    fills = [r.sectors * 1.0 for r in requests]
    # Blocks come and go on an SM, its L1 stays: what it can hold whole comes once for all of them.
    lengths = {
        r.access.buffer: buffer_bytes(instance, r)
        for r in requests
        if r.access.kind == "load" and r.access.cache == "l1"
    }
    stays = held(sum(lengths.values(), _ZERO), capacity)
    for g, block_fills in zip(cached, found, strict=True):
        still = np.ones(1, dtype=bool)
        for axis in AXES:
            moves = g.strides[f"blockIdx.{axis}"] != 0
            still = still & ~(moves & (np.asarray(instance.grid[AXES.index(axis)]) > 1))
        # Data that every block reads alike stays for the next block of the SM.
        times = np.where(still, np.minimum(blocks, device.sm_count), blocks)
        total = block_fills * times
        whole = np.ceil(lengths[requests[g.members[0]].access.buffer] / SECTOR)
        once = np.maximum(whole, block_fills)
        once = once * np.minimum(blocks, device.sm_count)
        total = total - stays * np.maximum(total - once, 0.0)
        asked = sum((requests[i].sectors for i in g.members), _ZERO)
        share = np.minimum(1.0, total / np.maximum(asked, 1))
        for i in g.members:
            fills[i] = requests[i].sectors * share
    for i, r in enumerate(requests):
        counted = r.access.counted
        if counted is not None and counted.misses and r.access.cache == "l1":
            fills[i] = followed_fills(
                r, counted.misses, capacity, sharing, blocks, device, instance
            )
        elif r.strides is None and r.access.kind == "load" and r.access.cache == "l1":
            beside = sum((f for j, f in enumerate(fills) if j != i), _ZERO) * SECTOR
            sms = np.minimum(blocks, device.sm_count)
            fills[i] = table_fills(
                r, buffer_bytes(instance, r), reached_bytes(instance, r), sms, beside, capacity
            )
            if r.in_blocks is not None and r.access.loop is None:
                # Warps of a block ask within a microsecond: for the same sector once together.
                fills[i] = np.minimum(fills[i], r.in_blocks[0])
    return multicast_fills(instance, requests, fills, device)


def loop_windows(instance: Instance) -> list[Window]:
    """Return the kernel's loops as windows, the most deeply nested first."""
    kernel = instance.kernel
    loops = sorted(kernel.loops, key=lambda loop: -len(kernel.loop_nest(loop.variable)))
    return [
        Window(
            loop.variable,
            _ONE,
            np.maximum(np.asarray(instance.trips[loop.variable], dtype=float), 1.0),
        )
        for loop in loops
    ]
