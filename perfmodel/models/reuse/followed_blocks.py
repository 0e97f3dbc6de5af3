"""What blocks of a launch touch, by the addresses that its expressions give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.distinct import distinct_pairs, first_of_equals
from perfmodel.models.grid.geometry import BLOCK_INDICES
from perfmodel.models.requests.addressing import Addressing, addressing
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.patterns import Pattern, addresses_in, pattern_of

MOST_LANES: Final = 1 << 17
"""Lanes, loops gone through, that are followed at most for one load."""


class Asked(NamedTuple):
    """Sectors that requests of some blocks ask for, each with its block's place among these."""

    block: Array
    sector: Array

    def in_rows(self, row: int = 1) -> int:
        """Return the distinct sectors of each row of blocks, summed."""
        return len(distinct_pairs(self.block // row, self.sector))


class Followed(NamedTuple):
    """A load of one launch."""

    pattern: Pattern
    numbers: tuple[int, ...]

    @property
    def grid(self) -> tuple[int, ...]:
        """Blocks along each axis."""
        return self._extents[: len(BLOCK_INDICES)]

    @property
    def trips(self) -> tuple[int, ...]:
        """Trips of the loops around it."""
        return self._extents[len(BLOCK_INDICES) :]

    def within(self, most: int) -> Followed:
        """Return it with no more iterations in all: the first ones of the outer loops."""
        trips: list[int] = []
        for turns in reversed(self.trips):
            left = most // math.prod(trips)
            trips.append(turns if turns <= left else 1 if trips else max(left, 1))
        start = len(self.pattern.names) + len(self.grid)
        before, after = self.numbers[:start], self.numbers[start + len(trips) :]
        return self._replace(numbers=(*before, *reversed(trips), *after))

    @property
    def _extents(self) -> tuple[int, ...]:
        return self.numbers[len(self.pattern.names) :][: len(self.pattern.indices)]


def addressings_of(accesses: GlobalAccesses, positions: Iterable[int]) -> list[Addressing]:
    """Return what decides the addresses of some loads, without guards that data decides."""
    instance, shape, found = accesses.instance, accesses.shape, []
    for i in positions:
        position = instance.kernel.accesses.index(accesses.requests[i].access)
        a = addressing(instance, position, shape)
        # Guards that ask for more than where a thread is are left out.
        known = {*a.values, *a.trips, *BLOCK_INDICES, *shape.thread_indices()}
        found.append(replace(a, guards=tuple(g for g in a.guards if names(g) <= known)))
    return found


def patterns_of(loads: Iterable[Addressing]) -> tuple[tuple[Pattern, ...], list[Any]]:
    """Return the patterns of some loads, and their numbers one after the other."""
    patterns, numbers = [], []
    for a in loads:
        pattern, *own = pattern_of(a)
        patterns.append(pattern)
        numbers += own
    return tuple(patterns), numbers


def followed(patterns: Iterable[Pattern], numbers: Sequence[int]) -> list[Followed]:
    """Return the loads of a launch by its numbers, as `patterns_of` has both."""
    found, left = [], tuple(numbers)
    for pattern in patterns:
        count = len(pattern.names) + len(pattern.indices) + 1
        found.append(Followed(pattern, left[:count]))
        left = left[count:]
    return found


def asked_in(loads: Iterable[Followed], blocks: Array, first: bool = False) -> list[Asked]:
    """Return what loads ask for in some blocks of a launch, or in a first iteration."""
    found = []
    for load in loads:
        address, active = _addresses(load, blocks, first)
        ordered = np.sort(np.where(active, address // SECTOR, -1), axis=-1)
        taken = first_of_equals(ordered) & (ordered >= 0)
        block = np.broadcast_to(np.arange(len(blocks))[:, None, None], taken.shape)
        found.append(Asked(block[taken], ordered[taken]))
    return found


def together(parts: Sequence[Asked]) -> Asked:
    """Return what several loads ask for."""
    return Asked(*(np.concatenate([part[k] for part in parts]) for k in (0, 1)))


def _addresses(load: Followed, blocks: Array, first: bool) -> tuple[Array, Array]:
    """Return byte addresses and who takes part, by block, request and lane."""
    pattern = load.pattern
    trips = [1 if first else turns for turns in load.trips]
    steps = math.prod(trips)
    places = np.unravel_index(np.arange(steps), trips) if trips else ()
    loops = pattern.indices[len(BLOCK_INDICES) :]
    at = {name: np.tile(n, len(blocks)) for name, n in zip(loops, places, strict=True)}
    where = np.unravel_index(blocks, load.grid, order="F")
    at |= {name: np.repeat(n, steps) for name, n in zip(BLOCK_INDICES, where, strict=True)}
    flat = (len(blocks), steps * pattern.shape.warps, WARP_SIZE)
    address, active = addresses_in(pattern, load.numbers, at)
    return address.reshape(flat), active.reshape(flat)
