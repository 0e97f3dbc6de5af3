"""Bytes in flight: Little's law for the loads of a launch, at L2 and at DRAM.

What is in flight is throughput times latency. A level is busy all the time only if the resident
warps have as many bytes in flight as its bandwidth needs over its latency. No term of a time is
made here: it says of the latency of blocks and of the times of L2 and DRAM how they compare.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.formula import Formula
from perfmodel.models.latency.batch import Batch
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.time.resources import Resources
from perfmodel.records import record

Level = Literal["L2", "DRAM"]

BYTES_NEEDED = Formula(
    name="bytes in flight that a bandwidth needs",
    unit="B",
    text="bandwidth*latency",
    symbols={
        "bandwidth": "what the level gives loads while it is busy all the time [B/s]",
        "latency": "latency of a load that it answers, unloaded [s]",
    },
    holds="any level; queues add latency as it gets busy: a read reaches 80% of its bandwidth "
    "with 1.3 times as much, 91% with 2.6 (measurements/suite, sweeps/in-flight.csv)",
    source="Little's law: J. D. C. Little, Operations Research 9 (1961); for GPUs: V. Volkov, "
    "Understanding Latency Hiding on GPUs, UCB/EECS-2016-143 (2016)",
)
BYTES_HAD = Formula(
    name="bytes that the loads of an SM have in flight",
    unit="B",
    text="warps*loads*bytes*waiting",
    symbols={
        "warps": "resident warps per SM, a mean over all SMs [1]",
        "loads": "loads that a warp has in flight before it waits [1]",
        "bytes": "bytes that the level moves for each, a mean [B]",
        "waiting": "share of a block's time in which its loads are in flight [1]",
    },
    holds="a mean over a block's time; 10% rms of reads that have under half of what DRAM needs "
    "(measurements/suite, sweeps/in-flight.csv), and less as queues grow",
    source="Little's law (V. Volkov, UCB/EECS-2016-143, 2016): as many bytes as a block brings, "
    "times the share of its time that they take",
)
WARPS_NEEDED = Formula(
    name="resident warps per SM that saturate a level",
    unit="1",
    text="needed/sms/(loads*bytes)",
    symbols={
        "needed": "bytes in flight that the bandwidth needs [B]",
        "sms": "SMs of the GPU [1]",
        "loads": "loads that a warp has in flight [1]",
        "bytes": "bytes that the level moves for each [B]",
    },
    holds="warps that do nothing but wait for their loads: the least",
    source="Little's law, solved for the warps",
)


@record
class InFlight:
    """Bytes in flight at a level, arrays over configurations."""

    level: Level
    latency_s: Array  # of a load that it answers, unloaded [s]
    bandwidth: Array  # of what it gives loads while it is busy all the time [B/s]
    # warps, loads, bytes and waiting: the symbols of `BYTES_HAD`
    warps: Array
    loads: Array
    bytes: Array
    waiting: Array
    asked: Array  # bytes of the sectors that each load asks for, whoever answers [B]
    needed: Array  # by the GPU [B]
    had: Array  # per SM [B]
    busy_s: Array  # time of the level alone [s]


def bytes_in_flight(found: Resources) -> tuple[InFlight, ...]:
    """Return L2's and DRAM's bytes in flight; a level that loads read nothing of has none."""
    traffic = found.execution.traffic
    loads = [a for a in traffic.accesses if a.kind == "load"]
    filled = summed(a.l1_fill_sectors for a in loads) * SECTOR
    brought = summed(a.dram_bytes for a in loads)
    read: tuple[tuple[Level, Array, Array], ...] = (
        ("L2", filled, found.memory.l2.time_s),
        ("DRAM", brought, found.memory.dram.time_s),
    )
    return tuple(
        _at(level, bytes_, busy, found) for level, bytes_, busy in read if _any(bytes_, found)
    )


def _any(read: Array, found: Resources) -> bool:
    return bool(np.any(read > 0)) and any(_loads(b, found) is not None for b in _batches(found))


def _batches(found: Resources) -> Iterator[Batch]:
    return (b for b in found.waits.chain.batches if np.any(b.count > 0))


def _at(level: Level, read: Array, busy_s: Array, found: Resources) -> InFlight:
    waits = found.waits
    # A grid of fewer blocks than SMs leaves SMs without any.
    each_sm = np.asanyarray(found.execution.blocks / found.execution.device.sm_count)
    warps = np.minimum(waits.concurrent, each_sm) * waits.chain.warps
    block_s = np.maximum(found.latency.chain_s, 1e-30)
    # sums over batches, by the share of the time that each is in flight
    shares, loads, moved, asked, late = (np.zeros(1) for _ in range(5))
    for b in _batches(found):
        own = _loads(b, found)
        if own is None:
            continue
        share = np.minimum(b.count * b.latency / block_s, 1.0)
        each = b.filled * SECTOR if level == "L2" else b.filled * SECTOR * _fetched(b, found)
        shares, loads = shares + share, loads + share * own
        moved = moved + share * each / waits.chain.warps
        asked = asked + share * own * _asked(b, found)
        late = late + share * _latency(b, level)
    some = np.maximum(shares, 1e-30)
    latency, bandwidth = late / some, read / np.maximum(busy_s, 1e-30)
    mean, bytes_ = loads / some, moved / np.maximum(loads, 1e-30)
    return InFlight(
        level=level,
        latency_s=np.asanyarray(latency),
        bandwidth=np.asanyarray(bandwidth),
        warps=np.asanyarray(warps),
        loads=np.asanyarray(mean),
        bytes=np.asanyarray(bytes_),
        waiting=shares,
        asked=np.asanyarray(asked / np.maximum(loads, 1e-30)),
        needed=np.asanyarray(BYTES_NEEDED(bandwidth=bandwidth, latency=latency)),
        had=np.asanyarray(BYTES_HAD(warps=warps, loads=mean, bytes=bytes_, waiting=shares)),
        busy_s=np.asanyarray(busy_s),
    )


def _loads(batch: Batch, found: Resources) -> Array | None:
    """Return the loads of a warp that are in one batch; None for what brings nothing into L1."""
    execution = found.execution
    if not np.any(batch.filled > 0):
        return None
    asked = summed(execution.requests[i].requests for i in batch.members)
    each: Array = asked / np.maximum(execution.warps * batch.count, 1e-9)
    return each


def _asked(batch: Batch, found: Resources) -> Array:
    """Return the bytes of the sectors that a load of a batch asks for [B]."""
    own = [found.execution.requests[i] for i in batch.members]
    sectors = summed(r.sectors for r in own)
    requests = summed(r.requests for r in own)
    return np.asanyarray(sectors / np.maximum(requests, 1e-9) * SECTOR)


def _fetched(batch: Batch, found: Resources) -> Array:
    """Return the bytes that DRAM reads for each that a batch brings into L1."""
    own = [found.execution.traffic.accesses[i] for i in batch.members]
    filled = summed(a.l1_fill_sectors for a in own) * SECTOR
    return np.asanyarray(summed(a.dram_bytes for a in own) / np.maximum(filled, 1e-9))


def _latency(batch: Batch, level: Level) -> Array:
    """Return the latency of a batch that a level answers: see `BATCH_LATENCY`."""
    far = np.ones(1) if level == "DRAM" else np.zeros(1)
    return replace(batch.latencies, l1_miss=np.ones(1), l2_miss=far).seconds
