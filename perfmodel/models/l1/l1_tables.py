"""L1 misses of tables: small data that is read at irregular or random places.

Random indices have no window of execution to count reuse in, but the cache holds what was used
last. A table that fits L1 is fetched once per SM: the distinct sectors that r random draws touch
are `s*(1 - (1 - 1/s)**r)`. Of a larger table L1 holds the lines of the last draws; how many draws
that is follows from L1's size and from the bytes of other loads between the draws (Che's
approximation of LRU under independent references).

While L1 fills, early draws miss more often than later ones. A warp waits for the slowest of the
lines that it asks for together, so the latency needs the share of batches with at least one miss,
and, for pointer chains, the longest sequence of misses of one chain.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.models.formula import Formula
from perfmodel.models.l2.residency import ATOM_HITS
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.random_rows import DISTINCT
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.reuse_windows import resident_share, reuse_knee

DRAWN_SINCE = Formula(
    name="L1 space of the last draws and of other loads between them",
    unit="B",
    text="table*(1 - (1 - 1/n)**t) + t*others",
    symbols={
        "table": "bytes of the table [B]",
        "t": "draws [1]",
        "n": "lines of the table [1]",
        "others": "bytes of other loads for each draw [B]",
    },
    holds="random places; a line hits if it is among the last t draws, which fill L1",
    source="derived: characteristic time of LRU, Che, Tung and Wang, IEEE J. Sel. Areas Commun. "
    "20(7), 2002",
)
EARLY_MISSES = Formula(
    name="share of batches with a miss, of a table that fits L1",
    unit="1",
    text="new*(0.577 + 0.693*log2(k) + 1/(2*k) - 0.077/k**2)",
    symbols={
        "new": "share of the lines asked for that miss L1 over the launch [1]",
        "k": "lines that a warp waits for together [1]",
    },
    holds="random places: misses become rare as L1 fills",
    source="derived: the mean of 1 - (1 - m)**k while m falls exponentially is new times the k-th "
    "harmonic number",
)
WALKED_MISSES = Formula(
    name="share of steps with a miss, of pointer chains through a table that fits L1",
    unit="1",
    text="min(1, new*own*(1 - (1.78*all)**(-1/max(1e-9, own - 1))))",
    symbols={
        "new": "share of the lines asked for that miss L1 over the launch [1]",
        "own": "chains of an SM: warps times the chains that each follows [1]",
        "all": "chains of all SMs, but no more than places to start from [1]",
    },
    holds="chains that start anywhere on one cycle: each hits from where another one started",
    source="derived: the longest of `all` distances between `own` random places on a circle, "
    "which the launch waits for, within 7%; chains of 16 and 32 per warp within 6% "
    "(measurements/suite, sweeps/chains.csv, fit rows)",
)


TABLE_SHARE: Final = Coefficient("l1.l1_tables.table_share")


def table_fills(
    r: Requests,
    table: Array,
    reached: Array,
    sms: Array,
    others: Array,
    capacity: Array,
    device: Device,
) -> Array:
    """Return the sectors that an irregular or random access brings into all L1s.

    It touches `reached` bytes of a buffer of `table` bytes; the other loads bring `others` bytes
    into the L1s, of `capacity` bytes each, of so many SMs at work.
    """
    asked = r.sectors / sms
    sectors = np.maximum(reached / SECTOR, 1.0)
    if not r.random:
        # A walk that is no random one may touch everything before it comes back.
        resident = resident_share(table, capacity, reuse_knee(device))
        return np.asanyarray((resident * np.minimum(asked, sectors) + (1 - resident) * asked) * sms)
    draws = np.maximum(r.lines / sms, 1e-9)
    found = _line_hits(table, others / sms / draws, TABLE_SHARE(device) * capacity)
    parts = np.clip(LINE / SECTOR / np.maximum(r.sectors / np.maximum(r.lines, 1e-9), 1e-9), 1, 4)
    hits = ATOM_HITS(h=np.minimum(found, 1 - 1e-9), a=parts)
    first = DISTINCT(n=sectors, draws=asked)
    return np.asanyarray(np.minimum(np.maximum(first, asked * (1 - hits)), asked) * sms)


def periodic_fills(
    r: Requests, fills: Array, sms: Array, others: Array, capacity: Array, device: Device
) -> Array:
    """Return the sectors that an access brings into all L1s whose addresses start again.

    Blocks that follow each other on an SM come by the same place again after at most a period, and
    what other loads brought in meanwhile: if L1 holds that, each SM fetches the period once
    (measured: a bias of 1,000 and 4,096 elements added to rows, within 0.1% and 3%). Otherwise it
    brings `fills`. `others` and `capacity` as for `table_fills`.
    """
    assert r.period is not None
    around = r.period * (1 + others / np.maximum(r.sectors * SECTOR, 1.0))
    resident = resident_share(around, capacity, reuse_knee(device))
    once = np.minimum(np.ceil(r.period / SECTOR) * sms, fills)
    return np.asanyarray(resident * once + (1 - resident) * fills)


def early_misses(
    new: Array,
    batch: Array,
    random: bool,
    walkers: Array,
    blocks: Array,
    places: Array,
    device: Device,
) -> Array:
    """Return the share of batches that miss, of a table that L1 comes to hold.

    `new` is the share of the lines asked for that the launch brings into L1, `batch` the lines of a
    batch. If places are not drawn at random, each follows from the one before: `walkers` are a
    block's warps, times the chains that each follows, `places` those of the table, over those that
    a block's walkers stand at together.
    """
    if random:
        return EARLY_MISSES(new=new, k=np.maximum(batch, 1.0))
    most = np.maximum(device.max_threads_per_sm / (WARP_SIZE * walkers), 1.0)
    own = walkers * np.clip(blocks / device.sm_count, 1.0, most)
    every = np.clip(walkers * np.minimum(places, blocks), own, None)
    return WALKED_MISSES(new=new, own=own, all=every)


def _line_hits(table: Array, others: Array, capacity: Array) -> Array:
    """Return the share of a table's lines that L1 has."""
    n = np.maximum(table / LINE, 1.0)
    low, high = np.zeros(np.broadcast(n, others, capacity).shape), 50 * n + 0.0 * others
    for _ in range(60):
        t = (low + high) / 2
        fits = DRAWN_SINCE(table=n * LINE, t=t, n=n, others=others) <= capacity
        low, high = np.where(fits, t, low), np.where(fits, high, t)
    return np.asanyarray(1 - (1 - 1 / n) ** low)
