"""Loops with barriers: blocks that in every step wait for data, synchronise, and compute.

A tiled matrix product without pipelining loads a tile, waits at a barrier, computes, and waits
again. While one block waits, others of the SM compute. Blocks are the customers of a closed
queueing system with a delay (the latency of a step) and one server whose speed depends on the
number of computing blocks (`perfmodel.models.time.step_work`).

Waves overlap: a block starts when another ends, and its prologue runs while others compute. Where
blocks read the same tiles in the same steps, the leading block waits for DRAM in each of them, and
the time is at least that of its chain: of kernels whose machine code is known.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import SCHEDULERS, Device
from perfmodel.kernels.kernel import Kernel
from perfmodel.models.derivation import most_turns
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.l1.throughput import PORT_CLOCKS, L1Stages
from perfmodel.models.latency.block_waits import Latency, latency_of
from perfmodel.models.latency.chain import Chain
from perfmodel.models.latency.latency import BARRIER_START
from perfmodel.models.launch.waves import most_blocks
from perfmodel.models.time.issue import Instructions, Pipe, busiest_pipe, pipe_cycles
from perfmodel.models.time.pipe_contention import after_oldest
from perfmodel.models.time.sm_times import SM_TIME, SmTimes
from perfmodel.models.time.step_work import BlockWork, work_times
from perfmodel.records import record

STEP_BARRIER: Final = Coefficient("time.steps.barrier")
STEP_BARRIER_WARP: Final = Coefficient("time.steps.barrier_warp")
STEP_WAIT = Formula(
    name="time that a block waits in a step",
    unit="s",
    text="load + (barriers*start + max(0, barriers - arriving)*warps*warp)/clock",
    symbols={
        "load": "latency of a step's loads: the slowest, or those that wait for one another [s]",
        "barriers": "barriers of a step [1]",
        "arriving": "of these, those that warps reach one by one, as their loads arrive [1]",
        "start": "clocks of a barrier [clocks]",
        "warps": "warps of a block [1]",
        "warp": "clocks of a barrier for each warp [clocks]",
        "clock": "SM clock [Hz]",
    },
    holds="one wait for data per step",
    source="derived; barriers measured: see coefficient barrier",
)
BLOCK_TIME = Formula(
    name="time of a block concurrent with others",
    unit="s",
    text="total/served",
    symbols={
        "total": "total weight of the states with 0, 1, ... computing blocks [1]",
        "served": "the same, each over the time of a block's work with as many computing [1/s]",
    },
    holds="blocks of an SM that alternately wait and compute",
    source="closed queue of waits and a server whose speed depends on its load: Lazowska et al., "
    "Quantitative System Performance (1984), chapter 8",
)
STEPS_TIME = Formula(
    name="time of blocks that work in steps",
    unit="s",
    text="outside + first*each + full*later + tail*last",
    symbols={
        "outside": "start of a block, and its work before and after its steps [s]",
        "first": "blocks of the busiest SM that start together [1]",
        "each": "time of each of them: their wave's time over its blocks [s]",
        "full": "blocks that start as others end, with all places of the SM taken [1]",
        "later": "time of each of them: while one is outside its steps, others compute [s]",
        "tail": "blocks of its last wave [1]",
        "last": "time of each of them [s]",
    },
    holds="equal blocks, scheduled as others end",
    source="derived; trees of 8 barriers over 512 floats per block, 31 waves, take 41.8 us; a "
    "model in which a wave begins when the last has ended gives 56 (measurements/source-kernels, "
    "textbook)",
)
AHEAD_TIME = Formula(
    name="time of the leading block",
    unit="s",
    text="waves*(outside + work + steps*wait)",
    symbols={
        "waves": "waves of blocks [1]",
        "outside": "start of a block, and its work before and after its steps [s]",
        "work": "time of a block's work with no other concurrent [s]",
        "steps": "steps of a block [1]",
        "wait": "time that it waits in a step, whose loads miss L2 [s]",
    },
    holds="blocks that read the same data in the same steps: those behind catch up, and wait for "
    "the same fills",
    source="derived: products of 100 x 130 by tiles of 16, 777 deep, on 63 SMs take 32.3 us cold "
    "and 18.0 us warm, though 4 of 5 of their cold reads hit L2",
)


def step_loop(kernel: Kernel) -> str | None:
    """Return the outermost loop that has barriers; None if none has."""
    loops = [b.loop for b in kernel.barriers if b.loop is not None]
    return min(loops, key=lambda v: len(kernel.loop_nest(v)), default=None)


@record
class Steps:
    """Blocks that work in steps, arrays over configurations."""

    work: BlockWork  # what one block computes
    # blocks and resident: blocks of the busiest SM, and those that it holds at a time [1]
    blocks: Array
    resident: Array
    # the others as in `STEP_WAIT` and `AHEAD_TIME`: steps of the block that ends last, and `lead`,
    # the latency of a step's loads where they miss L2 for all that read the same [s]
    steps: Array
    load: Array
    lead: Array
    barriers: Array
    arriving: Array
    outside: Array
    start: float
    warp: float
    clock: float

    @property
    def warps(self) -> Array:
        """Warps of a block [1]."""
        return self.work.warps

    @property
    def waits_s(self) -> Array:
        """What a block waits in all its steps [s]."""
        return np.asanyarray(self.steps * STEP_WAIT.of(self))

    @property
    def waves(self) -> Array:
        """Waves of blocks [1]."""
        return np.asanyarray(np.ceil(self.blocks / self.resident))

    @property
    def latency(self) -> Latency:
        """Time of blocks that do nothing but wait in their steps."""
        return latency_of(self.waits_s + self.outside, np.zeros(1), self.waves)


def steps_of(
    execution: Execution, chain: Chain, sm: SmTimes, instructions: Instructions, uneven: Array
) -> Steps:
    """Return what blocks with barriers in a loop do, step by step.

    `uneven` are the steps of the block that ends last over the average: see
    `perfmodel.models.launch.waves.unevenness`.
    """
    instance, resident, device = execution.instance, execution.resident, execution.device
    kernel = instance.kernel
    loop = step_loop(kernel)
    assert loop is not None
    steps = instance.turns(loop)
    here = most_blocks(execution)
    barriers = np.zeros(1)
    for b in kernel.barriers:
        count = np.asanyarray(instance.number(b.count), dtype=float)
        barriers = barriers + count * instance.turns(b.loop)
    load, lead, others, slowest = _step_loads(execution, chain, loop, steps)
    waves = np.ceil(here / resident)
    # The first of the loads is in the start-up.
    others = np.maximum(others - slowest / np.maximum(waves, 1), 0.0)
    return Steps(
        work=_block_work(execution, chain, sm, instructions, uneven),
        blocks=here,
        resident=np.atleast_1d(np.minimum(resident, here)),
        steps=steps * uneven,
        load=load,
        lead=lead,
        barriers=barriers / np.maximum(steps, 1),
        arriving=np.where(load > 0, 1.0, 0.0),
        outside=np.atleast_1d(chain.start + chain.alone / chain.clock + others),
        # Code that is known has its own clocks in its pace.
        start=BARRIER_START(device) if chain.known else STEP_BARRIER(device),
        warp=STEP_BARRIER_WARP(device),
        clock=chain.clock,
    )


def _block_work(
    execution: Execution, chain: Chain, sm: SmTimes, instructions: Instructions, uneven: Array
) -> BlockWork:
    """Return what one block computes, by unit."""
    device, kernel, here = execution.device, execution.kernel, most_blocks(execution)
    # A product is at the tensor core while it is issued.
    besides = {n: i for n, i in instructions.executed.items() if n != Pipe.TENSOR16}
    rest = {
        n: SM_TIME(cycles=c, clock=device.sm_clock, balance=sm.balance.load)
        for n, c in pipe_cycles(besides, device).items()
    }
    l1, tensor = sm.l1.time_s, sm.pipes_s.get(Pipe.TENSOR16, np.zeros(1))
    if kernel.translated:
        l1 = l1 * _beside_waits(execution, chain, sm.l1.stages)
    # Operands are read ahead, and products wait for exponentials; known code has both in its pace.
    products = (np.atleast_1d(tensor) > 0) & (not chain.known)
    alone = chain.in_loops / chain.clock if chain.known else 0.0
    strands = np.asanyarray(execution.instance.number(kernel.strands), dtype=float)
    return BlockWork(
        issue_s=np.atleast_1d(busiest_pipe(rest)) / here,
        l1_s=np.where(products, 0.0, l1 / here),
        operands_s=np.where(products, l1 / here, 0.0),
        tensor_s=np.atleast_1d(tensor) / here,
        sfu_s=np.where(products, rest.get(Pipe.SFU, np.zeros(1)) / here, 0.0),
        warps=np.atleast_1d(chain.warps),
        strands=np.atleast_1d(strands),
        alone_s=np.atleast_1d(alone * uneven),
    )


def _beside_waits(execution: Execution, chain: Chain, l1: L1Stages) -> Array:
    """Return the share of L1's time that no block waits through anyway.

    What a block waits for comes into L1 while it waits, and is in nobody's way but the other
    blocks'. Measured: 1 and 32 warps of a block that load a line each and meet take 315 and 318
    clocks (measurements/matrix-products, pytorch/barrier-steps.csv, load, medians of 132 blocks).
    What machine code waits for in some of its steps only comes beside work in the others.
    """
    loop = step_loop(execution.kernel)
    assert loop is not None
    steps = np.maximum(execution.instance.turns(loop), 1)
    waits = np.zeros(1)
    for batch in chain.batches:
        if batch.ahead:
            return np.ones(1)  # it comes beside work
        if batch.loop == loop:
            waits = np.maximum(waits, np.minimum(batch.count / steps, 1.0))
    others = 1 - waits / np.minimum(execution.resident, most_blocks(execution))
    concurrent = replace(l1, fills=others * l1.fills)
    return np.asanyarray(concurrent.clocks / np.maximum(l1.clocks, 1e-30))


def _step_loads(
    execution: Execution, chain: Chain, loop: str, steps: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the latency of loads: of a step, of the leading block's, of all others, the slowest's.

    A block waits for those in a step of a loop, and outside.
    """
    kernel, port = execution.kernel, PORT_CLOCKS(execution.device)
    load, lead, others, slowest = (np.zeros(1) for _ in range(4))
    for batch in chain.batches:
        # A step waits for its last sector, and all come through the SM's port.
        through = batch.filled * port / chain.clock
        latency = np.where(batch.count > 0, batch.latency + through, 0.0)
        waited = batch.loop is not None and not batch.ahead
        if not waited or loop not in [v.variable for v in kernel.loop_nest(batch.loop)]:
            others = others + batch.waited * latency
            slowest = np.maximum(slowest, latency)
        elif kernel.paces:
            # The instructions show how often a step waits: one wait after the other.
            load = load + latency * batch.count / np.maximum(steps, 1)
            lead = lead + batch.latency_ahead * batch.count / np.maximum(steps, 1)
        else:
            load = np.maximum(load, latency)
    return load, lead, others, slowest


def steps_time(given: Steps, device: Device) -> Array:
    """Return the time of blocks that work in steps: in turn, the oldest first, or the one ahead."""
    work = work_times(given.work, range(1, most_turns(given.resident) + 1), device)
    ahead = AHEAD_TIME.of(given, work=work[0], wait=STEP_WAIT.of(given, load=given.lead))
    blocks = np.maximum(_in_turn(given, work), ahead)
    # Warps that have a scheduler each to themselves let nobody go first.
    contend = given.blocks * given.warps > SCHEDULERS
    in_order = (given.blocks <= given.resident) & contend
    busiest, alone = given.work.busiest_s, given.waits_s + given.outside + work[0]
    oldest = after_oldest(alone, given.blocks * busiest, busiest, device)
    return np.asanyarray(np.maximum(blocks, in_order * oldest))


def _in_turn(given: Steps, work: Sequence[Array]) -> Array:
    """Return the time of blocks that wait and compute in turn [s]; see `STEPS_TIME`."""
    wait, resident, waves = given.waits_s, given.resident, given.waves
    tail = given.blocks - (waves - 1) * resident
    tail = np.where(waves > 1, np.where(tail == resident, 0.0, tail), 0.0)
    first = np.minimum(given.blocks, resident)
    later = wait + given.outside
    return STEPS_TIME(
        outside=given.outside,
        first=first,
        each=block_time(wait, work, resident),
        full=given.blocks - first - tail,
        later=block_time(later, work, resident),
        tail=tail,
        last=block_time(later, work, np.maximum(tail, 1.0)),
    )


def block_time(wait: Array, work: Sequence[Array], blocks: Array) -> Array:
    """Return the time of a block concurrent with others that wait and compute in turn [s].

    A block waits `wait` in all [s]; `work` is `work_times` for 1, 2, ... of the SM's `blocks`.
    """
    weight = np.ones(np.broadcast_shapes(wait.shape, blocks.shape))
    total, served = weight, np.zeros(weight.shape)
    # A wait of nothing has all blocks at work: near enough at a millionth.
    scale = np.maximum(wait, np.maximum(1e-6 * work[0], 1e-30))
    for j, each in enumerate(work, 1):
        # The weight of j at work over that of j - 1: their pace against that of the waits.
        weight = np.where(blocks >= j, weight * each / scale * np.maximum(blocks - j + 1, 0), 0.0)
        total = total + weight
        served = served + weight / np.maximum(each, 1e-30)
    return BLOCK_TIME(total=total, served=np.maximum(served, 1e-30))
