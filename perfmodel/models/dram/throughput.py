"""DRAM: what reaches it, and how fast it moves reads, writes, mixtures and scattered atoms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.models.derivation import number
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import FITTED_SLICES, PEAK_BY_SLICE, slice_count
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.traffic import AccessTraffic

Array = npt.NDArray[Any]

MIXED_EFFICIENCY = Formula(
    name="DRAM efficiency of a mixture",
    unit="1",
    text="read*r + write*(1 - r) - ((read + write)/2 - copy + skew/4*(1 - 2*r))*(4*r*(1 - r))**few",
    symbols={
        "r": "share of reads in the DRAM bytes [1]",
        "read": "efficiency of reads alone [1]",
        "write": "efficiency of writes alone [1]",
        "copy": "efficiency of equal reads and writes [1]",
        "few": "exponent: how much even a few of the one cost the other [1]",
        "skew": "how much more writes lose by reads between them than reads by writes [1]",
    },
    holds="by construction at 0, 1/2 and 1; within 3% between (strided copies, H200)",
    source="fitted form: the bus turns around more often than in proportion to read-write "
    "neighbours, r(1 - r), where there are few writes; the "
    "skew fitted: two reads a write reach 0.91 on an H200, two writes a read 0.85 "
    "(measurements/suite/h200-sxm/sweeps/set-aside-mixtures.csv)",
)

FEW: Final = 0.5
"""See `MIXED_EFFICIENCY`.

Fitted: strided copies of every 4th to 14th float, 80 to 93% reads, lose 3 to 5% to their writes,
where in proportion to neighbours of both kinds they would lose half of that
(measurements/suite/h200-sxm/foundation/strided.csv, suite/h200-sxm/sweeps/strided.csv, fit rows).
"""
SKEW: Final = 0.1
"""See `MIXED_EFFICIENCY`; the two mixtures alone ask for 0.2 to 0.6, strided copies for none."""

# Cost of reading one isolated atom, by its bytes (the fetch granularity) and the bytes from one to
# the next, relative to dense reads. 64 B: fitted to strided copies of 16 Mi floats and more in two
# sessions (measurements/suite/h200-sxm/foundation/strided.csv, dram/h200-sxm/pitches/pitches.csv,
# fit rows), which differ by 10% from 256 B on: the middle of both. Two GPUs, it seems: on one of
# them neither place nor size of memory make a difference (l2/h200-sxm/states/places.csv,
# states.csv), unless some was freed before (freed.csv: 9 to 22% longer). Half the activity of DRAM
# at 256 B is lost, evenly over its channels: fewer atoms of an open row are used; that this is the
# mechanism is not established. 32 B, 128 B:
# measurements/suite/h200-sxm/sweeps/strided-granularity.csv.
_ATOM_COSTS: Final = {
    32: {64: 1.07, 128: 1.94, 256: 2.6, 512: 2.9, 1024: 3.1, 2048: 3.2},
    64: {64: 1.03, 96: 1.04, 128: 1.15, 192: 1.28, 256: 1.45, 512: 1.58, 1024: 1.67, 2048: 1.73},
    128: {64: 1.0, 256: 1.0, 512: 1.03, 1024: 1.06, 2048: 1.1},
}
_RANDOM_COST: Final = {32: 3.7, 64: 1.79, 128: 1.125}
"""At random places, by bytes fetched at each: 16 Mi floats of 2 GiB on an H200
(measurements/suite/h200-sxm/sweeps/gather.csv)."""
_RANDOM_WAIT: Final = {32: 68.0, 64: 53.0, 128: 50.0}
"""What such a miss adds to L2's time, in dense DRAM bytes, by bytes fetched; see `SPARSE`. On an
H100 it is as many bytes, not as `OPENING` has it: single floats of 16 MiB to 2 GiB are 3.6% rms off
so, and 5.7 with it (suite/h100-sxm/sweeps, gather.csv, fit rows)."""
ROWS: Final = 60.0 * 2**20
"""Bytes of a table of which half of the misses at random places find the DRAM row of another; that
rows are the mechanism is not established. Fitted with the waits: single floats of tables of 16 to
2048 MiB (gather.csv, fit rows). Of an H200: others have as many open for each slice."""
OPENING = Formula(
    name="what opening rows adds to atoms, over what it adds on an H200",
    unit="1",
    text="min(1.25, max(0.8, bandwidth/slices/usual))",
    symbols={
        "bandwidth": "peak of DRAM [B/s]",
        "slices": "slices of L2, each with its channels of DRAM [1]",
        "usual": "peak by slice of an H200, on which the costs were measured [B/s]",
    },
    holds="41.9 GB/s a slice (H100) and 51.2 (H200); below is taken as the lower",
    source="derived: a row takes a channel as long on any of them, while faster pins move more "
    "bytes meanwhile; copies of every 32nd to 128th of 16 Mi floats lose 0.8 of what they lose on "
    "an H200 (suite/h100-sxm/sweeps and suite/h200-sxm/sweeps, strided.csv, fit rows), and sectors "
    "that atomics read, change and write back lose as much of it (atomics-outgrown.csv of both)",
)
OVER_FETCH = Formula(
    name="over-fetch",
    unit="1",
    text="moved/asked",
    symbols={"moved": "bytes that DRAM reads [B]", "asked": "bytes that L2 is asked for [B]"},
    holds="any access; what L2 has already is asked for and not moved",
    source="definition",
)
OVER_FETCHED: Final = 1.05
"""Ratio from which an access counts as over-fetched: below it are the ends of what is read."""
SPARSE = Formula(
    name="share of random misses that open a DRAM row of their own",
    unit="1",
    text="f/(f + rows)",
    symbols={
        "f": "bytes of the table [B]",
        "rows": "bytes of which half of the misses do [B]",
    },
    holds="tables of 16 MiB to 2 GiB on an H200",
    source="fitted form: a miss of a table of 32 MiB takes 11 ps, of 64 MiB 14, of 256 MiB 18 and "
    "of 2 GiB 20 (measurements/suite/h200-sxm/sweeps/gather.csv)",
)


class RowCosts(NamedTuple):
    """What DRAM rows cost on a device.

    Attributes
    ----------
    opened : float
        See `OPENING`.
    rows : float
        See `ROWS` [B].
    """

    opened: float = 1.0
    rows: float = ROWS


_LIKE_H200: Final = RowCosts()


def over_fetch(accesses: Iterable[AccessTraffic]) -> dict[str, Array] | None:
    """Return what `OVER_FETCH` takes for loads, or None where DRAM moves no more than is asked."""
    loads = [access for access in accesses if access.kind == "load"]
    moved = sum((access.dram_bytes for access in loads), np.zeros(1))
    asked = sum((access.asked_sectors for access in loads), np.zeros(1)) * SECTOR
    if not np.any(moved > OVER_FETCHED * asked):
        return None
    return {"moved": np.asanyarray(moved), "asked": np.asanyarray(asked)}


def room_early(left: Any, reads: Any, stored: Any) -> Array:
    """Return the share of a cold launch in which L2 has room for what is written.

    Parameters
    ----------
    left : array
        Bytes of it that are still in L2 when the launch ends: written first, as it were.
    reads : array
        Bytes read from DRAM: a copy's turns between both are in the time of L2.
    stored : array
        Bytes stored.
    """
    all_of_it = np.maximum(stored, 1.0)
    return np.asanyarray(np.maximum(np.minimum(left, all_of_it) - reads, 0.0) / all_of_it)


FOUND_BETWEEN: Final = 0.17
"""Share of what a warm launch finds that lies between what it misses, if it reads alone: what is
written waits for what it drives out.

Fitted: warm copies of every 6th to 9th of 1 Mi floats, 0.5 to 0.8 of L2, on an H200 and an H100:
3.3 and 6.1% rms, 4.6 and 8.6 without; 3.6 and 5.3 with a quarter (strided.csv of
measurements/suite/h200-sxm/sweeps and suite/h100-sxm/sweeps, fit rows).
"""


def found_early(resident: Any, asked: Any, touched: Any, stored: Any = 0.0) -> Array:
    """Return the share of a warm launch that finds its data in L2, a part of the launch of its own.

    Parameters
    ----------
    resident : array
        Share of the data that the launch before left in L2.
    asked, touched : array
        Bytes asked of L2, and different ones: of data that is asked for again and again, what
        happens the first time says little.
    stored : array
        Bytes stored, of those asked.
    """
    times = np.asanyarray(asked) / np.maximum(touched, 1.0)
    separate = 1 - FOUND_BETWEEN * (1 - np.asanyarray(stored) / np.maximum(asked, 1.0))
    return np.asanyarray(separate * resident * np.clip(2.0 - times, 0.0, 1.0))


def opening(device: Device) -> float:
    """Evaluate `OPENING`."""
    slices = slice_count(device)
    return number(
        OPENING(bandwidth=device.dram_bandwidth, slices=slices, usual=PEAK_BY_SLICE(device))
    )


def row_costs(device: Device) -> RowCosts:
    """Return what DRAM rows cost on a device."""
    return RowCosts(opening(device), ROWS * slice_count(device) / FITTED_SLICES(device))


def read_cost(pitch: Any, granule: int = 64, opened: float = 1.0) -> Array:
    """Return the cost of a DRAM atom, one every `pitch` bytes, relative to dense reads.

    Parameters
    ----------
    pitch : array
        From one atom to the next [B]; under 64 where they are dense.
    granule : int
        Bytes of an atom: the fetch granularity.
    opened : float
        See `OPENING`.
    """
    pitches, costs = zip(*_ATOM_COSTS[granule].items(), strict=True)
    octaves = np.log2(np.maximum(np.asanyarray(pitch, dtype=float), 64.0))
    isolated = _as_opened(np.interp(octaves, np.log2(pitches), costs), opened)
    return np.asanyarray(np.where(np.asanyarray(pitch) < 64, 1.0, isolated))


def _as_opened(cost: Array, opened: Any) -> Array:
    """Return a cost over dense bytes of which only that part counts that rows add."""
    return np.asanyarray(1 + (cost - 1) * opened)


def rows_cost(cost: Any, device: Device) -> Array:
    """Return the cost of isolated bytes over dense ones on a device, from an H200's."""
    return _as_opened(np.asanyarray(cost, dtype=float), opening(device))


def random_cost(wide: Any, table: Any = np.inf, costs: RowCosts = _LIKE_H200) -> Array:
    """Return the cost of DRAM bytes at random places, relative to dense ones.

    Parameters
    ----------
    wide : array
        Bytes fetched at each place.
    table : array
        Bytes over which the places lie.
    costs : RowCosts
        Of the device; by default an H200's.
    """
    opened = sparse(table, costs.rows) * costs.opened
    return _as_opened(_by_width(_RANDOM_COST, wide), opened)


def random_wait(wide: Any, table: Any, rows: float = ROWS) -> Array:
    """Return what a miss at a random place adds to L2's time [dense DRAM bytes]; as above."""
    return np.asanyarray(_by_width(_RANDOM_WAIT, wide) * sparse(table, rows))


def sparse(table: Any, rows: float = ROWS) -> Array:
    """Evaluate `SPARSE`."""
    size = np.asanyarray(table, dtype=float)
    finite = np.where(np.isfinite(size), size, 0.0)
    return np.where(np.isfinite(size), SPARSE(f=finite, rows=rows), 1.0)


def _by_width(values: Mapping[int, float], wide: Any) -> Array:
    sizes, found = zip(*values.items(), strict=True)
    return np.asanyarray(np.interp(np.log2(np.maximum(wide, 1.0)), np.log2(sizes), found))
