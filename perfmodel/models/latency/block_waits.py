"""Waits of blocks: the start-up, what they do one after the other, and how they are handed out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.instance import Instance
from perfmodel.models.atomics.shared_atomics import aggregated_clocks
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.latency.batch_loads import depths_of
from perfmodel.models.latency.chain import Chain
from perfmodel.models.latency.first_touch import first_touch
from perfmodel.models.latency.latency import (
    BLOCK_START,
    LATENCY_TIME,
    RAMP_TIME,
    WarpWork,
    block_chain,
)
from perfmodel.models.launch.waves import ROUNDS, in_turn, side_by_side
from perfmodel.models.requests.passes import conflict_clocks
from perfmodel.models.time.issue import Pipe, issued, looped_instructions
from perfmodel.models.time.launch import code_fetch, constant_fetch

STALL_TIME = Formula(
    name="time that warps wait for loads",
    unit="s",
    text="max(0, loads*waves - first)",
    symbols={
        "loads": "latency of the batches of loads of one block [s]",
        "first": "the first of them, counted in the start-up [s]",
        "waves": "waves of blocks, one after the other [1]",
    },
    holds="blocks replaced as they end",
    source="Little's law",
)
DISPATCH_TIME = Formula(
    name="time to start all blocks",
    unit="s",
    text="b/rate",
    symbols={"b": "blocks [1]", "rate": "blocks started a second [1/s]"},
    holds="always",
    source="measured with empty kernels (launch.csv)",
)


@dataclass(frozen=True, slots=True)
class Latency:
    """Time of the blocks one after the other, bandwidth apart: `LATENCY_TIME` and its inputs."""

    chain_s: Array  # one block, from its first instruction to its last [s]
    ramp_s: Array  # what of it the start-up has [s]
    waves: Array  # waves of blocks [1]
    time_s: Array  # all of it [s]


def latency_of(chain_s: Array, ramp_s: Array, waves: Array) -> Latency:
    """Return the time of waves of blocks; see `Latency`."""
    time = LATENCY_TIME(chain=chain_s, ramp=ramp_s, waves=waves)
    return Latency(chain_s, ramp_s, waves, np.atleast_1d(time))


@dataclass(frozen=True, slots=True)
class Ramp:
    """The start-up of a launch: what `RAMP_TIME` takes and gives."""

    fetch_s: Array  # a launch with any work, beyond an empty one [s]
    block_s: Array  # start of a block's warps, and its first batch of loads [s]
    touch_s: Array  # first reads of a cold launch beyond DRAM's latency [s]
    time_s: Array  # all of it [s]


@dataclass(frozen=True, slots=True)
class BlockWaits:
    """What blocks wait, arrays over configurations."""

    chain: Chain  # what one block does, one thing after the other
    concurrent: Array  # blocks that share an SM [1]
    resident_waves: Array  # blocks of the busiest SM over those that it holds at a time [1]
    ramp: Ramp
    latency: Latency
    stalls_s: Array  # waits for loads, one wave of blocks after the other [s]
    dispatch_s: Array | None  # time to start all blocks [s]; None where the rate is not known


def block_waits(
    execution: Execution,
    instructions: Mapping[str, Array],
    busiest: Array,
    uneven: Array,
    dram_s: Array,
    contention: Array,
) -> BlockWaits:
    """Return what blocks wait.

    `instructions` are those of the warps that have most to do, by pipe; `busiest` is the work of
    the SM that ends last, in whole blocks; for `uneven` see
    `perfmodel.models.launch.waves.unevenness`; `contention` is the time of the arithmetic pipes
    over that of issue [1].
    """
    instance, device, resident = execution.instance, execution.device, execution.resident
    resident_waves = busiest / resident
    if instance.kernel.block_work:
        unequal = 1.0 if instance.kernel.unequal is None else uneven
        waves = ROUNDS(x=resident_waves, uneven=1.0)
        uneven = in_turn(instance, resident, device.sm_count) / waves * unequal
    waves = np.atleast_1d(ROUNDS(x=resident_waves, uneven=uneven))
    work = _warp_work(execution, instructions, contention)
    concurrent = side_by_side(resident, execution.blocks, device.sm_count)
    chain = block_chain(execution, work, dram_s / waves, waves)
    chain = _with_shared_accesses(execution, chain, concurrent)
    waves = np.atleast_1d(ROUNDS(x=resident_waves, uneven=_uneven(instance, uneven, chain)))
    dispatch = _dispatch_time(execution)
    ramp = _ramp(execution, chain, dispatch, dram_s)
    stalls = STALL_TIME(
        loads=np.atleast_1d(chain.loads), first=np.atleast_1d(chain.slowest), waves=waves
    )
    # The floor is an empty kernel, which has the start of a block in it.
    started = ramp.block_s + BLOCK_START(device) / device.sm_clock
    return BlockWaits(
        chain=chain,
        concurrent=concurrent,
        resident_waves=resident_waves,
        ramp=ramp,
        latency=latency_of(np.atleast_1d(chain.total), started, waves),
        stalls_s=np.atleast_1d(stalls),
        dispatch_s=dispatch,
    )


def _warp_work(
    execution: Execution, instructions: Mapping[str, Array], contention: Array
) -> WarpWork:
    """Return the instructions of a warp of those that have most to do."""
    warps = execution.warps
    per_warp = issued(instructions, execution.device) / warps
    every = [*execution.requests, *execution.on_chip]
    looped = looped_instructions(execution.instance, every, execution.device) / warps
    floats = instructions.get(Pipe.FMA32, np.zeros(1)) / np.maximum(per_warp * warps, 1e-9)
    return WarpWork(per_warp, looped, late_share=1 - floats, contention=contention)


def _with_shared_accesses(execution: Execution, chain: Chain, concurrent: Array) -> Chain:
    """Return the chain with what shared accesses, and a profiler, make a block take longer."""
    instance, on_chip, device = execution.instance, execution.on_chip, execution.device
    profiled = (device.launch_warp or 0.0) if execution.timing == "profiler" else 0.0
    slower = profiled * device.sm_clock * concurrent
    once, looped = conflict_clocks(instance, on_chip, depths_of(instance, on_chip), device)
    return replace(
        chain,
        once=None if chain.once is None else chain.once + once,
        paced=None if chain.paced is None else chain.paced + looped,
        barriers=aggregated_clocks(instance, on_chip, concurrent, device) + chain.barriers,
        overhead=replace(chain.overhead, profiler=np.atleast_1d(slower)),
    )


def _dispatch_time(execution: Execution) -> Array | None:
    """Return the time to start all blocks [s]; None where the rate is not known."""
    rate = execution.device.block_dispatch_rate
    if rate is None:
        return None
    return np.atleast_1d(DISPATCH_TIME(b=execution.blocks, rate=rate))


def _ramp(execution: Execution, chain: Chain, dispatch: Array | None, dram_s: Array) -> Ramp:
    """Return the start-up of a launch."""
    kernel, traffic, device = execution.kernel, execution.traffic, execution.device
    blocks = execution.blocks
    idle: Array | float = 0.0
    # Warps that meet hold up one another; warm launches were fitted without.
    if dispatch is not None and traffic.cold and not kernel.barriers:
        idle = np.maximum(dispatch - dram_s, 0.0)
    constants = np.asanyarray(execution.instance.number(kernel.constants), dtype=float)
    code = code_fetch(device, blocks) if kernel.accesses else 0.0
    fetch = code + constant_fetch(device, execution.timing, traffic.cold, constants)
    block = np.atleast_1d(chain.ramp)
    touch = first_touch(
        *(traffic.dram_read_bytes, traffic.l2_read_sectors, blocks, 1.0 * device.sm_count),
        device=device,
        waits=chain.far_waits,
        idle=idle,
    )
    time = np.atleast_1d(RAMP_TIME(fetch=fetch, block=block, touch=touch))
    return Ramp(fetch, block, touch, time)


def _uneven(instance: Instance, uneven: Any, chain: Chain) -> Array:
    """Return how much longer unequal blocks last than average ones.

    Their instructions and their loops differ, and not their start, nor what all load once. Clocks
    between barriers are those of the warps that do most, where code is known: what they do beyond
    an average warp is in them.
    """
    if instance.kernel.block_work:  # of all that blocks do
        return np.asanyarray(uneven)
    total = np.maximum(chain.total, 1e-30)
    looped = (b.waited * b.latency for b in chain.batches if b.loop is not None)
    differs = chain.between / chain.clock + sum(looped, np.zeros(1))
    share = np.minimum(differs / total, 1.0)
    found = instance.kernel.unequal
    if found is None or chain.once is None:
        return np.asanyarray(1 + (np.asanyarray(uneven) - 1) * share)
    met = {b.loop for b in instance.kernel.barriers}
    own = sum((b.waited * b.latency for b in chain.batches if b.loop not in {None, *met}), 0.0)
    for p in instance.kernel.paces:
        if p.loop not in met:
            clocks = np.asanyarray(instance.number(p.clocks), dtype=float)
            own = own + clocks * instance.runs(p.loop) / chain.clock
    across = (np.asanyarray(uneven) - found.slowest) * share
    return np.asanyarray(1 + across + (found.slowest - 1) * np.minimum(own / total, share))
