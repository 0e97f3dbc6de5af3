"""DRAM: what reaches it, and how fast it moves reads, writes, mixtures and scattered atoms."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.models.formula import Formula

Array = npt.NDArray[Any]

DIRTY_LEFT = Formula(
    name="dirty bytes that stay in L2",
    unit="B",
    text="min(0.433*c, 0.7*c*writes/max(reads + writes, 1))",
    symbols={
        "c": "capacity of L2 [B]",
        "reads": "bytes read from DRAM [B]",
        "writes": "bytes written to L2 [B]",
    },
    holds="streams of 32 MiB and more within 6% of the capacity",
    source="fitted: DRAM writes of copies, writes and strided copies on an H200 "
    "(measurements/h200-sxm/streams.csv, strided.csv)",
)
MIXED_EFFICIENCY = Formula(
    name="DRAM efficiency of a mixture",
    unit="1",
    text="read*r + write*(1 - r) - 4*((read + write)/2 - copy)*r*(1 - r)",
    symbols={
        "r": "share of reads in the DRAM bytes [1]",
        "read": "efficiency of reads alone [1]",
        "write": "efficiency of writes alone [1]",
        "copy": "efficiency of equal reads and writes [1]",
    },
    holds="by construction at 0, 1/2 and 1; within 3% between (strided copies, H200)",
    source="derived: the bus turns around in proportion to read-write neighbours, r(1 - r)",
)

# Cost of reading one isolated 64 B atom every 64*2**i bytes, relative to dense reads; fitted to
# strided copies of 16 Mi floats on an H200 (measurements/h200-sxm/strided.csv). Fewer atoms of an
# open DRAM row are used; that this is the mechanism is not established.
_ATOM_COST: Final = (1.0, 1.15, 1.39, 1.48, 1.59, 1.62)


def dirty_left(reads: Any, writes: Any, capacity: float) -> Array:
    """Return the written bytes that are still in L2 when a cold launch ends."""
    reads, writes = np.asarray(reads, dtype=float), np.asarray(writes, dtype=float)
    return np.asarray(DIRTY_LEFT(c=capacity, reads=reads, writes=writes))


def read_cost(pitch: Any) -> Array:
    """Return the cost of a DRAM atom, one every `pitch` bytes, relative to dense reads."""
    octaves = np.log2(np.maximum(np.asarray(pitch, dtype=float), 64.0) / 64.0)
    return np.asarray(np.interp(octaves, np.arange(len(_ATOM_COST)), _ATOM_COST))
