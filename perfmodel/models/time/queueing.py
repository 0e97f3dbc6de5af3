"""Queueing: how the latency of loads and the bandwidth of L2 and DRAM combine to one time.

Loops form a closed queueing system: warps wait for their loads and queue behind those of other
warps at one server, the slower of L2 and DRAM. An iteration takes its latency plus a queueing delay
that grows as load/(1 - load); solving for the cycle time gives a smooth transition from
latency-bound to bandwidth-bound.

Blocks without loops load once, wait, and are replaced: their latency and bandwidth combine as a
power mean. Blocks whose warps synchronise at barriers also queue for their SM's busiest unit, which
is solved by mean-value analysis.
"""

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.derivation import most_turns
from perfmodel.models.formula import Formula
from perfmodel.models.latency.barrier_phases import (
    PASSES_TIME,
    LoadingBlocks,
    barrier_time,
)
from perfmodel.models.mechanism import mechanism
from perfmodel.models.power_mean import mean_time
from perfmodel.records import record

QUEUE_TIME = Formula(
    name="time of memory, loops",
    unit="s",
    text="(wait + bandwidth + alone"
    " + sqrt((wait - bandwidth - alone)**2 + 4*queue*(bandwidth + alone)))/2",
    symbols={
        "wait": "latency, with the transfer of each block's own data [s]",
        "bandwidth": "time of the slower of L2 and DRAM [s]",
        "alone": "time of the SM with most work after the others are done: see coefficient "
        "left_alone [s]",
        "queue": "queueing delay of all batches, one after another, at half load [s]",
    },
    holds="one warp on one SM to a full GPU: latency alone, bandwidth alone, and between",
    source="derived: a cycle takes wait + queue*load/(1 - load) with load = bandwidth/cycle, the "
    "delay of a queue at one server, solved for the cycle",
)
MEMORY_TIME = Formula(
    name="time of memory",
    unit="s",
    text="share*(blocks + second) + (1 - share)*loops",
    symbols={
        "share": "share of the data that loads outside loops request [1]",
        "blocks": "time of memory for blocks without loops [s]",
        "second": "wait of the second wave of blocks [s]",
        "loops": "time of memory for loops [s]",
    },
    holds="by construction where all loads are in loops, or none",
    source="definition",
)


def queued_blocks(latency: Array, unit: Array, held: Array) -> Array:
    """Return the time of blocks that wait by themselves and queue for an SM's busiest unit [s].

    Of `held` blocks that share an SM, each waits `latency` alone, and the unit takes `unit` for all
    of them [s]. A closed queue of an SM's blocks at one unit, by mean-value analysis (Reiser and
    Lavenberg, 1980). A block that arrives waits for those that are there, and for half of the turn
    of the one at work: turns of equal blocks are equally long. Blocks come as one where their warps
    meet at barriers; the warps of other blocks spread out and seldom wait.
    """
    apart = np.maximum(held * latency - unit, 0.0)
    there, used, time = (np.zeros(np.broadcast_shapes(apart.shape, unit.shape)) for _ in range(3))
    for n in range(1, most_turns(held) + 1):
        visit = unit * (1 + there - used / 2)
        turn = np.maximum(apart + visit, 1e-30)
        now = n <= held
        there = np.where(now, n * visit / turn, there)
        used = np.where(now, np.minimum(n * unit / turn, 1.0), used)
        time = np.where(now, turn / n, time)
    return np.asanyarray(np.maximum(np.maximum(time, latency), unit))


@record
class Queueing:
    """How the waits for loads and the bandwidth of memory make one time: see `memory_time`."""

    blocks: LoadingBlocks  # what they wait alone, and the time of the slower of L2 and DRAM
    wait_s: Array  # latency, with the burst of each block's loads [s]
    delay_s: Array  # what a batch of loads queues at half load [s]
    queue_s: Array  # delay of all batches in a row at half load [s]
    alone_s: Array  # what the SM with most work does once the others are done [s]
    second_s: Array  # what the second wave of blocks waits [s]
    share: Array  # share of the data that loads outside loops bring [1]
    overlap: Array  # exponent between waits and bandwidth of blocks without loops [1]
    # whether barriers synchronise the warps of a block, so that blocks queue for their SM
    synchronised: bool
    again: Array  # share of what loads in loops ask for that an earlier pass has read [1]

    @property
    def bandwidth_s(self) -> Array:
        """Time that the slower of L2 and DRAM needs [s]."""
        return self.blocks.bandwidth_s


@mechanism(
    neutral=lambda given: np.maximum(given.wait_s, given.bandwidth_s),
    evidence=["suite", "l2", "dram"],
)
def memory_time(given: Queueing) -> Array:
    """Return the time of L2, DRAM and the waits for both [s]; see `MEMORY_TIME`."""
    bandwidth = given.bandwidth_s
    loops = QUEUE_TIME(
        wait=given.wait_s, bandwidth=bandwidth, queue=given.queue_s, alone=given.alone_s
    )
    # Blocks that ask for their data once, and are replaced as they end.
    waits = {"wait": given.wait_s, "bandwidth": bandwidth}
    blocks = mean_time("memory, blocks", given.overlap, **waits)
    if given.synchronised:
        blocks = np.maximum(blocks, barrier_time(given.blocks))
        passes = barrier_time(given.blocks, passes=True)
        loops = PASSES_TIME(loops=loops, passes=passes, again=given.again)
    return MEMORY_TIME(share=given.share, second=given.second_s, blocks=blocks, loops=loops)
