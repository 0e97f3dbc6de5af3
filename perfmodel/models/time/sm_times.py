"""Units of an SM: issue, the arithmetic pipes and L1, each as long as it would need alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import Device
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.l1.throughput import L1_CYCLES, l1_stages
from perfmodel.models.launch.waves import Balance, balances, crowding, side_by_side
from perfmodel.models.time.issue import Instructions, Pipe, pipe_cycles

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


@dataclass(frozen=True, slots=True)
class PipeTime:
    """Issue or one pipe of an SM."""

    clocks: Array  # for which it is busy, averaged over SMs [clocks]
    balance: Array  # load of the busiest SM over the average [1]
    time_s: Array  # of the busiest SM [s]


@dataclass(frozen=True, slots=True)
class L1Stages:
    """Busy clocks of L1's stages, averaged over SMs: what `L1_CYCLES` takes [clocks]."""

    data: Array
    fills: Array
    tags: Array
    lanes: Array
    port: Array
    sent: Array
    pages: Array

    @property
    def clocks(self) -> Array:
        """For which L1 is busy [clocks]."""
        return np.asanyarray(
            L1_CYCLES(
                data=self.data,
                fills=self.fills,
                tags=self.tags,
                lanes=self.lanes,
                port=self.port,
                sent=self.sent,
                pages=self.pages,
            )
        )


@dataclass(frozen=True, slots=True)
class L1Time:
    """L1 of the busiest SM."""

    stages: L1Stages
    balance: Array  # load of the busiest SM over the average [1]
    clock: float  # SM clock [Hz]
    time_s: Array  # [s]
    own_s: Array  # without the port that L2's sectors come through [s]


@dataclass(frozen=True, slots=True)
class SmTimes:
    """What the units of an SM need, arrays over configurations."""

    pipes: Mapping[str, PipeTime]  # issue, and each pipe that the launch uses, by name
    l1: L1Time
    balance: Balance  # of what warps do

    @property
    def pipes_s(self) -> dict[str, Array]:
        """Time of issue and of each pipe [s]."""
        return {name: pipe.time_s for name, pipe in self.pipes.items()}


def sm_times(execution: Execution, work: Instructions) -> SmTimes:
    """Return the time of each unit of the busiest SM."""
    instance, device = execution.instance, execution.device
    blocks, resident = execution.blocks, execution.resident
    found = balances(
        instance,
        execution.requests,
        device,
        resident,
        crowding(instance, blocks, resident, device.sm_count),
        execution.on_chip,
    )
    balance = found.warps
    alike = balance.of_all(blocks, found.busy)
    if instance.kernel.block_work:  # in which is what all blocks do
        alike = balance.load
    return SmTimes(
        pipes=_pipe_times(work, device, balance.load, alike),
        l1=_l1_time(execution, work.executed, found.l1.load),
        balance=balance,
    )


def _pipe_times(
    work: Instructions, device: Device, load: Array, alike: Array
) -> dict[str, PipeTime]:
    """Return the time of issue and each pipe; `alike` is the load of what all blocks do."""
    # What no guard is before, blocks without other work do too.
    guarded = pipe_cycles(work.guarded, device)
    found = {}
    for pipe, clocks in pipe_cycles(work.executed, device).items():
        part = guarded.get(pipe, 0.0) / np.maximum(clocks, 1e-30)
        balance = np.asanyarray(alike + (load - alike) * part)
        time = SM_TIME(cycles=clocks, clock=device.sm_clock, balance=balance)
        found[pipe] = PipeTime(clocks, balance, np.atleast_1d(time))
    return found


def _l1_time(execution: Execution, instructions: Mapping[str, Array], balance: Array) -> L1Time:
    """Return the time of L1, of blocks with this balance."""
    instance, traffic, device = execution.instance, execution.traffic, execution.device
    passing = (instructions.get(pipe, np.zeros(1)) for pipe in (Pipe.MASKED, Pipe.SHUFFLE))
    besides = sum(passing, np.zeros(1))
    concurrent = side_by_side(execution.resident, execution.blocks, device.sm_count)
    warps = execution.warps_per_block * concurrent
    stages = L1Stages(
        **l1_stages(
            *(instance, execution.requests, traffic, device, traffic.requests, besides, warps)
        )
    )
    without_port = replace(stages, port=np.zeros(1))
    time, own = (
        np.atleast_1d(SM_TIME(cycles=s.clocks, clock=device.sm_clock, balance=balance))
        for s in (stages, without_port)
    )
    return L1Time(stages, balance, device.sm_clock, time, own)
