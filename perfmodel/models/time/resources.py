"""Resources of a launch: what each needs alone, and what all of it is made of."""

from collections.abc import Mapping

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.execution import Execution
from perfmodel.models.latency.block_waits import BlockWaits, Latency
from perfmodel.models.time.atomic_terms import Atomics
from perfmodel.models.time.memory_times import MemoryTimes
from perfmodel.models.time.queueing import Queueing
from perfmodel.models.time.sm_times import SmTimes
from perfmodel.models.time.steps import Steps
from perfmodel.records import record


@record
class Resources:
    """What each resource needs for a launch alone, arrays over configurations."""

    execution: Execution  # with the reads of several SMs merged in its traffic
    sm: SmTimes
    arithmetic_s: Array  # issue and the arithmetic pipes, by `mixed_pipes` [s]
    overlap: Array | float  # exponent between these and L1: see `front_overlap`
    memory: MemoryTimes
    waits: BlockWaits
    latency: Latency  # of the waits; of blocks that work in steps, what these wait
    atomics: Atomics
    steps: Steps | None  # of blocks with barriers in a loop
    queueing: Queueing


def terms_by_name(found: Resources, floor_s: Array) -> Mapping[str, Array]:
    """Return the seconds of each resource by name, without those that the launch does not use."""
    waits, in_l2 = found.waits, found.atomics.in_l2
    every: dict[str, Array | None] = {
        "launch": floor_s,
        **{str(name): time for name, time in found.sm.pipes_s.items()},
        "l1": found.sm.l1.time_s,
        "dram": found.memory.dram.time_s,
        "dispatch": waits.dispatch_s,
        "ramp": waits.ramp_s,
        "latency": found.latency.time_s,
        "stalls": waits.stalls_s if found.steps is None else None,
        "atomics": None if in_l2 is None else in_l2.time_s,
        "shared-loops": found.atomics.shared_s,
        "l2": found.memory.l2.time_s,
        "writeback": found.memory.writeback_s,
    }
    return {name: np.asanyarray(time) for name, time in every.items() if time is not None}
