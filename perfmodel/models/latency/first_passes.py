"""First passes: of loops that go over the same data again and again, the first brings it into L1.

A loop over clusters around one over dimensions reads a point as often as there are clusters, and a
column of a matrix shares its sectors with the next ones: batches of later passes find in L1 what
the first has brought, and wait for nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.instance import Instance
from perfmodel.models.extremes import largest
from perfmodel.models.latency.first_readers import at_work
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.footprint import Extent, footprint
from perfmodel.models.requests.warp_requests import Requests

_KEPT: Final = 1.5
"""Sectors that come into L1, over those that would if it kept all, up to which it does: more come
again in passes that no share tells."""
_APART: Final = 0.95
"""Share of a loop's data that its iterations do not have in common from which on they have none."""


@mechanism(neutral=lambda *_: np.ones(1))
def first_passes(
    instance: Instance, requests: Sequence[Requests], fills: Sequence[Array], loop: str
) -> Array:
    """Return the share of a loop's batches that ask for data that no earlier pass has brought.

    `requests` are of loads in the loop, all with strides; `fills` the sectors that each brings into
    L1, a block that is at work.
    """
    shares = [_first(instance, r, f, loop) for r, f in zip(requests, fills, strict=True)]
    return np.asanyarray(largest(*shares))


def _first(instance: Instance, r: Requests, filled: Array, loop: str) -> Array:
    assert r.strides is not None
    *around, own = (v.variable for v in instance.kernel.loop_nest(loop))
    threads = [v for v in r.variables if v.target.startswith("threadIdx")]
    extents = [Extent(r.strides[v.name], at_work(r, v)) for v in threads]
    extents.append(_extent(instance, r, own))
    # Whoever takes part is at the same place of a sector, and comes to the next one together.
    together = np.ones(1, dtype=bool)
    for e in extents:
        together = together & (np.asanyarray(e.stride) % SECTOR == 0)
    share, touched = np.ones(1), footprint(extents, r.width, SECTOR)
    passes = np.ones(1)
    for name in reversed(around):
        outer = _extent(instance, r, name)
        extents.append(outer)
        more = footprint(extents, r.width, SECTOR)
        part = np.clip(more / np.maximum(touched * outer.count, 1e-9), 0.0, 1.0)
        step = np.abs(np.asanyarray(outer.stride))
        told = (step == 0) | (together & (step < SECTOR)) | (part > _APART)
        share = np.where(told, share * part, share)
        touched, passes = more, passes * outer.count
    once = footprint(extents[: len(threads) + 1], r.width, SECTOR)
    kept = filled <= _KEPT * once * passes * share
    return np.asanyarray(np.where(kept, share, 1.0))


def _extent(instance: Instance, r: Requests, loop: str) -> Extent:
    assert r.strides is not None
    trips = np.maximum(np.asanyarray(instance.trips[loop], dtype=float), 1.0)
    return Extent(r.strides[loop], trips)
