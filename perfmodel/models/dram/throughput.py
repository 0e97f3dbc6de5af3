"""DRAM bandwidth: efficiency of reads, writes and mixtures, over-fetch, and row activations.

DRAM reaches a fixed share of its peak for reads alone and for writes alone, and less for mixtures,
because the bus turns around between reads and writes. A few accesses of the other kind already cost
more than in proportion.

An L2 miss reads at least one access unit (32, 64 or 128 B, the fetch granularity), so isolated
sectors move more bytes than were asked for. Isolated units also use less of each open row: their
cost relative to dense reads grows with the distance between them, up to a row activation per unit.
A row activation takes about as long on any GPU of these, while faster pins move more bytes
meanwhile, so its cost in bytes scales with DRAM's bandwidth per L2 slice.
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient, CoefficientTable
from perfmodel.hardware.device import Device
from perfmodel.models.derivation import number
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import FITTED_SLICES, PEAK_BY_SLICE, slice_count
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.traffic import AccessTraffic

MIXED_EFFICIENCY = Formula(
    name="DRAM efficiency of a mixture",
    unit="1",
    text="read*r + write*(1 - r) - ((read + write)/2 - copy + skew/4*(1 - 2*r))*(4*r*(1 - r))**few",
    symbols={
        "r": "share of reads in the DRAM bytes [1]",
        "read": "efficiency of reads alone [1]",
        "write": "efficiency of writes alone [1]",
        "copy": "efficiency of equal reads and writes [1]",
        "few": "exponent: how much a few accesses of one kind cost the other [1]",
        "skew": "how much more writes lose by reads between them than reads by writes [1]",
    },
    holds="by construction at 0, 1/2 and 1; within 3% between (strided copies)",
    source="fitted form: with few writes the bus turns around more often than in proportion to "
    "read-write neighbours, r*(1 - r); see few and skew",
)

FEW: Final = Coefficient("dram.throughput.few")
SKEW: Final = Coefficient("dram.throughput.skew")
RANDOM_COSTS: Final = CoefficientTable("dram.throughput.random_costs")
RANDOM_WAITS: Final = CoefficientTable("dram.throughput.random_waits")
ROWS: Final = Coefficient("dram.throughput.rows")
_ATOMS: Final = {
    32: ((64, 128, 256, 512, 1024, 2048), CoefficientTable("dram.throughput.atom_costs_32")),
    64: (
        (64, 96, 128, 192, 256, 512, 1024, 2048),
        CoefficientTable("dram.throughput.atom_costs_64"),
    ),
    128: ((64, 256, 512, 1024, 2048), CoefficientTable("dram.throughput.atom_costs_128")),
}
"""Bytes from one isolated atom to the next, and costs at these, by fetch granularity."""
_WIDTHS: Final = (32, 64, 128)
"""Bytes fetched at a random place that `RANDOM_COSTS` and `RANDOM_WAITS` are for."""
OPENING = Formula(
    name="cost of row activations per access unit, over that on the reference GPU",
    unit="1",
    text="min(most, max(least, bandwidth/slices/usual))",
    symbols={
        "bandwidth": "DRAM peak bandwidth [B/s]",
        "slices": "L2 slices, each with its DRAM channels [1]",
        "usual": PEAK_BY_SLICE,
        "least": Coefficient("dram.throughput.opening_least"),
        "most": Coefficient("dram.throughput.opening_most"),
    },
    holds="41.9 and 51.2 GB/s per slice; GPUs below are taken as the lower",
    source="derived: a row occupies a channel for the same time on any GPU, while faster pins "
    "move more bytes meanwhile; see opening_least and opening_most",
)
OVER_FETCH = Formula(
    name="over-fetch",
    unit="1",
    text="moved/asked",
    symbols={"moved": "bytes that DRAM reads [B]", "asked": "bytes that loads request from L2 [B]"},
    holds="any access; L2 hits are requested and not moved",
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
        "rows": "bytes of a table of which half of the misses do [B]",
    },
    holds="tables of 16 MiB to 2 GiB",
    source="fitted form: see rows",
)


def over_fetch(accesses: Iterable[AccessTraffic]) -> dict[str, Array] | None:
    """Return what `OVER_FETCH` takes for loads, or None where DRAM moves no more than is asked."""
    loads = [access for access in accesses if access.kind == "load"]
    moved = summed(access.dram_bytes for access in loads)
    asked = summed(access.asked_sectors for access in loads) * SECTOR
    if not np.any(moved > OVER_FETCHED * asked):
        return None
    return {"moved": np.asanyarray(moved), "asked": np.asanyarray(asked)}


def room_early(left: Any, reads: Any, stored: Any) -> Array:
    """Return the share of a cold launch in which L2 has room for what is written, in bytes.

    What is left in L2 when the launch ends was written first, as it were. Not while DRAM is read: a
    copy's turns between both are in the time of L2.
    """
    all_of_it = np.maximum(stored, 1.0)
    return np.asanyarray(np.maximum(np.minimum(left, all_of_it) - reads, 0.0) / all_of_it)


FOUND_BETWEEN: Final = Coefficient("dram.throughput.found_between")


def found_early(resident: Any, asked: Any, touched: Any, stored: Any, device: Device) -> Array:
    """Return the share of a warm launch that finds its data in L2, a part of the launch of its own.

    `resident` is the share of the data that the launch before left. Of data that is asked for again
    and again, what happens the first time says little.
    """
    times = np.asanyarray(asked) / np.maximum(touched, 1.0)
    separate = 1 - FOUND_BETWEEN(device) * (1 - np.asanyarray(stored) / np.maximum(asked, 1.0))
    return np.asanyarray(separate * resident * np.clip(2.0 - times, 0.0, 1.0))


def opening(device: Device) -> float:
    """Evaluate `OPENING`."""
    slices = slice_count(device)
    return number(OPENING.on(device, bandwidth=device.dram_bandwidth, slices=slices))


def read_cost(pitch: Any, granule: int, device: Device) -> Array:
    """Return the cost of a DRAM atom of `granule` bytes, one every `pitch`, over dense reads.

    A pitch of less than 64 B is dense.
    """
    pitches, costs = _ATOMS[granule]
    octaves = np.log2(np.maximum(np.asanyarray(pitch, dtype=float), 64.0))
    found = np.interp(octaves, np.log2(pitches), costs(device))
    return np.asanyarray(np.where(np.asanyarray(pitch) < 64, 1.0, rows_cost(found, device)))


def rows_cost(cost: Any, device: Device, opened: Any = 1.0) -> Array:
    """Return the cost of isolated bytes over dense ones on a device, from the reference's.

    `opened` is the share of them that open a row.
    """
    return np.asanyarray(1 + (np.asanyarray(cost, dtype=float) - 1) * (opened * opening(device)))


def random_cost(wide: Any, table: Any, device: Device) -> Array:
    """Return the cost of `wide` DRAM bytes at random places of a table, relative to dense ones."""
    return rows_cost(_by_width(RANDOM_COSTS(device), wide), device, sparse_share(table, device))


def random_wait(wide: Any, table: Any, device: Device) -> Array:
    """Return what a miss at a random place adds to L2's time [dense DRAM bytes]; as above."""
    return np.asanyarray(_by_width(RANDOM_WAITS(device), wide) * sparse_share(table, device))


def sparse_share(table: Any, device: Device) -> Array:
    """Return the share of misses at random places of a table that open a DRAM row of their own.

    `SPARSE`, of rows by slice of L2: each has its channels of DRAM.
    """
    rows = ROWS(device) * slice_count(device) / FITTED_SLICES(device)
    return np.asanyarray(SPARSE(f=np.asanyarray(table, dtype=float), rows=rows))


def _by_width(values: Array, wide: Any) -> Array:
    return np.asanyarray(np.interp(np.log2(np.maximum(wide, 1.0)), np.log2(_WIDTHS), values))
