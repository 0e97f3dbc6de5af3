"""What blocks of a launch touch, by the addresses that its expressions give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.instance import Instance
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.distinct import distinct_pairs, first_of_equals
from perfmodel.models.grid.geometry import BLOCK_INDICES
from perfmodel.models.requests.addressing import addressing
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.enumeration import addresses_at
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
    instance, shape = accesses.instance, accesses.shape
    a = addressing(instance, instance.kernel.accesses.index(r.access), shape)
    # Guards that ask for more than where a thread is are left out.
    known = {*a.values, *trips, *BLOCK_INDICES, *shape.thread_indices()}
    a = replace(a, guards=tuple(g for g in a.guards if names(g) <= known))
    steps = math.prod(trips.values())
    places = np.unravel_index(np.arange(steps), tuple(trips.values())) if trips else ()
    at = {name: np.tile(n, len(numbers)) for name, n in zip(trips, places, strict=True)}
    blocks = np.unravel_index(numbers, grid_of(accesses), order="F")
    at |= {name: np.repeat(n, steps) for name, n in zip(BLOCK_INDICES, blocks, strict=True)}
    flat = (len(numbers), steps * shape.warps, WARP_SIZE)
    address, active = addresses_at(a, at)
    return address.reshape(flat), active.reshape(flat)
