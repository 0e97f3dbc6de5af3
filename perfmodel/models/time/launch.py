"""Launch: what a launch takes before its first block works, by protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula

Array = npt.NDArray[Any]

CODE_FETCH: Final = 0.25e-6
"""Seconds that a launch with any work takes beyond an empty one, unless the device says: an H200's.

Fitted: writes and reads of 64 to 384 KiB, each protocol against its own empty kernel
(measurements/suite/h200-sxm/sweeps, streams.csv and launch.csv, fit rows); 0.26 up to 4 MiB. Part
of it is the profiler's doing, which empties the instruction caches before each launch: straight
code of 1024 instructions takes 0.8 to 1.4 us more for it. Launches that CUPTI times in a row take
0.01 us, on one SM, to 0.17 us, on all of them (measurements/launch-overhead/h200-sxm/small).

An H100's empty kernels take longer than an H200's, by 0.26 to 0.29 (CUPTI), 0.41 (events) and
0.65 us (Nsight Compute). Launches with work take 0.19 us longer by CUPTI, 0.13 to 0.22 (streams,
softmax and kv-append of up to 4 us, warm, built-in-kernels/h100-sxm/first and
built-in-kernels/h200-sxm/first): what empty kernels wait for there goes on while others work
(`Device.launch_beside`).
"""
COLD_CODE: Final = 0.13e-6
"""Seconds that a launch takes longer when its code and arguments have to come from DRAM.

Fitted: empty kernels of 1 to 1056 blocks and writes of 64 KiB to 4 MiB, cold less warm, 0.03 to
0.29 us by the profiler and between events (measurements/suite/h200-sxm/sweeps, launch.csv and
streams.csv, fit rows). DRAM's latency beyond L2's is 0.20 us.
"""
TRACED_COLD: Final = 0.03e-6
"""The same by a profiler that leaves caches alone, of what work goes on beside elsewhere.

Measured: an H100's empty kernels of 1 to 4224 blocks take 0.90 us cold for 0.86 warm (CUPTI,
measurements/launch-overhead/h100-sxm/short), an H200's 0.64 for 0.61
(launch-overhead/h200-sxm/blocks), whose launches with work hide it.
"""
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
    "(measurements/launch-overhead/h200-sxm/small/small.csv, fit rows)",
)
CONSTANT_TIME = Formula(
    name="time to fetch constant memory for the first time",
    unit="s",
    text="(far*pieces + near*(lines - pieces))/clock",
    symbols={
        "far": "clocks of the first word of 256 B [clocks]",
        "near": "clocks of the first word of 64 B of what is there [clocks]",
        "pieces": "256 B of what is read [1]",
        "lines": "64 B of it [1]",
        "clock": "SM clock [Hz]",
    },
    holds="each word waited for, in order; by a profiler, which empties the caches of constants",
    source="measured: a walk over constant memory takes 58 clocks a word, 170 and 328 where each "
    "word is 64 and 256 B from the last and L2 has them, 260 and 650 where it has not, on all SMs; "
    "`far` and `near` are what goes beyond the 58 "
    "(measurements/l1/h200-sxm/overlaps/first_time.csv)",
)
CONSTANT_FAR: Final = (270.0, 590.0)
"""`far` of `CONSTANT_TIME`: from L2, and from DRAM."""
CONSTANT_NEAR: Final = 60.0
"""`near` of `CONSTANT_TIME`."""
_FAR_PIECE: Final = 256
_NEAR_PIECE: Final = 64
"""Bytes that come at once from L2 or DRAM, and from there to an SM: by the same rows."""
LAST_TIME = Formula(
    name="time until the last block ends, at the least",
    unit="s",
    text="first + more*(first**8 + turn**8)**(1/8) + last + contention*(1 - 1/concurrent)/2",
    symbols={
        "first": "time to start the blocks that all SMs have room for [s]",
        "more": "waves of blocks after those [1]",
        "turn": "time from one block to the next in its place [s]",
        "last": "time of one block, what the start-up has of it apart [s]",
        "contention": "time of issue or L1 for the first wave, whichever is longer, of blocks "
        "without loops and barriers [s]",
        "concurrent": "blocks that start together on an SM [1]",
    },
    holds="always: the last block starts after all others",
    source="derived: blocks start one by one, the first of each wave in the place of one of the "
    "wave before, as soon as that one has ended and those before it have started; gathers of 33 "
    "to 1056 blocks take 0.6 to 0.8 us more than as many empty blocks, of 4224, 8448 and 16896 "
    "1.2, 1.6 and 2.4: 0.736 us a wave, 0.735 by this, where 1056 empty blocks take 0.634 and a "
    "block of gathers 0.70 (measurements/gather/h200-sxm/tables/times.csv). Blocks that start "
    "together take turns: each waits for half of what all of them do; of gathers in runs of 8 one "
    "lasts 1060 clocks alone, 1170 with 3 others, 1390 with 7, in later waves 1030 "
    "(gather/h200-sxm/blocks)",
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
    "(measurements/launch-overhead/h200-sxm/blocks/times.csv)",
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
    dispatch: Array,
    running: Array,
    waves: Array,
    turn: Array,
    last: Array,
    busy: Array,
    concurrent: Array,
) -> LastBlock:
    """Return the time until the last block ends.

    Parameters
    ----------
    dispatch : array
        Time to start all blocks [s].
    running : array
        Share of the blocks that SMs have room for at a time.
    waves : array
        Waves of blocks that have work.
    turn, last : array
        As for `LAST_TIME`.
    busy : array
        Time of issue or L1 for all blocks [s].
    concurrent : array
        Blocks that start together on an SM [1].
    """
    every = np.minimum(waves, 1 / running)
    contention = busy * np.minimum(running, 1.0)
    time = LAST_TIME(
        first=dispatch * np.minimum(running, 1.0),
        more=np.maximum(every - 1, 0.0),
        turn=np.atleast_1d(turn),
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
        return device.event_floor + (COLD_CODE if cold else 0.0)
    if device.launch_fetch is not None:
        beside = (device.launch_beside or 0.0) - (TRACED_COLD if cold else 0.0)
        return device.launch_floor - max(beside, 0.0) * works
    if cold:
        return device.launch_floor
    return max(device.launch_floor - COLD_CODE, 0.0)


def code_fetch(device: Device, blocks: Array) -> Array:
    """Return what a launch with any work takes beyond an empty one [s]."""
    if device.launch_fetch is None:
        code = CODE_FETCH if device.launch_code is None else device.launch_code
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
            far=CONSTANT_FAR[int(cold)],
            near=CONSTANT_NEAR,
            pieces=np.ceil(size / _FAR_PIECE),
            lines=np.ceil(size / _NEAR_PIECE),
            clock=device.sm_clock,
        )
    )
