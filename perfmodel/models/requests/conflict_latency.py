"""Latency of loads that need several wavefronts: later data after bank conflicts or many lines.

A load with bank conflicts in shared memory, or one that touches several lines in L1, is served in
several passes (wavefronts), and its data is complete only after the last. A single warp that waits
for the load sees its latency grow by a fixed number of clocks per further pass. Shared loads that
are issued together wait for the last pass of the last one, and occupy the data stage for one clock
per pass. Those of global memory that L1 has take as many clocks for the passes of each: 130, 194,
325 and 596 clocks for 1, 2, 4 and 8 loads of 32 passes
(measurements/l1/h200-sxm/stores-and-loads).

This is latency of one warp. What the passes cost the SM's throughput is in the L1 term.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.warp_requests import Requests

PASS_CLOCKS: Final = Coefficient("requests.conflict_latency.pass_clocks")


def further_passes(requests: Sequence[Requests], unroll: Array) -> tuple[Array, Array]:
    """Return the passes of L1 beyond one a load: of the longest load of a batch, and of the others.

    The batch has a load of each access in `unroll` iterations.
    """
    each = [_each(np.maximum(r.data_wavefronts, r.tag_wavefronts), r) - 1 for r in requests]
    longest = largest(*each)
    return longest, np.maximum(summed(each) * unroll - longest, 0.0)


@mechanism(neutral=lambda *_: (np.zeros(1), np.zeros(1)), evidence=["instructions"])
def conflict_clocks(
    instance: Instance, on_chip: Sequence[Requests], depths: Sequence[int], device: Device
) -> tuple[Array, Array]:
    """Return the clocks of a lone warp for further passes of its shared loads, once and in loops.

    Of loads that do not wait for one another each pass takes L1 a clock; the last of them comes as
    many later. Each waits for as many others as its depth says.
    """
    threads = np.asanyarray(instance.threads_per_block, dtype=float)
    warps = np.ceil(threads / WARP_SIZE) * np.asanyarray(instance.blocks, dtype=float)
    total = {False: np.zeros(1), True: np.zeros(1)}
    last: dict[tuple[str | None, int], Array] = {}
    for r, depth in zip(on_chip, depths, strict=True):
        if r.access.kind != "load":
            continue
        looped = r.access.loop is not None
        # Shared memory has no tags to look up.
        more = (_each(r.data_wavefronts, r) - 1) * r.requests / warps
        total[looped] = total[looped] + more
        at = (r.access.loop, depth)
        last[at] = np.maximum(last.get(at, np.zeros(1)), more)
    for (loop, _), more in last.items():
        total[loop is not None] = total[loop is not None] + (PASS_CLOCKS(device) - 1) * more
    return total[False], total[True]


def _each(passes: Array, r: Requests) -> Array:
    each = passes / np.maximum(r.requests, 1e-9)
    return np.asanyarray(np.where(r.requests > 0, np.maximum(each, 1.0), 1.0))
