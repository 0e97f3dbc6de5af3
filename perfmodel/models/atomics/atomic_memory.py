"""DRAM traffic of global atomics whose elements outgrow L2: read, changed, written back.

Atomics execute in L2, so the sector has to be there. The first atomic to a sector reads it from
DRAM in a cold launch; later ones hit while the line stays. Changed sectors become dirty and are
written back when dirty lines exceed their share of L2, which is smaller for sequential than for
random elements.

Isolated sectors cost DRAM more than their bytes, since rows are opened for single accesses; the
cost is interpolated by the distance between the sectors, and for random elements by the size of the
table.
"""

from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient, CoefficientTable
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.atomics.to_slices import operands_of, packets_of
from perfmodel.models.dram.throughput import rows_cost
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l2.slices import working_share
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.sampled_places import distinct_places
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import resident_share, reuse_knee
from perfmodel.records import record

ATOMIC_MISSES = Formula(
    name="atomics that miss L2",
    unit="sectors",
    text="first + (asked - first)*(1 - stays)",
    symbols={
        "first": "distinct sectors that L2 does not hold at the start [1]",
        "asked": "atomic transactions [1]",
        "stays": "share of the elements' lines that L2 holds [1]",
    },
    holds="random and cyclic elements of 0.5 to 16 times L2 within 15%",
    source="derived; checked against the profiler's counts",
)
ATOMIC_WRITES = Formula(
    name="dirty sectors of atomics that L2 writes back",
    unit="sectors",
    text="asked*max(0, 1 - d*c/max(f, 1))",
    symbols={
        "asked": "atomic transactions [1]",
        "d": "share of L2 that dirty lines fill before they are written back [1]",
        "c": "capacity of L2 [B]",
        "f": "footprint in whole lines [B]",
    },
    holds="cold launches over consecutive elements, many times more transactions than L2 keeps "
    "dirty lines, within 15%",
    source="fitted form: see dirty_share",
)
RANDOM_WRITES = Formula(
    name="dirty sectors of atomics at random places that L2 writes back",
    unit="sectors",
    text="max(0, asked - before)*(1 - changed**2)",
    symbols={
        "asked": "atomic transactions [1]",
        "before": "of these, those before L2 has as many dirty lines as it keeps [1]",
        "changed": "share of the table's lines that are dirty in L2 [1]",
    },
    holds="cold tables of a quarter to four times L2, 1/4 to 4 transactions per sector: within "
    "13% where more than half of them write back",
    source="fitted form: see random_dirty",
)

_FILLED: Final = 3.5
"""Sectors of a line that a request goes to, on average, from which on it goes to rows."""
_KEPT: Final = 1 << 17
"""Lanes of a sample at most: see `perfmodel.cuda.emulate.counts`."""
DIRTY_SHARE: Final = Coefficient("atomics.atomic_memory.dirty_share")
RANDOM_DIRTY: Final = Coefficient("atomics.atomic_memory.random_dirty")
RANDOM_READ: Final = Coefficient("atomics.atomic_memory.random_read")
RANDOM_WRITE: Final = Coefficient("atomics.atomic_memory.random_write")
TABLE_ROWS: Final = Coefficient("atomics.atomic_memory.table_rows")
ISOLATED_READ: Final = Coefficient("atomics.atomic_memory.isolated_read")
RANDOM_HITS: Final = Coefficient("atomics.atomic_memory.random_hits")
RANDOM_LOST: Final = Coefficient("atomics.atomic_memory.random_lost")
READ_COST: Final = CoefficientTable("atomics.atomic_memory.read_cost")
WRITE_COST: Final = CoefficientTable("atomics.atomic_memory.write_cost")


class AtomicMemory(NamedTuple):
    """What one atomic access moves between L2 and DRAM."""

    misses: Array  # passes that miss L2
    read: Array  # DRAM bytes
    written: Array
    read_cost: Array  # time of a byte over that of a dense one
    write_cost: Array


def l2_passes(instance: Instance, r: Requests) -> Array:
    """Return the L2 sectors that an atomic counts: once for each lane in turn that it has left."""
    return r.sectors if r.sharing is None else packets_of(r, operands_of(instance, r)).passes


@record
class _Elements:
    """The elements that an atomic goes to, arrays over configurations."""

    asked: Array  # passes through sectors, but for those that lanes are at already
    sectors: Array  # distinct ones that the launch touches
    lines: Array
    pitch: Array  # bytes from one element to the next
    span: Array  # bytes from the first to the last
    part: bool  # whether they are at random places of which only a part was looked at
    in_lines: Array | float  # of such, sectors of a line that come together; else 1


def atomic_memory(accesses: GlobalAccesses, r: Requests) -> AtomicMemory:
    """Return the DRAM traffic of an atomic with `sharing`."""
    capacity, warm, device = accesses.l2_size, accesses.warm, accesses.device
    found = _elements(r, buffer_bytes(accesses.instance, r))
    asked, sectors, span, pitch = found.asked, found.sectors, found.span, found.pitch
    footprint = found.lines * LINE
    knee = reuse_knee(device)
    stays = resident_share(footprint, capacity, knee)
    if r.random:
        part = capacity / np.maximum(span, 1.0)
        lost = RANDOM_LOST(device) * (np.clip(LINE / pitch, 1.0, 4.0) - 1) / 3
        stays = np.maximum(stays, np.clip(RANDOM_HITS(device) * part - lost, 0.0, 1.0))
    first = np.minimum(sectors, asked)
    if warm:
        first = first * (1 - stays)
    misses = ATOMIC_MISSES(first=first, asked=asked, stays=stays)
    written = _written(r, found, capacity, warm, device)
    # What fits and is there stays; lines that come in drive changed ones out all the same.
    written = written * (1 - resident_share(footprint, capacity, knee) if warm else 1.0)
    read_cost, write_cost = _costs(r, found, device)
    return AtomicMemory(
        misses=misses,
        read=_read(found, first, misses, r.random, device),
        written=written * SECTOR,
        read_cost=rows_cost(read_cost, device),
        write_cost=rows_cost(write_cost, device),
    )


def _elements(r: Requests, size: Array) -> _Elements:
    """Return the elements that an atomic goes to, in a buffer of so many bytes."""
    shared = r.address_sharing
    come = 1.0 if r.walked is None else r.walked[0]
    asked = r.requests * shared.conflicts.passes * come
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
            drawn = (r.sectors if granule == SECTOR else r.lines) * come
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
        room = RANDOM_DIRTY(device) * working_share(device) * capacity
        changed = np.minimum(room / np.maximum(found.span, LINE), 1 - 1e-9)
        before = 0.0 if warm else found.in_lines * found.span / LINE * -np.log1p(-changed)
        return RANDOM_WRITES(asked=asked, before=before, changed=changed)
    footprint, share = found.lines * LINE, DIRTY_SHARE(device)
    written = ATOMIC_WRITES(asked=asked, d=share, c=capacity, f=footprint)
    # Fewer passes than L2 has changed lines leave nothing to write back.
    return np.where(found.sectors * SECTOR < share * capacity, 0.0, written)


def _costs(r: Requests, found: _Elements, device: Device) -> tuple[Array, Array]:
    """Return DRAM's time of a byte read and one written over a dense one's, by the reference."""
    apart = np.maximum(found.pitch, SECTOR)
    if r.random:
        apart = np.where(found.part & (found.pitch <= SECTOR), SECTOR, LINE * 4.0)
    octaves = np.log2(apart / SECTOR)
    read_cost, write_cost = (
        np.interp(octaves, np.arange(len(costs)), costs)
        for costs in (READ_COST(device), WRITE_COST(device))
    )
    if r.random:
        lone, rows = apart > SECTOR, found.span / (found.span + TABLE_ROWS(device))
        read_cost = 1 + (np.where(lone, RANDOM_READ(device), read_cost) - 1) * rows
        write_cost = 1 + (np.where(lone, RANDOM_WRITE(device), write_cost) - 1) * rows
    return read_cost, write_cost


def _read(found: _Elements, first: Array, misses: Array, random: bool, device: Device) -> Array:
    """Return the DRAM bytes read for sectors that are touched first, and for all that miss."""
    pitch, span, isolated = found.pitch, found.span, ISOLATED_READ(device)
    # A sector that others of its 64 B follow brings what one of these would have brought.
    beside = np.where(random, found.sectors * SECTOR / np.maximum(span, SECTOR), 1.0)
    beside = np.where(pitch > SECTOR, 0.0, np.minimum(beside, 1.0))
    each = isolated + (SECTOR - isolated) * beside
    dense = np.minimum(first * each, np.maximum(span, first * SECTOR))
    if found.part:
        beside = np.where(pitch > SECTOR, beside, 1.0)
    again = np.where((beside < 1) | (random and not found.part), isolated, float(SECTOR))
    return np.asanyarray(dense + np.maximum(misses - first, 0.0) * again)


def _places(r: Requests, size: Array) -> Array:
    """Return how many sectors lanes at random places go to, of which a sample was looked at."""
    assert r.sampled is not None
    found = []
    most = np.maximum(size / SECTOR, 1.0)
    every = np.broadcast_arrays(r.active_lanes, r.address_sharing.addresses, most, size / r.width)
    for lanes, seen, sectors, words in zip(*every, strict=True):
        looked = max(min(round(lanes * r.sampled), _KEPT), round(seen))
        held = distinct_places(looked, round(seen), max(round(words), 1))
        found.append(min(held, sectors))
    return np.asanyarray(found, dtype=float)
