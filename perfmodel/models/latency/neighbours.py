"""Neighbours: warps that ask for parts of the same line at a time all wait for it.

Only one of them has it fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.latency.batch_loads import BatchLoads
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.footprint import RUN_GRANULES
from perfmodel.models.reuse.placement import buffer_bytes

WHOLE_LINE: Final = 2.0
"""Fetches of 64 B of a line."""
READ_ONCE: Final = 1.5
"""Bytes brought into L1 over those of a buffer, up to which each is read at one time only: what is
more are sectors that blocks share at their ends. Chosen; what is read again is brought in twice."""


def fetched_share(b: BatchLoads, members: Sequence[int]) -> Array:
    """Return the share of their buffers that some of these loads fetch from DRAM."""
    fetched = sum((b.execution.traffic.accesses[i].dram_bytes for i in members), np.zeros(1))
    return np.asanyarray(np.minimum(1.0, fetched / np.maximum(_buffers(b, members), 1.0)))


def _buffers(b: BatchLoads, members: Sequence[int]) -> Array:
    """Return the bytes of the buffers of some of these loads."""
    instance, requests = b.execution.instance, b.execution.requests
    return np.asanyarray(sum((buffer_bytes(instance, requests[i]) for i in members), np.zeros(1)))


def neighbours_wait(b: BatchLoads) -> tuple[Array, Array]:
    """Return how often loads wait for DRAM that go once and in order over their buffers.

    That is the share of the waits, 0 for other loads, and what takes the place of a load of whole
    lines in `BATCH_LATENCY`'s `reads`.

    Derived: neighbours that ask for other sectors of what one has fetched wait as long, so that by
    a larger fetch granularity no wait is rarer but at the ends of a block's part, which the block
    beside it may have fetched. A warp waits for the slowest of its fetches: `DRAM_SPREAD` was
    fitted to loads of whole lines, two of 64 B each. Lookups beside 40 B each of a stream take 2.6%
    more with 32 B and 2.3% less with 128 B than with 64, by this 1.0 and 2.9
    (measurements/gather, blocks/windows.csv, rows marked fit).
    """
    if any(r.strides is None or r.period is not None for r in b.own):
        return np.zeros(1), np.ones(1)
    size, loads = b.execution.traffic.fetch_bytes, len(b.members)
    every = _buffers(b, b.members)
    part = every / (b.execution.blocks * loads)
    touched = _fetches(part, part, 4.0, size) * size
    share = fetched_share(b, b.members) * part / np.maximum(touched, 1.0)
    found = np.zeros(1)
    for r in b.own:
        lanes = r.active_lanes / np.maximum(r.requests, 1e-9) * r.width
        pitch = part / b.execution.warps_per_block
        found = found + _fetches(lanes, pitch, float(r.width), size) / WHOLE_LINE / loads
    once = (b.sectors * SECTOR < READ_ONCE * every) & (share > 0)
    return np.where(once, np.minimum(share, 1.0), 0.0), np.where(once, found, 1.0)


def _fetches(run: Array, pitch: Array, width: float, size: int) -> Array:
    """Return how many fetches a run of bytes takes, of runs that start a pitch apart."""
    step = np.gcd(np.maximum(np.rint(pitch), 1.0).astype(np.int64), size).astype(float)
    run = np.maximum(run, width)
    return RUN_GRANULES(run=run, w=width, g=np.maximum(step, 4.0), G=float(size))
