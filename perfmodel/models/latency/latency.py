"""Latency: how long one warp takes from its first instruction to its last, and waves of blocks.

Little's law: an SM that holds W warps, each busy for a chain of L clocks, finishes W/L warps a
clock and no more. The chain is the loads that a thread waits for, one batch after the other, and
its instructions between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.kernel import Kernel
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.latency.batch import Batch
from perfmodel.models.latency.batch_loads import BatchPlace, depths_of
from perfmodel.models.latency.batches import load_batch
from perfmodel.models.latency.behind_writes import behind_writes
from perfmodel.models.latency.chain import BlockOverhead, Chain, instruction_clocks
from perfmodel.models.latency.joined_waits import join_waits
from perfmodel.models.latency.slowest_sm import slowest_sm

BLOCK_START: Final = Coefficient("latency.latency.block_start")
WARP_START: Final = Coefficient("latency.latency.warp_start")
WARP_TURN: Final = Coefficient("latency.latency.warp_turn")
BARRIER_START: Final = Coefficient("latency.latency.barrier_start")
BARRIER_WARP: Final = Coefficient("latency.latency.barrier_warp")
RAMP_TIME = Formula(
    name="start-up",
    unit="s",
    text="fetch + block + touch",
    symbols={
        "fetch": "a launch with any work, beyond an empty one [s]",
        "block": "start of a block's warps, and its first batch of loads [s]",
        "touch": "first reads of a cold launch beyond DRAM's latency: see `FIRST_TOUCH` [s]",
    },
    holds="launches whose first block is like the others",
    source="fitted form: streams of 256 KiB to 4 MiB",
)
LATENCY_TIME = Formula(
    name="time for latency",
    unit="s",
    text="max(0, chain*waves - ramp)",
    symbols={
        "chain": "time of one block, from its first instruction to its last [s]",
        "ramp": "time until the first data arrives, counted apart [s]",
        "waves": "waves of blocks, one after the other [1]",
    },
    holds="blocks replaced as they end",
    source="Little's law",
)


def synchronised_once(kernel: Kernel) -> bool:
    """Say whether a block's warps wait for one another, but in no loop."""
    return bool(kernel.barriers) and all(b.loop is None for b in kernel.barriers)


@dataclass(frozen=True, slots=True)
class WarpWork:
    """Instructions of a warp, of those that have most to do."""

    # instructions and looped: all of them, and those in loops [1]
    instructions: Array
    looped: Array
    # share of them for which the warps of a block are one later than the other: see `WARP_TURN`
    late_share: Array | float = 1.0
    # clocks from one instruction to the next where warps contend for a scheduler's pipes
    contention: Array | float = 1.0


def block_chain(execution: Execution, work: WarpWork, dram_wave: Array, waves: Array) -> Chain:
    """Return the chain of one block; DRAM needs `dram_wave` for a wave of them [s]."""
    traffic, device = execution.traffic, execution.device
    asked = traffic.l2_read_sectors + traffic.l2_write_sectors + traffic.l2_atomic_sectors
    missed = (1 - traffic.l2_hit_rate) * asked
    missing = np.clip(missed / np.maximum(traffic.l2_read_sectors, 1e-9), 0, 1)
    batches = _batches(execution, missing, waves)
    unroll = np.ones(1)
    for b in batches:
        unroll = np.maximum(unroll, b.unroll)
    overhead = _overhead(execution, work)
    clocks, paced = _paced(execution.instance)
    synchronised = synchronised_once(execution.kernel)
    chain = Chain(
        overhead=overhead,
        instructions=work.instructions - work.looped,
        looped=work.looped,
        unroll=unroll,
        missing=missing,
        batches=batches,
        clock=device.sm_clock,
        lone=instruction_clocks(device),
        dependent=execution.kernel.dependent,
        schedulers=1.0 * device.schedulers_per_sm if synchronised else 0.0,
        once=clocks,
        contention=work.contention,
        paced=paced,
        barriers=_barriers(execution, overhead.warps) if clocks is not None else 0.0,
    )
    scattered = any(r.random for r in execution.requests)
    return behind_writes(chain, dram_wave, device.dram_latency, scattered)


def _overhead(execution: Execution, work: WarpWork) -> BlockOverhead:
    """Return what a block takes besides its loads and instructions."""
    # Those that are synchronised by a barrier issue in turn as `Chain.issue_clocks` counts.
    staggered = execution.requests and not synchronised_once(execution.kernel)
    once, device = work.instructions - work.looped, execution.device
    return BlockOverhead(
        warps=np.atleast_1d(execution.warps / execution.blocks),
        start=BLOCK_START(device),
        warp=WARP_START(device),
        issue=WARP_TURN(device) * once * work.late_share if staggered else 0.0,
    )


def _batches(execution: Execution, missing: Array, waves: Array) -> tuple[Batch, ...]:
    """Return the batches of loads of a block; `missing` is the share of L2 reads that miss."""
    loops = (None, *(loop.variable for loop in execution.kernel.loops))
    depths = depths_of(execution.instance, execution.requests)
    late = slowest_sm(execution.blocks, waves, execution.device)
    wave = execution.blocks / np.maximum(waves, 1.0)
    found = (
        load_batch(execution, BatchPlace(loop, depth, ahead), depths, missing, late, wave)
        for loop in loops
        for depth in range(1 + max(depths, default=0))
        for ahead in (False, True)
    )
    return join_waits([b for b in found if b is not None])


def _paced(instance: Instance) -> tuple[Array, Array] | tuple[None, None]:
    """Return the clocks of a lone warp for what runs once, and for loops, where they are known."""
    kernel = instance.kernel
    if not kernel.paces:
        return None, None
    once, looped = np.zeros(1), np.zeros(1)
    for pace in kernel.paces:
        clocks = np.asanyarray(instance.number(pace.clocks), dtype=float)
        if pace.loop is None:
            once = once + clocks
            continue
        looped = looped + clocks * instance.runs(pace.loop)
    return np.atleast_1d(once), np.atleast_1d(looped)


def _barriers(execution: Execution, warps: Array) -> Array:
    """Return the clocks of a block's barriers outside of loops."""
    count = sum(
        (
            np.asanyarray(execution.instance.number(b.count), dtype=float)
            for b in execution.kernel.barriers
            if b.loop is None
        ),
        np.zeros(1),
    )
    device = execution.device
    return np.asanyarray(count * (BARRIER_START(device) + BARRIER_WARP(device) * warps))
