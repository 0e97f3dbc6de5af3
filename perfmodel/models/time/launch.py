"""Launch: what a launch takes before its first block works, by protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula

Array = npt.NDArray[Any]

CODE_FETCH: Final = Coefficient(
    "time.launch.code_fetch",
    "s",
    "what a launch with any work takes beyond an empty one, unless the device says",
)
COLD_CODE: Final = Coefficient(
    "time.launch.cold_code",
    "s",
    "how much longer a launch takes whose code and arguments come from DRAM",
)
TRACED_COLD: Final = Coefficient(
    "time.launch.traced_cold",
    "s",
    "the same by a profiler that leaves caches alone, of what work goes on beside elsewhere",
)
FETCH_TIME = Formula(
    name="what a launch takes beyond an empty one, by a profiler that leaves caches alone",
    unit="s",
    text="fetch*log2(n)/log2(m)",
    symbols={
        "fetch": "the same of a launch on every SM [s]",
        "n": "SMs that the launch begins on [1]",
        "m": "SMs of the device [1]",
    },
    holds="code that an earlier launch left in the SMs' caches",
    source="derived: the slowest of n SMs; warm blocks of one warp that read 512 B each take 0.77, "
    "0.85, 0.89 and 0.91 us on 1, 8, 32 and 132 SMs by CUPTI, 0.78, 0.85, 0.90 and 0.95 by this "
    "(measurements/launch-overhead, small/small.csv, rows marked fit)",
)
CONSTANT_TIME = Formula(
    name="time to fetch constant memory for the first time",
    unit="s",
    text="(far*pieces + near*(lines - pieces))/clock",
    symbols={
        "far": "clocks of the first word of a far piece [clocks]",
        "near": "clocks of the first word of a near piece of what is there [clocks]",
        "pieces": "far pieces of what is read: see `CONSTANT_FAR_BYTES` [1]",
        "lines": "near pieces of it [1]",
        "clock": "SM clock [Hz]",
    },
    holds="each word waited for, in order; by a profiler, which empties the caches of constants",
    source="measured form: see `CONSTANT_FAR_L2` and the coefficients beside it",
)
CONSTANT_NEAR: Final = Coefficient(
    "time.launch.constant_near",
    "clocks",
    "wait for the first word of a near piece of constant memory, of a far one that is there",
)
CONSTANT_FAR_L2: Final = Coefficient(
    "time.launch.constant_far_l2",
    "clocks",
    "wait for the first word of a far piece of constant memory that L2 has",
)
CONSTANT_FAR_DRAM: Final = Coefficient(
    "time.launch.constant_far_dram",
    "clocks",
    "the same of one that comes from DRAM",
)
CONSTANT_FAR_BYTES: Final = Coefficient(
    "time.launch.constant_far_bytes",
    "B",
    "constant memory that comes at once from L2 or DRAM: a far piece",
)
CONSTANT_NEAR_BYTES: Final = Coefficient(
    "time.launch.constant_near_bytes",
    "B",
    "constant memory that comes at once from there to an SM: a near piece",
)
DISPATCH_OVERLAP: Final = Coefficient(
    "time.launch.dispatch_overlap",
    "1",
    "exponent between starting a wave of blocks and the time of one of them",
)
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

AFTER_TIME = Formula(
    name="time until the last data arrives, at the least",
    unit="s",
    text="bandwidth + before",
    symbols={
        "bandwidth": "time that the slower of L2 and DRAM needs [s]",
        "before": "loads that a block waits for one after the other, what the start-up has of "
        "them apart [s]",
    },
    holds="loads outside loops: L2 and DRAM have next to nothing to do until the last of them",
    source="derived: one, two and three loads before one at a random place take 0.16 to 0.19 us "
    "each, also where L2 is busy for 1.7 us with it "
    "(measurements/launch-overhead, blocks/times.csv)",
)


@dataclass(frozen=True, slots=True)
class LastBlock:
    """Until the last block ends: what `LAST_TIME` takes and gives.

    Attributes
    ----------
    contention_s : array
        Issue or L1 for the first wave of blocks, whichever is longer [s].
    concurrent : array
        Blocks that start together on an SM [1].
    time_s : array
        [s].
    """

    contention_s: Array
    concurrent: Array
    time_s: Array


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

    Parameters
    ----------
    execution : Execution
    dispatch : array
        Time to start all blocks [s].
    waves : array
        Waves of blocks that have work.
    turn, last : array
        As for `LAST_TIME`.
    busy : array
        Time of issue or L1 for all blocks [s].
    concurrent : array
        Blocks that start together on an SM [1].
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


def launch_floor(device: Device, timing: str, cold: bool, works: bool = False) -> float:
    """Return the time of an empty kernel; if it `works`, without what goes on beside work [s].

    The profiler's figure is of cold launches, that of events of warm ones, and that of a profiler
    that leaves caches alone, whose device says what it adds for work, of warm ones too.
    """
    if timing == "events":
        return device.event_floor + (COLD_CODE(device) if cold else 0.0)
    if device.launch_fetch is not None:
        beside = (device.launch_beside or 0.0) - (TRACED_COLD(device) if cold else 0.0)
        return device.launch_floor - max(beside, 0.0) * works
    if cold:
        return device.launch_floor
    return max(device.launch_floor - COLD_CODE(device), 0.0)


def code_fetch(device: Device, blocks: Array) -> Array:
    """Return what a launch with any work takes beyond an empty one [s]."""
    if device.launch_fetch is None:
        code = CODE_FETCH(device) if device.launch_code is None else device.launch_code
        return np.zeros(np.shape(blocks)) + code
    sms = np.clip(blocks, 1.0, device.sm_count)
    return np.asanyarray(FETCH_TIME(fetch=device.launch_fetch, n=sms, m=1.0 * device.sm_count))


def constant_fetch(device: Device, timing: str, cold: bool, size: Array) -> Array:
    """Return what it takes to fetch `size` bytes of constant memory for the first time [s].

    Between events the caches of constants are taken to hold what the launch before has read.
    """
    if timing == "events":
        return np.zeros(np.shape(size))
    return np.asanyarray(
        CONSTANT_TIME(
            far=(CONSTANT_FAR_DRAM if cold else CONSTANT_FAR_L2)(device),
            near=CONSTANT_NEAR(device),
            pieces=np.ceil(size / CONSTANT_FAR_BYTES(device)),
            lines=np.ceil(size / CONSTANT_NEAR_BYTES(device)),
            clock=device.sm_clock,
        )
    )
