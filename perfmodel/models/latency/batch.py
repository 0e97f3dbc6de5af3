"""Latency of a batch of loads that a warp issues together and then waits for.

A warp that issues several independent loads before the first use waits for the slowest. The
expected latency mixes L1 hit, L2 hit and DRAM by the probability that at least one load of the
batch misses each level. The slowest of n DRAM reads is later than one by a spread that grows with
the logarithm of n. While DRAM writes, reads wait longer, in proportion to the share of writes and
to DRAM's load.

This is latency of unloaded units; queueing at busy ones is in `perfmodel.models.time.queueing`.
"""

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
        "spread": "additional latency of the slower of two DRAM reads [s]",
        "reads": "DRAM reads of the batch [1]",
        "wait": "additional latency of a read by writes in DRAM's queue [s]",
        "written": "share of writes in DRAM's time [1]",
        "load": "DRAM's time for a wave of blocks, over the sum of it and of a block's other time "
        "[1]",
        "l1": "latency of an L1 hit [s]",
        "l2": "latency of an L2 hit [s]",
        "dram": "latency of a DRAM read [s]",
        "l1_miss": "probability that a load of the batch misses L1 [1]",
        "l2_miss": "probability that such a load misses L2 too [1]",
    },
    holds="unloaded memory; queueing is in the bandwidth terms",
    source="derived: a batch is as slow as its slowest load",
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
