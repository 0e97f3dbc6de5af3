"""To the slices: how long an SM sends an atomic's packets, and the network carries them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.models.atomics.packets import DOUBLES, HALVES, Operands, Packets
from perfmodel.models.formula import Formula
from perfmodel.models.requests.coalescing import SECTOR

Array = npt.NDArray[Any]

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
    source="fitted: dense and sparse additions on an H200 "
    "(measurements/suite/h200-sxm/sweeps/atomics.csv, atomics-shape.csv)",
)
SEND_CYCLES = Formula(
    name="clocks to send the packets of an SM",
    unit="clocks",
    text="where(s > 1, packets*(s + 1), packets*1.125) + repeats*1.8",
    symbols={
        "packets": "packets to distinct lines of a request, over all requests of an SM [1]",
        "s": "sectors of a packet [1]",
        "repeats": "further packets to the same lines [1]",
    },
    holds="one SM at work; additions that return nothing",
    source="fitted: A100 additions from one SM take 5, 10, 20, 48 and 36 clocks for 1, 2, 4, 16 "
    "and 32 lines, and the same on an H200 (atomics-shape.csv); repeats: one address from one SM",
)
RETURN_COST: Final = 1.4
RETURN_FULL_COST: Final = 1.93
"""Network time of an atomic whose old value is used over one whose is not, one lane a sector and
full sectors: 103 against 74 G sectors per second, and 103 against 54 (atomics-spread.csv, fit
rows).
"""
HALF2_COST: Final = 1.38
HALF2_FULL_COST: Final = 1.75
"""The same for half2 against int32: 103 against 74, and 103 against 59 G (atomics-spread.csv)."""
DOUBLE_COST: Final = 1.32
"""The same for sectors with two doubles or more against uint64: 105 against 78 G
(atomics-spread.csv; two of four in atomics/h100-sxm/addresses, adds.csv)."""
COMPARE_PAIR_COST: Final = 2.9
COMPARE_LANES_COST: Final = 1.7
"""Network time of a compare-and-swap packet's second sector over an addition's, with one lane each,
and how much more with all: packets take 3.4 clocks of an SM with one sector, 10.2 with two, and
14.7 with all of their lanes (measurements/atomics/h200-sxm/cas/rounds.csv)."""


@dataclass(frozen=True, slots=True)
class Network:
    """An atomic's way to L2, arrays over configurations.

    Attributes
    ----------
    passes : array
    cost : array
        Of the type, and of giving the old value back, relative to plain additions.
    filled : array
        Share of a sector's bytes that a pass changes, beyond one lane's.
    lone, full : float
        Sectors per second with one lane each, and with all lanes [1/s].
    """

    passes: Array
    cost: Array | float
    filled: Array
    lone: float
    full: float

    @property
    def time_s(self) -> Array:
        """Time of the way to L2 [s]."""
        return np.atleast_1d(
            NETWORK_TIME(
                passes=self.passes,
                cost=self.cost,
                filled=self.filled,
                lone=self.lone,
                full=self.full,
            )
        )

    def unhindered(self, compares: bool) -> Network:
        """Return the same without operands and old values, for which nobody else waits."""
        return replace(self, cost=self.cost / RETURN_COST if compares else 1.0)


def network(sent: Packets, operands: Operands, device: Device) -> Network:
    """Return an atomic's way to L2."""
    rate = device.require("atomic_sector_rate")
    return Network(
        passes=sent.passes,
        cost=_compare_cost(sent) if operands.compares else _cost(sent, operands),
        filled=sent.filled,
        lone=rate,
        full=device.atomic_full_sector_rate or rate,
    )


def send_time(sent: Packets, lines: Array, device: Device) -> Array:
    """Return the time of an SM to send its packets, to so many distinct lines of requests [s]."""
    distinct = lines / device.sm_count
    repeats = np.maximum(sent.packets / device.sm_count - distinct, 0.0)
    cycles = SEND_CYCLES(packets=distinct, s=sent.sectors, repeats=repeats)
    return np.asanyarray(np.atleast_1d(cycles) / device.sm_clock)


def _compare_cost(sent: Packets) -> Array:
    """Return the cost of a sector of compare-and-swaps on its way."""
    second = np.minimum(sent.sectors - 1, 1.0)
    pair = RETURN_COST + second * (COMPARE_PAIR_COST + COMPARE_LANES_COST * sent.filled)
    return np.asanyarray(pair / sent.sectors)


def _cost(sent: Packets, operands: Operands) -> Array:
    """Return the cost of a sector on its way, relative to one of plain additions."""
    # An answer is as long as its lanes are many, whatever their type.
    lanes = np.clip((sent.lanes_each - 1) / (SECTOR / 4 - 1), 0.0, 1.0)
    answer = np.where(operands.returns, RETURN_COST + (RETURN_FULL_COST - RETURN_COST) * lanes, 1.0)
    half = np.where(
        HALVES[operands.dtype], HALF2_COST + (HALF2_FULL_COST - HALF2_COST) * lanes, 1.0
    )
    pairs = np.clip(sent.lanes_each - 1, 0.0, 1.0)
    double = np.where(DOUBLES[operands.dtype], 1 + (DOUBLE_COST - 1) * pairs, 1.0)
    return np.asanyarray(np.maximum(np.maximum(answer, half), double))
