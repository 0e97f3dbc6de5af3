"""Dirty lines: written data that is still in L2, not yet in DRAM, when a cold launch ends.

L2 is a write-back cache: stored lines stay until they are evicted. At the end of a launch the lines
of its last part are still there, a part so short that all lines read, written and drawn at random
in it fit L2's usable room. Dirty lines have a limit of their own, somewhat below half of L2, and
with a set-aside they may use only the ways outside it. The bytes kept approach that room smoothly,
because cache sets fill unevenly; lines at random places fill them less evenly than streams.

A profiler that replays a launch for several counter passes leaves dirty lines from the passes
before. They are older than all of the launch's own lines, so they are evicted first and count as
DRAM writes.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.l2.random_lines import both_sides
from perfmodel.models.l2.random_tables import STREAM_LINES
from perfmodel.models.l2.tables import Table
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import LINE

STREAM_ROOM: Final = Coefficient("dram.dirty_lines.stream_room")
DIRTY_SHARE: Final = Coefficient("dram.dirty_lines.dirty_share")
SET_ASIDE_ROOM: Final = Coefficient("dram.dirty_lines.set_aside_room")
WAY_ROOM: Final = Coefficient("dram.dirty_lines.way_room")
DIRTY_LEFT = Formula(
    name="room for dirty bytes in L2",
    unit="B",
    text="min(min(dirty*c, streams*c*writes/max(reads + writes, 1)), max(0, c*(set - way*w)))",
    symbols={
        "c": "capacity of L2 [B]",
        "dirty": DIRTY_SHARE,
        "streams": STREAM_ROOM,
        "set": SET_ASIDE_ROOM,
        "way": WAY_ROOM,
        "w": "ways set aside, of 16: dirty lines may not use them [1]",
        "reads": "bytes read from DRAM, of lines not written then [B]",
        "writes": "bytes written to L2 [B]",
    },
    holds="copies and writes of 1 to 12 Mi floats within 2% of what they move; set-asides within "
    "3% of the capacity",
    source="fitted form",
)
DIRTY_KEPT = Formula(
    name="written bytes that are still in L2 at the end",
    unit="B",
    text="writes*(1 + over**p)**(-1/p)",
    symbols={
        "writes": "bytes written to L2 [B]",
        "over": "bytes written over the room for dirty ones [1]",
        "p": "exponent: how sharply L2 becomes full; cache sets fill one by one [1]",
    },
    holds="copies, writes and gathers of 1 to 12 Mi floats",
    source="fitted form: see stream_knee and drawn_knee",
)
STREAM_KNEE: Final = Coefficient("dram.dirty_lines.stream_knee")
DRAWN_KNEE: Final = Coefficient("dram.dirty_lines.drawn_knee")
AHEAD: Final = Coefficient("dram.dirty_lines.ahead")
AGAIN: Final = Coefficient("dram.dirty_lines.again")
REPLAYS_DIRTY: Final = Coefficient("dram.dirty_lines.replays_dirty")
OLDER: Final = Coefficient("dram.dirty_lines.older")


class EvictionPressure(NamedTuple):
    """What passes through L2 besides what a launch writes."""

    reads: Array  # steady reads with which as much of what is written stays [B]
    drawn: Array  # share of the last lines that were drawn at random
    times: Array  # times that what passes fills L2


def eviction_pressure(
    tables: Sequence[Table],
    reads: Array,
    writes: Array,
    capacity: float,
    at_a_time: Array,
    device: Device,
) -> EvictionPressure:
    """Return what pushes out of L2 what a cold launch writes, of bytes from DRAM and to L2.

    Derived: the last part of the launch all of whose lines have room. A table that is drawn again
    and again takes its room but once, and keeps it. What threads draw before they store, a share
    `at_a_time` of the stores, comes before what is stored then, however late: see `AHEAD`.
    """
    random = [t for t in tables if t.random]
    read = summed(t.read(warm=False) for t in random)
    steady = np.maximum(reads - read, 0.0)
    streams = np.maximum(steady + writes, 1.0)
    room, ahead = STREAM_ROOM(device) * capacity, AHEAD(device) * at_a_time
    if not random:
        return EvictionPressure(np.asanyarray(reads), np.zeros(1), np.asanyarray(streams / room))
    low, high = np.zeros(np.shape(streams + ahead)), room / streams
    for _ in range(40):
        part = (low + high) / 2
        fits = streams * part + _drawn_lines(random, np.maximum(part - ahead, 0.0), device) <= room
        low, high = np.where(fits, part, low), np.where(fits, high, part)
    return EvictionPressure(
        reads=np.asanyarray(room / np.maximum(low, 1e-9) - writes),
        drawn=np.asanyarray(_drawn_lines(random, np.maximum(low - ahead, 0.0), device) / room),
        times=np.asanyarray((streams + _drawn_lines(random, np.ones(1), device)) / room),
    )


def _drawn_lines(tables: Sequence[Table], part: Array, device: Device) -> Array:
    """Return the lines of L2 that draws take in a part of the launch, as bytes of a stream."""
    taken = np.zeros(1)
    for t in tables:
        each = t.draws * LINE / np.maximum(t.size, LINE)
        # Of waves, those that the part of the launch is long enough for.
        waves = np.maximum(part * t.waves.number, 1.0)
        one = each * np.minimum(part * t.waves.number, 1.0)
        lines, hits = both_sides(one, alone=t.waves.alone)
        lines = lines * (1 + AGAIN(device) * hits) / STREAM_LINES
        taken = taken + t.size / t.waves.number * waves * lines
    return taken


def replayed(passing: EvictionPressure, writes: Array, capacity: float, device: Device) -> Array:
    """Return what a cold launch writes back of `REPLAYS_DIRTY` [B].

    Derived: of what `DIRTY_KEPT` keeps the share by which it grows with the first bytes written.
    """
    p = _knee(passing.drawn, device)
    full = OLDER(device) * np.maximum(passing.times, writes / (DIRTY_SHARE(device) * capacity))
    return np.asanyarray(
        REPLAYS_DIRTY(device) * (1 - (1 + np.minimum(full, 1e6) ** p) ** (-1 - 1 / p))
    )


@mechanism(
    neutral=lambda reads, writes, capacity, device, ways=0.0, drawn=0.0: np.zeros(1),
    evidence=["dram", "l2", "suite"],
)
def dirty_left(
    reads: Any, writes: Any, capacity: float, device: Device, ways: Any = 0.0, drawn: Any = 0.0
) -> Array:
    """Return the written bytes that are still in L2 when a cold launch ends."""
    reads, writes = np.asanyarray(reads, dtype=float), np.asanyarray(writes, dtype=float)
    room = DIRTY_LEFT.on(device, c=capacity, w=np.asanyarray(ways), reads=reads, writes=writes)
    over = np.minimum(writes / np.maximum(room, 1.0), 1e6)
    return np.asanyarray(DIRTY_KEPT(writes=writes, over=over, p=_knee(drawn, device)))


def _knee(drawn: Any, device: Device) -> Array:
    streams = STREAM_KNEE(device)
    return np.asanyarray(streams - (streams - DRAWN_KNEE(device)) * np.minimum(2 * drawn, 1.0))


def dirty_room(capacity: float, ways: Any, device: Device) -> Array:
    """Return the bytes of L2 that dirty lines can have with a set-aside: see `DIRTY_LEFT`.

    At least one: 12 ways set aside leave no room.
    """
    share = SET_ASIDE_ROOM(device) - WAY_ROOM(device) * np.asanyarray(ways)
    return np.asanyarray(np.maximum(capacity * share, 1.0))
