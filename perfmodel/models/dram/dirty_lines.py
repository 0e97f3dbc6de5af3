"""Dirty lines: how much of what a cold launch writes is still in L2, not in DRAM, when it ends.

What is in L2 at the end was written in the last part of the launch, so short that all lines that
were read, drawn and written in it have room. What was dirty before the launch is older than all of
it: a profiler that runs a launch once for each of its passes leaves such lines, `replayed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.models.formula import Formula
from perfmodel.models.l2.drawn_lines import both_sides
from perfmodel.models.l2.random_tables import STREAM_LINES
from perfmodel.models.l2.tables import Table
from perfmodel.models.requests.coalescing import LINE

Array = npt.NDArray[Any]

STREAM_ROOM: Final = 0.687
"""Share of L2 that the last bytes read and written are in when a launch ends: each takes
`STREAM_LINES`, together what L2 holds."""
DIRTY_SHARE: Final = 0.475
"""Share of L2 that dirty lines can have."""
DIRTY_LEFT = Formula(
    name="dirty bytes that L2 has room for",
    unit="B",
    text=f"min(min({DIRTY_SHARE}*c, {STREAM_ROOM}*c*writes/max(reads + writes, 1)), "
    "max(0, c*(0.694 - 0.0588*w)))",
    symbols={
        "c": "capacity of L2 [B]",
        "w": "ways set aside, of 16: dirty lines may not use them [1]",
        "reads": "bytes read from DRAM, of lines not written then [B]",
        "writes": "bytes written to L2 [B]",
    },
    holds="copies and writes of 1 to 12 Mi floats within 2% of what they move; set-asides within "
    "3% of the capacity",
    source="fitted: DRAM writes of cold copies and writes on an H100 (dram/h100-sxm/dirty-lines), "
    "the same shares of an H200's L2 (l2/h200-sxm/blocks/dirty.csv, with what the profiler left "
    "dirty before); set-asides on an H200 (suite/h200-sxm/foundation/streams.csv, strided.csv)",
)
DIRTY_KEPT = Formula(
    name="written bytes that stay in L2",
    unit="B",
    text="writes*(1 + over**p)**(-1/p)",
    symbols={
        "writes": "bytes written to L2 [B]",
        "over": "bytes written over the dirty ones that L2 has room for [1]",
        "p": "how sharply L2 is full: sets of lines fill one by one [1]",
    },
    holds="copies, writes and gathers of 1 to 12 Mi floats",
    source="fitted form: copies of 14, 16, 18 and 20 MiB on an H100 write 0.1, 0.4, 1.3 and 2.7 MB "
    "back (measurements/dram/h100-sxm/dirty-lines)",
)
STREAM_KNEE: Final = 13.0
DRAWN_KNEE: Final = 7.0
"""`p` of `DIRTY_KEPT` for streams, whose lines fall evenly on L2's sets, and where half of the
lines or more are drawn at random, some sets of which get more than others: fitted,
dram/h100-sxm/dirty-lines."""
AHEAD: Final = 0.5
"""Share of the lines that running threads draw once which are in L2 before their own store.

Fitted: cold gathers of single floats, of which 1.5 to 1.7 MB stay, 1.1 if nothing were ahead; where
the places are not loaded but computed, threads wait for nothing else, and it is 0.85
(dram/h100-sxm/dirty-lines). Streams are ahead as well, but little: sums of four keep 8.1 MB, 7.2
without.
"""
AGAIN: Final = 0.15
"""What a drawn line that was there already takes of L2 beyond others: L2 does not drop the oldest
first. Fitted: cold gathers of tables of 8 to 64 MiB (dram/h100-sxm/dirty-lines)."""
REPLAYS_DIRTY: Final = 2.37e6
"""Bytes that a profiler's passes leave dirty in L2, before the launch that is counted.

Measured: Nsight Compute 2025.3, 9 counters in several passes, caches flushed before each: cold
reads of 64 MiB and more write 2.3 to 2.4 MB to DRAM on an H100 and an H200 alike, in one pass 0.03
(measurements/dram/h100-sxm/dirty-lines/passes.csv; suite/h100-sxm/sweeps and suite/h200-sxm/sweeps,
streams.csv).
"""
OLDER: Final = 1.1
"""How much earlier these go than a line written first: fitted to the same reads of 24 to 40 MiB and
to gathers of suite/h100-sxm/sweeps (fit rows), 0.5 and 1% rms of the bytes moved; 1 gives 1.2 and
1.2."""


class Contention(NamedTuple):
    """What passes through L2 besides what a launch writes.

    Attributes
    ----------
    reads : array
        Steady reads with which as much of what is written stays [B].
    drawn : array
        Share of the last lines that were drawn at random [1].
    times : array
        Times that what passes fills L2.
    """

    reads: Array
    drawn: Array
    times: Array


def contention(
    tables: Sequence[Table], reads: Array, writes: Array, capacity: float, at_a_time: Array
) -> Contention:
    """Return what pushes out of L2 what a cold launch writes.

    Parameters
    ----------
    tables : sequence of Table
    reads, writes : array
        Bytes read from DRAM by the launch, and bytes written to L2.
    capacity : float
        Of L2 [B].
    at_a_time : array
        Share of the launch's stores that its running threads make once.

    Notes
    -----
    Derived: the last part of the launch all of whose lines have room. A table that is drawn again
    and again takes its room but once, and keeps it. What threads draw before they store comes
    before what is stored then, however late: see `AHEAD`.
    """
    random = [t for t in tables if t.random]
    read = sum((t.read(warm=False) for t in random), np.zeros(1))
    steady = np.maximum(reads - read, 0.0)
    streams = np.maximum(steady + writes, 1.0)
    room, ahead = STREAM_ROOM * capacity, AHEAD * at_a_time
    if not random:
        return Contention(np.asanyarray(reads), np.zeros(1), np.asanyarray(streams / room))
    low, high = np.zeros(np.shape(streams + ahead)), room / streams
    for _ in range(40):
        part = (low + high) / 2
        fits = streams * part + _drawn_lines(random, np.maximum(part - ahead, 0.0)) <= room
        low, high = np.where(fits, part, low), np.where(fits, high, part)
    return Contention(
        reads=np.asanyarray(room / np.maximum(low, 1e-9) - writes),
        drawn=np.asanyarray(_drawn_lines(random, np.maximum(low - ahead, 0.0)) / room),
        times=np.asanyarray((streams + _drawn_lines(random, np.ones(1))) / room),
    )


def _drawn_lines(tables: Sequence[Table], part: Array) -> Array:
    """Return the lines of L2 that draws take in a part of the launch, as bytes of a stream."""
    taken = np.zeros(1)
    for t in tables:
        each = t.draws * LINE / np.maximum(t.size, LINE)
        # Of waves, those that the part of the launch is long enough for.
        waves = np.maximum(part * t.waves.number, 1.0)
        one = each * np.minimum(part * t.waves.number, 1.0)
        lines, hits = both_sides(one, alone=t.waves.alone)
        lines = lines * (1 + AGAIN * hits) / STREAM_LINES
        taken = taken + t.size / t.waves.number * waves * lines
    return taken


def replayed(passing: Contention, writes: Array, capacity: float) -> Array:
    """Return what a cold launch writes back of `REPLAYS_DIRTY` [B].

    Derived: of what `DIRTY_KEPT` keeps the share by which it grows with the first bytes written.
    """
    p = _knee(passing.drawn)
    full = OLDER * np.maximum(passing.times, writes / (DIRTY_SHARE * capacity))
    return np.asanyarray(REPLAYS_DIRTY * (1 - (1 + np.minimum(full, 1e6) ** p) ** (-1 - 1 / p)))


def dirty_left(
    reads: Any, writes: Any, capacity: float, ways: Any = 0.0, drawn: Any = 0.0
) -> Array:
    """Return the written bytes that are still in L2 when a cold launch ends."""
    reads, writes = np.asanyarray(reads, dtype=float), np.asanyarray(writes, dtype=float)
    room = DIRTY_LEFT(c=capacity, w=np.asanyarray(ways), reads=reads, writes=writes)
    over = np.minimum(writes / np.maximum(room, 1.0), 1e6)
    return np.asanyarray(DIRTY_KEPT(writes=writes, over=over, p=_knee(drawn)))


def _knee(drawn: Any) -> Array:
    return np.asanyarray(STREAM_KNEE - (STREAM_KNEE - DRAWN_KNEE) * np.minimum(2 * drawn, 1.0))


def dirty_room(capacity: float, ways: Any) -> Array:
    """Return the bytes of L2 that dirty lines can have with a set-aside: see `DIRTY_LEFT`.

    At least one: 12 ways set aside leave no room.
    """
    return np.asanyarray(np.maximum(capacity * (0.694 - 0.0588 * np.asanyarray(ways)), 1.0))
