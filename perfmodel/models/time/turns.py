"""Turns: how warps that wait and compute share the schedulers and the arithmetic pipes of an SM.

Warps come to a pipe in crowds: all divide where one divides, so that each pipe is full in turn and
none all the time. What is near the slowest adds to it, and so do the warps' own waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.kernel import PIPES
from perfmodel.models.extremes import largest
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism
from perfmodel.models.power_mean import mean_time, power_mean
from perfmodel.models.time.issue import Pipe

Array = npt.NDArray[Any]

TURNS_OVERLAP: Final = Coefficient(
    "time.turns.overlap",
    "1",
    "exponent between issue and the slower pipes, and between both and what a warp waits",
)
WIDE_OVERLAP: Final = Coefficient(
    "time.turns.wide_overlap",
    "1",
    "exponent between multipliers' turns for products of 64 bits and all else issued",
)
WAVE_OVERLAP: Final = Coefficient(
    "time.turns.wave_overlap",
    "1",
    "exponent between waits of a block and work of others, where its clocks are not known",
)
LEFT_IDLE: Final = Coefficient(
    "time.turns.left_idle",
    "1",
    "part of what a lone block leaves of the schedulers that stays idle at the end",
)
DRIFT_WAITS: Final = Coefficient(
    "time.turns.drift_waits",
    "1",
    "waits for DRAM, in a row, after which blocks are out of step by half",
)
AFTER_OLDEST = Formula(
    name="time of blocks that start together, the oldest first",
    unit="s",
    text="max(alone, work + min(idle*(alone - own), work - idle*(alone - own)))",
    symbols={
        "alone": "what a block waits and computes if it is alone [s]",
        "work": "what the busiest unit needs for all blocks of the SM [s]",
        "own": "what it needs for one of them [s]",
        "idle": "part of the rest that nobody uses in the end: see `LEFT_IDLE` [1]",
    },
    holds="one wave of blocks, of which each leaves room for others; few of them do not meet",
    source="fitted form: see `LEFT_IDLE`",
)
IN_TURN = Formula(
    name="time of blocks that start together and stay together",
    unit="s",
    text="alone - computing + max(computing, work)",
    symbols={
        "alone": "what a block waits and computes if it is alone [s]",
        "computing": "what it computes, of that [s]",
        "work": "what all blocks of the SM compute [s]",
    },
    holds="one wave of blocks that keep the schedulers busy while they compute: all wait, then "
    "all compute",
    source="derived; 48 multiply-adds in four chains and a load from L2: 333 clocks and 50 a block "
    "for 2 to 12 blocks an SM (measurements/latency, warps/crowds.csv)",
)
ONCE_TIME = Formula(
    name="time of blocks that start together",
    unit="s",
    text="oldest + sqrt(own/computing)*max(0, turn - oldest)",
    symbols={
        "oldest": "time of the oldest first: see `AFTER_OLDEST` [s]",
        "turn": "time of all together: see `IN_TURN` [s]",
        "own": "what the schedulers and pipes need for one block [s]",
        "computing": "what it takes to compute alone: more, for what waits for its results [s]",
    },
    holds="one wave of blocks",
    source="chosen form: blocks in step go apart where one leaves room for others. 98 points from "
    "L2 and 28 from DRAM (measurements/latency, warps/crowds.csv): 4.3% and 5.7% rms, "
    "10.0% and 6.9% for a power mean of work and waits with an exponent of 1.25, which was here "
    "before",
)
IN_STEP = Formula(
    name="effective number of waves once DRAM waits desynchronise the blocks",
    unit="1",
    text="waves*(1 + far/drift)",
    symbols={
        "waves": "waves of blocks, at least one [1]",
        "far": "waits of a block for DRAM, one after the other [1]",
        "drift": "so many that desynchronise half of the blocks: see `DRIFT_WAITS` [1]",
    },
    holds="blocks that start together",
    source="chosen form: one over it is the share of the time that blocks are in step",
)
TURNS_TIME = Formula(
    name="time of warps that wait and compute in turn",
    unit="s",
    text="once/waves + many*(1 - 1/waves)",
    symbols={
        "once": "what a block waits, with what those beside it compute: they start together [s]",
        "many": "what all blocks wait, with what all compute: they have drifted apart [s]",
        "waves": "waves of blocks, and what waits for DRAM count for: see `IN_STEP` [1]",
    },
    holds="blocks that wait for their data, compute, and are replaced as they end",
    source="derived ends; the decay between is assumed, as for waves",
)


def once_time(
    arithmetic: Array, latency: Array, computing: Array, resident: Array, device: Device
) -> Array:
    """Return the time of blocks that start together, by `ONCE_TIME` [s].

    Parameters
    ----------
    arithmetic : array
        Issue and the pipes of the busiest SM, by `mixed_pipes` [s].
    latency : array
        What its blocks wait and compute alone, one after the other [s].
    computing : array
        What they compute, of that [s].
    resident : array
        Blocks that share an SM [1].
    device : Device
    """
    alone = np.maximum(latency, 1e-30)
    own = arithmetic / np.maximum(resident, 1.0)
    oldest = after_oldest(alone, arithmetic, own, device)
    computing = np.minimum(np.maximum(computing, own), alone)
    return np.asanyarray(
        ONCE_TIME(
            oldest=oldest,
            turn=np.asanyarray(IN_TURN(alone=alone, computing=computing, work=arithmetic)),
            own=np.minimum(own, computing),
            computing=np.maximum(computing, 1e-30),
        )
    )


def once_roughly(arithmetic: Array, latency: Array, resident: Array, device: Device) -> Array:
    """Return the time of blocks that start together by `WAVE_OVERLAP` [s]; see `once_time`."""
    concurrent = arithmetic * (1 - 1 / np.maximum(resident, 1.0))
    return power_mean((concurrent, latency), WAVE_OVERLAP(device))


def after_oldest(alone: Array, work: Array, own: Array, device: Device) -> Array:
    """Return the time of blocks that start together, the oldest first; see `AFTER_OLDEST` [s]."""
    part = np.minimum(own, alone)
    return np.asanyarray(AFTER_OLDEST(alone=alone, work=work, own=part, idle=LEFT_IDLE(device)))


def _overlapped(
    arithmetic: Array, latency: Array, once: Array, waves: Array, far_waits: Array, device: Device
) -> Array:
    """Return the time of warps that always have others to compute while they wait [s]."""
    return np.asanyarray(np.maximum(arithmetic, latency))


@mechanism(neutral=_overlapped, evidence=["latency", "launch-overhead", "operators"])
def turns_time(
    arithmetic: Array,
    latency: Array,
    once: Array,
    waves: Array,
    far_waits: Array,
    device: Device,
) -> Array:
    """Return the time of warps that wait and compute in turn, by `TURNS_TIME` [s].

    Parameters
    ----------
    arithmetic, latency : array
        As `once_time` takes them [s].
    once : array
        Time of blocks that start together, by `ONCE_TIME` [s].
    waves : array
        Waves of blocks [1].
    far_waits : array
        Waits of a block for DRAM, one after the other [1].
    device : Device
    """
    drifting = IN_STEP(waves=np.maximum(waves, 1.0), far=far_waits, drift=DRIFT_WAITS(device))
    name = "blocks that have drifted apart"
    many = mean_time(name, TURNS_OVERLAP(device), arithmetic=arithmetic, latency=latency)
    return np.asanyarray(TURNS_TIME(once=once, many=many, waves=np.asanyarray(drifting)))


def mixed_pipes(terms: Mapping[str, Any], translated: bool, device: Device) -> Array:
    """Return the time of issue and the arithmetic pipes, which many warps take in turn [s].

    Parameters
    ----------
    terms : mapping of str to array or float
        Seconds that each needs alone.
    translated : bool
        Whether the kernel was translated from PTX, see `queued_pipes`.
    device : Device
    """
    queued = queued_pipes(terms, translated)
    parts = {str(name): terms[name] for name in queued}
    name = "issue and the pipes concurrent with it"
    mixed = mean_time(name, TURNS_OVERLAP(device), **parts)
    if Pipe.WIDE in terms:
        mixed = mean_time("arithmetic", WIDE_OVERLAP(device), mixed=mixed, wide=terms[Pipe.WIDE])
    besides = (*queued, Pipe.WIDE)
    alone = [terms[name] for name in PIPES if name in terms and name not in besides]
    return np.asanyarray(largest(mixed, *alone))


def queued_pipes(terms: Mapping[str, Any], translated: bool) -> tuple[str, ...]:
    """Return issue and the pipes of a launch that make warps wait beside it.

    Neither FP32 nor FP64, for which issue is as slow. In kernels translated from PTX the
    multipliers neither: ptxas hands out what can run there or on the integer pipe so that the two
    take turns within a warp (seen in machine code of sm_90). With the instructions
    that the profiler counted of nine kernels that only compute (measurements/source-kernels), this
    is 0.93 to 1.11 of the measured clocks.
    """
    free = {Pipe.FMA32, Pipe.FMA64, Pipe.WIDE} | ({Pipe.IMAD} if translated else set())
    return tuple(name for name in (Pipe.ISSUE, *PIPES) if name in terms and name not in free)
