"""L1 misses: sectors that loads fill L1 with, per block and over all blocks of an SM.

The working set of a window of execution (the resident blocks of an SM in one iteration, in a loop,
in a block's lifetime) is fetched once if it fits L1, and again in every longer window if it does
not: see `perfmodel.models.reuse.reuse_windows`. Loads that bypass L1, and stores, always go to L2.

Resident blocks that read the same data at different times find what another one read last: of data
that a block walks through, the share found is L1's size over the bytes of the walk. Warps of one
block that ask for the same sector within a short time share one fill. In loops they may drift a few
iterations from one another, which lengthens the window by as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.kernels.instance import Instance
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.l1_tables import periodic_fills
from perfmodel.models.l1.traced_fills import drawn_fills, drawn_table_fills, traced_fills
from perfmodel.models.launch.placed_blocks import placed
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import Group, apart, loads_by_l1, thread_extents
from perfmodel.models.reuse.irregular_unions import Union, among
from perfmodel.models.reuse.iteration_lines import Box, iterations
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import (
    SharedCache,
    Walks,
    Window,
    fetched,
    l1_knee,
    resident_share,
    reuse_knee,
)

FOUND = Formula(
    name="L1 hit share of data that all blocks of an SM traverse",
    unit="1",
    text="min(1, capacity/walk)",
    symbols={
        "capacity": "L1 [B]",
        "walk": "bytes that a block reads through L1 [B]",
    },
    holds="blocks that traverse the same data at the same time",
    source="derived: each block is at a place of its own, and L1 holds what was read last; naive "
    "attention, 16 and 12 blocks per SM: measured 0.69 to 0.77, 0.45 to 0.68 and 0.31 to 0.60 for "
    "512, 768 and 1024 tokens, where this says 0.87, 0.58 and 0.44 (measurements/operators, "
    "attention)",
)
DRIFT: Final = Coefficient("l1.l1_fills.drift")
_ONE: Final = np.ones(1)


def l1_fills(
    accesses: GlobalAccesses, groups: Sequence[Group], unions: Mapping[int, Union]
) -> list[Array]:
    """Return the sectors that each access brings into L1; those past L1 bring all they ask for."""
    cached = [
        part for g in loads_by_l1(accesses.requests, groups) for part in apart(g, accesses.requests)
    ]
    fills = [r.sectors * 1.0 for r in accesses.requests]
    stores = [g for g in groups if accesses.requests[g.members[0]].access.kind == "store"]
    totals = _walked_fills(accesses, cached, stores)
    for g, total in zip(cached, totals, strict=True):
        _share_out(accesses.requests, g.members, total, fills)
    _fill_at_places(accesses, unions, fills)
    for g, total in zip(cached, totals, strict=True):
        # Followed loads find what the others of their group have brought, and those bring the rest.
        followed = [i for i in g.members if _is_followed(accesses.requests[i])]
        others = [i for i in g.members if i not in followed]
        if followed and others:
            rest = np.maximum(total - summed(fills[i] for i in followed), 0.0)
            _share_out(accesses.requests, others, rest, fills)
    fills = drawn_fills(accesses, fills)
    _fill_unions_once(accesses, unions, fills)
    return _multicast_fills(accesses, fills)


def _walked_fills(
    accesses: GlobalAccesses, cached: Sequence[Group], stores: Sequence[Group]
) -> list[Array]:
    """Return the sectors that affine loads bring into all L1s; `stores` take lines too."""
    instance, requests, capacity = accesses.instance, accesses.requests, accesses.l1_size
    found = block_fills(accesses, cached, stores)
    # Blocks come and go on an SM, its L1 stays: what it can hold whole comes once for all of them.
    lengths = {r.access.buffer: buffer_bytes(instance, r) for r in requests if _by_l1(r)}
    stays = resident_share(summed(lengths.values()), capacity, reuse_knee(accesses.device))
    totals = []
    for g, total in zip(cached, _of_all_blocks(accesses, cached, found), strict=True):
        whole = np.ceil(lengths[requests[g.members[0]].access.buffer] / SECTOR)
        totals.append(total - stays * np.maximum(total - whole * accesses.sms, 0.0))
    return totals


def _of_all_blocks(
    accesses: GlobalAccesses, cached: Sequence[Group], found: Sequence[Array]
) -> list[Array]:
    """Return the sectors that groups bring into all L1s, of which a block brings those `found`.

    Blocks that read what others further on in the grid read, or what all do, keep together while
    they start together: one brings it. Blocks that follow each other do not (`FOUND`).
    """
    blocks, sms, capacity, device = accesses.blocks, accesses.sms, accesses.l1_size, accesses.device
    first = np.minimum(blocks, sms * accesses.blocks_on_sm)
    held = first / sms
    places = [
        placed(accesses.instance, partial(_moves, g), np.maximum(held, 1.0), device) for g in cached
    ]
    there = FOUND(capacity=capacity, walk=np.maximum(summed(found) * SECTOR, 1.0))
    # Data that all blocks read stays for an SM's next blocks, if L1 holds what its blocks read.
    together = summed(own * SECTOR * held / p.first for own, p in zip(found, places, strict=True))
    stays = resident_share(together, capacity, reuse_knee(device))
    totals = []
    for own, p in zip(found, places, strict=True):
        still = p.sets == 1
        start = np.where(still | (p.share > 0), 1 / p.first, 1 - there + there / p.first)
        again = np.where(still, (1 - stays) / p.later, 1 - there + there / p.later)
        totals.append(own * (first * start + (blocks - first) * again))
    return totals


def _moves(g: Group, name: str) -> Array:
    """Say whether a block index moves the addresses of a group."""
    return np.asanyarray(g.strides[name] != 0)


def _fill_at_places(
    accesses: GlobalAccesses, unions: Mapping[int, Union], fills: list[Array]
) -> None:
    """Put in what loads bring whose places no strides tell, one after the other."""
    capacity = accesses.l1_size
    for i, r in enumerate(accesses.requests):
        others = summed(f for j, f in enumerate(fills) if j != i) * SECTOR
        if r.period is not None and _by_l1(r):
            fills[i] = periodic_fills(r, fills[i], accesses.sms, others, capacity, accesses.device)
        elif _is_followed(r):
            fills[i] = traced_fills(accesses, r)
        elif r.strides is None and _by_l1(r):
            fills[i] = drawn_table_fills(accesses, r, others)
            if r.distinct_per_block is not None:
                fills[i] = together_fills(accesses, r, fills[i])
            if i in unions:
                most = unions[i].filled(capacity, accesses.blocks_on_sm, accesses.device)
                fills[i] = np.minimum(fills[i], r.sectors * most)


def _fill_unions_once(
    accesses: GlobalAccesses, unions: Mapping[int, Union], fills: list[Array]
) -> None:
    """Let loads that share a union bring a buffer that L1 holds once to each SM."""
    requests, capacity = accesses.requests, accesses.l1_size
    knee = reuse_knee(accesses.device)
    for common in among(unions):
        members = [i for i in common if requests[i].access.cache == "l1"]
        if not members:
            continue
        size = buffer_bytes(accesses.instance, requests[members[0]])
        every = summed(fills[i] for i in members)
        once = np.minimum(every, accesses.sms * np.ceil(size / SECTOR))
        part = 1 - resident_share(size, capacity, knee) * (1 - once / np.maximum(every, 1e-9))
        for i in members:
            fills[i] = fills[i] * part


def _share_out(
    requests: Sequence[Requests], members: Sequence[int], total: Array, fills: list[Array]
) -> None:
    """Let accesses bring so many sectors together, each as much as it asks for."""
    asked = summed(requests[i].sectors for i in members)
    share = np.minimum(1.0, total / np.maximum(asked, 1))
    for i in members:
        fills[i] = requests[i].sectors * share


def _by_l1(r: Requests) -> bool:
    """Say whether an access is a load that L1 caches."""
    return r.access.kind == "load" and r.access.cache == "l1"


def _is_followed(r: Requests) -> bool:
    """Say whether it was seen in some blocks what L1 has of a load."""
    counted = r.access.counted
    return counted is not None and bool(counted.misses) and r.access.cache == "l1"


def together_fills(accesses: GlobalAccesses, r: Requests, fills: Array) -> Array:
    """Return what an access without strides fills where a block's warps ask for it together.

    Warps of a block ask within a microsecond: for the same sector once together. In a loop they
    drift apart, and L1 has to hold what all blocks of the SM read of it meanwhile. `fills` are the
    sectors that each warp alone brings.
    """
    assert r.distinct_per_block is not None
    together: Array = np.minimum(fills, r.distinct_per_block[0])
    if r.access.loop is None:
        return together
    device = accesses.device
    times = accesses.blocks * np.maximum(accesses.instance.runs(r.access.loop), 1.0)
    step, knee = DRIFT(device) * r.distinct_per_block[2] * LINE, reuse_knee(device)
    if r.walked is not None:  # each thread has sectors of its own until it goes on
        step, knee = r.distinct_per_block[0] / r.walked[0] * SECTOR, l1_knee(device)
    resident = resident_share(step / times * accesses.blocks_on_sm, accesses.l1_size, knee)
    return np.asanyarray(resident * together + (1 - resident) * fills)


def block_fills(
    accesses: GlobalAccesses, groups: Sequence[Group], stores: Sequence[Group] = ()
) -> list[Array]:
    """Return the sectors that a block fills L1 with, for each group of its loads.

    `stores` take lines too. Loops that follow each other do not run at the same time: each fills
    L1 by itself.
    """
    instance, requests = accesses.instance, accesses.requests
    cache = SharedCache(accesses.l1_size, SECTOR, accesses.blocks_on_sm, l1_knee(accesses.device))
    base = thread_extents(requests, [*groups, *stores])
    box = Box(base, accesses.shape.warps, cache.capacity / cache.boxes)
    found: dict[int, Array] = {}
    for root in (None, *(loop.variable for loop in instance.kernel.loops if loop.parent is None)):
        windows = loop_windows(instance, root)
        names: set[str | None] = {w.name for w in windows} if root else {None}
        nest, others = (
            [g for g in some if requests[g.members[0]].access.loop in names]
            for some in (groups, stores)
        )
        ones = [_ONE] * len(nest)
        every, copies = [*nest, *others], [_ONE] * (len(nest) + len(others))
        brought = iterations(accesses, every, copies, box) if windows else [None] * len(nest)
        walks = Walks(nest, base, windows, ones, brought[: len(nest)], [()] * len(nest))
        found.update(zip(map(id, nest), fetched(walks, cache), strict=True))
    return [found[id(g)] for g in groups]


def loop_windows(instance: Instance, *root: str | None) -> list[Window]:
    """Return the loops within one that has none around, or all, as windows, innermost first."""
    kernel = instance.kernel
    nests = {loop.variable: kernel.loop_nest(loop.variable) for loop in kernel.loops}
    loops = [v for v in kernel.loops if not root or nests[v.variable][0].variable == root[0]]
    loops.sort(key=lambda loop: -len(nests[loop.variable]))
    trips = (np.asanyarray(instance.trips[loop.variable], dtype=float) for loop in loops)
    return [Window(v.variable, _ONE, np.maximum(n, 1.0)) for v, n in zip(loops, trips, strict=True)]


def _multicast_fills(accesses: GlobalAccesses, fills: Sequence[Array]) -> list[Array]:
    """Return the sectors that L2 gives out, where clusters of blocks share a read."""
    if not accesses.device.has_clusters:
        return list(fills)
    kernel, multicast = accesses.instance.kernel, accesses.instance.multicast
    shared = [multicast[kernel.accesses.index(r.access)] for r in accesses.requests]
    return [f / np.asanyarray(n, dtype=float) for f, n in zip(fills, shared, strict=True)]
