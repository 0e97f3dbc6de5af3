"""Loads before a loop whose first use comes after the first loads of the loop were issued.

A warp stalls at the first use of a value, not at the load. If a value loaded before a loop is used
only inside it, its load and the loop's first loads are outstanding at the same time, and the later
of the two decides: the DRAM parts of their latencies overlap instead of adding up.

Only misses overlap in the formula. The latency of an L2 hit is added in full, as measured, though
the code issues both loads before it waits, as if one load waited for the other: with the table,
lookups take 0.18 us a wave of blocks longer than without (`measurements/suite`,
contention/embedding-parts.csv). The reason is not known.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfmodel.models.latency.batch import Batch
from perfmodel.models.mechanism import mechanism


@mechanism(neutral=tuple, evidence=["gather", "suite"])
def join_waits(batches: Sequence[Batch]) -> tuple[Batch, ...]:
    """Return the batches; of those that join a loop's, what DRAM takes longer overlaps with it.

    Derived for misses: what misses L2 beside a read of DRAM by the loop is back as late, and the
    slowest of both reads later than one alone. Lookups in 32 MiB beside a stream gain 3.4% from a
    window that keeps their rows, where misses one after the other would make it 18%
    (measurements/gather, blocks/windows.csv, rows marked fit).
    """
    first = {b.loop: b for b in reversed(batches) if b.loop is not None and not b.depth}
    return tuple(_beside(b, first[b.joins]) if b.joins in first else b for b in batches)


def _beside(batch: Batch, other: Batch) -> Batch:
    own, loop = batch.latencies, other.latencies
    # A loop without an iteration waits for nothing.
    missing = np.asanyarray(loop.l1_miss * loop.l2_miss * np.minimum(other.count, 1.0))
    more = (loop.reads + own.reads) / loop.reads
    joined = replace(
        own,
        dram=own.l2 + (own.dram - own.l2) * (1 - missing),
        wait=own.wait * (1 - missing),
        reads=own.reads ** (1 - missing) * more**missing,
    )
    return replace(batch, latencies=joined)
