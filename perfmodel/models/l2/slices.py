"""L2's slices as atomics use them: how many neighbours share one, and how fast its passes are.

A hash deals pieces of 256 B to the slices. It is better than chance for what lies together, and no
better for more than that: the busiest slice decides how long atomics to few addresses take.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.requests.coalescing import SECTOR

Array = npt.NDArray[Any]

H200_SLICES: Final = 94.0
"""Slices of L2 of an H200, on which most of what goes by slices was measured."""
PEAK_BY_SLICE: Final = 4814.3e9 / H200_SLICES
"""DRAM's peak by slice of L2 of an H200, on which what rows and write-backs cost was measured
[B/s]."""
BUSIEST_SLICE = Formula(
    name="share of the busiest L2 slice",
    unit="1",
    text="min(1, h + third*(most - 1))",
    symbols={
        "h": "share of all passes in the most popular 256 B [1]",
        "third": "share of the third most popular 256 B [1]",
        "most": "pieces of 256 B in the slice that has most, of as many equally popular ones [1]",
    },
    holds="256 B to 512 KiB of neighbouring elements exactly on an H200 and an H100, one hot "
    "element exactly",
    source="derived; `most` is counted by the profiler and by time (measurements/"
    "suite/h200-sxm/contention/slices.csv, atomics/h100-sxm/repeated/counted.csv)",
)
PACKET_SLOT = Formula(
    name="from one pass of a busy slice to the next",
    unit="clocks",
    text="packet/s + sector",
    symbols={
        "packet": "for a packet [clocks]",
        "sector": "for each sector of it [clocks]",
        "s": "sectors of a packet [1]",
    },
    holds="three pieces of 256 B and more at the slice: see `TWO_PIECES`",
    source="fitted: 1, 2 and 4 sectors a packet take 1.31, 1.20 and 0.98 clocks a pass "
    "(slices.csv, fit rows)",
)
PASS_TIME = Formula(
    name="time of a pass at the busiest slice",
    unit="s",
    text="slot + again*max(0, turn - slot*s)/s",
    symbols={
        "slot": "from one pass of a slice to the next [s]",
        "turn": "from one pass through a sector to the next through the same [s]",
        "s": "sectors of a packet [1]",
        "again": "probability that the next packet goes to the same sector [1]",
    },
    holds="one sector exactly; several take turns at random",
    source="derived: a pass waits for the one before it only where both go to one sector",
)

# Pieces of 256 B side by side, and how many of them the busiest slice has, by the slices of L2.
# Of 94: counted to 16 and from 112 on, between these the mean of many places, which have one fewer
# or one more (measurements/atomics/h200-sxm/contended, places.csv). Of 80: counted, alike at all
# places that are multiples of 32 KiB; each 32 KiB come to the same slices, up to 256 KiB, and parts
# of them to as many of one as a whole (measurements/atomics/h100-sxm/repeated, counted.csv). From
# 1024 on, where slices are not all that decides, by as much less as times of an H200 are than
# counts.
_PIECES: Final = {
    94: (
        *(1, 2, 3, 16, 20, 24, 28, 31, 64, 80, 96, 112),
        *(160, 192, 256, 320, 384, 512, 640, 1024, 1536, 2048),
    ),
    80: (
        *(1, 2, 3, 16, 20, 128, 148, 256, 276, 384),
        *(404, 512, 532, 640, 660, 768, 1024, 1536, 2048),
    ),
}
_MOST: Final = {
    94: (
        *(1, 1, 2, 2, 2.3, 2.6, 2.8, 3, 3, 4, 4.3, 5),
        *(5, 6, 6, 8.6, 10.5, 12, 14, 18, 25, 32),
    ),
    80: (
        *(1, 1, 2, 2, 3, 3, 6, 6, 9, 9),
        *(12, 12, 15, 15, 18, 18, 22.8, 28, 38),
    ),
}
# The same where each warp goes to one place and the launch moves on through them: windows of as
# many warps as the GPU holds, which begin anywhere. Of 80: additions of 32 lanes at words 4 to 32 B
# apart (measurements/atomics/h100-sxm/addresses, adds.csv); of 94: the fit rows of
# suite/h200-sxm/sweeps, atomics.csv.
_TURN_PIECES: Final = {
    94: (1, 2, 3, 16, 24, 31, 64, 96, 132, 264),
    80: (1, 2, 3, 16, 20, 32, 64, 100, 132, 264, 528, 1056),
}
_TURN_MOST: Final = {
    94: (1, 1, 2, 2, 2.6, 3, 3, 4, 4.2, 6.0),
    80: (1, 1, 2, 2, 3, 3.1, 3.35, 3.6, 4.3, 7.3, 12.5, 22.8),
}
# Pieces side by side, and how many of them share the busiest way back, as if slices had one each.
# Of 80: additions that return step up at 52 pieces, and follow whole 32 KiB from there on, where
# slices do not (measurements/atomics/h100-sxm/addresses, answers.csv); of 94: as slices, but for
# few (additions that return of suite/h200-sxm/sweeps and, in view, suite/h200-sxm/contention).
_BACK_PIECES: Final = {94: (1, 16, 28, 31, 64, 78, 96), 80: (1, 16, 48, 52, 128, 256, 512, 1024)}
_BACK_MOST: Final = {94: (1, 1.8, 2.1, 3, 3, 3.1, 4), 80: (1, 2, 2.3, 3.06, 3.06, 6.1, 12.2, 24.8)}
_USUAL: Final = 80
"""L2 slices where a device does not say: assumed."""
_MANY: Final = 160
"""Pieces from which on a GPU's number of slices matters: below, two to five share one anyway."""

# Tables [KiB] that all SMs read at random places, and the time of a load over that of a large
# table's, by the slices of L2: measurements/atomics/h200-sxm/lookups and atomics/h100-sxm/repeated,
# mixed.csv; the busiest slice looks up tags in 95 to 97% of the clocks. Each side of L2 holds the
# table: of 80 slices the busiest of a side has 4 pieces of 256 B where that of both has 3 at home,
# and so 37, 40, 48, 56, 80, 112 and 160 KiB are of `_MOST`.
_TABLE_KIB: Final = {
    94: (32, 64, 96, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024),
    80: (*(32, 37, 40, 48, 56, 64, 80, 96, 112, 128), *(160, 192, 256, 320, 384, 448, 512, 640)),
}
_TABLE_BUSIEST: Final = {
    94: (2.18, 1.48, 1.68, 1.45, 1.20, 1.08, 1.15, 1.19, 1.12, 1.07, 1.0, 1.07, 1.02, 1.0),
    80: (
        *(1.26, 2.16, 2.0, 1.67, 1.43, 1.25, 1.5, 1.23, 1.43, 1.23),
        *(1.25, 1.21, 1.21, 1.09, 1.01, 1.04, 1.06, 1.0),
    ),
}
LOOKUPS_A_CLOCK: Final = 0.866
"""Lone sectors that a slice gives SMs a clock, all slices busy.

Fitted: single floats of tables of 1 and 8 MiB at random places come at 160 to 174 G a second from
the 94 slices of an H200, and at 137 to 145 G from the 80 of an H100, whatever its full lines reach
(random-reads.csv of measurements/suite/h200-sxm/contention and suite/h100-sxm/sweeps, fit rows);
the profiler counts a tag looked up in 89 to 93% of the clocks
(measurements/atomics/h200-sxm/lookups, lookups.csv).
"""
LONE_SECTOR: Final = 1.64
"""The same over a sector of full lines, where a device does not say its slices: an H200's."""

PACKET_CLOCKS: Final = 0.44
SECTOR_CLOCKS: Final = 0.87
"""`packet` and `sector` of `PACKET_SLOT`."""
TWO_PIECES: Final = 1.36
"""Clocks of a pass where a slice has two pieces of 256 B and goes through sectors of a packet, or
through pieces of one sector: 1.33 to 1.39, whatever goes back. Where lone sectors of one line
follow at random, each waits for the last as if there were one piece (both: atomics.csv, fit rows of
an H200 and an H100; contention-atomics.csv, which was in view)."""
TWO_LINES: Final = (1.68, 1.5)
"""The same where pieces have two lines of one sector each, one piece and two at the slice: what
alternates between such lines waits. Both of an H200 and an H100 (atomics.csv, fit rows)."""


STACK: Final = 16
"""Slices at each stack of DRAM: an H100 has 80, an H200 94 of 96."""


def working_share(device: Device) -> float:
    """Return L2's slices that work over those that its driver counts, as a share of an H200's.

    An H200's driver states 60 MiB, of which 94 slices of 96 hold 58.75: what was fitted there as
    shares of what it states are 2% more of an L2 without slices that are off. Sets of 0.8 to 1.2 of
    an H100's L2 in which blocks move on miss as it says within 0.02, and 0.05 more without it
    (measurements/dram/h100-sxm/pitches/sets-counters.csv). Sets that blocks come back to differ
    otherwise: an H100 loses the last of them sooner.
    """
    if device.l2_slices is None:
        return 1.0
    there = -(-device.l2_slices // STACK) * STACK
    return device.l2_slices / there / (94 / 96)


def slice_count(device: Device) -> float:
    """Return how many slices a GPU's L2 has."""
    return 1.0 * (device.l2_slices or _USUAL)


def isolated_sector(device: Device) -> float:
    """Return how many sectors of full lines cost L2 as much as one alone of its line.

    A slice looks up so many lines a clock, whatever is asked of them.
    """
    if device.l2_slices is None:
        return LONE_SECTOR
    alone = LOOKUPS_A_CLOCK * slice_count(device) * device.sm_clock
    return device.l2_read_bandwidth / SECTOR / alone


def most_pieces(pieces: Any, slices: float, turns: bool = False) -> Array:
    """Return how many of some equally popular pieces of 256 B the busiest slice has.

    Parameters
    ----------
    pieces : array
        Side by side.
    slices : float
        L2 slices of the GPU; counted with 94, and with 80.
    turns : bool
        Whether each warp goes to one place, and the launch moves on through them.
    """
    like_gpu = nearest_measured(slices, _MOST)
    known_pieces, known_most = _PIECES[like_gpu], _MOST[like_gpu]
    if turns:
        turn_pieces, last = _TURN_PIECES[like_gpu], _TURN_PIECES[like_gpu][-1]
        further = [(n, m) for n, m in zip(known_pieces, known_most, strict=True) if n > last]
        known_pieces = (*turn_pieces, *(n for n, _ in further))
        known_most = (*_TURN_MOST[like_gpu], *(m for _, m in further))
    g = np.maximum(np.asanyarray(pieces, dtype=float), 1.0)
    like = np.where(g > _MANY, np.maximum(g * (like_gpu / slices), _MANY), g)
    known = np.exp(np.interp(np.log(like), np.log(known_pieces), np.log(known_most)))
    # Of very many, each slice has its share and some more.
    beyond = known_most[-1] - known_pieces[-1] / like_gpu
    far = like / like_gpu + beyond * np.sqrt(like / known_pieces[-1])
    return np.asanyarray(np.where(like > known_pieces[-1], far, known))


def most_answers(pieces: Array, most: Array, slices: float) -> Array:
    """Return how many of some equally popular pieces share the busiest way back to SMs.

    Parameters
    ----------
    pieces : array
        Of 256 B, side by side.
    most : array
        How many of them the busiest slice has.
    slices : float
        L2 slices of the GPU; measured with 94, and with 80.
    """
    like = nearest_measured(slices, _BACK_MOST)
    g, known_pieces = np.maximum(pieces, 1.0), _BACK_PIECES[like]
    known = np.exp(np.interp(np.log(g), np.log(known_pieces), np.log(_BACK_MOST[like])))
    return np.asanyarray(np.where(g > known_pieces[-1], most, known))


def busiest_of_table(size: Any, slices: float) -> Array:
    """Return the loads of the slice that is asked most for a table at random places, over the mean.

    Parameters
    ----------
    size : array
        Bytes of the table: each side of L2 comes to hold it.
    slices : float
        L2 slices of the GPU; measured with 94, and with 80.
    """
    like_gpu = nearest_measured(slices, _TABLE_BUSIEST)
    kib = np.maximum(np.asanyarray(size, dtype=float) / 1024 * (like_gpu / slices), 1.0)
    return np.asanyarray(
        np.interp(np.log(kib), np.log(_TABLE_KIB[like_gpu]), _TABLE_BUSIEST[like_gpu])
    )


def nearest_measured(slices: float, measured: Iterable[int]) -> int:
    """Return the measured number of slices that is nearest."""
    return min(measured, key=lambda n: np.abs(np.log(n / slices)))


def slice_slot(
    single: Array,
    s: Array,
    most: Array,
    least: Array,
    lone_lines: Array,
    lone_pieces: Array,
    clock: float,
) -> Array:
    """Return the time from one pass of the busiest slice to the next [s].

    Parameters
    ----------
    single : array
        The same where all go to one piece of 256 B [s].
    s : array
        Sectors of a packet.
    most : array
        Pieces of 256 B that the slice has.
    least : array
        The same of a busy slice at least, for what goes back or for the type [s].
    lone_lines : array
        Whether a piece has two lines, of a sector each.
    lone_pieces : array
        Whether a piece has one sector.
    clock : float
        SM clock [Hz].
    """
    silent = np.minimum(
        PACKET_SLOT(packet=PACKET_CLOCKS, sector=SECTOR_CLOCKS, s=s) / clock, single
    )
    busy = np.maximum(silent, least)
    slow_one, slow_two = TWO_LINES
    alone = np.where(lone_lines, slow_one / clock, single)
    apart = np.maximum(np.clip(s - 1, 0.0, 1.0), lone_pieces)
    two = single - apart * np.maximum(single - TWO_PIECES / clock, 0.0)
    two = np.where(lone_lines, slow_two / clock, two)
    second, third = (np.clip(np.asanyarray(most) - n, 0.0, 1.0) for n in (1.0, 2.0))
    return np.asanyarray(alone * (1 - second) + two * (second - third) + busy * third)
