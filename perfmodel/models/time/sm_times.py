"""Time of an SM's units: issue, arithmetic pipes and L1, each as long as it would need alone.

The busy clocks of a unit are averaged over all SMs, divided by the clock rate, and multiplied by
the load of the busiest SM over the average (`perfmodel.models.launch.waves`). The launch cannot end
before the busiest SM's unit has done its work.

How the units' times overlap is in `perfmodel.models.time.stage`.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.l1.throughput import L1Stages, l1_stages
from perfmodel.models.launch.waves import Balance, balances, crowding, side_by_side
from perfmodel.models.time.issue import Instructions, Pipe, pipe_cycles
from perfmodel.records import record

SM_TIME = Formula(
    name="time of an SM's unit",
    unit="s",
    text="cycles/clock*balance",
    symbols={
        "cycles": "busy clocks of the unit, averaged over SMs [clocks]",
        "clock": "SM clock [Hz]",
        "balance": "blocks of the busiest SM over the average [1]",
    },
    holds="equal blocks",
    source="definition",
)


@record
class L1Time:
    """L1 of the busiest SM."""

    stages: L1Stages
    balance: Array  # load of the busiest SM over the average [1]
    time_s: Array  # [s]
    own_s: Array  # without the port that L2's sectors come through [s]


@record
class SmClocks:
    """What the pipes of an SM need, arrays over configurations."""

    clocks: Mapping[str, Array]  # of issue, and each that the launch uses, averaged over SMs


@record
class SmTimes:
    """What the units of an SM need, arrays over configurations."""

    # issue, and each pipe that the launch uses: clocks, averaged over SMs, and time of the busiest
    clocks: Mapping[str, Array]
    pipes_s: Mapping[str, Array]
    l1: L1Time
    balance: Balance  # of what warps do


def sm_times(execution: Execution, work: Instructions) -> SmTimes:
    """Return the time of each unit of the busiest SM."""
    instance, device = execution.instance, execution.device
    blocks, resident = execution.blocks, execution.resident
    balance, l1_load, busy = balances(
        instance,
        execution.requests,
        device,
        resident,
        crowding(instance, blocks, resident, device.sm_count),
        execution.on_chip,
    )
    alike = balance.of_all(blocks, busy)
    if instance.kernel.block_work:  # in which is what all blocks do
        alike = balance.load
    # What no guard is before, blocks without other work do too.
    guarded = pipe_cycles(work.guarded, device)
    clocks, pipes_s = pipe_cycles(work.executed, device), {}
    for pipe, own in clocks.items():
        part = guarded.get(pipe, 0.0) / np.maximum(own, 1e-30)
        load = np.asanyarray(alike + (balance.load - alike) * part)
        pipes_s[pipe] = np.atleast_1d(SM_TIME(cycles=own, clock=device.sm_clock, balance=load))
    return SmTimes(clocks, pipes_s, _l1_time(execution, work.executed, l1_load), balance)


def _l1_time(execution: Execution, instructions: Mapping[str, Array], balance: Array) -> L1Time:
    """Return the time of L1, of blocks with this balance."""
    device = execution.device
    passing = (instructions.get(pipe, np.zeros(1)) for pipe in (Pipe.MASKED, Pipe.SHUFFLE))
    besides = summed(passing)
    concurrent = side_by_side(execution.resident, execution.blocks, device.sm_count)
    warps = execution.warps_per_block * concurrent
    stages = l1_stages(execution, besides, warps)
    without_port = replace(stages, port=np.zeros(1))
    time, own = (
        np.atleast_1d(SM_TIME(cycles=s.clocks, clock=device.sm_clock, balance=balance))
        for s in (stages, without_port)
    )
    return L1Time(stages, balance, time, own)
