"""Launch overhead: the time before the first block works, by timing protocol.

An empty kernel takes a fixed time that depends on what is timed: the profiler's duration, events in
a stream, or a replayed CUDA graph. Kernels with work take a little longer: instructions and
arguments have to be fetched into the caches of every SM, from DRAM if they were flushed, and the
slowest of n SMs decides. Constant memory that is read for the first time is fetched in pieces of 64
and 256 B, one after another.

The times of an empty kernel are figures of the device.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism

CODE_FETCH: Final = Coefficient("time.launch.code_fetch")
COLD_CODE: Final = Coefficient("time.launch.cold_code")
TRACED_COLD: Final = Coefficient("time.launch.traced_cold")
GRAPH_SHARE: Final = Coefficient("time.launch.graph_share")
FETCH_TIME = Formula(
    name="overhead of a launch with work over an empty kernel, by a profiler that leaves caches "
    "alone",
    unit="s",
    text="fetch*log2(n)/log2(m)",
    symbols={
        "fetch": "the same for a launch on every SM [s]",
        "n": "SMs that the first blocks run on [1]",
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
        "near": "clocks of the first word of a near piece of a far one that is cached [clocks]",
        "pieces": "far pieces of what is read: see coefficient constant_far_bytes [1]",
        "lines": "near pieces of what is read [1]",
        "clock": "SM clock [Hz]",
    },
    holds="words read one after another; timed by a profiler that empties the constant caches",
    source="measured form: see coefficient constant_far_l2 and the coefficients next to it",
)
CONSTANT_NEAR: Final = Coefficient("time.launch.constant_near")
CONSTANT_FAR_L2: Final = Coefficient("time.launch.constant_far_l2")
CONSTANT_FAR_DRAM: Final = Coefficient("time.launch.constant_far_dram")
CONSTANT_FAR_BYTES: Final = Coefficient("time.launch.constant_far_bytes")
CONSTANT_NEAR_BYTES: Final = Coefficient("time.launch.constant_near_bytes")


def launch_floor(device: Device, timing: str, cold: bool, works: bool = False) -> float:
    """Return the time of an empty kernel; if it `works`, without what goes on beside work [s].

    The profiler's figure is of cold launches, that of events of warm ones, and that of a profiler
    that leaves caches alone, whose device says what it adds for work, of warm ones too. A replayed
    graph fetches the code of its next kernel while one runs: it is never cold.
    """
    if timing == "events":
        return device.event_floor + (COLD_CODE(device) if cold else 0.0)
    if timing == "graph":
        if device.launch_fetch is not None:
            return device.launch_floor
        empty = GRAPH_SHARE(device) * (device.launch_floor - COLD_CODE(device))
        return max(empty - (_launch_code(device) if works else 0.0), 0.0)
    if device.launch_fetch is not None:
        beside = (device.launch_beside or 0.0) - (TRACED_COLD(device) if cold else 0.0)
        return device.launch_floor - max(beside, 0.0) * works
    if cold:
        return device.launch_floor
    return max(device.launch_floor - COLD_CODE(device), 0.0)


@mechanism(
    neutral=lambda _, blocks: np.zeros(np.shape(blocks)), evidence=["suite", "launch-overhead"]
)
def code_fetch(device: Device, blocks: Array) -> Array:
    """Return what a launch with any work takes beyond an empty one [s]."""
    if device.launch_fetch is None:
        return np.zeros(np.shape(blocks)) + _launch_code(device)
    sms = np.clip(blocks, 1.0, device.sm_count)
    return FETCH_TIME(fetch=device.launch_fetch, n=sms, m=1.0 * device.sm_count)


def _launch_code(device: Device) -> float:
    """Return what the code of a kernel with work takes beyond an empty one's [s]."""
    return CODE_FETCH(device) if device.launch_code is None else device.launch_code


def constant_fetch(device: Device, timing: str, cold: bool, size: Array) -> Array:
    """Return what it takes to fetch `size` bytes of constant memory for the first time [s].

    Between events, and in a replayed graph, the caches of constants are taken to hold what the
    launch before has read.
    """
    if timing != "profiler":
        return np.zeros(np.shape(size))
    return CONSTANT_TIME(
        far=(CONSTANT_FAR_DRAM if cold else CONSTANT_FAR_L2)(device),
        near=CONSTANT_NEAR(device),
        pieces=np.ceil(size / CONSTANT_FAR_BYTES(device)),
        lines=np.ceil(size / CONSTANT_NEAR_BYTES(device)),
        clock=device.sm_clock,
    )
