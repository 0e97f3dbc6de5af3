"""Critical path of one block: start, loads, instructions and barriers.

By Little's law an SM that holds W warps, each busy for L clocks, finishes W/L warps per clock and
no more. L is the chain of what a thread waits for: the start of its block, each batch of loads, the
instructions between them, and barriers. The formula here is the fixed cost of a block: from the end
of one block to the start of the next on an SM, the start of each warp, and the issue of its first
instructions, for which warps of a scheduler take consecutive slots.

Coefficients come from lifetimes of empty and of short blocks.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.atomics.shared_atomics import aggregated_clocks
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.l1.throughput import masked_lines
from perfmodel.models.latency.batch import Batch
from perfmodel.models.latency.batch_loads import BatchPlace, depths_of
from perfmodel.models.latency.batches import load_batch
from perfmodel.models.latency.chain import Chain, lone_clocks
from perfmodel.models.latency.overlapping_loads import join_waits
from perfmodel.models.latency.reads_behind_writes import reads_behind_writes
from perfmodel.models.latency.slowest_sm import slowest_sm
from perfmodel.models.requests.conflict_latency import conflict_clocks
from perfmodel.models.time.issue import Pipe, issued, looped_instructions

BLOCK_START: Final = Coefficient("latency.latency.block_start")
WARP_START: Final = Coefficient("latency.latency.warp_start")
WARP_TURN: Final = Coefficient("latency.latency.warp_turn")
BARRIER_START: Final = Coefficient("latency.latency.barrier_start")
BARRIER_WARP: Final = Coefficient("latency.latency.barrier_warp")
BLOCK_OVERHEAD = Formula(
    name="clocks of a block without its loads and instructions",
    unit="clocks",
    text="start + warps*(warp + profiler) + max(0, warps - 4)*issue",
    symbols={
        "start": "clocks from the end of one block to the start of the next [clocks]",
        "warps": "warps of the block [1]",
        "warp": "clocks to start each warp [clocks]",
        "profiler": "clocks that a profiler adds per warp of the SM's blocks [clocks]",
        "issue": "clocks by which each warp is later that is not the first of its scheduler "
        "[clocks]",
    },
    holds="blocks that follow one another on an SM",
    source="fitted form: lifetimes of empty blocks",
)


def block_chain(
    execution: Execution,
    instructions: Mapping[str, Array],
    contention: Array,
    dram_wave: Array,
    waves: Array,
    concurrent: Array,
) -> Chain:
    """Return the chain of one block; DRAM needs `dram_wave` for a wave of them [s].

    `instructions` are those of the launch if all warps had as much to do as those that have most,
    `contention` the clocks from one to the next where warps contend for a scheduler's pipes;
    `concurrent` blocks share an SM.
    """
    instance, kernel, device = execution.instance, execution.kernel, execution.device
    # Warps that a barrier outside loops synchronises issue in turn.
    synchronised = bool(kernel.barriers) and all(b.loop is None for b in kernel.barriers)
    warps = np.atleast_1d(execution.warps / execution.blocks)
    once, looped, late = _instructions(execution, instructions)
    profiled = (device.launch_warp or 0.0) if execution.timing == "profiler" else 0.0
    overhead = BLOCK_OVERHEAD(
        start=BLOCK_START(device),
        warps=warps,
        warp=WARP_START(device),
        profiler=np.atleast_1d(profiled * device.sm_clock * concurrent),
        issue=0.0 if synchronised or not execution.requests else WARP_TURN(device) * once * late,
    )
    batches = _batches(execution, waves)
    unroll = largest(np.ones(1), *(b.unroll for b in batches))
    alone, in_loops = lone_clocks(instance, once, looped, unroll, device)
    known = bool(kernel.paces)
    schedulers = 1.0 * device.schedulers_per_sm if synchronised else np.inf
    chain = Chain(
        warps=warps,
        start=np.asanyarray(overhead / device.sm_clock),
        instructions=once,
        looped=looped,
        alone=alone,
        in_loops=in_loops,
        known=known,
        barriers=_barriers(execution, warps) if known else 0.0,
        issue_clocks=warps / schedulers * contention,
        batches=batches,
        clock=device.sm_clock,
    )
    scattered = any(r.random for r in execution.requests)
    chain = reads_behind_writes(chain, dram_wave, device.dram_latency, scattered)
    more = aggregated_clocks(execution, concurrent)
    chain = replace(chain, barriers=more + chain.barriers)
    if not known:
        return chain
    depths = depths_of(instance, execution.on_chip)
    outside, inside = conflict_clocks(instance, execution.on_chip, depths, device)
    sent_outside, sent_inside = _sent_clocks(execution)
    return replace(
        chain,
        alone=np.maximum(chain.alone + outside, sent_outside),
        in_loops=np.maximum(chain.in_loops + inside, sent_inside),
    )


def _sent_clocks(execution: Execution) -> tuple[Array, Array]:
    """Return the clocks in which the stores of a warp leave its SM: outside loops, and in them.

    Loads queue behind stores, arithmetic does not: a single warp that loads and stores 32 words in
    32 lines takes 164 clocks, 100 of them for the load
    (measurements/source-kernels/h200-sxm/row-walks).
    """
    once, looped = np.zeros(1), np.zeros(1)
    for r, access in zip(execution.requests, execution.traffic.accesses, strict=True):
        if access.kind != "store":
            continue
        each = (access.l1_fill_sectors + masked_lines(access)) / execution.warps
        if r.access.loop is None:
            once = once + each
        else:
            looped = looped + each
    return once, looped


def _instructions(
    execution: Execution, instructions: Mapping[str, Array]
) -> tuple[Array, Array, Array]:
    """Return a warp's instructions outside loops, in them, and the share that `WARP_TURN` is of."""
    warps, device = execution.warps, execution.device
    every = issued(instructions, device) / warps
    accesses = [*execution.requests, *execution.on_chip]
    looped = looped_instructions(execution.instance, accesses, device) / warps
    floats = instructions.get(Pipe.FMA32, np.zeros(1)) / np.maximum(every * warps, 1e-9)
    return every - looped, looped, 1 - floats


def _batches(execution: Execution, waves: Array) -> tuple[Batch, ...]:
    """Return the batches of loads of a block."""
    traffic = execution.traffic
    asked = traffic.l2_read_sectors + traffic.l2_write_sectors + traffic.l2_atomic_sectors
    missed = (1 - traffic.l2_hit_rate) * asked
    missing = np.clip(missed / np.maximum(traffic.l2_read_sectors, 1e-9), 0, 1)
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


def _barriers(execution: Execution, warps: Array) -> Array:
    """Return the clocks of a block's barriers outside of loops."""
    count = summed(
        np.asanyarray(execution.instance.number(b.count), dtype=float)
        for b in execution.kernel.barriers
        if b.loop is None
    )
    device = execution.device
    return np.asanyarray(count * (BARRIER_START(device) + BARRIER_WARP(device) * warps))
