"""Atomic packets on their way to L2: what an SM sends, and what the network carries.

An SM sends a request's packets one after another: one clock or so for a packet of one sector, and
one per sector and one more for larger ones. The network from all SMs to the slices carries a
limited number of sectors per second, fewer for sectors with one lane than for full ones per byte.
Types with wide operands, compare-and-swaps and returned values cost a measured factor more.

The module also says how concentrated the addresses of concurrently running threads are, which
decides the load of the busiest slice.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.kernels.instance import Instance
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import BUSIEST_SLICE, most_pieces, slice_count
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.contention import GRANULE, Hot
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.records import record

NETWORK_TIME = Formula(
    name="time of the network to L2",
    unit="s",
    text="passes*cost*((1 - filled)/lone + filled/full)",
    symbols={
        "passes": "atomic transactions of the launch: l2_atomic_sectors [1]",
        "cost": "cost of the type, and of returning the old value, relative to plain additions [1]",
        "filled": "share of a sector's bytes that a transaction changes, beyond one lane's [1]",
        "lone": "sectors per second with one lane each [1/s]",
        "full": "sectors per second with all lanes [1/s]",
    },
    holds="all SMs at work, addresses all over L2",
    source="fitted form: dense and sparse additions; the rates are the device's",
)
SEND_CYCLES = Formula(
    name="clocks to send the packets of an SM",
    unit="clocks",
    text="where(s > 1, packets*(s + 1), packets*each) + repeats*again",
    symbols={
        "packets": "packets to distinct lines of a request, over all requests of an SM [1]",
        "s": "sectors of a packet [1]",
        "each": "clocks of a packet of one sector [clocks]",
        "repeats": "further packets to the same lines [1]",
        "again": "clocks of each of these [clocks]",
    },
    holds="one SM at work; additions that return nothing",
    source="fitted form: see send_clocks and repeat_clocks",
)
RETURN_COST: Final = Coefficient("atomics.to_slices.return_cost")
RETURN_FULL_COST: Final = Coefficient("atomics.to_slices.return_full_cost")
HALF2_COST: Final = Coefficient("atomics.to_slices.half2_cost")
HALF2_FULL_COST: Final = Coefficient("atomics.to_slices.half2_full_cost")
DOUBLE_COST: Final = Coefficient("atomics.to_slices.double_cost")
COMPARE_PAIR_COST: Final = Coefficient("atomics.to_slices.compare_pair_cost")
COMPARE_LANES_COST: Final = Coefficient("atomics.to_slices.compare_lanes_cost")
SEND_CLOCKS: Final = Coefficient("atomics.to_slices.send_clocks")
REPEAT_CLOCKS: Final = Coefficient("atomics.to_slices.repeat_clocks")


HALVES: Final = np.array([name == "half2" for name in DATA_TYPES])
DOUBLES: Final = np.array([name == "float64" for name in DATA_TYPES])
"""Which of `DATA_TYPES` are pairs of halves, and which are doubles."""
NEARLY: Final = 0.9
"""Of the places that a GPU's warps reach at a time, from which on they wait for the next ones."""


@record
class Operands:
    """What a global atomic does with its elements, arrays over configurations."""

    dtype: Array  # places in `DATA_TYPES`
    returns: Array  # whether old values are used
    aggregated: Array  # whether the compiler adds up the lanes of a warp first
    compares: bool  # whether lanes compare and swap: packets of half a warp each


@record
class BusiestSlice:
    """The slice of L2 that makes most of an atomic's passes, arrays over configurations.

    Shares of the popular places, pieces of 256 B at the slice, and its share of the passes.
    """

    hot: Hot
    most: Array
    share: Array


@record
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
    conflicts, aggregated = r.address_sharing.conflicts, operands.aggregated
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
    shared = r.address_sharing
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
    shared = r.address_sharing
    one = (shared.conflicts.addresses < 1.5) & (shared.pitch < GRANULE / 4)
    held = NEARLY * device.sm_count * device.max_threads_per_sm / WARP_SIZE
    return np.asanyarray(one & (np.minimum(shared.addresses, r.requests) > held) & (not r.random))


def network_cost(sent: Packets, operands: Operands, device: Device) -> Array:
    """Return the network's time for an atomic's sector over that of a plain addition's."""
    if operands.compares:
        second = np.minimum(sent.sectors - 1, 1.0)
        both = COMPARE_PAIR_COST(device) + COMPARE_LANES_COST(device) * sent.filled
        return np.asanyarray((RETURN_COST(device) + second * both) / sent.sectors)
    # An answer is as long as its lanes are many, whatever their type.
    lanes = np.clip((sent.lanes_each - 1) / (SECTOR / 4 - 1), 0.0, 1.0)
    one, full = RETURN_COST(device), RETURN_FULL_COST(device)
    answer = np.where(operands.returns, one + (full - one) * lanes, 1.0)
    one, full = HALF2_COST(device), HALF2_FULL_COST(device)
    half = np.where(HALVES[operands.dtype], one + (full - one) * lanes, 1.0)
    pairs = np.clip(sent.lanes_each - 1, 0.0, 1.0)
    double = np.where(DOUBLES[operands.dtype], 1 + (DOUBLE_COST(device) - 1) * pairs, 1.0)
    return largest(answer, half, double)


def network_time(sent: Packets, cost: Array | float, device: Device) -> Array:
    """Return the time of an atomic's sectors on the network, each of this cost [s]."""
    rate = device.require("atomic_sector_rate")
    time = NETWORK_TIME(
        passes=sent.passes,
        cost=cost,
        filled=sent.filled,
        lone=rate,
        full=device.atomic_full_sector_rate or rate,
    )
    return np.atleast_1d(time)


def send_time(sent: Packets, lines: Array, device: Device) -> Array:
    """Return the time of an SM to send its packets, to so many distinct lines of requests [s]."""
    distinct = lines / device.sm_count
    repeats = np.maximum(sent.packets / device.sm_count - distinct, 0.0)
    cycles = SEND_CYCLES(
        packets=distinct,
        s=sent.sectors,
        each=SEND_CLOCKS(device),
        repeats=repeats,
        again=REPEAT_CLOCKS(device),
    )
    return np.asanyarray(np.atleast_1d(cycles) / device.sm_clock)
