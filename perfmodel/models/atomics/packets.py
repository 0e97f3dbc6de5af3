"""Packets: what an atomic's warp requests send to L2, and the places that are popular there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.kernels.instance import Instance
from perfmodel.models.l2.slices import BUSIEST_SLICE, most_pieces, slice_count
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.contention import GRANULE, Hot
from perfmodel.models.requests.warp_requests import Requests

HALVES: Final = np.array([name == "half2" for name in DATA_TYPES])
DOUBLES: Final = np.array([name == "float64" for name in DATA_TYPES])
"""Which of `DATA_TYPES` are pairs of halves, and which are doubles."""
NEARLY: Final = 0.9
"""Of the places that a GPU's warps reach at a time, from which on they wait for the next ones."""


@dataclass(frozen=True, slots=True)
class Operands:
    """What a global atomic does with its elements, arrays over configurations."""

    dtype: Array  # places in `DATA_TYPES`
    returns: Array  # whether old values are used
    aggregated: Array  # whether the compiler adds up the lanes of a warp first
    compares: bool  # whether lanes compare and swap: packets of half a warp each


@dataclass(frozen=True, slots=True)
class BusiestSlice:
    """The slice of L2 that makes most of an atomic's passes, arrays over configurations.

    Shares of the popular places, pieces of 256 B at the slice, and its share of the passes.
    """

    hot: Hot
    most: Array
    share: Array


@dataclass(frozen=True, slots=True)
class Packets:
    """What a global atomic sends over a launch, arrays over configurations."""

    passes: Array  # of a sector each through a slice of L2
    packets: Array
    lanes: Array  # whose operands travel
    sectors: Array  # of a packet: at least one
    lanes_each: Array  # lanes of a pass: at least one
    filled: Array  # share of a sector's bytes that a pass changes, beyond one lane's


def operands_of(instance: Instance, r: Requests) -> Operands:
    """Return what an atomic does with its elements."""
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    assert kind is not None
    return Operands(
        dtype=np.atleast_1d(np.asanyarray(kind.dtype)),
        returns=np.atleast_1d(np.asanyarray(kind.returns)) > 0,
        aggregated=np.atleast_1d(np.asanyarray(kind.aggregated)) > 0,
        compares=r.access.operation in ("cas", "cas-loop"),
    )


def packets_of(r: Requests, operands: Operands) -> Packets:
    """Return what an atomic sends; `r` tells how its lanes share addresses."""
    assert r.sharing is not None
    conflicts, aggregated = r.sharing.conflicts, operands.aggregated
    passes = r.requests * np.where(aggregated, 1.0, conflicts.passes)
    of_request = conflicts.halves if operands.compares else conflicts.packets
    packets = r.requests * np.where(aggregated, 1.0, of_request)
    lanes = np.where(aggregated, r.requests, r.active_lanes)
    lanes_each = np.maximum(lanes / np.maximum(passes, 1e-9), 1.0)
    return Packets(
        passes,
        packets,
        lanes,
        sectors=np.maximum(passes / np.maximum(packets, 1e-9), 1.0),
        lanes_each=lanes_each,
        filled=np.clip((lanes_each * r.width - r.width) / (SECTOR - r.width), 0.0, 1.0),
    )


def popular_places(r: Requests, device: Device) -> Hot:
    """Return the shares of the popular places among the passes that are under way together.

    Threads in order of a grid that reach only a part of the elements at a time concentrate there.
    """
    shared = r.sharing
    assert shared is not None
    if r.random:
        return shared.hot
    resident = device.sm_count * device.max_threads_per_sm
    lanes = np.minimum(np.maximum(r.active_lanes, 1.0), 1.0 * resident)
    lanes_each = np.maximum(r.active_lanes / np.maximum(r.requests, 1.0), 1.0)
    addresses_each = np.minimum(1.0, shared.conflicts.addresses / lanes_each)
    reached = np.minimum(shared.addresses, lanes * addresses_each)
    span = np.maximum(reached * np.maximum(shared.pitch, 1e-9), 1.0)
    some = np.minimum(1.0, np.maximum(GRANULE / span, 1 / np.maximum(reached, 1.0)))
    granule = np.maximum(shared.hot.granule, some)
    others = np.minimum(some, np.maximum(1 - 2 * granule, 0.0))
    return Hot(shared.hot.sector, granule, np.maximum(shared.hot.third, others))


def busiest_slice(r: Requests, device: Device) -> BusiestSlice:
    """Return which places of an atomic one slice has, and how many of the passes."""
    hot = popular_places(r, device)
    slices = slice_count(device)
    pieces = 1 / np.maximum(hot.third, 1e-12)
    most = np.where(
        moves_on(r, device), most_pieces(pieces, device, turns=True), most_pieces(pieces, device)
    )
    share = np.atleast_1d(BUSIEST_SLICE(h=hot.granule, third=hot.third, most=most))
    return BusiestSlice(hot, most, np.maximum(share, 1 / slices))


def moves_on(r: Requests, device: Device) -> Array:
    """Return whether each warp goes to one place, and the launch moves on through them.

    Threads are in order of a grid, and those that a GPU holds reach less than all of the places.
    """
    shared = r.sharing
    assert shared is not None
    one = (shared.conflicts.addresses < 1.5) & (shared.pitch < GRANULE / 4)
    held = NEARLY * device.sm_count * device.max_threads_per_sm / WARP_SIZE
    return np.asanyarray(one & (np.minimum(shared.addresses, r.requests) > held) & (not r.random))
