"""Batch loads: which loads of a launch a warp waits for together, and what they bring."""

from collections.abc import Sequence

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.execution import Execution
from perfmodel.models.launch.waves import at_work_share, taking_part
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.unrolled import loop_unroll, loops_of
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.records import record
from perfmodel.traffic import AccessTraffic


@record
class BatchPlace:
    """Where loads that are waited for together stand in a kernel."""

    loop: str | None  # variable of their loop; None outside all loops
    depth: int  # loads, one after the other, that they wait for before they go out
    ahead: bool  # whether they are copied to shared memory while the block works on earlier ones


@record
class BatchLoads:
    """Loads that a warp issues together, then waits for, and the launch that they are in."""

    execution: Execution  # the whole launch
    place: BatchPlace
    members: tuple[int, ...]  # their positions among the requests
    times: Array  # iterations of the loop
    unroll: Array  # iterations whose loads are in one batch
    count: Array  # batches, one after the other
    sectors: Array  # sectors that they bring into L1
    filled: Array  # sectors that a block brings into L1 for one batch
    fresh: Array  # lines of one batch that a warp had not met before
    lines: Array  # likewise of a block
    brought: Array  # share of the batches that are not for what L1 has from others
    part: Array  # share of a block's warps that have work

    @property
    def own(self) -> list[Requests]:
        """Requests of these loads."""
        return [self.execution.requests[i] for i in self.members]

    @property
    def traffic(self) -> list[AccessTraffic]:
        """What these loads move."""
        return [self.execution.traffic.accesses[i] for i in self.members]

    @property
    def loop(self) -> str | None:
        """Variable of the loop that they are in."""
        return self.place.loop

    @property
    def in_order(self) -> bool:
        """Whether the places of all of them have a closed form."""
        return all(r.strides is not None for r in self.own)

    @property
    def regular(self) -> bool:
        """Whether all warps wait for whoever comes first, as they walk over the same in order.

        So they do for atomics: none is found in L1.
        """
        atomic = all(r.access.kind == "atomic" for r in self.own)
        return atomic or (bool(self.execution.kernel.paces) and self.in_order)

    @property
    def scattered(self) -> bool:
        """Whether some of them are at random places."""
        return any(r.random for r in self.own)

    @property
    def alone(self) -> Array:
        """Whether each warp waits for its own: turn by turn they do; of one turn, for the last.

        Where places are not random, neighbours miss together.
        """
        return np.asanyarray((self.count > 1) | (not self.scattered))


def batch_loads(
    execution: Execution, place: BatchPlace, depths: Sequence[int]
) -> BatchLoads | None:
    """Return the loads of one place; None if there are none. `depths` are of all requests."""
    instance, loop = execution.instance, place.loop
    every = _loads_of(execution, place)
    members = [i for i in every if depths[i] == place.depth]
    if not members:
        return None
    own = [execution.requests[i] for i in members]
    times, unroll = loop_unroll(instance, loop, len(every))
    runs = times / unroll
    count = np.where(unroll < 1, runs, np.ceil(runs - 1e-9))  # below 1: waits that some skip
    blocks, warps = execution.blocks, execution.warps
    accesses = execution.traffic.accesses
    sectors = summed(accesses[i].l1_fill_sectors for i in members)
    filled = np.asanyarray(sectors / np.maximum(count * blocks, 1))
    lines = summed(r.lines * _fresh(r, loop) for r in own)
    fresh = np.maximum(lines * (unroll / np.maximum(warps * times, 1)), 1.0)
    brought = np.ones(1)
    if loop is None and all(r.access.kind == "load" for r in own):
        # Of several waits of straight code some are for what L1 has from others.
        share = filled * count * blocks / np.maximum(summed(r.sectors for r in own), 1)
        asked = summed(r.requests for r in own) * unroll / np.maximum(warps, 1)
        brought = np.where(unroll < 1, np.clip(asked * share, 0.0, 1.0), 1.0)
        some = fresh * np.minimum(share, 1.0) / np.maximum(brought, 1e-9)
        fresh = np.where(unroll < 1, np.maximum(some, 1.0), fresh)
    part = taking_part(own)  # who has no work waits for nothing
    if instance.kernel.block_work:
        part = np.minimum(part, at_work_share(instance))
    return BatchLoads(
        *(execution, place, tuple(members)),
        times=times,
        unroll=unroll,
        count=count,
        sectors=np.asanyarray(sectors),
        filled=filled,
        fresh=fresh,
        lines=np.asanyarray(lines * (unroll / np.maximum(blocks * times, 1))),
        brought=brought,
        part=part,
    )


def _loads_of(execution: Execution, place: BatchPlace) -> list[int]:
    """Return the positions of what a loop loads, copied ahead or not, whatever it waits for."""
    instance, requests = execution.instance, execution.requests
    loops = loops_of(instance, (r.access for r in requests))
    return [
        i
        for i, r in enumerate(requests)
        if loops[i] == place.loop
        and (r.access.kind == "load" or _returns(instance, r))
        and (r.access.ahead or r.access.cache == "shared") == place.ahead
    ]


def depths_of(instance: Instance, requests: Sequence[Requests]) -> list[int]:
    """Return how many loads, one after the other, each access has to wait for.

    In a program's loop what needs a later load waits for that of the turn before.
    """
    needs = {r.access.name: r.access.needs for r in requests}
    order = {name: n for n, name in enumerate(needs)}

    def depth(name: str) -> int:
        source = needs[name]
        later = instance.kernel.translated and order.get(source, 0) >= order[name]
        return 0 if later or source not in needs else depth(source) + 1

    return [depth(r.access.name) for r in requests]


def _returns(instance: Instance, r: Requests) -> bool:
    """Say whether threads wait for an atomic's old value."""
    if r.access.kind != "atomic":
        return False
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    return kind is not None and agreed(kind.returns) and agreed(r.requests > 0)


def _fresh(request: Requests, loop: str | None) -> Array:
    """Return the share of a request's lines that the previous iteration did not touch."""
    if loop is None or request.strides is None:
        return np.ones(1)
    return np.minimum(1.0, np.abs(request.strides[loop]) / SECTOR)
