"""Address hashing over L2 slices: the load of the busiest slice for atomics to few addresses.

An address hash distributes pieces of 256 B over the slices. Each slice updates one sector at a
time, so atomics to few addresses take as long as the slice that has most of them. For neighbouring
pieces the hash spreads more evenly than random placement would, and for many pieces about as
evenly. How many of n neighbouring pieces the busiest slice has was counted by the profiler on GPUs
of 94 and of 80 slices; other GPUs take the nearest of the two.

A slice's time per atomic transaction depends on the sectors per packet, and on whether consecutive
transactions go to the same sector, which then wait for one another.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient, CoefficientTable
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.requests.coalescing import SECTOR

FITTED_SLICES: Final = Coefficient("l2.slices.fitted_slices")
FITTED_WORKING: Final = Coefficient("l2.slices.fitted_working")
PEAK_BY_SLICE: Final = Coefficient("l2.slices.peak_by_slice")
BUSIEST_SLICE = Formula(
    name="share of the busiest L2 slice",
    unit="1",
    text="min(1, h + third*(most - 1))",
    symbols={
        "h": "share of all atomic transactions in the most popular 256 B [1]",
        "third": "the same of the third most popular 256 B [1]",
        "most": "pieces of 256 B in the busiest slice, of as many equally popular ones [1]",
    },
    holds="256 B to 512 KiB of neighbouring elements exactly, one popular element exactly",
    source="derived; `most` is counted by the profiler and by time: see the tables of coefficients",
)
PACKET_SLOT = Formula(
    name="clocks per atomic transaction at a busy slice",
    unit="clocks",
    text="packet/s + sector",
    symbols={
        "packet": Coefficient("l2.slices.packet_clocks"),
        "sector": Coefficient("l2.slices.sector_clocks"),
        "s": "sectors of a packet [1]",
    },
    holds="three pieces of 256 B and more at the slice: see coefficient two_pieces",
    source="fitted form",
)
PASS_TIME = Formula(
    name="time of an atomic transaction at the busiest slice",
    unit="s",
    text="slot + again*max(0, turn - slot*s)/s",
    symbols={
        "slot": "time from one transaction of a slice to the next [s]",
        "turn": "time from one transaction of a sector to the next of the same sector [s]",
        "s": "sectors of a packet [1]",
        "again": "probability that the next packet goes to the same sector [1]",
    },
    holds="one sector exactly; several sectors follow one another at random",
    source="derived: a transaction waits for the previous one only if both go to one sector",
)

USUAL: Final = Coefficient("l2.slices.usual")
MANY: Final = Coefficient("l2.slices.many")
LOOKUPS_A_CLOCK: Final = Coefficient("l2.slices.lookups_a_clock")
LONE_SECTOR: Final = Coefficient("l2.slices.lone_sector")
TWO_PIECES: Final = Coefficient("l2.slices.two_pieces")
TWO_LINES_ONE: Final = Coefficient("l2.slices.two_lines_one")
TWO_LINES_TWO: Final = Coefficient("l2.slices.two_lines_two")

_Tables = Mapping[int, tuple[CoefficientTable, CoefficientTable]]


def _measured(places: str, found: str) -> _Tables:
    """Return places and what was found of them, by the slices of the GPUs that were measured."""
    names = ((n, f"l2.slices.{places}_{n}", f"l2.slices.{found}_{n}") for n in (94, 80))
    return {n: (CoefficientTable(one), CoefficientTable(other)) for n, one, other in names}


_SIDE_BY_SIDE: Final = _measured("pieces", "most")
_IN_TURN: Final = _measured("turn_pieces", "turn_most")
_BACK: Final = _measured("back_pieces", "back_most")
_TABLES: Final = _measured("table_kib", "table_busiest")
STACK: Final = 16
"""Slices at each stack of DRAM."""


def working_share(device: Device) -> float:
    """Return L2's slices that work, of those that a driver counts, over the fitted GPU's share.

    What was fitted as shares of the size that a driver states are more of an L2 without slices that
    are off: see `FITTED_WORKING`.
    """
    if device.l2_slices is None:
        return 1.0
    there = -(-device.l2_slices // STACK) * STACK
    return device.l2_slices / there / FITTED_WORKING(device)


def slice_count(device: Device) -> float:
    """Return how many slices a GPU's L2 has."""
    return 1.0 * (device.l2_slices or USUAL(device))


def isolated_sector(device: Device) -> float:
    """Return how many sectors of full lines cost L2 as much as one alone of its line.

    A slice looks up so many lines a clock, whatever is asked of them.
    """
    if device.l2_slices is None:
        return LONE_SECTOR(device)
    alone = LOOKUPS_A_CLOCK(device) * slice_count(device) * device.sm_clock
    return device.l2_read_bandwidth / SECTOR / alone


def most_pieces(pieces: Any, device: Device, turns: bool = False) -> Array:
    """Return how many of some equally popular pieces of 256 B side by side the busiest slice has.

    Counted with 94 slices of L2, and with 80. By `turns` each warp goes to one place, and the
    launch moves on through them.
    """
    slices, many = slice_count(device), MANY(device)
    like_gpu = nearest_measured(slices, _SIDE_BY_SIDE)
    tables = (_IN_TURN if turns else _SIDE_BY_SIDE)[like_gpu]
    known_pieces, known_most = (table(device) for table in tables)
    g = np.maximum(np.asanyarray(pieces, dtype=float), 1.0)
    like = np.where(g > many, np.maximum(g * (like_gpu / slices), many), g)
    known = np.exp(np.interp(np.log(like), np.log(known_pieces), np.log(known_most)))
    # Of very many, each slice has its share and some more.
    beyond = known_most[-1] - known_pieces[-1] / like_gpu
    far = like / like_gpu + beyond * np.sqrt(like / known_pieces[-1])
    return np.asanyarray(np.where(like > known_pieces[-1], far, known))


def most_answers(pieces: Array, most: Array, device: Device) -> Array:
    """Return how many of some equally popular pieces of 256 B share the busiest way back to SMs.

    Measured with 94 slices of L2, and with 80; of many pieces, it is as the busiest slice.
    """
    like = nearest_measured(slice_count(device), _BACK)
    known_pieces, known_most = (table(device) for table in _BACK[like])
    g = np.maximum(pieces, 1.0)
    known = np.exp(np.interp(np.log(g), np.log(known_pieces), np.log(known_most)))
    return np.asanyarray(np.where(g > known_pieces[-1], most, known))


def busiest_of_table(size: Any, device: Device) -> Array:
    """Return the loads of the slice that is asked most for a table at random places, over the mean.

    Measured with 94 slices of L2, and with 80; each side of L2 comes to hold the table's bytes.
    """
    slices = slice_count(device)
    like_gpu = nearest_measured(slices, _TABLES)
    known_kib, busiest = (table(device) for table in _TABLES[like_gpu])
    kib = np.maximum(np.asanyarray(size, dtype=float) / 1024 * (like_gpu / slices), 1.0)
    return np.asanyarray(np.interp(np.log(kib), np.log(known_kib), busiest))


def nearest_measured(slices: float, measured: Iterable[int]) -> int:
    """Return the measured number of slices that is nearest."""
    return min(measured, key=lambda n: np.abs(np.log(n / slices)))


def packet_slot(s: Array, device: Device) -> Array:
    """Return the clocks of a pass of a busy slice, of packets of `s` sectors: `PACKET_SLOT`."""
    return np.asanyarray(PACKET_SLOT.on(device, s=s))


def slice_slot(
    single: Array,
    s: Array,
    most: Array,
    least: Array,
    lone_lines: Array,
    lone_pieces: Array,
    device: Device,
) -> Array:
    """Return the time from one pass of the busiest slice to the next [s], for `s` sectors each.

    Parameters
    ----------
    single, least : array
        Where all go to one piece of 256 B; of a busy slice at least, for what goes back or for the
        type [s].
    most : array
        Pieces of 256 B that the slice has.
    lone_lines, lone_pieces : array
        Whether a piece has two lines, of a sector each; whether it has one sector.
    """
    clock = device.sm_clock
    silent = np.minimum(packet_slot(s, device) / clock, single)
    busy = np.maximum(silent, least)
    slow_one, slow_two = TWO_LINES_ONE(device), TWO_LINES_TWO(device)
    alone = np.where(lone_lines, slow_one / clock, single)
    apart = np.maximum(np.clip(s - 1, 0.0, 1.0), lone_pieces)
    two = single - apart * np.maximum(single - TWO_PIECES(device) / clock, 0.0)
    two = np.where(lone_lines, slow_two / clock, two)
    second, third = (np.clip(np.asanyarray(most) - n, 0.0, 1.0) for n in (1.0, 2.0))
    return np.asanyarray(alone * (1 - second) + two * (second - third) + busy * third)
