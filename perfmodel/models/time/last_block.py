"""Lower bound by scheduling: the last block can start only after all others, and has to end.

The block scheduler starts blocks at a limited rate. The blocks of the first wave start one by one;
each later block starts in the place of one that has ended. The launch lasts at least until the last
block has started and then runs for its own critical path. Blocks that start together on an SM also
contend for its issue slots: on average each waits for half of the others' work.

For loads outside loops there is a second bound: L2 and DRAM have little to do until the last of a
block's dependent loads is issued, so the latency of the earlier ones adds to the time of the
bandwidth.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.formula import Formula
from perfmodel.models.latency.block_waits import LATENCY_TIME
from perfmodel.models.mechanism import mechanism
from perfmodel.models.time.issue import Pipe
from perfmodel.models.time.resources import Resources

DISPATCH_OVERLAP: Final = Coefficient("time.last_block.dispatch_overlap")
LAST_TIME = Formula(
    name="time until the last block ends, lower bound",
    unit="s",
    text="first + more*(first**p + turn**p)**(1/p) + last + contention*(1 - 1/concurrent)/2",
    symbols={
        "first": "time to start the first wave of blocks [s]",
        "more": "further waves of blocks [1]",
        "turn": "time from one block's start to its successor's [s]",
        "p": "exponent: how sharply the longer of both decides [1]",
        "last": "critical path of one block, without the part in the start-up [s]",
        "contention": "time of issue or L1 for the first wave, whichever is longer, for blocks "
        "without loops and barriers [s]",
        "concurrent": "blocks that start together on an SM [1]",
    },
    holds="always: the last block starts after all others",
    source="derived: blocks start one by one, those of later waves each in the place of one of "
    "the wave before, once that has ended and those before it have started: see coefficient "
    "dispatch_overlap. Blocks that start together contend: each waits for half of all their work "
    "on average",
)
AFTER_TIME = Formula(
    name="time until the last data arrives, lower bound",
    unit="s",
    text="bandwidth + before",
    symbols={
        "bandwidth": "time of the slower of L2 and DRAM [s]",
        "before": "latencies of dependent loads of a block, without those in the start-up [s]",
    },
    holds="loads outside loops: L2 and DRAM are nearly idle until the last of them",
    source="derived: one, two and three loads before one at a random place take 0.16 to 0.19 us "
    "each, also where L2 is busy for 1.7 us with it "
    "(measurements/launch-overhead, blocks/times.csv)",
)


@mechanism(neutral=lambda found: np.zeros(1), evidence=["gather", "launch-overhead"])
def last_block(found: Resources) -> Array:
    """Return the time until the last block ends [s]; 0 where blocks start at no known rate."""
    waits, latency, execution = found.waits, found.latency, found.execution
    if waits.dispatch_s is None:
        return np.zeros(1)
    # Share of the blocks that SMs have room for at a time.
    running = execution.device.sm_count * execution.resident / execution.blocks
    # Whether blocks ask for all of their data at once, and wait for nobody else.
    at_once = np.asanyarray((found.queueing.share >= 1) & (not execution.kernel.barriers))
    busy = np.maximum(found.sm.pipes_s[Pipe.ISSUE], found.sm.l1.own_s) * at_once
    one_wave = LATENCY_TIME(chain=latency.chain_s, ramp=latency.ramp_s, waves=1.0)
    return LAST_TIME(
        first=waits.dispatch_s * np.minimum(running, 1.0),
        more=np.maximum(np.minimum(waits.resident_waves, 1 / running) - 1, 0.0),
        turn=np.atleast_1d(waits.chain.total),
        p=DISPATCH_OVERLAP(execution.device),
        last=np.atleast_1d(one_wave),
        contention=busy * np.minimum(running, 1.0),
        concurrent=waits.concurrent,
    )
