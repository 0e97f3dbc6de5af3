"""Last block: the time until the last block ends, and the last data arrives, at the least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism

DISPATCH_OVERLAP: Final = Coefficient("time.last_block.dispatch_overlap")
LAST_TIME = Formula(
    name="time until the last block ends, at the least",
    unit="s",
    text="first + more*(first**p + turn**p)**(1/p) + last + contention*(1 - 1/concurrent)/2",
    symbols={
        "first": "time to start the blocks that all SMs have room for [s]",
        "more": "waves of blocks after those [1]",
        "turn": "time from one block to the next in its place [s]",
        "p": "exponent: how sharply the longer of both decides [1]",
        "last": "time of one block, what the start-up has of it apart [s]",
        "contention": "time of issue or L1 for the first wave, whichever is longer, of blocks "
        "without loops and barriers [s]",
        "concurrent": "blocks that start together on an SM [1]",
    },
    holds="always: the last block starts after all others",
    source="derived: blocks start one by one, the first of each wave in the place of one of the "
    "wave before, as soon as that one has ended and those before it have started: see "
    "`DISPATCH_OVERLAP`. Blocks that start together take turns: each waits for half of what all of "
    "them do",
)


@dataclass(frozen=True, slots=True)
class LastBlock:
    """Until the last block ends: what `LAST_TIME` takes and gives."""

    contention_s: Array  # issue or L1 for the first wave of blocks, whichever is longer [s]
    concurrent: Array  # blocks that start together on an SM [1]
    time_s: Array  # [s]


def _at_once(*_: Any, **__: Any) -> LastBlock:
    return LastBlock(np.zeros(1), np.ones(1), np.zeros(1))


@mechanism(neutral=_at_once, evidence=["gather", "launch-overhead"])
def last_block(
    execution: Execution,
    dispatch: Array,
    waves: Array,
    turn: Array,
    last: Array,
    busy: Array,
    concurrent: Array,
) -> LastBlock:
    """Return the time until the last block ends.

    It takes `dispatch` to start all blocks, in `waves` of those that have work, and issue or L1 are
    `busy` for all of them [s]; the rest as for `LAST_TIME`.
    """
    # Share of the blocks that SMs have room for at a time.
    running = execution.device.sm_count * execution.resident / execution.blocks
    every = np.minimum(waves, 1 / running)
    contention = busy * np.minimum(running, 1.0)
    time = LAST_TIME(
        first=dispatch * np.minimum(running, 1.0),
        more=np.maximum(every - 1, 0.0),
        turn=np.atleast_1d(turn),
        p=DISPATCH_OVERLAP(execution.device),
        last=last,
        contention=contention,
        concurrent=concurrent,
    )
    return LastBlock(contention, concurrent, np.asanyarray(time))
