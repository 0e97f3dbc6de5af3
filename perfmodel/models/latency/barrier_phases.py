"""Blocks whose warps synchronise between loading and computing: what of the two overlaps.

Between two barriers a block first waits for its data, then computes. While it computes it requests
nothing, and before its data has arrived it has nothing to compute, so only other resident blocks
can use the units meanwhile. With few blocks per SM there is often none, and in the first wave all
blocks are in the same phase, since they start together.

The time of memory is therefore the larger of waiting and bandwidth, plus a part of the compute time
that is not hidden. That part falls with a power of the resident blocks, and with the number of
waves. Loops that make several passes over a row with barriers between the passes count only the
data that is read again.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.records import record

FEW_BLOCKS: Final = Coefficient("latency.barrier_phases.few_blocks")
FIRST_WAVE: Final = Coefficient("latency.barrier_phases.first_wave")
BARRIER_TIME = Formula(
    name="time of memory, barrier-synchronised blocks",
    unit="s",
    text="max(wait, bandwidth)"
    " + (computing + max(wait - computing, bandwidth) - max(wait, bandwidth))"
    "*(1 - (1 - concurrent**(-few)*min(1, wait/max(bandwidth, 1e-15)))*(1 - first/max(1, waves)))",
    symbols={
        "wait": "latency, and queueing of an SM's blocks for its busiest unit [s]",
        "computing": "compute time with no load outstanding [s]",
        "bandwidth": "time that the slower of L2 and DRAM needs [s]",
        "concurrent": "blocks that share an SM [1]",
        "few": "exponent: see coefficient few_blocks [1]",
        "first": "share of the first wave that is not hidden: see coefficient first_wave; 0 for "
        "passes over a row, of which none is short [1]",
        "waves": "waves of blocks [1]",
    },
    holds="blocks whose warps synchronise between their loads and their computation; DRAM is busy "
    "as long as any SM's block waits for data",
    source="fitted form: see coefficient few_blocks",
)

PASSES_TIME = Formula(
    name="time of memory, loops in passes with barriers between",
    unit="s",
    text="loops + again*max(0, passes - loops)",
    symbols={
        "loops": "time of memory as loops have it [s]",
        "passes": "time of memory of blocks with barriers between passes [s]",
        "again": "share of the requested data that an earlier pass has read [1]",
    },
    holds="by construction for one pass, whose loop desynchronises the warps",
    source="assumed; checked on a softmax in three passes (measurements/operators, pytorch)",
)


@record
class LoadingBlocks:
    """Blocks that load and compute, arrays over configurations."""

    device: Device  # that they run on
    # waves of blocks one after the other, with what they wait for an SM's busiest unit [s]
    latency_s: Array
    busy_s: Array  # issue and L1 of the busiest SM [s]
    load_s: Array  # latency of the slowest load [s]
    bandwidth_s: Array  # the slower of L2 and DRAM [s]
    concurrent: Array  # blocks that share an SM [1]
    waves: Array  # waves of blocks [1]


def read_again(instance: Instance, requests: Sequence[Requests]) -> Array:
    """Return the share of what loads in loops ask for that an earlier pass of them has read.

    Passes are turns of a loop around one with loads whose places do not depend on it: of a softmax
    whose rows fit nowhere the first looks for the largest element, and the rest compute. What waits
    for one load after the other computes between them, in all passes.
    """
    every = again = np.zeros(1)
    if instance.kernel.dependent:
        return np.zeros(1)
    for r in requests:
        if r.access.kind != "load" or r.access.loop is None or r.strides is None:
            continue
        passes = np.ones(1)
        for around in instance.kernel.loop_nest(r.access.loop)[:-1]:
            trips = np.maximum(np.asanyarray(instance.trips[around.variable], dtype=float), 1.0)
            still = np.asanyarray(r.strides.get(around.variable, 0)) == 0
            passes = passes * np.where(still, trips, 1.0)
        every = every + r.sectors
        again = again + r.sectors * (1 - 1 / passes)
    return np.asanyarray(np.where(every > 0, again / np.maximum(every, 1e-9), 0.0))


@mechanism(
    neutral=lambda blocks, passes=False: np.maximum(blocks.latency_s, blocks.bandwidth_s),
    evidence=["latency", "operators"],
)
def barrier_time(blocks: LoadingBlocks, passes: bool = False) -> Array:
    """Return the time of memory of blocks whose warps meet, by `BARRIER_TIME` [s].

    Data is on its way while a block waits for the first of it; in `passes` it asks bit by bit.
    """
    wait = blocks.latency_s
    computing = np.minimum(blocks.busy_s, wait)
    loaded = np.maximum(computing, wait - blocks.load_s * blocks.waves)
    return BARRIER_TIME(
        wait=wait,
        computing=computing if passes else loaded,
        bandwidth=blocks.bandwidth_s,
        concurrent=blocks.concurrent,
        few=FEW_BLOCKS(blocks.device),
        first=0.0 if passes else FIRST_WAVE(blocks.device),
        waves=blocks.waves,
    )
