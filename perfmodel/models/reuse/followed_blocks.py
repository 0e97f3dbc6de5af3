"""What blocks of a launch touch, by the addresses that its expressions give."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, evaluate, names
from perfmodel.kernels.instance import Instance
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.distinct import first_of_equals
from perfmodel.models.grid.geometry import BLOCK_INDICES, BlockShape
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.warp_requests import Requests

MOST_LANES: Final = 1 << 17
"""Lanes, loops gone through, that are followed at most for one load."""


class FollowedLaunch(NamedTuple):
    """A launch whose blocks are followed: its shape, and blocks along each axis."""

    instance: Instance
    shape: BlockShape
    grid: tuple[int, ...]


def followed_launch(accesses: GlobalAccesses) -> FollowedLaunch:
    """Return the launch of some accesses, of one configuration."""
    grid = tuple(int(np.max(extent)) for extent in accesses.instance.grid)
    return FollowedLaunch(accesses.instance, accesses.shape, grid)


def trips_around(instance: Instance, r: Requests) -> dict[str, int]:
    """Return the trips of the loops around an access, by the loops' variables."""
    return {
        loop.variable: int(np.max(instance.trips[loop.variable]))
        for loop in instance.kernel.loop_nest(r.access.loop)
    }


def touched_sectors(
    launch: FollowedLaunch, r: Requests, numbers: Array, trips: Mapping[str, int]
) -> tuple[Array, Array]:
    """Return the sectors that requests of some blocks ask for, each with its block."""
    address, active = _addresses(launch, r, numbers, trips)
    ordered = np.sort(np.where(active, address // SECTOR, -1), axis=-1)
    taken = first_of_equals(ordered) & (ordered >= 0)
    block = np.broadcast_to(np.arange(len(numbers))[:, None, None], taken.shape)
    return block[taken], ordered[taken]


def _addresses(
    launch: FollowedLaunch, r: Requests, numbers: Array, trips: Mapping[str, int]
) -> tuple[Array, Array]:
    """Return byte addresses and who takes part, by block, request and lane."""
    access, instance = r.access, launch.instance
    index = instance.expression(access.index)
    guards: list[Node] = [
        instance.expression(g) for g in (instance.kernel.guard, access.guard) if g is not None
    ]
    threads = launch.shape.thread_indices()
    inside = threads["threadIdx.x"] >= 0
    steps = math.prod(trips.values())
    env: dict[str, Any] = {name: int(np.max(value)) for name, value in instance.known.items()}
    left = numbers
    for name, extent in zip(BLOCK_INDICES, launch.grid, strict=True):
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
