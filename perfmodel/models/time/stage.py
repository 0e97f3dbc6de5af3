"""Predicted time: one term for each resource, and how the terms combine.

Each term is the time that one resource would need if all others were infinitely fast. Bandwidth and
latency of memory make one time by queueing (`perfmodel.models.time.queueing`). The rest combines by
power means, `(a**p + b**p)**(1/p)`: close to the maximum where one term dominates, and more where
several are similar, as units then wait for one another. The exponent is small between issue and L1
of an SM and large between everything else.

The launch overhead and the start-up, during which no resource is busy, are added.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import Device
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.global_atomics import AtomicTime
from perfmodel.models.execution import Execution, Timing
from perfmodel.models.formula import Formula
from perfmodel.models.l2.merged_reads import with_merged_reads
from perfmodel.models.latency.block_waits import block_waits
from perfmodel.models.latency.chain import Chain
from perfmodel.models.launch.gpcs import gpc_load
from perfmodel.models.launch.waves import unevenness
from perfmodel.models.power_mean import power_mean
from perfmodel.models.time.atomic_terms import atomics_of
from perfmodel.models.time.combined import combine, front_overlap
from perfmodel.models.time.issue import (
    Instructions,
    Pipe,
    busiest_pipe,
    instructions_of,
    pipe_cycles,
)
from perfmodel.models.time.launch import launch_floor
from perfmodel.models.time.memory_load import queueing
from perfmodel.models.time.memory_times import DramTime, L2Streams, dram_time, memory_times
from perfmodel.models.time.pipe_contention import mixed_pipes
from perfmodel.models.time.pipeline import pipeline_time
from perfmodel.models.time.resources import Resources, terms_by_name
from perfmodel.models.time.sm_times import SmClocks, SmTimes, sm_times
from perfmodel.models.time.step_queue import queue_of_steps
from perfmodel.models.time.steps import step_loop, steps_of
from perfmodel.records import record
from perfmodel.traffic import Traffic

__all__ = ["TimeModel", "Timing", "time_model"]


TOTAL_TIME = Formula(
    name="time",
    unit="s",
    text="launch + ramp + together",
    symbols={
        "launch": "launch overhead of an empty kernel [s]",
        "ramp": "start of a block and its slowest batch of loads [s]",
        "together": "time of all resources together [s]",
    },
    holds="kernels that are launched alone",
    source="definition",
)


@record
class TimeModel:
    """The terms of a prediction, arrays over configurations."""

    time_s: Array
    # seconds of each resource on its own, by the names of `perfmodel/reports/terms.toml`
    terms_s: Mapping[str, Array]
    clock: float  # of the SMs: lower while tensor cores work [Hz]
    traffic: Traffic  # as given, with reads of several SMs merged
    l2_streams: L2Streams  # what L2 moves
    sm: SmTimes | SmClocks  # units of an SM; of blocks that copy ahead the clocks of its pipes
    dram: DramTime
    # what each needs alone, and what it is made of; None where blocks copy ahead
    resources: Resources | None = None

    @property
    def chain(self) -> Chain:
        """What one block does, one thing after the other: the parts of latency and start-up."""
        assert self.resources is not None, "blocks that copy ahead have none"
        return self.resources.waits.chain

    @property
    def atomics(self) -> tuple[AtomicTime, ...]:
        """Each global atomic on its own."""
        found = None if self.resources is None else self.resources.atomics.in_l2
        return () if found is None else found.each


def time_model(execution: Execution) -> TimeModel:
    """Return the predicted time and its terms."""
    work = instructions_of(execution)
    execution = replace(execution, device=under_load(execution.device, work.executed))
    device, traffic, kernel = execution.device, execution.traffic, execution.kernel
    dram = dram_time(traffic, device)
    floor = launch_floor(device, execution.timing, traffic.cold, works=bool(kernel.accesses))
    if execution.instance.pipeline is not None:
        clocks = pipe_cycles(work.executed, device)
        time, terms, streams = pipeline_time(execution, floor, clocks, dram.time_s)
        sm_clocks = SmClocks(clocks)
        return TimeModel(time, terms, device.sm_clock, traffic, streams, sm_clocks, dram)
    sm = sm_times(execution, work)
    found = resources(execution, work, sm, dram)
    together = combine(found)
    known = {"launch": floor, "ramp": found.waits.ramp_s, "together": together}
    time = np.asanyarray(TOTAL_TIME(**known))
    return TimeModel(
        time_s=time,
        terms_s=terms_by_name(found, np.zeros(time.shape) + floor),
        clock=device.sm_clock,
        traffic=found.execution.traffic,
        l2_streams=found.memory.l2.streams,
        sm=sm,
        dram=dram,
        resources=found,
    )


def resources(execution: Execution, work: Instructions, sm: SmTimes, dram: DramTime) -> Resources:
    """Return what each resource needs alone, of blocks that do not copy ahead."""
    instance, device, kernel = execution.instance, execution.device, execution.kernel
    resident, balance = execution.resident, sm.balance
    arithmetic = mixed_pipes(sm.pipes_s, kernel.translated, device)
    contention = arithmetic / np.maximum(sm.pipes_s[Pipe.ISSUE], 1e-30)
    uneven = unevenness(instance, device.sm_count * resident / execution.blocks)
    waits = block_waits(execution, work.most, balance.busiest, uneven, dram.time_s, contention)
    atomics = atomics_of(execution, balance, dram, waits)
    steps = None
    if step_loop(kernel) is not None:
        steps = steps_of(execution, waits.chain, sm, work, uneven)
    latency = waits.latency if steps is None else steps.latency
    busy = np.maximum(arithmetic, sm.l1.own_s)
    execution = with_merged_reads(execution, busy, latency.time_s)
    memory = memory_times(execution, dram, gpc_load(instance, balance.work, resident, device))
    overlap = front_overlap(execution, waits.chain)
    busy = power_mean((busiest_pipe(sm.pipes_s), sm.l1.own_s), overlap)
    queue = queueing(execution, waits.chain, latency, memory, balance, busy)
    if steps is not None:
        queue = queue_of_steps(kernel, waits.chain, steps, queue, device)
    return Resources(
        *(execution, sm, arithmetic, overlap, memory, waits, latency, atomics, steps, queue)
    )


def under_load(device: Device, instructions: Mapping[str, Array]) -> Device:
    """Return the device at the clock that it has under these instructions."""
    products = agreed(instructions.get(Pipe.TENSOR16, np.zeros(1)) > 0)
    if device.tensor_clock is None or not products:
        return device
    return replace(device, sm_clock=device.tensor_clock)
