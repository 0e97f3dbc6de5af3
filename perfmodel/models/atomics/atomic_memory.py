"""DRAM traffic of atomics: elements that outgrow L2 are read, changed and written back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.models.dram.throughput import rows_cost
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import working_share
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.sampled_places import distinct_places
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.reuse_windows import resident_share, reuse_knee

Array = npt.NDArray[Any]

ATOMIC_MISSES = Formula(
    name="atomics that miss L2",
    unit="sectors",
    text="first + (asked - first)*(1 - stays)",
    symbols={
        "first": "sectors that the launch touches and L2 does not hold at its start [1]",
        "asked": "passes through sectors [1]",
        "stays": "share of the elements' lines that L2 holds [1]",
    },
    holds="random and cyclic elements of 0.5 to 16 times L2 within 15%",
    source="derived; held against the profiler "
    "(measurements/suite/h200-sxm/sweeps/atomics-outgrown.csv)",
)
ATOMIC_WRITES = Formula(
    name="dirty sectors of atomics that L2 writes back",
    unit="sectors",
    text="asked*max(0, 1 - d*c/max(f, 1))",
    symbols={
        "asked": "passes through sectors [1]",
        "d": "share of L2 that changed lines take up before they are written back [1]",
        "c": "capacity of L2 [B]",
        "f": "footprint in whole lines [B]",
    },
    holds="cold launches through elements in turn, many times as many passes as L2 has changed "
    "lines, within 15%",
    source="fitted: the profiler's DRAM writes "
    "(measurements/suite/h200-sxm/sweeps/atomics-outgrown.csv, fit rows)",
)
RANDOM_WRITES = Formula(
    name="dirty sectors of atomics at random places that L2 writes back",
    unit="sectors",
    text="max(0, asked - before)*(1 - changed**2)",
    symbols={
        "asked": "passes through sectors [1]",
        "before": "of these, those until L2 has as many changed lines as it keeps [1]",
        "changed": "share of the table's lines that L2 has changed and keeps [1]",
    },
    holds="cold tables of a quarter to four times L2, 1/4 to 4 passes per sector: within 13% where "
    "more than half of them write back",
    source="fitted form: the profiler's DRAM writes "
    "(measurements/atomics/h200-sxm/contended/tables.csv, fit rows)",
)

_FILLED: Final = 3.5
"""Sectors of a line that a request goes to, on average, from which on it goes to rows."""
_KEPT: Final = 1 << 17
"""Lanes of a sample at most: see `perfmodel.cuda.emulate.counts`."""
DIRTY_SHARE: Final = 0.3
"""`d` of `ATOMIC_WRITES`."""
RANDOM_DIRTY: Final = 0.395
"""Share of L2 that changed lines of a table take up before the first is written back, of what works
of an H200's; fitted, with `RANDOM_WRITES`: none of 24 MiB of 60, half of the passes of 32 MiB. An
H100 keeps 0.415 of its 50 (measurements/atomics/h100-sxm/repeated, tables.csv)."""
RANDOM_READ, RANDOM_WRITE = 2.25, 4.28
"""DRAM time of a byte read and written back at random places of a large table, over a dense one's,
on an H200; fitted, with `TABLE_ROWS`, to cold times of 16 MiB to 1 GiB, the smaller ones with their
bytes counted (tables.csv of measurements/atomics/h200-sxm/contended and atomics/h100-sxm/repeated,
atomics.csv and atomics-outgrown.csv of suite/h200-sxm/sweeps and suite/h100-sxm/sweeps, fit
rows)."""
TABLE_ROWS: Final = 13.5 * 2**20
"""Bytes of a table of which half of what moves finds the DRAM row of another: what is read and what
leaves L2 at a time lie closer in a small one."""
ISOLATED_READ: Final = 48.0
"""DRAM bytes read for an isolated sector that an atomic misses: measured, 48.0 for sectors 64, 128
and 256 B apart (atomics-outgrown.csv); dense ones read 32, and of a table at random places 48 less
16 times the share of its sectors that are gone to: within 3%
(measurements/atomics/h200-sxm/contended, tables.csv)."""
RANDOM_HITS, RANDOM_LOST = 1.27, 0.31
"""Share of random passes to sectors gone to before that hit, for each capacity over table, and what
of it is lost where a line has four sectors to go to: when it comes back, it has one of them. Fitted
to the same file: 0.89, 0.46, 0.26 and 0 of tables of 64, 96, 128 and 256 MiB.
"""

# DRAM time of a sector's read and write-back over that of its dense bytes on an H200, one sector
# every 32*2**i bytes; fitted to the fit rows of atomics-outgrown.csv. Others: `rows_cost`.
_READ_COST: Final = (1.29, 1.33, 1.53, 1.85, 2.16)
_WRITE_COST: Final = (1.29, 1.53, 2.15, 3.90, 4.75)


class AtomicMemory(NamedTuple):
    """What one atomic access moves between L2 and DRAM.

    Attributes
    ----------
    misses : array
        Passes that miss L2.
    read, written : array
        DRAM bytes.
    read_cost, write_cost : array
        Time of a byte over that of a dense one.
    footprint : array
        Bytes of the lines that the launch touches.
    """

    misses: Array
    read: Array
    written: Array
    read_cost: Array
    write_cost: Array
    footprint: Array


def l2_passes(r: Requests) -> Array:
    """Return the L2 sectors that a request counts: an atomic's come once for each lane in turn."""
    return r.sectors if r.sharing is None else r.requests * r.sharing.conflicts.passes


@dataclass(frozen=True, slots=True)
class _Elements:
    """The elements that an atomic goes to, arrays over configurations.

    Attributes
    ----------
    asked : array
        Passes through sectors.
    sectors, lines : array
        Distinct ones that the launch touches.
    pitch, span : array
        Bytes from one element to the next, and from the first to the last.
    part : bool
        Whether they are at random places of which only a part was looked at.
    in_lines : array or float
        Of random places that were looked at in part, sectors of a line that come together; else 1.
    """

    asked: Array
    sectors: Array
    lines: Array
    pitch: Array
    span: Array
    part: bool
    in_lines: Array | float


def atomic_memory(
    r: Requests, capacity: float, warm: bool, size: Array, device: Device
) -> AtomicMemory:
    """Return the DRAM traffic of an atomic.

    Parameters
    ----------
    r : Requests
        With `sharing`.
    capacity : float
        Of L2 [B].
    warm : bool
        Whether the same launch ran just before.
    size : array
        Of its buffer [B].
    device : Device
    """
    found = _elements(r, size)
    asked, sectors, span, pitch = found.asked, found.sectors, found.span, found.pitch
    footprint = found.lines * LINE
    knee = reuse_knee(device)
    stays = resident_share(footprint, capacity, knee)
    if r.random:
        part = capacity / np.maximum(span, 1.0)
        lost = RANDOM_LOST * (np.clip(LINE / pitch, 1.0, 4.0) - 1) / 3
        stays = np.maximum(stays, np.clip(RANDOM_HITS * part - lost, 0.0, 1.0))
    first = np.minimum(sectors, asked)
    if warm:
        first = first * (1 - stays)
    misses = np.asanyarray(ATOMIC_MISSES(first=first, asked=asked, stays=stays))
    written = _written(r, found, capacity, warm, device)
    # What fits and is there stays; lines that come in drive changed ones out all the same.
    written = written * (1 - resident_share(footprint, capacity, knee) if warm else 1.0)
    read_cost, write_cost = _costs(r, found)
    return AtomicMemory(
        misses=misses,
        read=_read(r, found, first, misses),
        written=written * SECTOR,
        read_cost=rows_cost(read_cost, device),
        write_cost=rows_cost(write_cost, device),
        footprint=footprint,
    )


def _elements(r: Requests, size: Array) -> _Elements:
    """Return the elements that an atomic goes to, in a buffer of so many bytes."""
    shared = r.sharing
    assert shared is not None
    asked = r.requests * shared.conflicts.passes
    some = r.random and r.sampled is not None and r.sampled < 1
    pitch = shared.pitch
    if some:  # rows at random places fill their lines, whatever the sample left out between them
        filled = r.sectors >= _FILLED * r.lines
        pitch = np.where(filled, float(SECTOR), np.maximum(pitch, SECTOR))
    places = _places(r, size) if some else shared.addresses
    span = places * np.maximum(SECTOR if some else pitch, 1e-9)

    def touched(granule: int) -> Array:
        if some:
            every = np.maximum(np.minimum(places, size / granule), 1.0)
            drawn = r.sectors if granule == SECTOR else r.lines
            return np.asanyarray(every * -np.expm1(-drawn / every))
        # A sample or a modulo touches all; random elements miss some granules.
        granules = np.minimum(shared.addresses, np.ceil(span / granule))
        if r.random and r.sampled is None:
            return np.asanyarray(granules * -np.expm1(-r.active_lanes / np.maximum(granules, 1.0)))
        return np.asanyarray(np.minimum(granules, asked))

    # Of a row at a random place all sectors of a line come at once.
    in_lines = r.sectors / np.maximum(r.lines, 1.0) if some else 1.0
    return _Elements(asked, touched(SECTOR), touched(LINE), pitch, span, some, in_lines)


def _written(r: Requests, found: _Elements, capacity: float, warm: bool, device: Device) -> Array:
    """Return the sectors that L2 writes back, as if none of them had been there before."""
    asked = found.asked
    if r.random and (r.sampled is None or found.part):
        room = RANDOM_DIRTY * working_share(device) * capacity
        changed = np.minimum(room / np.maximum(found.span, LINE), 1 - 1e-9)
        before = 0.0 if warm else found.in_lines * found.span / LINE * -np.log1p(-changed)
        return np.asanyarray(RANDOM_WRITES(asked=asked, before=before, changed=changed))
    footprint = found.lines * LINE
    written = np.asanyarray(ATOMIC_WRITES(asked=asked, d=DIRTY_SHARE, c=capacity, f=footprint))
    # Fewer passes than L2 has changed lines leave nothing to write back.
    return np.where(found.sectors * SECTOR < DIRTY_SHARE * capacity, 0.0, written)


def _costs(r: Requests, found: _Elements) -> tuple[Array, Array]:
    """Return DRAM's time of a byte read and one written over a dense one's, on an H200."""
    apart = np.maximum(found.pitch, SECTOR)
    if r.random:
        apart = np.where(found.part & (found.pitch <= SECTOR), SECTOR, LINE * 4.0)
    octaves = np.log2(apart / SECTOR)
    read_cost, write_cost = (
        np.interp(octaves, np.arange(len(costs)), costs) for costs in (_READ_COST, _WRITE_COST)
    )
    if r.random:
        lone, rows = apart > SECTOR, found.span / (found.span + TABLE_ROWS)
        read_cost = 1 + (np.where(lone, RANDOM_READ, read_cost) - 1) * rows
        write_cost = 1 + (np.where(lone, RANDOM_WRITE, write_cost) - 1) * rows
    return read_cost, write_cost


def _read(r: Requests, found: _Elements, first: Array, misses: Array) -> Array:
    """Return the DRAM bytes read for sectors that are touched first, and for all that miss."""
    pitch, span = found.pitch, found.span
    # A sector that others of its 64 B follow brings what one of these would have brought.
    beside = np.where(r.random, found.sectors * SECTOR / np.maximum(span, SECTOR), 1.0)
    beside = np.where(pitch > SECTOR, 0.0, np.minimum(beside, 1.0))
    each = ISOLATED_READ + (SECTOR - ISOLATED_READ) * beside
    dense = np.minimum(first * each, np.maximum(span, first * SECTOR))
    if found.part:
        beside = np.where(pitch > SECTOR, beside, 1.0)
    again = np.where((beside < 1) | (r.random and not found.part), ISOLATED_READ, float(SECTOR))
    return np.asanyarray(dense + np.maximum(misses - first, 0.0) * again)


def _places(r: Requests, size: Array) -> Array:
    """Return how many sectors lanes at random places go to, of which a sample was looked at."""
    assert r.sharing is not None
    assert r.sampled is not None
    found = []
    most = np.maximum(size / SECTOR, 1.0)
    every = np.broadcast_arrays(r.active_lanes, r.sharing.addresses, most, size / r.width)
    for lanes, seen, sectors, words in zip(*every, strict=True):
        looked = max(min(round(lanes * r.sampled), _KEPT), round(seen))
        held = distinct_places(looked, round(seen), max(round(words), 1))
        found.append(min(held, sectors))
    return np.asanyarray(found, dtype=float)
