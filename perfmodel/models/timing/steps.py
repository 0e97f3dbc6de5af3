"""Steps: loops whose threads wait for one another, as products through shared memory have them.

In a step a block waits for its data, then computes. While one block waits others compute: a closed
queue of the SM's resident blocks. Those that compute share the schedulers, L1 and the tensor cores,
between which each warp goes to and fro: a closed queue of warps in turn, one continuous model from
one warp a scheduler, which uses one unit after the other, to many, which keep the slowest one busy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.kernel import Kernel
from perfmodel.models.blocks.occupancy import Occupancy
from perfmodel.models.blocks.waves import most_blocks
from perfmodel.models.formula import Formula
from perfmodel.models.timing.chain import Chain
from perfmodel.models.timing.combined import busiest_pipe
from perfmodel.models.timing.issue import pipe_cycles
from perfmodel.models.timing.l1 import PORT_CLOCKS
from perfmodel.models.timing.latency import BARRIER_START, LATENCY_TIME
from perfmodel.models.timing.sm_times import SM_TIME
from perfmodel.models.timing.turns import AFTER_OLDEST, oldest_inputs

Array = npt.NDArray[Any]

SCHEDULERS: Final = 4
"""Warp schedulers of an SM: CUDA C++ Programming Guide, compute capabilities 8.x and 9.0."""
MOST_STRANDS: Final = 32
"""Strands of a scheduler's warps past which more change nothing."""
STEP_BARRIER: Final = 6.0
STEP_BARRIER_WARP: Final = 2.1
"""Clocks that a barrier of a step adds to its loop, and for each warp that waits at it.

Measured: loops of two barriers take 52 clocks for 1 warp and 190 for 32, with a store to shared
memory and a load from it between them 78 and 216. The warps of a step that waits for loads come to
the next barrier one by one, and it costs nothing for each: a load and a barrier take 339 clocks for
1 warp and 342 for 32 (measurements/h200-products/barrier-steps.csv, the slowest of 132 blocks).
"""
_QUEUES: Final = {"a": "issue", "b": "l1", "c": "tensor"}
WARPS_TIME = Formula(
    name="time of a block's work beside other warps",
    unit="s",
    text="(issue*(1 + a) + l1*(1 + b) + tensor*(1 + c) + delay)/n",
    symbols={
        "issue": "the schedulers' time for the work of one block, spread over its warps [s]",
        "l1": "L1's time for it [s]",
        "tensor": "the tensor cores' time for it, by mma.sync [s]",
        "a": "strands at the scheduler as the n-th arrives, among n - 1 [1]",
        "b": "strands at L1 then [1]",
        "delay": "how long a warp waits for its own results, units apart [s]",
        "c": "strands at the tensor core then [1]",
        "n": "strands of a scheduler's warps [1]",
    },
    holds="one warp a scheduler, which uses one unit after the other, to many",
    source="Reiser and Lavenberg, Mean-value analysis of closed multichain queuing networks (1980)",
)
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
        `perfmodel.models.blocks.waves.unevenness`.
    """
    # A product is at the tensor core while it is issued.
    rest = pipe_cycles({n: i for n, i in instructions.items() if n != "tensor16"}, device)
    apart = {n: SM_TIME(cycles=c, clock=device.sm_clock, balance=balance) for n, c in rest.items()}
    inputs["steps"] = _inputs(
        instance,
        chain,
        busiest_pipe(apart),
        terms["l1"],
        terms.get("tensor16", np.zeros(1)),
        occupied.resident,
        device.sm_count,
        uneven,
    )
    # What the blocks wait is part of their steps, and no batch of loads in a row beside it.
    inputs["latency"] = _waits_alone(inputs["steps"])
    terms["latency"] = np.atleast_1d(LATENCY_TIME(**inputs["latency"]))
    del terms["stalls"], inputs["stalls"]
    return steps_time(inputs["steps"])


def steps_time(given: Mapping[str, Any]) -> Array:
    """Return the time of blocks that work in steps: in turn, the oldest first, or the one ahead."""
    blocks = np.maximum(STEPS_TIME(**rounds_of_steps(given)), AHEAD_TIME(**block_ahead(given)))
    # Warps that have a scheduler each to themselves let nobody go first.
    meet = given["blocks"] * given["warps"] > SCHEDULERS
    in_order = (given["blocks"] <= given["held"]) & meet
    return np.asarray(np.maximum(blocks, in_order * AFTER_OLDEST(**oldest_block(given))))


def oldest_block(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `AFTER_OLDEST` takes; `given` is the "steps" of a prediction's inputs."""
    wait = given["steps"] * STEP_WAIT(**given) + given["outside"]
    busiest = np.maximum(np.maximum(given["issue"], given["l1"]), given["tensor"])
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
    issue, l1, tensor : array
        Seconds that the schedulers (or the busiest arithmetic pipe), L1 and the tensor cores of the
        busiest SM need, products by mma.sync with the tensor cores only.
    resident : array
        Blocks that an SM holds.
    sm_count : int
        SMs.
    uneven : array
        Steps of the block that ends last over the average: see
        `perfmodel.models.blocks.waves.unevenness`.
    """
    kernel = instance.kernel
    loop = step_loop(kernel)
    assert loop is not None
    steps = instance.turns(loop)
    here = np.maximum(np.ceil(most_blocks(instance, resident, sm_count)), 1.0)
    barriers = np.zeros(1)
    for b in kernel.barriers:
        count = np.asarray(instance.number(b.count), dtype=float)
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
    alone = chain.in_loops / chain.clock if chain.paced is not None else 0.0
    return {
        "issue": np.atleast_1d(issue) / here,
        "l1": np.atleast_1d(l1) / here,
        "tensor": np.atleast_1d(tensor) / here,
        "warps": np.atleast_1d(chain.overhead["warps"]),
        "blocks": here,
        "held": np.atleast_1d(np.minimum(resident, here)),
        "steps": steps * uneven,
        "load": load,
        "lead": lead,
        "barriers": barriers / np.maximum(steps, 1),
        "met": np.where(load > 0, 1.0, 0.0),
        "strands": np.atleast_1d(np.asarray(instance.number(kernel.strands), dtype=float)),
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


def work_times(given: Mapping[str, Any], blocks: Sequence[float] | range) -> list[Array]:
    """Return a block's time to compute, over the blocks that compute beside it, for each number.

    With `j` blocks the whole takes j times as long as returned for j.
    """
    warps = given["warps"]
    there = np.stack([j * warps / SCHEDULERS for j in blocks])
    count = strands_at_work(given, there)
    # Of fewer warps than schedulers each has a scheduler of its own, and the others have none.
    share = np.minimum(there, 1.0)
    units = (given[unit].shape for unit in ("issue", "l1", "tensor"))
    found = np.zeros(np.broadcast_shapes(there.shape, *units))
    for n, each in enumerate(warps_times(given, int(np.max(count))), 1):
        work = WARPS_TIME(**each) * warps / SCHEDULERS / share
        found = np.where(count == n, work, found)
    return list(found)


def strands_at_work(given: Mapping[str, Any], warps: Any) -> Array:
    """Return the strands of so many warps of a scheduler, at most `MOST_STRANDS`."""
    return np.asarray(np.clip(np.rint(warps * given["strands"]), 1, MOST_STRANDS))


def warps_times(given: Mapping[str, Any], most: int) -> Iterator[dict[str, Any]]:
    """Yield what `WARPS_TIME` takes for 1, 2, ... `most` strands of a scheduler.

    Each warp has its scheduler with a tensor core, and a quarter of L1: the other schedulers use
    the rest.
    """
    units = {unit: SCHEDULERS * given[unit] / given["warps"] for unit in _QUEUES.values()}
    # What a lone warp takes beyond all units, it waits for its own results.
    delay = np.maximum(given.get("alone", 0.0) - sum(units.values()), 0.0)
    there = {name: np.zeros(1) for name in _QUEUES}
    for n in range(1, most + 1):
        found = {**units, **there, "delay": delay, "n": float(n)}
        yield found
        each = np.maximum(WARPS_TIME(**found), 1e-30)
        there = {q: units[unit] * (1 + there[q]) / each for q, unit in _QUEUES.items()}


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
