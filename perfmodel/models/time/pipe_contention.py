"""Warps that alternate between waiting and computing: contention for schedulers and pipes.

All warps of a kernel execute the same code, so they need the same pipe at nearly the same time: all
divide where one divides. Each pipe is busy for a while and then idle, and the total exceeds the
time of the slowest pipe. Issue and the slower pipes therefore combine as a power mean, and the
result with the warps' own waits.

Blocks that start together are in lockstep at first: they all wait, then all compute. Of one wave
the time is that of the oldest-first schedule, in which each block leaves its idle slots to younger
ones. With more waves, and with many DRAM waits, blocks desynchronise and only the overlap matters.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, largest
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.kernel import PIPES
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism
from perfmodel.models.power_mean import mean_time
from perfmodel.models.time.issue import Pipe

TURNS_OVERLAP: Final = Coefficient("time.pipe_contention.overlap")
WIDE_OVERLAP: Final = Coefficient("time.pipe_contention.wide_overlap")
WAVE_OVERLAP: Final = Coefficient("time.pipe_contention.wave_overlap")
LEFT_IDLE: Final = Coefficient("time.pipe_contention.left_idle")
DRIFT_WAITS: Final = Coefficient("time.pipe_contention.drift_waits")
AFTER_OLDEST = Formula(
    name="time of blocks that start together, oldest first",
    unit="s",
    text="max(alone, work + min(idle*(alone - own), work - idle*(alone - own)))",
    symbols={
        "alone": "critical path of a block that is alone on its SM [s]",
        "work": "time of the busiest unit for all blocks of the SM [s]",
        "own": "time of that unit for one block [s]",
        "idle": "share of a block's idle time that stays unused: see coefficient left_idle [1]",
    },
    holds="one wave of blocks, of which each leaves idle slots to others; few of them compute at "
    "the same time",
    source="fitted form: see coefficient left_idle",
)
ONCE_TIME = Formula(
    name="time of blocks that start together",
    unit="s",
    text="oldest + sqrt(own/computing)*max(0, alone - computing + max(computing, work) - oldest)",
    symbols={
        "oldest": "time of the oldest-first schedule [s]",
        "alone": "critical path of a block that is alone on its SM [s]",
        "computing": "compute time in that: more than `own` where instructions wait for results "
        "[s]",
        "work": "compute time of all blocks of the SM [s]",
        "own": "time of the schedulers and pipes for one block [s]",
    },
    holds="one wave of blocks. Blocks that stay in lockstep all wait, then all compute, as 48 "
    "multiply-adds in four chains and a load from L2 do: 333 clocks and 50 per block for 2 to 12 "
    "blocks per SM (measurements/latency, warps)",
    source="assumed form: blocks in lockstep desynchronise where one leaves room for others. 98 "
    "points from L2 and 28 from DRAM (measurements/latency, warps): 4.3% and 5.7% rms; a power "
    "mean of work and waits with an exponent of 1.25 gives 10.0% and 6.9%",
)
IN_STEP = Formula(
    name="effective number of waves, where DRAM waits desynchronise the blocks",
    unit="1",
    text="waves*(1 + far/drift)",
    symbols={
        "waves": "waves of blocks, at least one [1]",
        "far": "dependent DRAM waits of a block [1]",
        "drift": "number of waits that desynchronises half of the blocks: see coefficient "
        "drift_waits [1]",
    },
    holds="blocks that start together",
    source="assumed form: its inverse is the share of the time in lockstep",
)
TURNS_TIME = Formula(
    name="time of warps that alternately wait and compute",
    unit="s",
    text="once/waves + many*(1 - 1/waves)",
    symbols={
        "once": "time with blocks in lockstep: they start together [s]",
        "many": "time with desynchronised blocks: all waits against all work [s]",
        "waves": "effective number of waves [1]",
    },
    holds="blocks that wait for their data, compute, and are replaced as they end",
    source="derived at both ends; the decay between them is assumed, as for waves",
)


def once_time(
    arithmetic: Array, latency: Array, computing: Array, resident: Array, device: Device
) -> Array:
    """Return the time of blocks that start together, by `ONCE_TIME` [s].

    `arithmetic` is the time of issue and the pipes of the busiest SM, by `mixed_pipes`; `latency`
    what its blocks wait and compute alone, one after the other; `computing` what they compute, of
    that [s].
    """
    alone = np.maximum(latency, 1e-30)
    own = arithmetic / np.maximum(resident, 1.0)
    oldest = after_oldest(alone, arithmetic, own, device)
    computing = np.minimum(np.maximum(computing, own), alone)
    return ONCE_TIME(
        oldest=oldest,
        alone=alone,
        work=arithmetic,
        own=np.minimum(own, computing),
        computing=np.maximum(computing, 1e-30),
    )


def after_oldest(alone: Array, work: Array, own: Array, device: Device) -> Array:
    """Return the time of blocks that start together, the oldest first; see `AFTER_OLDEST` [s]."""
    part = np.minimum(own, alone)
    return AFTER_OLDEST(alone=alone, work=work, own=part, idle=LEFT_IDLE(device))


@mechanism(
    neutral=lambda arithmetic, latency, *_: np.maximum(arithmetic, latency),
    evidence=["latency", "launch-overhead", "operators"],
)
def turns_time(
    arithmetic: Array,
    latency: Array,
    once: Array,
    waves: Array,
    far_waits: Array,
    device: Device,
) -> Array:
    """Return the time of warps that wait and compute in turn, by `TURNS_TIME` [s].

    `arithmetic` and `latency` are as in `once_time`, whose result is `once` [s]; a block waits for
    DRAM `far_waits` times, one after the other.
    """
    drifting = IN_STEP(waves=np.maximum(waves, 1.0), far=far_waits, drift=DRIFT_WAITS(device))
    name = "desynchronised blocks"
    many = mean_time(name, TURNS_OVERLAP(device), arithmetic=arithmetic, latency=latency)
    return TURNS_TIME(once=once, many=many, waves=drifting)


def mixed_pipes(terms: Mapping[str, Any], translated: bool, device: Device) -> Array:
    """Return the time of issue and the arithmetic pipes, which many warps take in turn [s].

    `terms` are the seconds that each needs alone. Warps wait for issue and for all pipes but FP32
    and FP64, for which issue is as slow. In kernels `translated` from PTX not for the multipliers
    either: ptxas hands out what can run there or on the integer pipe so that the two take turns
    within a warp (seen in machine code of sm_90). With the instructions that the profiler
    counted of nine kernels that only compute (measurements/source-kernels), this is 0.93 to 1.11 of
    the measured clocks.
    """
    free = {Pipe.FMA32, Pipe.FMA64, Pipe.WIDE} | ({Pipe.IMAD} if translated else set())
    there = [name for name in (Pipe.ISSUE, *PIPES) if name in terms]
    queued = {str(name): terms[name] for name in there if name not in free}
    mixed = mean_time("issue and the pipes concurrent with it", TURNS_OVERLAP(device), **queued)
    if Pipe.WIDE in terms:
        mixed = mean_time("arithmetic", WIDE_OVERLAP(device), mixed=mixed, wide=terms[Pipe.WIDE])
    alone = [terms[name] for name in there if name in free and name != Pipe.WIDE]
    return largest(mixed, *alone)
