"""Reuse between several loads of one buffer that no common stride describes.

Loads of one buffer may differ in shape: neighbours that wrap around or stop at an edge, the
remainder of a loop, the ends of a row. Counted separately, each would fetch its data from DRAM.
Their addresses are known, so blocks from the middle of the launch are enumerated: sectors that an
earlier load of the same block, or a block next to it, has fetched hit in L2, and only the rest is
new.

The share that is new is taken for the whole launch, on the condition that L2 holds what
concurrently running blocks touch.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.expressions import names
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.geometry import AXES, BLOCK_INDICES
from perfmodel.models.l1.stage import L1
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.random_places import uses_random
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import resident_share, reuse_knee
from perfmodel.models.reuse.walked_blocks import first_brought

_ZERO: Final = np.zeros(1)
_MOSTLY: Final = 0.5
"""Share of the smaller of two walks of a block that both touch from which on all blocks' walks
bring no more than the buffer: transposed ones meet in few blocks. By choice."""


@mechanism(neutral=lambda accesses, l1, touched, dram_reads: dict[int, Array](), evidence=[])
def new_shares(
    accesses: GlobalAccesses, l1: L1, touched: Sequence[Array], dram_reads: Sequence[Array]
) -> dict[int, Array]:
    """Return the share of what loads bring from DRAM that no other walk of the buffer brings.

    Of loads that coincide with others only, and come back to no earlier loop's data: of those that
    is known already. Walks are followed of one configuration at a time.
    """
    every = _walks(accesses, l1)
    if not every:
        return {}
    knee = reuse_knee(accesses.device)
    resident = resident_share(_at_a_time(accesses, touched), accesses.l2_size, knee)
    if not agreed(resident > 0):
        return {}
    sizes = {r.access.buffer: buffer_bytes(accesses.instance, r) for r in accesses.requests}
    stays = resident_share(summed(sizes.values()), accesses.l2_size, knee)
    found: dict[int, Array] = {}
    for walks in every:
        left, smallest = sizes[accesses.requests[walks[0][0]].access.buffer], np.asanyarray(np.inf)
        for members, own, alone in _first_brought(accesses, walks):
            if not agreed(own > 0):
                continue
            by_itself = summed(dram_reads[i] for i in members)
            smallest = np.minimum(smallest, own)
            # Blocks that go along with each other find what earlier walks of others brought; where
            # L2 holds all data, `perfmodel.models.l2.common_buffers` says so.
            rest = np.minimum(alone, np.maximum(left, 0.0)) - alone
            new = alone + (own - alone > _MOSTLY * smallest) * (1 - stays) * rest
            left = left - np.minimum(by_itself, new)
            # Ends of rows may be left out of what is brought.
            share = np.minimum(1.0, new / np.maximum(np.minimum(own, by_itself), 1e-9))
            found |= dict.fromkeys(members, 1 - resident * (1 - share))
    return found


def _at_a_time(accesses: GlobalAccesses, touched: Sequence[Array]) -> Array:
    """Return the bytes that blocks that run together touch: all of what they do not share out."""
    instance = accesses.instance
    part = np.minimum(1.0, accesses.wave / instance.blocks)
    every = _ZERO
    for r, size in zip(accesses.requests, touched, strict=True):
        whole = r.strides is not None and any(
            agreed((r.strides[name] == 0) & (np.asanyarray(extent) > 1))
            for name, extent in zip(BLOCK_INDICES, instance.grid, strict=True)
        )
        every = every + size * (1.0 if whole or not _known(instance, r) else part)
    return every


def _walks(accesses: GlobalAccesses, l1: L1) -> list[list[tuple[int, ...]]]:
    """Return the walks of each buffer that several go through, as positions of their loads.

    Those that are sure to take place come first: what others bring is there for the rest. Loads
    without strides are one: what they have in common is known already.
    """
    instance, requests, again = accesses.instance, accesses.requests, l1.reread_positions
    own = {i: g.members for g in l1.groups for i in g.members}
    loads = [i for i, r in enumerate(requests) if r.access.kind == "load" and _known(instance, r)]
    irregular: dict[str, tuple[int, ...]] = {}
    for i in loads:
        r = requests[i]
        if r.strides is None:
            irregular[r.access.buffer] = (*irregular.get(r.access.buffer, ()), i)
    own |= {i: members for members in irregular.values() for i in members}
    buffers: dict[str, dict[tuple[int, ...], bool]] = {}
    for i in loads:
        r, members = requests[i], own.get(i, (i,))
        if not any(m in again for m in members):
            walks = buffers.setdefault(r.access.buffer, {})
            walks[members] = walks.get(members, True) and _sure(instance, r)
    found = []
    for walks in buffers.values():
        if len(walks) > 1 and any(walks.values()):
            found.append(sorted(walks, key=lambda members: not walks[members]))
    return found


def _known(instance: Instance, r: Requests) -> bool:
    """Say whether a load's addresses follow from where its thread is."""
    index = instance.expression(r.access.index)
    if uses_random(index) or r.period is not None or not agreed(r.requests > 0):
        return False
    return names(index) <= _places(instance, r)


def _sure(instance: Instance, r: Requests) -> bool:
    """Say whether the same tells who takes part."""
    guard = r.access.guard
    return r.access.counted is None and (
        guard is None or names(instance.expression(guard)) <= _places(instance, r)
    )


def _places(instance: Instance, r: Requests) -> frozenset[str]:
    """Return the names that say where a thread is."""
    loops = (loop.variable for loop in instance.kernel.loop_nest(r.access.loop))
    indices = (f"{kind}Idx.{axis[-1]}" for kind in ("block", "thread") for axis in AXES)
    return frozenset((*instance.known, *loops, *indices))


def _first_brought(
    accesses: GlobalAccesses, walks: Sequence[tuple[int, ...]]
) -> list[tuple[tuple[int, ...], Array, Array]]:
    """Return the bytes of DRAM's atoms that each walk touches, and is the first to bring [B]."""
    instance, requests = accesses.instance, accesses.requests
    sure = tuple(all(_sure(instance, requests[i]) for i in members) for members in walks)
    found = first_brought(accesses, walks, sure)
    return [*zip(walks, found[::2], found[1::2], strict=True)]
