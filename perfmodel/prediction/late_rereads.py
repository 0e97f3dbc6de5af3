"""Late rereads: data that later waves read again at irregular places, when nobody knows."""

from __future__ import annotations

import numpy as np

from perfmodel.prediction.details import Details


def late_rereads(details: Details) -> dict[str, float]:
    """Return the bytes that rereads at irregular places are taken to fetch from DRAM, by buffer.

    Blocks that were followed show that later waves come back to the same data, not after how much
    else: as if in order, after all of it, which is the longest distance. At the shortest none
    of these bytes are fetched.
    """
    return {
        table.buffer: float(np.max(table.again * table.misses))
        for table in details.traffic.tables
        if not table.random and all(details.requests[i].strides is None for i in table.members)
    }


def shorter_at_best(details: Details) -> float:
    """Return how many times shorter the launch may be if none of `late_rereads` are fetched.

    DRAM bytes over those that are left: what else takes time only makes it less.
    """
    traffic = details.traffic
    moved = float(np.max(traffic.dram_read_bytes + traffic.dram_write_bytes))
    spared = sum(late_rereads(details).values())
    return moved / max(moved - spared, 0.01 * moved) if spared > 0 else 1.0
