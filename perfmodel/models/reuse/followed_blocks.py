"""What blocks of a launch touch, by the addresses that its expressions give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, evaluate, names
from perfmodel.kernels.instance import Instance
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.distinct import distinct_pairs, first_of_equals
from perfmodel.models.grid.geometry import BLOCK_INDICES
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.warp_requests import Requests

MOST_LANES: Final = 1 << 17
"""Lanes, loops gone through, that are followed at most for one load."""


class Asked(NamedTuple):
    """Sectors that requests of some blocks ask for, each with its block's place among these."""

    block: Array
    sector: Array

    def in_rows(self, row: int = 1) -> int:
        """Return the distinct sectors of each row of blocks, summed."""
        return len(distinct_pairs(self.block // row, self.sector))


def asked_in(
    accesses: GlobalAccesses, loads: Iterable[Requests], numbers: Array, first: bool = False
) -> list[Asked]:
    """Return what loads ask for in some blocks of one configuration, or in a first iteration."""
    found = []
    for r in loads:
        trips = trips_around(accesses.instance, r)
        address, active = _addresses(
            accesses, r, numbers, dict.fromkeys(trips, 1) if first else trips
        )
        ordered = np.sort(np.where(active, address // SECTOR, -1), axis=-1)
        taken = first_of_equals(ordered) & (ordered >= 0)
        block = np.broadcast_to(np.arange(len(numbers))[:, None, None], taken.shape)
        found.append(Asked(block[taken], ordered[taken]))
    return found


def together(parts: Sequence[Asked]) -> Asked:
    """Return what several loads ask for."""
    return Asked(*(np.concatenate([part[k] for part in parts]) for k in (0, 1)))


def grid_of(accesses: GlobalAccesses) -> tuple[int, ...]:
    """Return the blocks along each axis, of one configuration."""
    return tuple(int(np.max(extent)) for extent in accesses.instance.grid)


def trips_around(instance: Instance, r: Requests) -> dict[str, int]:
    """Return the trips of the loops around an access, by the loops' variables."""
    return {
        loop.variable: int(np.max(instance.trips[loop.variable]))
        for loop in instance.kernel.loop_nest(r.access.loop)
    }


def _addresses(
    accesses: GlobalAccesses, r: Requests, numbers: Array, trips: Mapping[str, int]
) -> tuple[Array, Array]:
    """Return byte addresses and who takes part, by block, request and lane."""
    access, instance = r.access, accesses.instance
    index = instance.expression(access.index)
    guards: list[Node] = [
        instance.expression(g) for g in (instance.kernel.guard, access.guard) if g is not None
    ]
    threads = accesses.shape.thread_indices()
    inside = threads["threadIdx.x"] >= 0
    steps = math.prod(trips.values())
    env: dict[str, Any] = {name: int(np.max(value)) for name, value in instance.known.items()}
    left = numbers
    for name, extent in zip(BLOCK_INDICES, grid_of(accesses), strict=True):
        env[name] = (left % extent)[:, None, None, None]
        left = left // extent
    places = np.unravel_index(np.arange(steps), tuple(trips.values())) if trips else ()
    for name, place in zip(trips, places, strict=True):
        env[name] = place.astype(np.int64)[None, :, None, None]
    env |= {name: np.maximum(part, 0)[None, None] for name, part in threads.items()}
    full = (len(numbers), steps, *inside.shape)
    active = np.broadcast_to(inside[None, None], full).copy()
    for guard in guards:
        if names(guard) <= env.keys():
            active &= np.broadcast_to(np.asanyarray(evaluate(guard, env), dtype=bool), full)
    element = int(np.max(instance.element_bytes[access.buffer]))
    value = np.broadcast_to(np.asanyarray(evaluate(index, env)), full)
    address = np.where(active, value, 0).astype(np.int64) * element
    flat = (len(numbers), steps * inside.shape[0], inside.shape[-1])
    return address.reshape(flat), active.reshape(flat)
