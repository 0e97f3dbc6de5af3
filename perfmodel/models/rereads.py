"""Loops that read what an earlier loop has read: a row's maximum, then its sum, then the division.

Within one loop `perfmodel.models.reuse` counts what comes again. Between loops a block comes back
to the same data after it has read all of it, and finds what the cache could hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from perfmodel.kernels.instance import Instance
from perfmodel.models.coalescing import SECTOR
from perfmodel.models.geometry import AXES
from perfmodel.models.requests import Requests
from perfmodel.models.reuse import Group, held

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reread:
    """A group of loads that reads what an earlier group has read.

    Attributes
    ----------
    members : tuple of int
        Positions of its loads among the requests.
    per_block : array
        Bytes that a block reads from the first time on to the second, both groups and what lies
        between.
    """

    members: tuple[int, ...]
    per_block: Array

    def kept(self, blocks: Array, capacity: float | Array) -> Array:
        """Return the share that a cache still has, with so many blocks on it at a time."""
        return held(self.per_block * blocks, capacity)


def rereads(
    instance: Instance, requests: Sequence[Requests], groups: Sequence[Group]
) -> list[Reread]:
    """Return the groups of loads that read again what an earlier one has read.

    Parameters
    ----------
    instance : Instance
    requests : sequence of Requests
        Of the global accesses.
    groups : sequence of Group
        Of their affine ones.
    """
    loads = [g for g in groups if requests[g.members[0]].access.kind == "load"]
    loads.sort(key=lambda g: g.members[0])

    @cache
    def bytes_of(i: int) -> Array:
        return _block_bytes(instance, requests, loads[i])

    found = []
    for i, g in enumerate(loads):
        for j in range(i - 1, -1, -1):
            if _same_data(instance, requests, loads[j], g) and np.allclose(
                bytes_of(j), bytes_of(i), rtol=0.02
            ):
                between = sum((bytes_of(k) for k in range(j, i)), np.zeros(1))
                found.append(Reread(g.members, np.asarray(between)))
                break
    return found


def _same_data(instance: Instance, requests: Sequence[Requests], one: Group, other: Group) -> bool:
    a, b = requests[one.members[0]], requests[other.members[0]]
    if a.access.buffer != b.access.buffer or a.access.loop == b.access.loop:
        return False
    if a.period is not None or b.period is not None or not np.array_equal(a.offset, b.offset):
        return False
    return all(
        np.array_equal(one.strides[f"blockIdx.{axis}"], other.strides[f"blockIdx.{axis}"])
        for axis, extent in zip(AXES, instance.grid, strict=True)
        if np.any(np.asarray(extent) > 1)
    )


def _block_bytes(instance: Instance, requests: Sequence[Requests], group: Group) -> Array:
    """Return the bytes that a block reads by a group in all its iterations."""
    window: dict[str, Array] = {}
    r = requests[group.members[0]]
    for v in r.variables:
        if not v.is_block:
            window[v.name] = np.atleast_1d(np.asarray(v.extent, dtype=float))
    return np.asarray(np.atleast_1d(group.granules(window, SECTOR)) * float(SECTOR))


def without_rereads(
    again: Sequence[Reread],
    values: Sequence[Array],
    blocks: Array,
    capacity: float | Array,
    cached: Mapping[int, bool] | None = None,
) -> list[Array]:
    """Return what accesses bring into a cache, less what rereads find there.

    Parameters
    ----------
    again : sequence of Reread
    values : sequence of array
        By access: sectors or bytes.
    blocks : array
        Blocks on the cache at a time.
    capacity : array
        Bytes of the cache.
    cached : mapping of int to bool, optional
        Accesses that the cache may hold; by default all.
    """
    found = list(values)
    for reread in again:
        missing = 1 - reread.kept(blocks, capacity)
        for i in reread.members:
            if cached is None or cached.get(i, False):
                found[i] = np.asarray(found[i] * missing)
    return found
