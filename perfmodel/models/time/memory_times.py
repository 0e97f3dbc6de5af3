"""Memories: what L2 and DRAM need for the bytes of a launch, each on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.models.atomics.hot_stores import HOT_STORES_TIME, SLOWEST_SLICE
from perfmodel.models.dram.throughput import FEW, MIXED_EFFICIENCY, SKEW
from perfmodel.models.dram.writeback import LOST_TIME, WRITEBACK_TIME, lost_inputs
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
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]
Inputs = dict[str, dict[str, Any]]

DRAM_BYTES = Formula(
    name="DRAM bytes, as those of a stream",
    unit="B",
    text="reads*read_cost + writes*write_cost",
    symbols={
        "reads": "bytes read [B]",
        "read_cost": "DRAM's time for them over that for a stream's [1]",
        "writes": "bytes written [B]",
        "write_cost": "DRAM's time for them over that for a stream's [1]",
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


@dataclass(frozen=True, slots=True)
class L2Streams:
    """What L2 gives out and takes in, and how fast it does either alone.

    Attributes
    ----------
    read_bytes, written_bytes : array
        As many bytes of whole lines as cost the same [B].
    read_bandwidth, write_bandwidth : float
        [B/s].
    """

    read_bytes: Array
    written_bytes: Array
    read_bandwidth: float
    write_bandwidth: float


def l2_time(
    traffic: Traffic, device: Device, hot: dict[str, Any] | None, load: Any = 1.0
) -> tuple[Array, Inputs, L2Streams]:
    """Return L2's time [s], what went into its formulas, and what it moves.

    `hot` is of `HOT_STORES_TIME`, `load` of `perfmodel.models.launch.gpcs.busiest_gpc`.
    """
    # What makes sectors whole is read while L2 takes other stores.
    fetched = traffic.dram_read_bytes * traffic.dram_read_cost - traffic.made_whole_bytes
    asked: dict[str, Any] = {
        "reads": np.atleast_1d(read_sectors(traffic, device) * SECTOR),
        "filled": np.atleast_1d(traffic.l2_filled_sectors * SECTOR),
        "unpacked": np.atleast_1d(unpacked_bytes(traffic, device)),
        "pinned": np.atleast_1d(pinned_bytes(traffic)),
        "scattered": np.atleast_1d(traffic.scattered_bytes),
        "packed": np.atleast_1d(np.where(traffic.compression > 1, fetched, 0.0)),
        "dram": device.dram_read_bandwidth,
        "read": device.l2_read_bandwidth,
    }
    own = {
        "asked": np.atleast_1d(L2_READS(**asked)),
        # What several SMs ask for at a time is fetched more often than L2 gives it out.
        "hits": np.maximum(asked["reads"] + asked["unpacked"] - np.atleast_1d(fetched), 0.0),
        "writes": np.atleast_1d(traffic.l2_write_sectors * SECTOR),
        "cost": np.atleast_1d(traffic.l2_write_cost),
        "read": device.l2_read_bandwidth,
        "write": device.l2_write_bandwidth or device.l2_read_bandwidth,
        "beside": concurrent_reads(traffic, device),
    }
    crossing = crossing_inputs(traffic, device)
    sides = {
        "own": np.atleast_1d(L2_TIME(**own)),
        "crossing": np.atleast_1d(CROSSING_TIME(**crossing)),
        "p": np.where(
            traffic.compression > 1,
            ALONE_SHARP,
            sharpness(crossing["fetched"], crossing["written"]),
        ),
    }
    inputs = {"l2_reads": asked, "crossing": crossing, "l2": own, "sides": sides}
    if np.any(np.asanyarray(load) > 1):
        inputs["busiest_gpc"] = {"own": sides["own"], "load": np.atleast_1d(load)}
        sides["own"] = np.atleast_1d(BUSIEST_GPC(**inputs["busiest_gpc"]))
    if hot is not None:
        inputs["hot_stores"] = hot
        slowest = {"own": sides["own"], "hot": np.atleast_1d(HOT_STORES_TIME(**hot))}
        inputs["slowest_slice"] = slowest
        sides["own"] = np.atleast_1d(SLOWEST_SLICE(**slowest))
    streams = L2Streams(asked["reads"], own["writes"], own["read"], own["write"])
    return np.asanyarray(SIDES_TIME(**sides)), inputs, streams


def dram_time(traffic: Traffic, device: Device) -> tuple[Array, Inputs]:
    """Return DRAM's time [s], and what went into its formulas."""
    moved = traffic.dram_read_bytes + traffic.dram_write_bytes
    mixture = {
        "r": np.where(moved > 0, traffic.dram_read_bytes / np.maximum(moved, 1), 0.0),
        "read": device.dram_read_efficiency,
        "write": device.dram_write_efficiency,
        "copy": device.dram_copy_efficiency,
        "few": FEW,
        "skew": SKEW,
    }
    efficiency = np.atleast_1d(MIXED_EFFICIENCY(**mixture))
    effective = DRAM_BYTES(
        reads=traffic.dram_read_bytes,
        read_cost=traffic.dram_read_cost,
        writes=traffic.dram_write_bytes,
        write_cost=traffic.dram_write_cost,
    )
    reached = DRAM_REACHED(efficiency=efficiency, peak=device.dram_bandwidth)
    given = {"bytes": effective, "bandwidth": reached}
    time = np.atleast_1d(BYTES_TIME(**given))
    return time, {"dram": given | mixture | {"peak": device.dram_bandwidth}}


def writeback_time(
    traffic: Traffic, device: Device, dram: Array, l2: Array
) -> tuple[Array, Inputs] | None:
    """Return the time of write-backs beside a set-aside [s] and its inputs; None without any.

    Parameters
    ----------
    traffic, device
        What moves, and where.
    dram, l2 : array
        Time of DRAM, and of L2 without what crosses its sides [s].
    """
    if not np.any(traffic.writeback_bytes > 0):
        return None
    lost = lost_inputs(
        device,
        dram,
        np.atleast_1d(traffic.writeback_bytes),
        np.atleast_1d(traffic.writeback_streams),
    )
    given = {"dram": dram, "l2": l2, "lost": np.atleast_1d(LOST_TIME(**lost))}
    return np.atleast_1d(WRITEBACK_TIME(**given)), {"writeback": given, "lost": lost}
