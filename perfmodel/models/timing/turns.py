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
from perfmodel.models.formula import Formula
from perfmodel.models.power_mean import power_mean

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
"""The same exponent between the waits of a block and what the blocks beside it compute, in one
round of blocks, which start together and stay in step: nearly a sum.

Fitted: softmax, layer normalisation and argmax through PyTorch, 176 rows marked fit
(measurements/h200-operators): 6.2% off in the median and 15.3% at the ninetieth percentile; 6.8%
and 16.7% with an exponent of 2, 6.4% and 16.4% for a sum.
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


def turns_inputs(
    arithmetic: Array, latency: Array, held: Array, rounds: Array, far: Array
) -> dict[str, Array]:
    """Return what `TURNS_TIME` takes.

    Parameters
    ----------
    arithmetic : array
        Issue and the pipes of the busiest SM, by `mixed_pipes` [s].
    latency : array
        What its blocks wait and compute alone, one after the other [s].
    held : array
        Blocks that share an SM.
    rounds : array
        Rounds of blocks.
    far : array
        Waits of a block for DRAM, one after the other.
    """
    beside = arithmetic * (1 - 1 / np.maximum(held, 1.0))
    return {
        "once": power_mean((beside, latency), ROUND_OVERLAP),
        "many": power_mean((arithmetic, latency), TURNS_OVERLAP),
        "rounds": np.asarray(IN_STEP(**in_step_inputs(rounds, far))),
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
    mixed = power_mean([terms[name] for name in queued], TURNS_OVERLAP)
    if "wide" in terms:
        mixed = power_mean((mixed, terms["wide"]), WIDE_OVERLAP)
    alone = [terms[name] for name in PIPES if name in terms and name not in (*queued, "wide")]
    return np.asarray(np.maximum.reduce(np.broadcast_arrays(mixed, *alone)))


def queued_pipes(terms: Mapping[str, Any], translated: bool) -> tuple[str, ...]:
    """Return issue and the pipes of a launch that make warps wait beside it.

    Neither FP32 nor FP64, for which issue is as slow. In kernels translated from PTX the
    multipliers neither: ptxas hands out what can run there or on the integer pipe so that the two
    take turns within a warp (`perfmodel.frontends.assembly.pipe_balance`). With the instructions
    that the profiler counted of nine kernels that only compute (corpora, H200), this is 0.93 to
    1.11 of the measured clocks.
    """
    free = {"fma32", "fma64", "wide"} | ({"imad"} if translated else set())
    return tuple(name for name in ("issue", *PIPES) if name in terms and name not in free)
