"""Conflicts inside a warp's global atomic: packets per line, and transactions per sector.

An atomic request goes to L2 as packets of one line, in which each address occurs once: a line needs
as many packets as its most popular address has lanes. Compare-and-swaps, which carry two operands,
go as packets of half a line. L2 then updates one sector of a packet at a time, all addresses in it
at once: one atomic transaction. The profiler counts the packets as L2 atomic requests and the
transactions as L2 atomic sectors (`measurements/suite`, sweeps/atomics-counters.csv).

Consecutive lanes that add to element i modulo m are counted exactly. For lanes at random bins the
expected largest number of lanes at one bin is used, with the bins taken as independent.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.histogram import Histogram
from perfmodel.models.formula import Formula
from perfmodel.models.grid.distinct import among_equals, first_of_equals
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.records import record

MODULO_ROUNDS = Formula(
    name="atomic transactions or packets, consecutive lanes modulo m",
    unit="1",
    text="floor(n/m)*all + rest",
    symbols={
        "n": "active lanes of a request [1]",
        "m": "elements that these add to [1]",
        "all": "sectors or lines of all elements [1]",
        "rest": "sectors or lines of the elements that the last n % m lanes add to [1]",
    },
    holds="lanes i, i + 1, ... that add to element i % m",
    source="derived: lanes i and i + m conflict, which makes n/m transactions; the last is partial",
)

HALF: Final = LINE // 2
"""Bytes that a packet of compare-and-swaps spans: 32 lanes side by side make two of them (counted,
measurements/atomics, cas/counters.csv)."""
WORD: Final = 4
"""Bytes that the narrowest atomic changes."""
GRANULE: Final = 256
"""Bytes that one L2 slice holds together, as far as atomics show (atomics.csv)."""


class Conflicts(NamedTuple):
    """What the lanes of an atomic's requests share, means of a request."""

    addresses: Array  # distinct
    sectors: Array
    lines: Array
    passes: Array  # over the sectors, the lanes at the most popular address of each, summed
    packets: Array  # the same over the lines
    halves: Array  # over halves of lines, 64 B: packets of compare-and-swaps
    most: Array  # lanes at the most popular address: turns of a loop in which one of them wins


class Hot(NamedTuple):
    """Where the passes of a launch concentrate, as shares of all.

    In the most popular sector; in the most popular 256 B, which have one L2 slice; and in the third
    most popular, as two neighbours have slices of their own.
    """

    sector: Array
    granule: Array
    third: Array


@record
class AddressSharing:
    """How an atomic's lanes share addresses."""

    conflicts: Conflicts
    addresses: Array  # distinct ones of the launch
    pitch: Array  # bytes between neighbouring ones
    hottest: Array  # share of all lanes at the most popular address
    hot: Hot


def counted_conflicts(addresses: Any, active: Any = True) -> Conflicts:
    """Count the conflicts of requests by each lane's byte address, shape (..., 32)."""
    addresses, active = np.broadcast_arrays(addresses, active)
    unused = np.arange(WARP_SIZE) * -LINE - 1
    ordered = np.sort(np.where(active, addresses, unused), axis=-1)
    used = ordered >= 0

    def first(granule: int) -> Array:
        return first_of_equals(ordered // granule)

    new_address, new_sector, new_line = first(1), first(SECTOR), first(LINE)
    rank = np.where(used, among_equals(ordered), 0)

    def rounds(new: Array) -> Array:
        starts = np.flatnonzero(new)
        most = np.maximum.reduceat(rank.reshape(-1), starts)
        sums = np.bincount(starts // WARP_SIZE, weights=most, minlength=used.size // WARP_SIZE)
        return sums.reshape(used.shape[:-1])

    return Conflicts(
        addresses=(new_address & used).sum(axis=-1),
        sectors=(new_sector & used).sum(axis=-1),
        lines=(new_line & used).sum(axis=-1),
        passes=rounds(new_sector),
        packets=rounds(new_line),
        halves=rounds(first(HALF)),
        most=rank.max(axis=-1),
    )


def counted_sharing(addresses: Array, active: Array) -> AddressSharing:
    """Return how the lanes of a sample's requests share addresses, shape (..., 32)."""
    taking = active.any(axis=-1)
    # What changes less than a word swaps the word around it.
    addresses, active = addresses[taking] // WORD * WORD, active[taking]
    found = counted_conflicts(addresses, active)
    used, times = np.unique(addresses[active], return_counts=True)
    total = times.sum()

    def top(granule: int) -> Array:
        _, inverse = np.unique(used // granule, return_inverse=True)
        shares = np.bincount(np.ravel(inverse), weights=times) / total
        return np.sort(np.append(shares, (0.0, 0.0)))[::-1]

    pitch = (used[-1] - used[0]) / (len(used) - 1) if len(used) > 1 else float(LINE)
    return AddressSharing(
        Conflicts(*(np.atleast_1d(column.mean()) for column in found)),
        np.full(1, float(len(used))),
        np.full(1, float(pitch)),
        np.atleast_1d(times.max() / total),
        Hot(*(np.atleast_1d(share) for share in (top(SECTOR)[0], *top(GRANULE)[[0, 2]]))),
    )


def random_conflicts(
    found: Histogram, pitch: int, lanes: float = WARP_SIZE
) -> tuple[Conflicts, Hot]:
    """Return the expected conflicts of lanes that draw bins `pitch` bytes apart, and hot places."""
    sizes = {g: max(1, g // max(pitch, 1)) for g in (SECTOR, HALF, LINE, GRANULE)}
    sectors, lines = found.merged(sizes[SECTOR]), found.merged(sizes[LINE])

    def touched(h: Histogram) -> Array:
        return np.asanyarray((h.sizes * -np.expm1(lanes * np.log1p(-_below_one(h.likely)))).sum())

    passes, of_sectors = _rounds(found, sizes[SECTOR], lanes)
    packets, halves = (_rounds(found, sizes[g], lanes)[0] for g in (LINE, HALF))
    touches = (touched(found), touched(sectors), touched(lines))
    conflicts = Conflicts(*touches, passes, packets, halves, _most(found, lanes))
    granules = found.merged(sizes[GRANULE])
    # Of equally likely bins the last granule may have fewer, and the others then more.
    even = len(found.likely) == 1
    usual = min(1.0, sizes[GRANULE] / found.bins) if even else 1 / granules.bins
    top = np.sort(np.append(_grouped(of_sectors, sizes[GRANULE] // sizes[SECTOR]) / passes, 0.0))
    first = max(float(top[-1]), usual)
    third = max(float(top[-3]) if len(top) > 3 else 0.0, usual if granules.bins > 2 else 0.0)
    alone = min(1.0, sizes[SECTOR] / found.bins) if even else 1 / sectors.bins
    sector = max(float(np.max(of_sectors, initial=0.0) / passes), alone)
    return conflicts, Hot(*(np.asanyarray(share) for share in (sector, first, third)))


def _rounds(found: Histogram, together: int, lanes: float) -> tuple[Array, Array]:
    """Return the expected most lanes at one of each `together` neighbouring bins, summed.

    The second array has the terms of the bins that are groups of their own. E[most lanes] is the
    sum over k of P(more than k lanes at one bin); bins are taken as independent.
    """
    single = int(np.argmin(np.append(found.sizes == 1, False))) // together * together
    if found.bins == len(found.sizes):
        single = found.bins
    share = _below_one(found.likely)
    inside = min(together, found.bins)
    edges = np.arange(0, single, together)
    granules = found.sizes[single:] / inside
    # The last granule holds what is left.
    left = found.bins % inside if len(granules) else 0
    granules[-1:] -= left / inside
    at_most = np.zeros_like(share)
    probability = np.exp(lanes * np.log1p(-share))
    of_single, of_others = np.zeros(len(edges)), np.zeros(())
    for k in range(WARP_SIZE):
        at_most = np.minimum(at_most + probability, 1.0)
        if single:
            of_single += 1 - np.multiply.reduceat(at_most[:single], edges)
        of_others = of_others + (granules * (1 - at_most[single:] ** inside)).sum()
        if left:
            of_others = of_others + 1 - at_most[-1] ** left
        probability = probability * (max(lanes - k, 0.0) / (k + 1)) * share / (1 - share)
    return np.asanyarray(of_others + of_single.sum()), of_single


def _most(found: Histogram, lanes: float) -> Array:
    """Return the expected lanes at the most popular of all bins, taken as independent."""
    share = _below_one(found.likely)
    at_most = np.zeros_like(share)
    probability = np.exp(lanes * np.log1p(-share))
    most = np.zeros(())
    for k in range(WARP_SIZE):
        at_most = np.minimum(at_most + probability, 1.0)
        most = most - np.expm1((found.sizes * np.log(np.maximum(at_most, 1e-300))).sum())
        probability = probability * (max(lanes - k, 0.0) / (k + 1)) * share / (1 - share)
    return np.asanyarray(most)


def _grouped(terms: Array, together: int) -> Array:
    """Return the sums of `together` neighbouring terms."""
    return np.add.reduceat(terms, np.arange(0, len(terms), together)) if len(terms) else terms


def _below_one(probability: Array) -> Array:
    return np.minimum(probability, 1 - 1e-12)
