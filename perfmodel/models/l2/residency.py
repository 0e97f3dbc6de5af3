"""L2 residency of data that is read again: concurrent streams, set-aside, access policy windows.

L2 is modelled as 16 ways with least-recently-used replacement, in two partitions; data that SMs of
both partitions read is resident in both. The distance between two reads of a line is the L2 space
that the table itself and the streams between take. Its ratio to the capacity gives the share of
re-reads that miss, on a logistic curve: the policy is not exact LRU. Streams evict a small share of
lines even where there is room.

A set-aside consists of whole ways. Persisting lines keep them; clean normal lines may use what
persisting lines leave; dirty lines may not. hitRatio picks lines in sixteenths, one sixteenth more
than asked for. Windows larger than the set-aside overflow some cache sets before others, which is
why the best hitRatio is a little below set-aside over window.
"""

from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.records import record

WAYS: Final = 16
"""Ways of L2.

Found: the time of a write changes at set-asides of 3, 4 and 8 sixteenths of L2 and not between; at
most 10/16 can be set aside (measurements/suite, sweeps/set-aside-streams.csv).
"""
PICK_STEPS: Final = 16
"""Steps in which the hardware takes hitRatio."""

GRANTED_WAYS = Formula(
    name="ways set aside",
    unit="ways",
    text="min(16, ceil(s/(c/16)))",
    symbols={"s": "set-aside asked for [B]", "c": "capacity of L2 [B]"},
    holds="to the byte; all steps between 8 and 37 MiB seen in times",
    source="measured: cudaDeviceGetLimit returns as much (measurements/l2, after-use); first seen "
    "in times of copies and writes by set-aside (measurements/suite, set-aside-streams.csv)",
)
PICKED = Formula(
    name="share of a window's lines that get hitProp",
    unit="1",
    text="where(r > 0, min(1, (floor(16*r + 0.000001) + 1)/16), 0)",
    symbols={"r": "hitRatio [1]"},
    holds="hitRatios of 1/8 to 1 within 0.005",
    source="measured: lines not picked miss, and those are 13/16, 11/16, 7/16 and 3/16 at "
    "hitRatios of 1/8, 1/4, 1/2 and 3/4 (measurements/suite, sweeps/data-reset.csv)",
)
ROOM = Formula(
    name="L2 left by other kernels' persisting lines",
    unit="B",
    text="c - min(others, granted)",
    symbols={
        "c": "capacity of L2 [B]",
        "others": "bytes that other kernels mark persisting, or have left persisting [B]",
        "granted": "bytes of the ways set aside [B]",
    },
    holds="sets that are re-read: 32 to 48 MiB with 24 and 16 MiB left persisting of 60, times 4 "
    "to 16% too high (measurements/l2, after-use)",
    source="derived: persisting lines stay until they are reset, used or not",
)
LEAK = Formula(
    name="miss share of re-reads although there is room",
    unit="1",
    text="min(high, slope*max(0, (sr + write*sw)/c - start))",
    symbols={
        "high": Coefficient("l2.residency.leak_high"),
        "slope": Coefficient("l2.residency.leak_slope"),
        "sr": "bytes of normal streams read in one pass over the table [B]",
        "sw": "bytes of normal streams written in one pass over the table [B]",
        "write": Coefficient("l2.residency.leak_writes"),
        "c": "capacity of L2 [B]",
        "start": Coefficient("l2.residency.leak_start"),
    },
    holds="tables read in order with concurrent streams; streams marked streaming evict nothing",
    source="fitted form, together with the knee",
)
DISTANCE = Formula(
    name="reuse distance: L2 space used between two reads of a line",
    unit="B",
    text="table*resident + read*sr + written*sw",
    symbols={
        "resident": "bytes of the tables that should stay [B]",
        "sr": "bytes of streams read in one pass over the table [B]",
        "sw": "bytes of streams written in one pass over the table [B]",
        "table": "L2 space per byte of a table: half of it is resident in both partitions [1]",
        "read": Coefficient("l2.residency.read_weight"),
        "written": Coefficient("l2.residency.write_weight"),
    },
    holds="tables read in order by SMs of both partitions",
    source="derived for the table, the other weights fitted together with the knee",
)
KNEE = Formula(
    name="miss share of re-reads for lack of room",
    unit="1",
    text="1/(1 + 2.0**min(60, (middle - d/c)/width))",
    symbols={
        "d": "reuse distance: L2 space used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
        "middle": Coefficient("l2.residency.knee_middle"),
        "width": Coefficient("l2.residency.knee_width"),
    },
    holds="tables read in order by SMs of both partitions",
    source="fitted form",
)
NORMAL_MISSES = Formula(
    name="miss share of re-reads of normal lines",
    unit="1",
    text="1 - (1 - leak)*(1 - knee)",
    symbols={
        "leak": "share lost although there is room [1]",
        "knee": "share lost for lack of room [1]",
    },
    holds="tables read in order with concurrent streams",
    source="assumed: the two are independent",
)
TABLE_MISSES = Formula(
    name="share of the re-reads that miss",
    unit="1",
    text="persisting*overflow*spilled_miss + normal*normal_miss + streaming*streaming_miss",
    symbols={
        "persisting": "share of the table marked persisting [1]",
        "overflow": "share of these in cache sets with more persisting lines than ways set aside "
        "[1]",
        "spilled_miss": "misses per re-read of these; at random places, where a miss fetches part "
        "of a line, more than 1 [1]",
        "normal": "share of the table with no property [1]",
        "normal_miss": "miss share of normal lines [1]",
        "streaming": "share of the table marked streaming [1]",
        "streaming_miss": "miss share of streaming lines [1]",
    },
    holds="tables that are read several times",
    source="derived: persisting lines that do not fit the set-aside compete as normal lines do",
)
ATOM_HITS = Formula(
    name="hits of a fetched part of a line",
    unit="1",
    text="1 - (1 - h)/(1 - h*(1 - 1/a))",
    symbols={
        "h": "probability that the line is in L2 [1]",
        "a": "fetches that a line consists of: 128 B over the fetch granularity [1]",
    },
    holds="random places",
    source="derived: a line stays while any part of it is used; a part hits if it was used since "
    "the line was fetched",
)
HIT_RATIO = Formula(
    name="best hitRatio",
    unit="1",
    text="min(1, max(1/16, (floor(16*fit*s/f) - 1)/16))",
    symbols={
        "s": "bytes of the ways set aside [B]",
        "f": "bytes of the window [B]",
        "fit": Coefficient("l2.residency.fit"),
    },
    holds="windows longer than the set-aside; 1 for shorter ones",
    source="derived: hitRatio picks one sixteenth more than it says",
)


TABLE_WEIGHT: Final = 1.5
"""L2 that a byte of a table takes. Derived: half of it is resident on both sides."""


def granted_ways(set_aside: Any, capacity: float) -> Array:
    """Return the ways that a set-aside takes."""
    return np.asanyarray(GRANTED_WAYS(s=np.asanyarray(set_aside, dtype=float), c=capacity))


def granted(set_aside: Any, capacity: float) -> Array:
    """Return the bytes that a set-aside takes: whole ways."""
    return np.asanyarray(granted_ways(set_aside, capacity) * (capacity / WAYS))


def picked_share(hit_ratio: Any) -> Array:
    """Return the share of a window's lines that hitRatio picks."""
    return np.asanyarray(PICKED(r=np.asanyarray(hit_ratio, dtype=float)))


def best_hit_ratio(set_aside: Any, window: Any, device: Device) -> Array:
    """Return the hitRatio that fills a set-aside without thrash, both in bytes."""
    s, f = np.asanyarray(set_aside, dtype=float), np.asanyarray(window, dtype=float)
    best = HIT_RATIO.on(device, s=s, f=np.maximum(f, 1.0))
    return np.asanyarray(np.where(f <= s, 1.0, best))


@record
class Streams:
    """What streams move in one pass over a table [B]."""

    read: Any
    written: Any


def normal_misses(
    resident: Any, streams: Streams, harmless: Streams, capacity: float, device: Device
) -> tuple[Array, Array]:
    """Return the share of a table's re-reads that miss as normal lines, with streams passing.

    And of these, the share that miss though there is room: at scattered places. L2 and all tables
    that are to stay in it are in bytes. Of the streams, what is marked streaming is harmless: it
    takes room, and no more.
    """
    knee = knee_misses(distance(TABLE_WEIGHT, resident, streams, device), capacity, device)
    read, written = streams.read - harmless.read, streams.written - harmless.written
    scattered = leak(read, written, capacity, device)
    lost = NORMAL_MISSES(leak=scattered, knee=knee)
    return lost, np.asanyarray(scattered * (1 - knee) / np.maximum(lost, 1e-9))


def knee_misses(used: Array, capacity: float, device: Device) -> Array:
    """Return the share of re-reads that are lost for lack of room: see `KNEE`."""
    return np.asanyarray(KNEE.on(device, d=used, c=capacity))


def distance(table: float, resident: Any, streams: Streams, device: Device) -> Array:
    """Return the L2 used between two reads of a line [B], a byte of a table takes `table`."""
    sums = {"resident": resident, "sr": streams.read, "sw": streams.written}
    return np.asanyarray(DISTANCE.on(device, table=table, **sums))


def leak(read: Any, written: Any, capacity: float, device: Device) -> Array:
    """Return the share of re-reads lost though there is room, by normal streams: see `LEAK`."""
    return np.asanyarray(LEAK.on(device, sr=read, sw=written, c=capacity))
