"""To the slices: how long an SM sends an atomic's packets, and the network carries them."""

from __future__ import annotations

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.atomics.packets import DOUBLES, HALVES, Operands, Packets
from perfmodel.models.extremes import largest
from perfmodel.models.formula import Formula
from perfmodel.models.requests.coalescing import SECTOR

NETWORK_TIME = Formula(
    name="time of the network to L2",
    unit="s",
    text="passes*cost*((1 - filled)/lone + filled/full)",
    symbols={
        "passes": "passes of the launch: l2_atomic_sectors [1]",
        "cost": "of the type, and of giving the old value back, relative to plain additions [1]",
        "filled": "share of a sector's bytes that a pass changes, beyond one lane's [1]",
        "lone": "sectors per second with one lane each [1/s]",
        "full": "sectors per second with all lanes [1/s]",
    },
    holds="the whole GPU, addresses all over L2",
    source="fitted form: dense and sparse additions; rates are the device's",
)
SEND_CYCLES = Formula(
    name="clocks to send the packets of an SM",
    unit="clocks",
    text="where(s > 1, packets*(s + 1), packets*each) + repeats*again",
    symbols={
        "packets": "packets to distinct lines of a request, over all requests of an SM [1]",
        "s": "sectors of a packet [1]",
        "each": "for a packet of one sector [clocks]",
        "repeats": "further packets to the same lines [1]",
        "again": "for each of these [clocks]",
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
