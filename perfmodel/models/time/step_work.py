"""Work of a step: how warps share the schedulers, L1, the tensor cores and special functions.

Each warp goes to and fro between these units: a closed queue of warps in turn, one continuous model
from one warp a scheduler, which uses one unit after the other, to many, which keep the slowest one
busy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import SCHEDULERS
from perfmodel.models.formula import Formula

Array = npt.NDArray[Any]

MOST_STRANDS: Final = 32
"""Strands of a scheduler's warps past which more change nothing."""
OPERANDS_OVERLAP: Final = 1.85
"""Exponent between the queue of warps and L1's time for operands that are read ahead.

Fitted: attention by mma.sync, 72 launches of 120 to 1200 blocks that read their own keys
(measurements/h200-waits/flash.csv, those left out whose last round all but fills the SMs): 6.0%
rms, 7.2% with L1 in the queue of warps and special functions at no time of their own; prompts
through PyTorch (h200-operators and h100-operators, 56 rows marked fit): 6.4% and 12.5%, counts and
clocks of prefill-attention-tiled.toml among it. 1.8 and 1.9 are as good.
"""
_QUEUES: Final = {"a": "issue", "b": "l1", "c": "tensor", "d": "sfu"}
WARPS_TIME = Formula(
    name="time of a block's work beside other warps",
    unit="s",
    text="(issue*(1 + a) + l1*(1 + b) + tensor*(1 + c) + sfu*(1 + d) + delay)/n",
    symbols={
        "issue": "the schedulers' time for the work of one block, spread over its warps [s]",
        "l1": "L1's time for it [s]",
        "tensor": "the tensor cores' time for it, by mma.sync [s]",
        "a": "strands at the scheduler as the n-th arrives, among n - 1 [1]",
        "b": "strands at L1 then [1]",
        "delay": "how long a warp waits for its own results, units apart [s]",
        "c": "strands at the tensor core then [1]",
        "sfu": "special functions' time for it, where products wait for them [s]",
        "d": "strands at them then [1]",
        "n": "strands of a scheduler's warps [1]",
    },
    holds="one warp a scheduler, which uses one unit after the other, to many",
    source="Reiser and Lavenberg, Mean-value analysis of closed multichain queuing networks (1980)",
)
OPERANDS_TIME = Formula(
    name="time of a block's work and its operands beside other warps",
    unit="s",
    text="(queue**p + operands**p)**(1/p)",
    symbols={
        "queue": "time of a block's work beside other warps, operands apart [s]",
        "operands": "L1's time for operands that a warp reads while products before are made [s]",
        "p": "exponent: how sharply the longer of both decides: see `OPERANDS_OVERLAP` [1]",
    },
    holds="products by mma.sync whose operands are read one product ahead, as libraries do",
    source="fitted form",
)


def work_times(given: Mapping[str, Any], blocks: Sequence[float] | range) -> list[Array]:
    """Return a block's time to compute, over the blocks that compute beside it, for each number.

    With `j` blocks the whole takes j times as long as returned for j.
    """
    warps = given["warps"]
    there = np.stack([j * warps / SCHEDULERS for j in blocks])
    count = strands_at_work(given, there)
    # Of fewer warps than schedulers each has a scheduler of its own, and the others have none.
    share = np.minimum(there, 1.0)
    units = (given[unit].shape for unit in _QUEUES.values())
    found = np.zeros(np.broadcast_shapes(there.shape, *units))
    for n, each in enumerate(warps_times(given, int(np.max(count))), 1):
        work = WARPS_TIME(**each) * warps / SCHEDULERS / share
        found = np.where(count == n, work, found)
    return [np.asanyarray(OPERANDS_TIME(**operands_beside(given, each))) for each in found]


def operands_beside(given: Mapping[str, Any], queue: Array) -> dict[str, Any]:
    """Return what `OPERANDS_TIME` takes; `queue` is the time without operands [s]."""
    return {"queue": queue, "operands": given["operands"], "p": OPERANDS_OVERLAP}


def strands_at_work(given: Mapping[str, Any], warps: Any) -> Array:
    """Return the strands of so many warps of a scheduler, at most `MOST_STRANDS`."""
    return np.asanyarray(np.clip(np.rint(warps * given["strands"]), 1, MOST_STRANDS))


def warps_times(given: Mapping[str, Any], most: int) -> Iterator[dict[str, Any]]:
    """Yield what `WARPS_TIME` takes for 1, 2, ... `most` strands of a scheduler.

    Each warp has its scheduler with a tensor core, and a quarter of L1: the other schedulers use
    the rest.
    """
    units = {unit: SCHEDULERS * given[unit] / given["warps"] for unit in _QUEUES.values()}
    # What a lone warp takes beyond all units, it waits for its own results.
    delay = np.maximum(given.get("alone", 0.0) - sum(units.values()), 0.0)
    there = {name: np.zeros(1) for name in _QUEUES}
    for n in range(1, most + 1):
        found = {**units, **there, "delay": delay, "n": float(n)}
        yield found
        each = np.maximum(WARPS_TIME(**found), 1e-30)
        there = {q: units[unit] * (1 + there[q]) / each for q, unit in _QUEUES.items()}
