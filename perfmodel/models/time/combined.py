"""Combined: the times of all resources as one, by what overlaps with what, and what none hides."""

from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.execution import Execution
from perfmodel.models.latency.chain import Chain
from perfmodel.models.power_mean import mean_time, power_mean
from perfmodel.models.time.atomic_terms import loaded_time, lookups_time
from perfmodel.models.time.bursts import burst_time
from perfmodel.models.time.common_traversal import with_traversal
from perfmodel.models.time.last_block import AFTER_TIME, last_block
from perfmodel.models.time.pipe_contention import WAVE_OVERLAP, once_time, turns_time
from perfmodel.models.time.queueing import memory_time
from perfmodel.models.time.resources import Resources

FRONT_OVERLAP: Final = Coefficient("time.combined.front_overlap")
SHARED_OVERLAP: Final = Coefficient("time.combined.shared_overlap")
OVERLAP: Final = Coefficient("time.combined.overlap")


def front_overlap(execution: Execution, chain: Chain) -> Array | float:
    """Return the exponent between issue and L1, by the share of L1's time that is shared memory's.

    Between barriers outside of loops a block's warps go in step, which was not measured. What
    `FRONT_OVERLAP` was fitted to was not translated from PTX.
    """
    kernel, traffic, device = execution.kernel, execution.traffic, execution.device
    loads = FRONT_OVERLAP(device)
    if not kernel.translated:
        return loads
    shared = np.atleast_1d(traffic.shared_wavefronts)
    others = np.maximum(traffic.l1_data_wavefronts, traffic.l1_tag_wavefronts)
    part = shared / np.maximum(shared + others, 1.0)
    if kernel.barriers:
        part = part * chain.looped / np.maximum(chain.looped + chain.instructions, 1.0)
    # With as many digits as an explanation shows.
    shown: Array = np.round(loads + (SHARED_OVERLAP(device) - loads) * part, 2)
    return shown


def combine(found: Resources) -> Array:
    """Combine the times of all resources into one, launch and ramp apart [s]."""
    device, l1, arithmetic = found.execution.device, found.sm.l1, found.arithmetic_s
    # Atomics use L2 beside loads; loops in shared memory wait for their turn beside all else.
    others = found.atomics.beside_memory(found.waits.dispatch_s)
    memory = memory_time(found.queueing)
    if found.steps is not None:  # which have issue, L1, the waits for loads and bandwidth
        return mean_time("all resources", OVERLAP(device), steps=memory, **others)
    parts, overlap = {"memory": memory, **others}, found.overlap
    if not found.queueing.synchronised:  # else it is in the blocks' waits already
        # What comes through an SM's port L2 gives: a pipeline, whose slower end decides.
        parts["sm"] = mean_time("SM, busy", overlap, arithmetic=arithmetic, l1=l1.own_s)
    # The waits for loads stand in the queue too: they count once.
    busy = mean_time("SM, issue and L1", overlap, arithmetic=arithmetic, l1=l1.time_s)
    waiting, stalls = FRONT_OVERLAP(device), found.waits.stalls_s
    busy = mean_time("SM, waiting for loads", waiting, issue_and_l1=busy, stalls=stalls)
    in_turns = _in_turns(found)
    together = mean_time("all resources", OVERLAP(device), **parts)
    return _at_least(found, np.asanyarray(np.maximum(np.maximum(busy, in_turns), together)))


def _at_least(found: Resources, together: Array) -> Array:
    """Return the time with what no overlap hides, from that of all resources together [s]."""
    in_l2, bandwidth = found.atomics.in_l2, found.queueing.bandwidth_s
    if in_l2 is not None:
        if found.atomics.shared_s is None:
            together = np.maximum(together, loaded_time(found.execution, in_l2, bandwidth))
        together = np.maximum(together, lookups_time(found.execution, in_l2, found.memory.l2))
    after = AFTER_TIME(bandwidth=bandwidth, before=found.waits.chain.before)
    return largest(with_traversal(found, together), last_block(found), after, burst_time(found))


def _in_turns(found: Resources) -> Array:
    """Return the time of warps that wait and compute in turn [s]."""
    arithmetic, latency, chain = found.arithmetic_s, found.latency, found.waits.chain
    concurrent, device = found.queueing.blocks.concurrent, found.execution.device
    # Clocks that a kernel file states were fitted with `WAVE_OVERLAP`.
    if chain.known and found.execution.kernel.translated:
        computing = chain.between / chain.clock * latency.waves
        once = once_time(arithmetic, latency.time_s, computing, concurrent, device)
    else:
        work = arithmetic * (1 - 1 / np.maximum(concurrent, 1.0))
        once = power_mean((work, latency.time_s), WAVE_OVERLAP(device))
    resident_waves = found.waits.resident_waves
    return turns_time(*(arithmetic, latency.time_s, once, resident_waves, chain.far_waits, device))
