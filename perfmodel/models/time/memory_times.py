"""Bandwidth time of L2 and DRAM: what each needs for the bytes of a launch.

DRAM's time is its bytes over the bandwidth that it reaches. Scattered accesses are charged as the
dense bytes that would take the same time, and the efficiency depends on the mixture of reads and
writes. L2's time is that of its reads and writes, and of what crosses between its partitions.

Both assume enough bytes in flight to keep the unit busy; if there are too few, latency decides.
"""

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import Device
from perfmodel.models.atomics.repeated_stores import SLOWEST_SLICE, repeated_stores
from perfmodel.models.dram.throughput import FEW, MIXED_EFFICIENCY, SKEW
from perfmodel.models.dram.writeback import LOST_TIME, WRITEBACK_TIME, lost_inputs
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.l2.sides import (
    ALONE_SHARP,
    CROSSING_TIME,
    SIDES_TIME,
    crossing_inputs,
    sharpness,
)
from perfmodel.models.l2.throughput import (
    L2_READS,
    L2_TIME,
    concurrent_reads,
    pinned_bytes,
    read_sectors,
    unpacked_bytes,
)
from perfmodel.models.launch.gpcs import BUSIEST_GPC
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.records import record
from perfmodel.traffic import Traffic

DRAM_BYTES = Formula(
    name="DRAM bytes, as those of a dense stream",
    unit="B",
    text="reads*read_cost + writes*write_cost",
    symbols={
        "reads": "bytes read [B]",
        "read_cost": "DRAM's time for them over that of a stream [1]",
        "writes": "bytes written [B]",
        "write_cost": "DRAM's time for them over that of a stream [1]",
    },
    holds="always",
    source="definition of the costs",
)
DRAM_REACHED = Formula(
    name="DRAM bandwidth reached",
    unit="B/s",
    text="efficiency*peak",
    symbols={"efficiency": "share of the peak [1]", "peak": "DRAM peak bandwidth [B/s]"},
    holds="enough bytes in flight",
    source="definition of efficiency",
)
BYTES_TIME = Formula(
    name="time of a transfer",
    unit="s",
    text="bytes/bandwidth",
    symbols={"bytes": "bytes moved [B]", "bandwidth": "bandwidth reached [B/s]"},
    holds="enough bytes in flight; else latency dominates",
    source="definition of bandwidth",
)


@record
class L2Streams:
    """What L2 gives out and takes in, and how fast it does either alone."""

    # read_bytes and written_bytes: as many bytes of whole lines as cost the same [B]
    read_bytes: Array
    written_bytes: Array
    # read_bandwidth and write_bandwidth: [B/s]
    read_bandwidth: float
    write_bandwidth: float


@record
class L2Time:
    """L2's time for the sectors of a launch."""

    streams: L2Streams  # what it gives out and takes in
    # loads_s and stores_s: what loads ask for and misses bring in, and what is stored [s]
    loads_s: Array
    stores_s: Array
    own_s: Array  # without what crosses between its sides [s]
    gpc_load: Array  # load of the busiest GPC over the mean [1]
    time_s: Array  # all of it [s]


@record
class DramTime:
    """DRAM's time for the bytes of a launch."""

    cost_bytes: Array  # as many bytes of streams as cost the same [B]
    read_share: Array  # bytes read over all that it moves [1]
    time_s: Array  # [s]


@record
class MemoryTimes:
    """L2 and DRAM, each on its own."""

    l2: L2Time
    dram: DramTime
    lost_s: Array  # what write-backs lose that a set-aside holds up [s]
    writeback_s: Array | None  # L2 and DRAM with that [s]; None where it holds up none


def memory_times(execution: Execution, dram: DramTime, gpc_load: Array) -> MemoryTimes:
    """Return the times of L2 and DRAM; `gpc_load` is that of `perfmodel.models.launch.gpcs`."""
    traffic, l2 = execution.traffic, l2_time(execution, gpc_load)
    if not np.any(traffic.writeback_bytes > 0):
        return MemoryTimes(l2, dram, np.zeros(1), None)
    bytes_lost = np.atleast_1d(traffic.writeback_bytes)
    streams = np.atleast_1d(traffic.writeback_streams)
    inputs = lost_inputs(execution.device, dram.time_s, bytes_lost, streams)
    lost = np.atleast_1d(LOST_TIME(**inputs))
    time = np.atleast_1d(WRITEBACK_TIME(dram=dram.time_s, l2=l2.own_s, lost=lost))
    return MemoryTimes(l2, dram, lost, time)


def l2_time(execution: Execution, gpc_load: Array) -> L2Time:
    """Return L2's time."""
    traffic, device = execution.traffic, execution.device
    # What makes sectors whole is read while L2 takes other stores.
    fetched = traffic.dram_read_bytes * traffic.dram_read_cost - traffic.made_whole_bytes
    streams = L2Streams(
        read_bytes=np.atleast_1d(read_sectors(traffic, device) * SECTOR),
        written_bytes=np.atleast_1d(traffic.l2_write_sectors * SECTOR),
        read_bandwidth=device.l2_read_bandwidth,
        write_bandwidth=device.l2_write_bandwidth or device.l2_read_bandwidth,
    )
    filled, cost = np.atleast_1d(traffic.l2_filled_sectors * SECTOR), traffic.l2_write_cost
    own = _own_l2_time(traffic, device, streams, fetched)
    crossing = crossing_inputs(traffic, device)
    crossing_s = np.atleast_1d(CROSSING_TIME(**crossing))
    if np.any(np.asanyarray(gpc_load) > 1):
        own = np.atleast_1d(BUSIEST_GPC(own=own, load=np.atleast_1d(gpc_load)))
    hot_s = repeated_stores(execution)
    if hot_s is not None:
        own = np.atleast_1d(SLOWEST_SLICE(own=own, hot=hot_s))
    turns = sharpness(crossing["fetched"], crossing["written"], device)
    sharp = np.where(traffic.compression > 1, ALONE_SHARP(device), turns)
    return L2Time(
        streams=streams,
        loads_s=(streams.read_bytes + filled) / streams.read_bandwidth,
        stores_s=streams.written_bytes * cost / streams.write_bandwidth,
        own_s=own,
        gpc_load=np.atleast_1d(gpc_load),
        time_s=SIDES_TIME(own=own, crossing=crossing_s, p=sharp),
    )


def _own_l2_time(traffic: Traffic, device: Device, streams: L2Streams, fetched: Array) -> Array:
    """Return L2's time without what crosses its sides [s]; `fetched` are DRAM's bytes as it is."""
    unpacked = np.atleast_1d(unpacked_bytes(traffic, device))
    asked = L2_READS(
        reads=streams.read_bytes,
        filled=np.atleast_1d(traffic.l2_filled_sectors * SECTOR),
        unpacked=unpacked,
        pinned=np.atleast_1d(pinned_bytes(traffic)),
        scattered=np.atleast_1d(traffic.scattered_bytes),
        packed=np.atleast_1d(np.where(traffic.compression > 1, fetched, 0.0)),
        dram=device.dram_read_bandwidth,
        read=device.l2_read_bandwidth,
    )
    own = L2_TIME(
        asked=np.atleast_1d(asked),
        # What several SMs ask for at a time is fetched more often than L2 gives it out.
        hits=np.maximum(streams.read_bytes + unpacked - np.atleast_1d(fetched), 0.0),
        writes=streams.written_bytes,
        cost=np.atleast_1d(traffic.l2_write_cost),
        read=streams.read_bandwidth,
        write=streams.write_bandwidth,
        concurrent=concurrent_reads(traffic, device),
    )
    return np.atleast_1d(own)


def dram_time(traffic: Traffic, device: Device) -> DramTime:
    """Return DRAM's time."""
    moved = traffic.dram_read_bytes + traffic.dram_write_bytes
    read_share = np.where(moved > 0, traffic.dram_read_bytes / np.maximum(moved, 1), 0.0)
    efficiency = MIXED_EFFICIENCY(
        r=read_share,
        read=device.dram_read_efficiency,
        write=device.dram_write_efficiency,
        copy=device.dram_copy_efficiency,
        few=FEW(device),
        skew=SKEW(device),
    )
    cost = DRAM_BYTES(
        reads=traffic.dram_read_bytes,
        read_cost=traffic.dram_read_cost,
        writes=traffic.dram_write_bytes,
        write_cost=traffic.dram_write_cost,
    )
    reached = DRAM_REACHED(efficiency=np.atleast_1d(efficiency), peak=device.dram_bandwidth)
    time = np.atleast_1d(BYTES_TIME(bytes=cost, bandwidth=reached))
    return DramTime(cost, read_share, time)
