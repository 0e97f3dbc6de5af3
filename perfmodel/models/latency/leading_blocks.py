"""Blocks that read the same tile in the same iteration: every one of them waits for DRAM.

When several blocks read the same data in the same loop iteration, one of them misses L2 and the
profiler counts hits for the others. But their requests arrive while the fill is outstanding, so
they wait for DRAM as well. A block that runs ahead misses in every iteration; blocks behind it hit,
catch up, and wait with it: all proceed at the pace of the leading block. The latency of such an
iteration is therefore DRAM's, however high the hit rate.

A block whose tile spans several DRAM pages waits for the slowest of them.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.grid.affine import Variable
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.footprint import Extent, footprint
from perfmodel.models.requests.warp_requests import Requests

DRAM_PAGE: Final = 4096
"""Bytes from which on lanes wait for lines as far apart as those that
`perfmodel.models.latency.batch.MOST_SPREAD` was measured with."""

MOST_PAGES: Final = Coefficient("latency.leading_blocks.most_pages")


@mechanism(neutral=lambda *_: np.ones(1), evidence=["source-kernels"])
def reading_alike(r: Requests, wave: Array) -> Array:
    """Return how many blocks of those that run at a time read the same in the same turn.

    `wave` blocks run at a time, in the order of their numbers; 1 where no strides tell.
    """
    found, faster = np.ones(1), np.ones(1)
    if r.strides is None:
        return found
    for v in sorted((v for v in r.variables if v.is_block), key=lambda v: (v.target, v.weight)):
        extent = np.asanyarray(v.extent, dtype=float)
        among = np.clip(wave / faster, 1.0, extent)
        found = found * np.where(np.asanyarray(r.strides[v.name]) == 0, among, 1.0)
        faster = faster * extent
    return np.asanyarray(found)


def pages_at_once(requests: Sequence[Requests], device: Device) -> Array:
    """Return the pages of DRAM that a block reads from at once, at most `MOST_PAGES`."""
    found = np.zeros(1)
    for r in requests:
        if r.strides is not None:
            found = found + footprint(extents_at_work(r), r.width, DRAM_PAGE)
    return np.asanyarray(np.minimum(found, MOST_PAGES(device)))


def extents_at_work(r: Requests, lanes: bool = False) -> list[Extent]:
    """Return where a block's threads go that guards let in, or only a warp's lanes."""
    assert r.strides is not None
    every = ((v, v.extent) for v in r.variables if v.target.startswith("threadIdx"))
    return [
        Extent(r.strides[v.name], _at_work(r, v, count))
        for v, count in (r.lanes if lanes else every)
    ]


def active_iterations(instance: Instance, r: Requests, loop: str) -> Array:
    """Return the iterations of a loop that guards let a request into, whole or in part."""
    trips = np.asanyarray(instance.trips[loop], dtype=float)
    return np.asanyarray(np.ceil(trips * r.shares.get(loop, 1.0) - 1e-9))


def _at_work(r: Requests, v: Variable, count: Array) -> Array:
    return np.asanyarray(np.maximum(count * np.asanyarray(r.shares.get(v.name, 1.0)), 1.0))
