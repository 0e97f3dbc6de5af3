"""Least times: what the time of all resources together is at the least, whatever overlaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.latency.block_waits import LATENCY_TIME
from perfmodel.models.time.atomic_terms import loaded_time, lookups_time
from perfmodel.models.time.bursts import burst_time
from perfmodel.models.time.issue import Pipe
from perfmodel.models.time.last_block import LastBlock, last_block
from perfmodel.models.time.resources import Resources
from perfmodel.models.time.walks import Walk, beside_walk, walk


@dataclass(frozen=True, slots=True)
class LeastTimes:
    """The time of all resources with what no overlap hides."""

    time_s: Array  # launch and ramp apart [s]
    walk: Walk | None = None  # of a loop in which blocks go over common data
    # until the last block ends; None where the rate of starting blocks is not known
    last: LastBlock | None = None


def least_times(found: Resources, together: Array) -> LeastTimes:
    """Return the time with what no overlap hides, from that of all resources together [s]."""
    execution, chain, queueing = found.execution, found.waits.chain, found.queueing
    bandwidth, in_l2 = queueing.bandwidth_s, found.atomics.in_l2
    if in_l2 is not None:
        if found.atomics.shared_s is None:
            together = np.maximum(together, loaded_time(execution, in_l2, bandwidth))
        together = np.maximum(together, lookups_time(execution, in_l2, found.memory.l2))
    common = walk(execution, chain)
    if common is not None:
        together = beside_walk(together, common, chain.slowest, _first_wave(found, together))
    last = _last_block(found)
    if last is not None:
        together = np.maximum(together, last.time_s)
    every = execution.device.sm_count * execution.resident
    outside_loops = (queueing.share >= 1) * 1.0
    waves = execution.blocks / every
    burst = burst_time(
        *(found.sm.l1, found.memory.l2, chain, outside_loops, waves, execution.device)
    )
    return LeastTimes(np.asanyarray(np.maximum(together, burst)), common, last)


def _first_wave(found: Resources, together: Array) -> Array:
    """Return the time of all resources for the first wave of blocks [s]."""
    busy = np.maximum(found.queueing.blocks.busy_s, found.front.arithmetic_s)
    # Blocks that are left wait as long as all others, and compute less, as they are few.
    waits = together / np.maximum(found.latency.waves, 1.0)
    return np.asanyarray(np.maximum(waits, busy / np.maximum(found.waits.resident_waves, 1.0)))


def _last_block(found: Resources) -> LastBlock | None:
    """Return the time until the last block ends; None where blocks start at no known rate."""
    waits, latency, execution = found.waits, found.latency, found.execution
    if waits.dispatch_s is None:
        return None
    # Whether blocks ask for all of their data at once, and wait for nobody else.
    at_once = np.asanyarray((found.queueing.share >= 1) & (not execution.kernel.barriers))
    one_wave = LATENCY_TIME(chain=latency.chain_s, ramp=latency.ramp_s, waves=1.0)
    return last_block(
        execution,
        waits.dispatch_s,
        waits.resident_waves,
        turn=waits.chain.total,
        last=np.atleast_1d(one_wave),
        busy=np.maximum(found.sm.pipes_s[Pipe.ISSUE], found.sm.l1.own_s) * at_once,
        concurrent=waits.concurrent,
    )
