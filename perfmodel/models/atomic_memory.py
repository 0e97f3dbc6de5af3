"""DRAM traffic of atomics: elements that outgrow L2 are read, changed and written back."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.models.coalescing import LINE, SECTOR
from perfmodel.models.formula import Formula
from perfmodel.models.requests import Requests
from perfmodel.models.reuse import held

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
    source="derived; held against the profiler (measurements/h200-sxm-suite/atomics-outgrown.csv)",
)
ATOMIC_WRITES = Formula(
    name="sectors that atomics make L2 write back",
    unit="sectors",
    text="asked*max(0, 1 - d*c/max(f, 1))",
    symbols={
        "asked": "passes through sectors [1]",
        "d": "share of L2 that changed lines take up before they are written back [1]",
        "c": "capacity of L2 [B]",
        "f": "footprint in whole lines [B]",
    },
    holds="cold launches that make many times as many passes as L2 has changed lines, within 15%",
    source="fitted: the profiler's DRAM writes (measurements/h200-sxm-suite/atomics-outgrown.csv, "
    "fit rows)",
)

DIRTY_SHARE: Final = 0.3
"""`d` of `ATOMIC_WRITES`."""
ISOLATED_READ: Final = 48.0
"""DRAM bytes read for an isolated sector that an atomic misses: measured, 48.0 for sectors 64, 128
and 256 B apart (atomics-outgrown.csv); dense ones read 32."""
RANDOM_HITS: Final = 1.2
"""Hits of random elements over capacity/footprint: fitted to the same file."""

# DRAM time of a sector's read and write-back over that of its dense bytes, one sector every
# 32*2**i bytes; fitted to the fit rows of atomics-outgrown.csv.
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


def atomic_memory(r: Requests, capacity: float, warm: bool) -> AtomicMemory:
    """Return the DRAM traffic of an atomic.

    Parameters
    ----------
    r : Requests
        With `sharing`.
    capacity : float
        Of L2 [B].
    warm : bool
        Whether the same launch ran just before.
    """
    shared = r.sharing
    assert shared is not None
    asked = r.requests * shared.conflicts.passes
    span = shared.addresses * np.maximum(shared.pitch, 1e-9)

    def touched(granule: int) -> Array:
        # A sample or a modulo touches all; random elements miss some granules.
        granules = np.minimum(shared.addresses, np.ceil(span / granule))
        if r.random and r.sampled is None:
            return np.asarray(granules * -np.expm1(-r.active_lanes / np.maximum(granules, 1.0)))
        return np.asarray(np.minimum(granules, asked))

    sectors, lines = touched(SECTOR), touched(LINE)
    footprint = lines * LINE
    stays = held(footprint, capacity)
    if r.random:
        stays = np.maximum(stays, np.minimum(1.0, RANDOM_HITS * capacity / np.maximum(span, 1.0)))
    first = np.minimum(sectors, asked)
    if warm:
        first = first * (1 - stays)
    misses = np.asarray(ATOMIC_MISSES(first=first, asked=asked, stays=stays))
    written = np.asarray(ATOMIC_WRITES(asked=asked, d=DIRTY_SHARE, c=capacity, f=footprint))
    # What fits and is there stays; lines that come in drive changed ones out all the same. Fewer
    # passes than L2 has changed lines leave nothing to write back.
    written = written * (1 - held(footprint, capacity) if warm else 1.0)
    written = np.where(sectors * SECTOR < DIRTY_SHARE * capacity, 0.0, written)
    pitch = LINE * 4.0 if r.random else np.maximum(shared.pitch, SECTOR)
    # Random passes that meet in a line before it is written back leave together.
    meet = np.where(r.random, asked / np.maximum(written, 1.0), 1.0)
    octaves, leaving = (np.log2(np.maximum(p, SECTOR) / SECTOR) for p in (pitch, pitch / meet))
    isolated = r.random or (shared.pitch > SECTOR)
    each = np.where(isolated, ISOLATED_READ, float(SECTOR))
    # Half of what an isolated sector brings besides is needed later where elements lie dense.
    dense = np.minimum(first * each, np.maximum(span, first * SECTOR))
    return AtomicMemory(
        misses=misses,
        read=dense + np.maximum(misses - first, 0.0) * each,
        written=written * SECTOR,
        read_cost=np.interp(octaves, np.arange(len(_READ_COST)), _READ_COST),
        write_cost=np.interp(leaving, np.arange(len(_WRITE_COST)), _WRITE_COST),
        footprint=footprint,
    )
