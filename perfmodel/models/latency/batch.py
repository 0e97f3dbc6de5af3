"""Batch: loads that a warp issues together, then waits for, and the latency of the slowest."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.formula import Formula
from perfmodel.records import record

BATCH_LATENCY = Formula(
    name="latency of a batch of loads",
    unit="s",
    text="l1 + l1_miss*(l2 - l1)"
    " + l1_miss*l2_miss*(dram + spread*log2(reads) + wait*written*load - l2)",
    symbols={
        "spread": "how much later the slowest of two DRAM reads is than one [s]",
        "reads": "DRAM reads of the batch [1]",
        "wait": "how much later a read is for the writes between [s]",
        "written": "share of writes in what DRAM takes time for [1]",
        "load": "DRAM's time for a wave of blocks, over that and what a block takes without: see "
        "`behind_writes` [1]",
        "l1": "latency of an L1 hit [s]",
        "l2": "latency of an L2 hit [s]",
        "dram": "latency of a DRAM read [s]",
        "l1_miss": "probability that a load of the batch misses L1 [1]",
        "l2_miss": "probability that such a load misses L2 too [1]",
    },
    holds="unloaded memory; queues show in the bandwidth terms",
    source="derived: the batch is as slow as its slowest load",
)
MOST_SPREAD: Final = Coefficient("latency.batch.most_spread")


@record
class BatchLatency:
    """Latencies of a batch of loads and how often each applies: the symbols of `BATCH_LATENCY`."""

    l1: Array | float
    l2: Array | float
    dram: Array | float
    l1_miss: Array
    l2_miss: Array
    reads: Array
    written: Array | float
    load: Array | float
    spread: float
    wait: Array | float

    @property
    def seconds(self) -> Array:
        """Latency of the batch [s]."""
        return BATCH_LATENCY.of(self)


@record
class Batch:
    """Batches of loads that a warp issues together, then waits for."""

    loop: str | None  # variable of the loop that they are in
    count: Array  # batches, one after the other
    filled: Array  # sectors that a block brings into L1 for one batch
    unroll: Array  # iterations whose loads are in one batch
    # batches of the same iteration that it has to wait for: those that bring its indices
    depth: int
    # whether they are copied while the block works on earlier ones: waited for at the start only
    ahead: bool
    latencies: BatchLatency  # of one batch
    # l2_miss and reads of the block that is ahead of all that read the same: it misses L2 for the
    # others, and its warps wait for one another
    lead_miss: Array
    lead_reads: Array
    # of a walk over common data: sectors that a warp goes on by in one batch, below 1 where some
    # batches ask for the same, and probability that one of them is new to L1; else None
    advance: Array | None
    new: Array | None
    joins: str  # loop with whose first loads it is waited for, or empty
    members: tuple[int, ...] = ()  # positions of its loads among the launch's requests

    @property
    def waited(self) -> Array:
        """Batches that a block waits for, one after the other."""
        return np.minimum(self.count, 1.0) if self.ahead else self.count

    @property
    def latency(self) -> Array:
        """Latency of one batch [s]."""
        return self.latencies.seconds

    @property
    def latency_ahead(self) -> Array:
        """Latency of one batch in the block that is ahead [s]."""
        return replace(self.latencies, l2_miss=self.lead_miss, reads=self.lead_reads).seconds
