"""Turns: how warps that wait and compute share the schedulers and the arithmetic pipes of an SM.

Warps come to a pipe in crowds: all divide where one divides, so that each pipe is full in turn and
none all the time. What is near the slowest adds to it, and so do the warps' own waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.kernels.kernel import PIPES
from perfmodel.models.extremes import largest
from perfmodel.models.formula import Formula
from perfmodel.models.power_mean import mean_time, power_mean

Array = npt.NDArray[Any]

TURNS_OVERLAP: Final = 3.0
"""Exponent between issue slots and the slower pipes, and between both and what a warp waits alone.

Fitted: the parts of a softmax without memory, 2 to 16 blocks of four warps an SM, issue in 31 to
98% of the clocks; 5.7% rms (17% where the largest alone decides), exponents of 2.9 and 3.2 apart
are no better (measurements/h200-launches/mix.csv, all 35 rows of several blocks). FP32 instructions
take issue slots only and wait for no pipe.
"""
WIDE_OVERLAP: Final = 2.0
"""Exponent between the multipliers' turns for products of 64 bits and all that is issued besides.

Fitted: nine mixes with logic operations, sums and FP32, 5.6% rms; 8.6% with 1.6, 8.5% with 2.5
(measurements/h200-pipes/pipes.csv). Products of 32 bits beside as many logic operations take as
long as the slower of both.
"""
ROUND_OVERLAP: Final = 1.25
"""Exponent between what a block waits and what those beside it compute, in one round of blocks,
where the clocks of a lone block are not known from its machine code: else see `ONCE_TIME`.

Fitted: softmax, layer normalisation and argmax through PyTorch, 176 rows marked fit
(measurements/h200-operators): 6.2% off in the median and 15.3% at the ninetieth percentile; 6.8%
and 16.7% with an exponent of 2, 6.4% and 16.4% for a sum.
"""
LEFT_IDLE: Final = 0.55
"""Part of what a lone block leaves of the schedulers that nobody uses while the last blocks end.

Schedulers favour their oldest warps: of equal blocks that start together the first take as long as
a lone one, and the last has nobody beside it in the end. Fitted: 126 points of 1 to 16 blocks an SM
that wait for a load and compute, 24 and 192 times (measurements/h200-crowds/crowds.csv: 0.6, 0.5 is
nearly as good), and the parts of a softmax, without loads (h200-launches/mix.csv: 0.5, of 64 warps
35 are there on average).
"""
DRIFT_WAITS: Final = 80.0
"""Waits for DRAM, one after the other, after which blocks that started together are out of step by
half: each comes sooner or later by luck. Waits for L2 alone are alike, and leave them in step.

Chosen by hand: attention of a token in equal parts, 13 to 375 turns, is 5.6% off in the median and
11% at the ninetieth percentile without this, 5.6 and 10.9% with 20, 4.7 and 10.5% with 40, 4.6 and
10.5% with 80 (measurements/h200-crowds/split.csv, fit rows). Loops that wait for L2 are as much in
step after 512 turns as after 8 (measurements/h200-attention/turns.csv), those that wait for DRAM
partly out of it after 24 (measurements/h200-crowds/crowds.csv).
"""
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
    holds="one round of blocks, of which each leaves room for others; few of them do not meet",
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
    holds="one round of blocks that keep the schedulers busy while they compute: all wait, then "
    "all compute",
    source="derived; 48 multiply-adds in four chains and a load from L2: 333 clocks and 50 a block "
    "for 2 to 12 blocks an SM (measurements/h200-crowds/crowds.csv)",
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
    holds="one round of blocks",
    source="chosen form: blocks in step go apart where one leaves room for others. 98 points from "
    "L2 and 28 from DRAM (measurements/h200-crowds/crowds.csv): 4.3% and 5.7% rms, 10.0% and 6.9% "
    "for a power mean of work and waits with an exponent of 1.25, which was here before",
)
IN_STEP = Formula(
    name="rounds of blocks that would bring them out of step as far",
    unit="1",
    text="rounds*(1 + far/drift)",
    symbols={
        "rounds": "rounds of blocks, at least one [1]",
        "far": "waits of a block for DRAM, one after the other [1]",
        "drift": "so many that bring half of the blocks out of step: see `DRIFT_WAITS` [1]",
    },
    holds="blocks that start together",
    source="chosen form: one over it is the share of the time that blocks are in step",
)
TURNS_TIME = Formula(
    name="time of warps that wait and compute in turn",
    unit="s",
    text="once/rounds + many*(1 - 1/rounds)",
    symbols={
        "once": "what a block waits, with what those beside it compute: they start together [s]",
        "many": "what all blocks wait, with what all compute: they have drifted apart [s]",
        "rounds": "rounds of blocks, and what waits for DRAM count for: see `IN_STEP` [1]",
    },
    holds="blocks that wait for their data, compute, and are replaced as they end",
    source="derived ends; the decay between is assumed, as for rounds",
)


def once_inputs(
    arithmetic: Array, latency: Array, computing: Array, held: Array
) -> dict[str, dict[str, Array]]:
    """Return what `AFTER_OLDEST`, `IN_TURN` and `ONCE_TIME` take: "oldest", "in-turn" and "once".

    Parameters
    ----------
    arithmetic : array
        Issue and the pipes of the busiest SM, by `mixed_pipes` [s].
    latency : array
        What its blocks wait and compute alone, one after the other [s].
    computing : array
        What they compute, of that [s].
    held : array
        Blocks that share an SM.
    """
    alone = np.maximum(latency, 1e-30)
    own = arithmetic / np.maximum(held, 1.0)
    oldest = oldest_inputs(alone, arithmetic, own)
    computing = np.minimum(np.maximum(computing, own), alone)
    together = {"alone": alone, "computing": computing, "work": arithmetic}
    once = {
        "oldest": np.asanyarray(AFTER_OLDEST(**oldest)),
        "turn": np.asanyarray(IN_TURN(**together)),
        "own": np.minimum(own, computing),
        "computing": np.maximum(computing, 1e-30),
    }
    return {"oldest": oldest, "in-turn": together, "once": once}


def once_roughly(arithmetic: Array, latency: Array, held: Array) -> Array:
    """Return the time of blocks that start together by `ROUND_OVERLAP` [s]; see `once_inputs`."""
    beside = arithmetic * (1 - 1 / np.maximum(held, 1.0))
    return power_mean((beside, latency), ROUND_OVERLAP)


def oldest_inputs(alone: Any, work: Any, own: Any) -> dict[str, Any]:
    """Return what `AFTER_OLDEST` takes; see there."""
    return {"alone": alone, "work": work, "own": np.minimum(own, alone), "idle": LEFT_IDLE}


def turns_inputs(
    arithmetic: Array, latency: Array, once: Array, rounds: Array, far: Array
) -> dict[str, Array]:
    """Return what `TURNS_TIME` takes.

    Parameters
    ----------
    arithmetic, latency : array
        As `once_inputs` takes them [s].
    once : array
        Time of blocks that start together, by `ONCE_TIME` [s].
    rounds : array
        Rounds of blocks.
    far : array
        Waits of a block for DRAM, one after the other.
    """
    return {
        "once": once,
        "many": mean_time(
            "blocks that have drifted apart", TURNS_OVERLAP, arithmetic=arithmetic, latency=latency
        ),
        "rounds": np.asanyarray(IN_STEP(**in_step_inputs(rounds, far))),
    }


def in_step_inputs(rounds: Any, far: Any) -> dict[str, Any]:
    """Return what `IN_STEP` takes, for at least one round."""
    return {"rounds": np.maximum(rounds, 1.0), "far": far, "drift": DRIFT_WAITS}


def mixed_pipes(terms: Mapping[str, Any], translated: bool) -> Array:
    """Return the time of issue and the arithmetic pipes, which many warps take in turn [s].

    Parameters
    ----------
    terms : mapping of str to array or float
        Seconds that each needs alone.
    translated : bool
        Whether the kernel was translated from PTX, see `queued_pipes`.
    """
    queued = queued_pipes(terms, translated)
    parts = {name: terms[name] for name in queued}
    mixed = mean_time("issue and the pipes beside it", TURNS_OVERLAP, **parts)
    if "wide" in terms:
        mixed = mean_time("arithmetic", WIDE_OVERLAP, mixed=mixed, wide=terms["wide"])
    alone = [terms[name] for name in PIPES if name in terms and name not in (*queued, "wide")]
    return np.asanyarray(largest(mixed, *alone))


def queued_pipes(terms: Mapping[str, Any], translated: bool) -> tuple[str, ...]:
    """Return issue and the pipes of a launch that make warps wait beside it.

    Neither FP32 nor FP64, for which issue is as slow. In kernels translated from PTX the
    multipliers neither: ptxas hands out what can run there or on the integer pipe so that the two
    take turns within a warp (`perfmodel.cuda.sass.pipe_balance`). With the instructions
    that the profiler counted of nine kernels that only compute (corpora, H200), this is 0.93 to
    1.11 of the measured clocks.
    """
    free = {"fma32", "fma64", "wide"} | ({"imad"} if translated else set())
    return tuple(name for name in ("issue", *PIPES) if name in terms and name not in free)
