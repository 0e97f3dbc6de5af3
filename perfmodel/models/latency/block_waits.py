"""Critical path of a block and the start-up of a launch, times the waves of blocks.

By Little's law an SM with a fixed number of resident blocks finishes one wave of them per critical
path: start of the warps, batches of loads, instructions between them, barriers. The time that
latency needs is therefore the critical path times the number of waves, less the start-up of the
first block, which is a term of its own. The start-up consists of what a launch with any work takes
beyond an empty one, the start of a block, its first batch of loads, and the slowest SM's first DRAM
reads.

Throughput limits are not in it; `perfmodel.models.time.queueing` combines the two.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.kernels.instance import Instance
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.latency.chain import Chain
from perfmodel.models.latency.cold_start import cold_start
from perfmodel.models.latency.latency import (
    BLOCK_START,
    WARP_START,
    block_chain,
)
from perfmodel.models.launch.waves import ROUNDS, in_turn, side_by_side
from perfmodel.models.time.launch import code_fetch, constant_fetch
from perfmodel.records import record

RAMP_TIME = Formula(
    name="start-up",
    unit="s",
    text="fetch + block + touch",
    symbols={
        "fetch": "a launch with any work, beyond an empty kernel [s]",
        "block": "start of a block's warps, and its slowest batch of loads [s]",
        "touch": "additional latency of the slowest SM's first DRAM reads [s]",
    },
    holds="launches whose first block is like the others",
    source="fitted form: streams of 256 KiB to 4 MiB",
)
LATENCY_TIME = Formula(
    name="time for latency",
    unit="s",
    text="max(0, chain*waves - ramp)",
    symbols={
        "chain": "critical path of one block, first instruction to last, or of its loads alone [s]",
        "ramp": "time until the first data arrives, a term of its own [s]",
        "waves": "waves of blocks [1]",
    },
    holds="blocks that are replaced as they end",
    source="Little's law",
)


@record
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


@record
class BlockWaits:
    """What blocks wait, arrays over configurations."""

    chain: Chain  # what one block does, one thing after the other
    concurrent: Array  # blocks that share an SM [1]
    resident_waves: Array  # blocks of the busiest SM over those that it holds at a time [1]
    ramp_s: Array  # start-up of the launch [s]
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
    concurrent = side_by_side(resident, execution.blocks, device.sm_count)
    chain = block_chain(execution, instructions, contention, dram_s / waves, waves, concurrent)
    waves = np.atleast_1d(ROUNDS(x=resident_waves, uneven=_uneven(instance, uneven, chain)))
    rate = device.block_dispatch_rate
    dispatch = None if rate is None else np.atleast_1d(execution.blocks / rate)
    block = np.atleast_1d(chain.warps * WARP_START(device) / chain.clock + chain.slowest)
    stalls = latency_of(np.atleast_1d(chain.loads), np.atleast_1d(chain.slowest), waves)
    # The floor is an empty kernel, which has the start of a block in it.
    started = block + BLOCK_START(device) / device.sm_clock
    return BlockWaits(
        chain=chain,
        concurrent=concurrent,
        resident_waves=resident_waves,
        ramp_s=_ramp(execution, chain, block, dispatch, dram_s),
        latency=latency_of(np.atleast_1d(chain.total), started, waves),
        stalls_s=stalls.time_s,
        dispatch_s=dispatch,
    )


def _ramp(
    execution: Execution, chain: Chain, block: Array, dispatch: Array | None, dram_s: Array
) -> Array:
    """Return the start-up of a launch, whose first block takes `block` until its data is there."""
    kernel, traffic, device = execution.kernel, execution.traffic, execution.device
    blocks = execution.blocks
    idle: Array | float = 0.0
    # Warps that meet hold up one another; warm launches were fitted without.
    if dispatch is not None and traffic.cold and not kernel.barriers:
        idle = np.maximum(dispatch - dram_s, 0.0)
    constants = np.asanyarray(execution.instance.number(kernel.constants), dtype=float)
    code = code_fetch(device, blocks) if kernel.accesses else 0.0
    fetch = code + constant_fetch(device, execution.timing, traffic.cold, constants)
    touch = cold_start(traffic, blocks, device, chain.far_waits, idle)
    return np.atleast_1d(RAMP_TIME(fetch=fetch, block=block, touch=touch))


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
    differs = chain.between / chain.clock + summed(looped)
    share = np.minimum(differs / total, 1.0)
    found = instance.kernel.unequal
    if found is None or not chain.known:
        return np.asanyarray(1 + (np.asanyarray(uneven) - 1) * share)
    met = {b.loop for b in instance.kernel.barriers}
    own = sum((b.waited * b.latency for b in chain.batches if b.loop not in {None, *met}), 0.0)
    for p in instance.kernel.paces:
        if p.loop not in met:
            clocks = np.asanyarray(instance.number(p.clocks), dtype=float)
            own = own + clocks * instance.turns(p.loop) / chain.clock
    across = (np.asanyarray(uneven) - found.slowest) * share
    return np.asanyarray(1 + across + (found.slowest - 1) * np.minimum(own / total, share))
