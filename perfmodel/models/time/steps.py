"""Steps: loops whose threads wait for one another, as products through shared memory have them.

In a step a block waits for its data, then computes. While one block waits others compute: a closed
queue of the SM's resident blocks. How those that compute share the SM is in
`perfmodel.models.time.step_work`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import SCHEDULERS, Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.kernel import Kernel
from perfmodel.models.extremes import largest
from perfmodel.models.formula import Formula
from perfmodel.models.l1.throughput import L1_CYCLES, PORT_CLOCKS
from perfmodel.models.latency.chain import Chain
from perfmodel.models.latency.latency import BARRIER_START, LATENCY_TIME
from perfmodel.models.launch.occupancy import Occupancy
from perfmodel.models.launch.waves import most_blocks
from perfmodel.models.time.combined import busiest_pipe
from perfmodel.models.time.issue import pipe_cycles
from perfmodel.models.time.sm_times import SM_TIME
from perfmodel.models.time.step_work import work_times
from perfmodel.models.time.turns import AFTER_OLDEST, oldest_inputs

Array = npt.NDArray[Any]

STEP_BARRIER: Final = 6.0
STEP_BARRIER_WARP: Final = 2.1
"""Clocks that a barrier of a step adds to its loop, and for each warp that waits at it.

Measured: loops of two barriers take 52 clocks for 1 warp and 190 for 32, with a store to shared
memory and a load from it between them 78 and 216. The warps of a step that waits for loads come to
the next barrier one by one, and it costs nothing for each: a load and a barrier take 339 clocks for
1 warp and 342 for 32 (measurements/h200-products/barrier-steps.csv, the slowest of 132 blocks).
"""
STEP_WAIT = Formula(
    name="time that a block waits in a step",
    unit="s",
    text="load + (barriers*start + max(0, barriers - met)*warps*warp)/clock",
    symbols={
        "load": "latency of a step's loads: the slowest, or those that wait for one another [s]",
        "barriers": "barriers of a step [1]",
        "met": "of these, those that warps come to one by one, as their loads arrive [1]",
        "start": "clocks of a barrier [clocks]",
        "warps": "warps of a block [1]",
        "warp": "clocks of a barrier for each warp [clocks]",
        "clock": "SM clock [Hz]",
    },
    holds="one wait for data a step",
    source="derived; barriers measured on an H200 (barriers.csv)",
)
BLOCK_TIME = Formula(
    name="time of a block beside others",
    unit="s",
    text="total/served",
    symbols={
        "total": "weights of 0, 1, ... blocks that compute while the others wait, in all [1]",
        "served": "the same, each over the time of a block's work beside as many [1/s]",
    },
    holds="blocks of an SM that wait and compute in turn",
    source="closed queue of waits and a server whose speed depends on its load: Lazowska et al., "
    "Quantitative System Performance (1984), chapter 8",
)
STEPS_TIME = Formula(
    name="time of blocks that work in steps",
    unit="s",
    text="outside + first*each + full*later + tail*last",
    symbols={
        "outside": "start of a block, and what it does before and after its steps [s]",
        "first": "blocks of the busiest SM that start together [1]",
        "each": "time of each of them: their round over the blocks of the round [s]",
        "full": "blocks that start as others end, beside as many as it holds [1]",
        "later": "time of each of them: while one is outside its steps, others work [s]",
        "tail": "blocks of its last round [1]",
        "last": "time of each of them [s]",
    },
    holds="equal blocks, handed out as others end",
    source="derived; trees of 8 barriers over 512 floats a block, 31 rounds, take 41.8 us, which "
    "came out at 56 where a round began when the last had ended (measurements/h200-textbook)",
)
AHEAD_TIME = Formula(
    name="time of the block that is ahead",
    unit="s",
    text="rounds*(outside + work + steps*(lead"
    " + (barriers*start + max(0, barriers - met)*warps*warp)/clock))",
    symbols={
        "rounds": "rounds of blocks [1]",
        "outside": "start of a block, and what it does before and after its steps [s]",
        "work": "time of a block's work with no other beside it [s]",
        "steps": "steps of a block [1]",
        "lead": "latency of a step's loads, where they miss L2 for all that read the same [s]",
        "barriers": "barriers of a step [1]",
        "met": "of these, those that warps come to one by one, as their loads arrive [1]",
        "start": "clocks of a barrier [clocks]",
        "warps": "warps of a block [1]",
        "warp": "clocks of a barrier for each warp [clocks]",
        "clock": "SM clock [Hz]",
    },
    holds="blocks that read the same in the same steps: those behind catch up, and wait as it does",
    source="derived: products of 100 x 130 by tiles of 16, 777 deep, on 63 SMs take 32.3 us cold "
    "and 18.0 us warm, though 4 of 5 of their cold reads hit L2",
)


def step_loop(kernel: Kernel) -> str | None:
    """Return the outermost loop that has barriers; None if none has."""
    loops = [b.loop for b in kernel.barriers if b.loop is not None]
    return min(loops, key=lambda v: len(kernel.loop_nest(v)), default=None)


def time_in_steps(
    instance: Instance,
    chain: Chain,
    instructions: Mapping[str, Array],
    terms: dict[str, Array],
    inputs: dict[str, dict[str, Any]],
    occupied: Occupancy,
    device: Device,
    balance: Array,
    uneven: Array,
) -> Array:
    """Return the time of blocks that work in steps [s]; their waits leave the other terms.

    Parameters
    ----------
    instance, occupied, device
        Of a kernel with barriers in a loop, and where it runs.
    chain : Chain
        What one block does, for the latency of its loads.
    instructions : mapping of str to array
        Warp instructions of each pipe.
    terms, inputs : dict
        Of the other terms: "latency" is put in anew, "stalls" is taken out.
    balance : array
        Work of the busiest SM over the mean.
    uneven : array
        Steps of the block that ends last over the average: see
        `perfmodel.models.launch.waves.unevenness`.
    """
    # A product is at the tensor core while it is issued.
    rest = pipe_cycles({n: i for n, i in instructions.items() if n != "tensor16"}, device)
    apart = {n: SM_TIME(cycles=c, clock=device.sm_clock, balance=balance) for n, c in rest.items()}
    l1 = terms["l1"]
    if instance.kernel.translated:
        l1 = l1 * _beside_waits(instance, chain, inputs["l1"], occupied.resident, device.sm_count)
    inputs["steps"] = _inputs(
        instance,
        chain,
        busiest_pipe(apart),
        l1,
        terms.get("tensor16", np.zeros(1)),
        apart.get("sfu", np.zeros(1)),
        occupied.resident,
        device.sm_count,
        uneven,
    )
    # What the blocks wait is part of their steps, and no batch of loads in a row beside it.
    inputs["latency"] = _waits_alone(inputs["steps"])
    terms["latency"] = np.atleast_1d(LATENCY_TIME(**inputs["latency"]))
    del terms["stalls"], inputs["stalls"]
    return steps_time(inputs["steps"])


def _beside_waits(
    instance: Instance, chain: Chain, l1: Mapping[str, Any], resident: Array, sm_count: int
) -> Array:
    """Return the share of L1's time that no block waits through anyway.

    What a block waits for comes into L1 while it waits, and is in nobody's way but the other
    blocks'. Measured: 1 and 32 warps of a block that load a line each and meet take 315 and 318
    clocks (measurements/h200-products/barrier-steps.csv, load, medians of 132 blocks). What machine
    code waits for in some of its steps only comes beside work in the others; `l1` is what
    `L1_CYCLES` takes.
    """
    loop = step_loop(instance.kernel)
    assert loop is not None
    steps = np.maximum(instance.turns(loop), 1)
    waits = np.zeros(1)
    for batch in chain.batches:
        if batch.ahead:
            return np.ones(1)  # it comes beside work
        if batch.loop == loop:
            waits = np.maximum(waits, np.minimum(batch.count / steps, 1.0))
    here = np.maximum(np.ceil(most_blocks(instance, resident, sm_count)), 1.0)
    others = 1 - waits / np.minimum(resident, here)
    stages = {name: l1[name] for name in L1_CYCLES.symbols}
    beside = L1_CYCLES(**{**stages, "fills": others * l1["fills"]})
    return np.asanyarray(beside / np.maximum(L1_CYCLES(**stages), 1e-30))


def steps_time(given: Mapping[str, Any]) -> Array:
    """Return the time of blocks that work in steps: in turn, the oldest first, or the one ahead."""
    blocks = np.maximum(STEPS_TIME(**rounds_of_steps(given)), AHEAD_TIME(**block_ahead(given)))
    # Warps that have a scheduler each to themselves let nobody go first.
    meet = given["blocks"] * given["warps"] > SCHEDULERS
    in_order = (given["blocks"] <= given["held"]) & meet
    return np.asanyarray(np.maximum(blocks, in_order * AFTER_OLDEST(**oldest_block(given))))


def oldest_block(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `AFTER_OLDEST` takes; `given` is the "steps" of a prediction's inputs."""
    wait = given["steps"] * STEP_WAIT(**given) + given["outside"]
    units = ("issue", "l1", "operands", "tensor", "sfu")
    busiest = largest(*(given[unit] for unit in units))
    alone = wait + work_times(given, [1.0])[0]
    return oldest_inputs(alone, given["blocks"] * busiest, busiest)


def block_ahead(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `AHEAD_TIME` takes; `given` is the "steps" of a prediction's inputs."""
    rounds = np.ceil(given["blocks"] / given["held"])
    return {**given, "rounds": rounds, "work": work_times(given, [1.0])[0]}


def _inputs(
    instance: Instance,
    chain: Chain,
    issue: Array,
    l1: Array,
    tensor: Array,
    sfu: Array,
    resident: Array,
    sm_count: int,
    uneven: Any,
) -> dict[str, Any]:
    """Return what goes into the time of blocks that work in steps.

    Parameters
    ----------
    instance : Instance
        Of a kernel with barriers in a loop.
    chain : Chain
        What one block does, for the latency of its loads.
    issue, l1, tensor, sfu : array
        Seconds that the schedulers (or the busiest arithmetic pipe), L1, the tensor cores and the
        special functions of the busiest SM need, products by mma.sync with the tensor cores only.
    resident : array
        Blocks that an SM holds.
    sm_count : int
        SMs.
    uneven : array
        Steps of the block that ends last over the average: see
        `perfmodel.models.launch.waves.unevenness`.
    """
    kernel = instance.kernel
    loop = step_loop(kernel)
    assert loop is not None
    steps = instance.turns(loop)
    here = np.maximum(np.ceil(most_blocks(instance, resident, sm_count)), 1.0)
    barriers = np.zeros(1)
    for b in kernel.barriers:
        count = np.asanyarray(instance.number(b.count), dtype=float)
        barriers = barriers + count * instance.turns(b.loop)
    load, others, slowest, lead = np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1)
    for batch in chain.batches:
        # A step waits for its last sector, and all come through the SM's port.
        through = batch.filled * PORT_CLOCKS / chain.clock
        latency = np.where(batch.count > 0, batch.latency + through, 0.0)
        waited = batch.loop is not None and not batch.ahead
        if waited and loop in [v.variable for v in kernel.loop_nest(batch.loop)]:
            # Where the instructions show how often a step waits: one wait after the other.
            if kernel.paces:
                load = load + latency * batch.count / np.maximum(steps, 1)
                lead = lead + batch.latency_ahead * batch.count / np.maximum(steps, 1)
            else:
                load = np.maximum(load, latency)
        else:
            others = others + batch.waited * latency
            slowest = np.maximum(slowest, latency)
    rounds = np.ceil(here / resident)
    # Operands are read ahead, and products wait for exponentials; known code has both in its pace.
    products = (np.atleast_1d(tensor) > 0) & (chain.paced is None)
    alone = chain.in_loops / chain.clock if chain.paced is not None else 0.0
    return {
        "issue": np.atleast_1d(issue) / here,
        "l1": np.where(products, 0.0, l1 / here),
        "operands": np.where(products, l1 / here, 0.0),
        "tensor": np.atleast_1d(tensor) / here,
        "sfu": np.where(products, sfu / here, 0.0),
        "warps": np.atleast_1d(chain.overhead["warps"]),
        "blocks": here,
        "held": np.atleast_1d(np.minimum(resident, here)),
        "steps": steps * uneven,
        "load": load,
        "lead": lead,
        "barriers": barriers / np.maximum(steps, 1),
        "met": np.where(load > 0, 1.0, 0.0),
        "strands": np.atleast_1d(np.asanyarray(instance.number(kernel.strands), dtype=float)),
        "alone": np.atleast_1d(alone * uneven),
        "outside": np.atleast_1d(
            chain.start
            + chain.alone / chain.clock
            # The first of the loads is in the start-up.
            + np.maximum(others - slowest / np.maximum(rounds, 1), 0.0)
        ),
        "clock": chain.clock,
        # Code that is known has its own clocks in its pace.
        "start": STEP_BARRIER if chain.paced is None else BARRIER_START,
        "warp": STEP_BARRIER_WARP,
    }


def _waits_alone(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `LATENCY_TIME` takes for blocks that do nothing but wait in their steps."""
    return {
        "chain": given["steps"] * STEP_WAIT(**given) + given["outside"],
        "ramp": np.zeros(1),
        "rounds": np.ceil(given["blocks"] / given["held"]),
    }


def rounds_of_steps(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `STEPS_TIME` takes; `given` is the "steps" of a prediction's inputs."""
    wait = given["steps"] * STEP_WAIT(**given)
    held = given["held"]
    most = int(np.max(held))
    work = work_times(given, range(1, most + 1))
    rounds = np.ceil(given["blocks"] / held)
    tail = given["blocks"] - (rounds - 1) * held
    tail = np.where(rounds > 1, np.where(tail == held, 0.0, tail), 0.0)
    first = np.minimum(given["blocks"], held)
    return {
        "outside": given["outside"],
        "first": first,
        "each": BLOCK_TIME(**block_queue(wait, work, held)),
        "full": given["blocks"] - first - tail,
        "later": BLOCK_TIME(**block_queue(wait + given["outside"], work, held)),
        "tail": tail,
        "last": BLOCK_TIME(**block_queue(wait + given["outside"], work, np.maximum(tail, 1.0))),
    }


def block_queue(wait: Array, work: Sequence[Array], blocks: Array) -> dict[str, Any]:
    """Return what `BLOCK_TIME` takes for `blocks` blocks that wait and compute in turn.

    Parameters
    ----------
    wait : array
        Seconds that a block waits in all.
    work : sequence of array
        `work_times` for 1, 2, ... blocks.
    blocks : array
        Blocks of the SM.
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
    return {
        "total": total,
        "served": np.maximum(served, 1e-30),
    }
