"""Cost of table misses beyond their bytes: scattered DRAM reads, whole-line fills, write-backs.

Misses of a table that mostly stays in L2 are isolated: neighbouring lines hit. DRAM opens a row for
a single access unit, which costs more of its time than the same bytes of a stream. The cost is
higher where DRAM also writes, because it alternates between reads and writes more often. Random
reads of large tables fill whole access units of which one sector is used, and take L2's fill
bandwidth as well.

Persisting lines at random places that fill the set-aside slow the write-backs of concurrent stores.
All costs are expressed as dense DRAM bytes that would take the same time.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.dram.throughput import random_wait
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l2.random_lines import random_draws
from perfmodel.models.l2.tables import Table
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.traffic import Traffic

SCATTERED_COST = Formula(
    name="cost of a scattered miss beyond a dense one",
    unit="1",
    text="always + more*alone",
    symbols={
        "alone": "share of the writes with no steady stream of reads [1]",
        "always": Coefficient("l2.table_costs.scattered"),
        "more": Coefficient("l2.table_costs.scattered_alone"),
    },
    holds="misses of tables that mostly stay in L2",
    source="fitted form",
)
_PARTS: Final = 64
_ALL_READ: Final = 20.0
_TURNS: Final = 40
"""Parts of a launch over which `thinning_misses` adds up, reads of a place after which it is not
new, and turns that find the reads of a place: chosen. With many times as many its shares differ by
0.1% for batches of 2 reads and more, by 2% for single ones."""


def random_fills(accesses: GlobalAccesses, tables: Sequence[Table], lone: float) -> Array:
    """Return the sectors that L2 takes in at random places, lone ones as loads cost."""
    filled = np.zeros(1)
    for table in _drawn_tables(accesses, tables):
        _, wide = random_draws(accesses.requests, table.members, accesses.granule)
        misses = table.read(accesses.warm) / wide
        # What crosses from the far side is brought in as well.
        brought = misses + table.again / wide * (1 - table.misses) * table.crossing
        filled = filled + brought * np.maximum(lone, wide / SECTOR)
    return np.asanyarray(filled)


def random_waits(accesses: GlobalAccesses, tables: Sequence[Table]) -> Array:
    """Return what L2 waits for DRAM at misses at random places, as dense bytes [B]."""
    waited = np.zeros(1)
    for table in _drawn_tables(accesses, tables):
        _, wide = random_draws(accesses.requests, table.members, accesses.granule)
        misses = table.read(accesses.warm) / wide
        within = table.size / table.waves.number
        waited = waited + misses * random_wait(wide, within, accesses.device)
    return np.asanyarray(waited)


def _drawn_tables(accesses: GlobalAccesses, tables: Sequence[Table]) -> list[Table]:
    """Return the tables that are drawn from at random places.

    What was counted by running a program may well be read in order, piece by piece.
    """
    requests = accesses.requests
    return [
        t
        for t in tables
        if t.random and not any(requests[i].access.counted is not None for i in t.members)
    ]


@mechanism(neutral=lambda tables, reads, written, warm, device: np.zeros(1), evidence=["suite"])
def scattered_cost(
    tables: Sequence[Table], reads: Array, written: Array, warm: bool, device: Device
) -> Array:
    """Return what scattered misses of tables cost beyond dense reads, as dense bytes [B]."""
    extra = np.zeros(1)
    for table in tables:
        if table.random:
            continue  # costs as its own places do
        lost = (table.read(warm) - np.where(warm, 0.0, table.first)) * table.scattered
        steady = np.maximum(reads - lost, 0.0)
        alone = 1 - np.minimum(1.0, steady / np.maximum(written, 1.0))
        extra = extra + lost * SCATTERED_COST.on(device, alone=alone)
    return np.asanyarray(extra)


DRAWN_LINES_SLOPE: Final = Coefficient("l2.table_costs.drawn_lines_slope")
DRAWN_LINES_START: Final = Coefficient("l2.table_costs.drawn_lines_start")


def drawn_lines_cost(
    tables: Sequence[Table], granted: Any, reads: Array, written: Array, device: Device
) -> Array:
    """Return what writes lose to random lines that fill the set-aside, as dense bytes [B]."""
    slope, start = DRAWN_LINES_SLOPE(device), DRAWN_LINES_START(device)
    found = np.zeros(1)
    alone = 1 - np.minimum(1.0, reads / np.maximum(written, 1.0))
    for table in (t for t in tables if t.random):
        share = np.minimum(table.lines.persisting * table.size / np.maximum(granted, 1.0), 1.0)
        over = slope * np.maximum(share - start, 0.0)
        found = found + (table.first + table.again) * table.lines.resident * over * alone
    return np.asanyarray(found)


def filled_share(
    tables: Sequence[Table], granted: Any, reads: Any, warm: bool, stored: Collection[int] = ()
) -> Array:
    """Return the share of a set-aside that persisting lines take from what streams by.

    What tables miss of normal lines lies apart, and gains nothing by it. What stays of a table
    that is written, by stores at the positions `stored`, stays dirty, and spares others nothing:
    sliding windows of 2 to 25 MB with 8 ways set aside take 1126 to 1158 us alike, with 10 ways
    1955 to 2120 (sliding-window.csv of measurements/suite, contention and sweeps).
    """
    resident_share = np.zeros(1)
    for t in tables:
        written = any(i in stored for i in t.members)
        lines = t.lines.persisting * (t.lines.overflow if written else 1.0)
        resident_share = resident_share + lines * t.size
    missed = summed(t.read(warm) for t in tables)
    marked = summed(marked_reads(tables, warm))
    streams = np.maximum(reads - missed, 0.0) / np.maximum(reads - marked, 1.0)
    share = np.minimum(resident_share / np.maximum(granted, 1.0), 1.0)
    return np.asanyarray(share * np.minimum(streams, 1.0))


def marked_reads(tables: Sequence[Table], warm: bool) -> tuple[Array, Array]:
    """Return the DRAM bytes that fetch lines of tables marked persisting, and streaming [B]."""
    persisting = streaming = np.zeros(1)
    for table in tables:
        lines = table.lines
        read = table.read(warm) / np.maximum(table.misses, 1e-9)
        lost = lines.persisting * lines.overflow * lines.spilled_miss
        persisting = persisting + read * lost
        streaming = streaming + read * lines.streaming * lines.streaming_miss
    return np.asanyarray(persisting), np.asanyarray(streaming)


def batch_misses(
    traffic: Traffic, requests: Sequence[Requests], members: Sequence[int], missing: Array, k: Array
) -> Array:
    """Return the probability that one of the `k` lines that are waited for together misses L2.

    First reads of a table at random places thin out as L2 comes to hold it.
    """
    buffers = {requests[i].access.buffer for i in members if requests[i].random}
    tables = [t for t in traffic.tables if t.random and t.buffer in buffers]
    steady = np.atleast_1d(missing)
    if not tables or len(buffers) < len({requests[i].access.buffer for i in members}):
        return np.asanyarray(1 - (1 - steady) ** k)
    again = summed(t.again * t.misses for t in tables)
    read = summed(traffic.accesses[i].dram_bytes for i in members)
    later = steady * np.clip(again / np.maximum(read, 1e-9), 0.0, 1.0)
    drawn = first = missed = np.zeros(1)
    for t in tables:
        asked = summed(traffic.accesses[i].sectors for i in t.members)
        filled = summed(traffic.accesses[i].l1_fill_sectors for i in t.members)
        drawn = drawn + t.draws * np.minimum(filled / np.maximum(asked, 1e-9), 1.0)
        first = first + t.first / t.wide
        missed = missed + (t.read(not traffic.cold) - t.again * t.misses) / t.wide
    part = np.minimum(missed / np.maximum(first, 1e-9), 1.0)
    # A miss may bring more than was asked for; what is there already for others is not missed.
    new = np.minimum(first / np.maximum(drawn, 1.0), (steady - later) / np.maximum(part, 1e-9))
    early = thinning_misses(new, part, k)
    return np.asanyarray(1 - (1 - early) * (1 - later) ** k)


def thinning_misses(new: Array, missing: Array, k: Array) -> Array:
    """Return the share of batches of `k` random reads with a first one in them that misses.

    A share `new` of the launch's reads are the first of their place, and `missing` of these miss:
    all but where the same launch ran before.

    Derived: with t reads a place a share exp(-x*t) of the reads is new after a share x of the
    launch, (1 - exp(-t))/t on average; 1 - (1 - m)**k of the batches have a miss in them where m
    of the reads have. Of few reads a place it stays so; of many it is
    `perfmodel.models.l1.l1_tables.EARLY_MISSES`.
    """
    share = np.clip(np.atleast_1d(new), 1e-9, 1.0)
    times = 1 / share
    for _ in range(_TURNS):
        times = -np.expm1(-times) / share
    times = np.maximum(times, 1e-9)
    until = np.minimum(times, _ALL_READ)
    # The middles of equal parts; what comes after `_ALL_READ` reads of each place is nothing.
    parts = (np.arange(_PARTS) + 0.5) / _PARTS
    missed = (1 - (1 - missing * np.exp(-x * until)) ** k for x in parts)
    return np.asanyarray(summed(missed) / _PARTS * until / times)
