"""Compute time between barriers: warps that share schedulers, L1, tensor cores and XU.

A warp alternates between these units and waits for its own results. With one warp per scheduler the
times of the units add; with many warps the slowest unit is always busy and the rest overlaps.
Mean-value analysis of a closed queueing network gives both ends and everything between. Its
customers are independent instruction chains: warps, times the chains of each.

Operands that a warp reads from shared memory for the next product, while the tensor core works on
the current one, overlap further: their time combines with the queue's as a power mean.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import SCHEDULERS, Device
from perfmodel.models.derivation import most_turns
from perfmodel.models.formula import Formula
from perfmodel.records import record

MOST_STRANDS: Final = 32
"""Strands of a scheduler's warps past which more change nothing."""
OPERANDS_OVERLAP: Final = Coefficient("time.step_work.operands_overlap")
WARPS_TIME = Formula(
    name="time of a block's work with concurrent warps",
    unit="s",
    text="(issue*(1 + a) + l1*(1 + b) + tensor*(1 + c) + sfu*(1 + d) + delay)/n",
    symbols={
        "issue": "schedulers' time for the work of one block, spread over its warps [s]",
        "l1": "L1's time for it [s]",
        "tensor": "the tensor cores' time for it, by mma.sync [s]",
        "a": "chains at the scheduler as the n-th arrives, among n - 1 [1]",
        "b": "chains at L1 then [1]",
        "delay": "time that a warp waits for its own results, not for units [s]",
        "c": "chains at the tensor core then [1]",
        "sfu": "special functions' time for it, where products wait for them [s]",
        "d": "chains at the special-function unit then [1]",
        "n": "independent instruction chains per scheduler: its warps times the chains of each [1]",
    },
    holds="one warp per scheduler, which uses one unit after another, to many",
    source="Reiser and Lavenberg, Mean-value analysis of closed multichain queuing networks, J. "
    "ACM 27(2), 1980",
)
OPERANDS_TIME = Formula(
    name="time of a block's work and its operands with concurrent warps",
    unit="s",
    text="(queue**p + operands**p)**(1/p)",
    symbols={
        "queue": "time of a block's work with concurrent warps, without operands [s]",
        "operands": "L1's time for operands that a warp reads during the preceding product [s]",
        "p": "exponent: how sharply the longer of both decides: see coefficient operands_overlap "
        "[1]",
    },
    holds="products by mma.sync whose operands are read one product ahead, as libraries do",
    source="fitted form",
)


@record
class BlockWork:
    """What one block computes, by unit of its SM, arrays over configurations."""

    # issue_s, l1_s, tensor_s and sfu_s: time of the schedulers (or the busiest arithmetic pipe), of
    # L1, of the tensor cores by mma.sync, and of special functions where products wait for them [s]
    issue_s: Array
    l1_s: Array
    tensor_s: Array
    sfu_s: Array
    operands_s: Array  # L1's time for operands that a warp reads while products before are made [s]
    warps: Array  # of a block [1]
    strands: Array  # independent chains of instructions of a warp [1]
    # what a lone warp takes, waits for its own results included; 0 where not known [s]
    alone_s: Array | float = 0.0

    @property
    def queues(self) -> tuple[Array, Array, Array, Array]:
        """Time of the units that warps go to in turn, as `WARPS_TIME` names them [s]."""
        return self.issue_s, self.l1_s, self.tensor_s, self.sfu_s

    @property
    def busiest_s(self) -> Array:
        """Time of the busiest unit [s]."""
        return largest(*self.queues, self.operands_s)


def work_times(work: BlockWork, blocks: Sequence[float] | range, device: Device) -> list[Array]:
    """Return a block's time to compute, over the blocks that compute beside it, for each number.

    With `j` blocks the whole takes j times as long as returned for j.
    """
    warps = work.warps
    there = np.stack([j * warps / SCHEDULERS for j in blocks])
    count = np.clip(np.rint(there * work.strands), 1, MOST_STRANDS)
    # Of fewer warps than schedulers each has a scheduler of its own, and the others have none.
    share = np.minimum(there, 1.0)
    found = np.zeros(np.broadcast_shapes(there.shape, *(unit.shape for unit in work.queues)))
    for n, each in enumerate(warps_times(work, share, most_turns(count)), 1):
        found = np.where(count == n, each * warps / SCHEDULERS / share, found)
    overlap = OPERANDS_OVERLAP(device)
    return [OPERANDS_TIME(queue=each, operands=work.operands_s, p=overlap) for each in found]


def warps_times(work: BlockWork, share: Array, most: int) -> Iterator[Array]:
    """Yield `WARPS_TIME` for 1, 2, ... `most` strands of a scheduler [s].

    Each warp has its scheduler with a tensor core, and a quarter of L1: the other schedulers use
    the rest, the `share` of them that have warps.
    """
    issue, l1, tensor, sfu = (SCHEDULERS * unit / work.warps for unit in work.queues)
    l1 = l1 * share
    units = issue, l1, tensor, sfu
    # What a lone warp takes beyond all units, it waits for its own results.
    delay = np.maximum(work.alone_s - sum(units), 0.0)
    there: tuple[Array, ...] = (np.zeros(1),) * len(units)
    for n in range(1, most + 1):
        a, b, c, d = there
        time = WARPS_TIME(
            **{"issue": issue, "l1": l1, "tensor": tensor, "sfu": sfu, "delay": delay},
            **{"a": a, "b": b, "c": c, "d": d, "n": float(n)},
        )
        yield time
        each = np.maximum(time, 1e-30)
        there = tuple(unit * (1 + t) / each for unit, t in zip(units, there, strict=True))
