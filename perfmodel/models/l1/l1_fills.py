"""Fills of L1: sectors that loads bring into it, for a block and for all that follow on its SM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.formula import Formula
from perfmodel.models.grid.geometry import AXES
from perfmodel.models.l1.l1_tables import periodic_fills
from perfmodel.models.l2.followed_loads import drawn_fills, drawn_table_fills, followed_fills
from perfmodel.models.launch.occupancy import Occupancy
from perfmodel.models.launch.waves import side_by_side
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.irregular_unions import Union, among
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import (
    Group,
    Window,
    fetched,
    held,
    loads_by_l1,
    thread_extents,
)

Array = npt.NDArray[Any]

FOUND = Formula(
    name="share of what blocks of an SM read alike that one of them finds in L1",
    unit="1",
    text="min(1, capacity/walk)",
    symbols={
        "capacity": "L1 [B]",
        "walk": "what a block reads through L1 [B]",
    },
    holds="blocks that walk through the same data at a time",
    source="derived: each is at a place of its own, and L1 holds what came last; measured of naive "
    "attention, 16 and 12 blocks an SM: 0.69 to 0.77, 0.45 to 0.68 and 0.31 to 0.60 for 512, 768 "
    "and 1024 tokens, where it says 0.87, 0.58 and 0.44 (measurements/h200-attention/naive.csv)",
)
_DRIFT: Final = 4.0
"""Iterations that warps of a block are apart at most, while a load of one finds what another one
read: assumed."""
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
    unions: Mapping[int, Union],
) -> list[Array]:
    """Return the sectors that each access brings into L1; those past L1 bring all they ask for."""
    cached = loads_by_l1(requests, groups)
    base = thread_extents(requests, cached)
    capacity = np.asanyarray(occupied.l1_size, dtype=float)
    sharing = side_by_side(resident, blocks, device.sm_count)
    found = block_fills(instance, requests, cached, base, capacity, sharing)
    fills = [r.sectors * 1.0 for r in requests]
    # Blocks come and go on an SM, its L1 stays: what it can hold whole comes once for all of them.
    lengths = {
        r.access.buffer: buffer_bytes(instance, r)
        for r in requests
        if r.access.kind == "load" and r.access.cache == "l1"
    }
    stays = held(sum(lengths.values(), _ZERO), capacity)
    walk = np.maximum(sum(found, _ZERO) * SECTOR, 1.0)
    there = FOUND(capacity=capacity, walk=walk)
    totals = []
    for g, own in zip(cached, found, strict=True):
        still, several = alike(instance, g, sharing, device)
        # Data that every block reads alike stays for the next block of the SM.
        times = np.where(
            still, np.minimum(blocks, device.sm_count), blocks * (1 - there + there / several)
        )
        total = own * times
        whole = np.ceil(lengths[requests[g.members[0]].access.buffer] / SECTOR)
        once = whole * np.minimum(blocks, device.sm_count)
        total = total - stays * np.maximum(total - once, 0.0)
        totals.append(total)
        _shared_out(requests, g.members, total, fills)
    for i, r in enumerate(requests):
        beside = sum((f for j, f in enumerate(fills) if j != i), _ZERO) * SECTOR
        sms = np.minimum(blocks, device.sm_count)
        if r.period is not None and r.access.kind == "load" and r.access.cache == "l1":
            fills[i] = periodic_fills(r, fills[i], sms, beside, capacity)
        elif _is_followed(r):
            fills[i] = followed_fills(r, capacity, sharing, blocks, device, instance)
        elif r.strides is None and r.access.kind == "load" and r.access.cache == "l1":
            fills[i] = drawn_table_fills(instance, r, sms, sharing, beside, capacity)
            if r.in_blocks is not None:
                fills[i] = together_fills(r, fills[i], instance, blocks * 1.0, sharing, capacity)
            if i in unions:
                fills[i] = np.minimum(fills[i], r.sectors * unions[i].filled(capacity, sharing))
    for g, total in zip(cached, totals, strict=True):
        # Followed loads find what the others of their group have brought, and those bring the rest.
        followed = [i for i in g.members if _is_followed(requests[i])]
        others = [i for i in g.members if i not in followed]
        if followed and others:
            rest = np.maximum(total - sum((fills[i] for i in followed), _ZERO), 0.0)
            _shared_out(requests, others, rest, fills)
    fills = drawn_fills(instance, requests, fills, np.minimum(blocks, device.sm_count), capacity)
    for common in among(unions):
        members = [i for i in common if requests[i].access.cache == "l1"]
        if not members:
            continue
        size = lengths[requests[members[0]].access.buffer]
        every = sum((fills[i] for i in members), _ZERO)
        once = np.minimum(every, np.minimum(blocks, device.sm_count) * np.ceil(size / SECTOR))
        part = 1 - held(size, capacity) * (1 - once / np.maximum(every, 1e-9))
        for i in members:
            fills[i] = fills[i] * part
    return _multicast_fills(instance, requests, fills, device)


def _shared_out(
    requests: Sequence[Requests], members: Sequence[int], total: Array, fills: list[Array]
) -> None:
    """Let accesses bring so many sectors together, each as much as it asks for."""
    asked = sum((requests[i].sectors for i in members), _ZERO)
    share = np.minimum(1.0, total / np.maximum(asked, 1))
    for i in members:
        fills[i] = requests[i].sectors * share


def _is_followed(r: Requests) -> bool:
    """Say whether it was seen in some blocks what L1 has of a load."""
    counted = r.access.counted
    return counted is not None and bool(counted.misses) and r.access.cache == "l1"


def together_fills(
    r: Requests, fills: Array, instance: Instance, blocks: Array, sharing: Array, capacity: Array
) -> Array:
    """Return what an access without strides fills where a block's warps ask for it together.

    Warps of a block ask within a microsecond: for the same sector once together. In a loop they
    drift apart, and L1 has to hold what all blocks of the SM read of it meanwhile.

    Parameters
    ----------
    r : Requests
        With distinct sectors and lines of a block's warps.
    fills : array
        Sectors that each warp alone brings.
    instance : Instance
    blocks, sharing : array
        Blocks in all, and on an SM at a time.
    capacity : array
        Bytes of L1.
    """
    assert r.in_blocks is not None
    together: Array = np.minimum(fills, r.in_blocks[0])
    loops = instance.kernel.loop_nest(r.access.loop)
    if not loops:
        return together
    times = blocks
    for loop in loops:
        times = times * np.maximum(np.asanyarray(instance.trips[loop.variable], dtype=float), 1.0)
    step = r.in_blocks[2] * LINE / times * sharing
    kept = held(_DRIFT * step, capacity)
    return np.asanyarray(kept * together + (1 - kept) * fills)


def block_fills(
    instance: Instance,
    requests: Sequence[Requests],
    groups: Sequence[Group],
    base: Mapping[str, Array],
    capacity: Array | float,
    sharing: Array,
) -> list[Array]:
    """Return the sectors that a block fills L1 with, for each group of its loads.

    Loops that follow each other do not run at the same time: each fills L1 by itself.
    """
    found: dict[int, Array] = {}
    for root in (None, *(loop.variable for loop in instance.kernel.loops if loop.parent is None)):
        windows = loop_windows(instance, root)
        names: set[str | None] = {w.name for w in windows} if root else {None}
        nest = [g for g in groups if requests[g.members[0]].access.loop in names]
        weights = [_ONE] * len(nest)
        inside = fetched(nest, base, windows, np.asanyarray(capacity), SECTOR, weights, sharing)
        found.update(zip(map(id, nest), inside, strict=True))
    return [found[id(g)] for g in groups]


def alike(instance: Instance, group: Group, sharing: Array, device: Device) -> tuple[Array, Array]:
    """Return whether all blocks read the same, and how many of those on an SM do, if not all.

    Blocks that follow each other in the grid go to one SM after the other.
    """
    still, same = np.ones(1, dtype=bool), np.ones(1)
    for axis, blocks_of in zip(AXES, instance.grid, strict=True):
        moves = group.strides[f"blockIdx.{axis}"] != 0
        still = still & ~(moves & (np.asanyarray(blocks_of) > 1))
        same = np.where(still, same * np.asanyarray(blocks_of), same)
    return still, np.clip(same / device.sm_count, 1.0, np.maximum(sharing, 1.0))


def loop_windows(instance: Instance, *root: str | None) -> list[Window]:
    """Return the loops within one that has none around, or all, as windows, innermost first."""
    kernel = instance.kernel
    nests = {loop.variable: kernel.loop_nest(loop.variable) for loop in kernel.loops}
    loops = [v for v in kernel.loops if not root or nests[v.variable][0].variable == root[0]]
    loops.sort(key=lambda loop: -len(nests[loop.variable]))
    return [
        Window(
            loop.variable,
            _ONE,
            np.maximum(np.asanyarray(instance.trips[loop.variable], dtype=float), 1.0),
        )
        for loop in loops
    ]


def _multicast_fills(
    instance: Instance, requests: Sequence[Requests], fills: Sequence[Array], device: Device
) -> list[Array]:
    """Return the sectors that L2 gives out, where clusters of blocks share a read."""
    if not device.has_clusters:
        return list(fills)
    kernel = instance.kernel
    shared = [instance.multicast[kernel.accesses.index(r.access)] for r in requests]
    return [f / np.asanyarray(n, dtype=float) for f, n in zip(fills, shared, strict=True)]
