"""Contention inside a warp: how many lanes of one atomic meet in sectors and at addresses.

An atomic request goes to L2 as packets of one line, in which each address comes once: a line needs
as many packets as its most popular address has lanes. Compare-and-swaps, which bring two operands,
go as packets of half a line. L2 then passes through each sector of each
packet and changes all the addresses in it at once. The profiler counts the packets as L2 atomic
requests and the passes as L2 atomic sectors (measurements/h200-sxm-suite/atomics-counters.csv).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.histogram import Histogram
from perfmodel.models.coalescing import LINE, SECTOR
from perfmodel.models.formula import Formula

Array = npt.NDArray[Any]

MODULO_ROUNDS = Formula(
    name="passes or packets, consecutive lanes modulo m",
    unit="1",
    text="floor(n/m)*all + rest",
    symbols={
        "n": "lanes that take part [1]",
        "m": "elements that they add to [1]",
        "all": "sectors or lines of all elements [1]",
        "rest": "sectors or lines of the elements that the last n % m lanes add to [1]",
    },
    holds="lanes i, i + 1, ... that add to element i % m",
    source="derived: lanes m apart meet, and the last round is cut short",
)

HALF: Final = LINE // 2
"""Bytes that a packet of compare-and-swaps spans: 32 lanes side by side make two of them (counted,
measurements/h200-cas/counters.csv)."""
GRANULE: Final = 256
"""Bytes that one L2 slice holds together, as far as atomics show (atomics.csv)."""


_EVERYWHERE: Final = 4.0
"""Lanes an address from which on hardly any is left out: assumed."""
_NEAR: Final = 2.0
"""Bytes between words over those that were seen, from which on they are another's: by choice."""


class Conflicts(NamedTuple):
    """What the lanes of an atomic's requests share, means of a request.

    Attributes
    ----------
    addresses, sectors, lines : array
        Distinct ones.
    passes : array
        Over the sectors, the lanes at the most popular address of each, summed.
    packets : array
        The same over the lines.
    halves : array
        The same over halves of lines, 64 B: packets of compare-and-swaps.
    """

    addresses: Array
    sectors: Array
    lines: Array
    passes: Array
    packets: Array
    halves: Array


class Hot(NamedTuple):
    """Where the passes of a launch concentrate, as shares of all.

    Attributes
    ----------
    sector : array
        In the most popular sector.
    granule, third : array
        In the most popular 256 B, which have one L2 slice, and in the third most popular; two
        neighbours have slices of their own.
    """

    sector: Array
    granule: Array
    third: Array


@dataclass(frozen=True, slots=True)
class Sharing:
    """How an atomic's lanes share addresses.

    Attributes
    ----------
    conflicts : Conflicts
        Means of a request.
    addresses : array
        Distinct addresses of the launch.
    pitch : array
        Bytes between neighbouring ones.
    hottest : array
        Share of all lanes at the most popular address.
    hot : Hot
        Shares of all passes in the most popular places.
    """

    conflicts: Conflicts
    addresses: Array
    pitch: Array
    hottest: Array
    hot: Hot


def counted_conflicts(addresses: Any, active: Any = True) -> Conflicts:
    """Count the conflicts of requests.

    Parameters
    ----------
    addresses : array, shape (..., 32)
        Byte address of every lane.
    active : array, shape (..., 32), optional
        Lanes that take part.

    Returns
    -------
    Conflicts
        Arrays of shape (...), whole numbers.
    """
    addresses, active = np.broadcast_arrays(addresses, active)
    unused = np.arange(WARP_SIZE) * -LINE - 1
    ordered = np.sort(np.where(active, addresses, unused), axis=-1)
    used = ordered >= 0

    def first(granule: int) -> Array:
        part = ordered // granule
        new = np.ones(part.shape, dtype=bool)
        new[..., 1:] = part[..., 1:] != part[..., :-1]
        return new

    new_address, new_sector, new_line = first(1), first(SECTOR), first(LINE)
    place = np.arange(WARP_SIZE)
    since = np.maximum.accumulate(np.where(new_address, place, 0), axis=-1)
    rank = place - since + 1

    def rounds(new: Array) -> Array:
        starts = np.flatnonzero(new)
        most = np.maximum.reduceat(np.where(used, rank, 0).reshape(-1), starts)
        sums = np.bincount(starts // WARP_SIZE, weights=most, minlength=used.size // WARP_SIZE)
        return sums.reshape(used.shape[:-1])

    return Conflicts(
        addresses=(new_address & used).sum(axis=-1),
        sectors=(new_sector & used).sum(axis=-1),
        lines=(new_line & used).sum(axis=-1),
        passes=rounds(new_sector),
        packets=rounds(new_line),
        halves=rounds(first(HALF)),
    )


def counted_sharing(addresses: Array, active: Array) -> Sharing:
    """Return how the lanes of some requests share addresses: what a sample of a launch shows.

    Parameters
    ----------
    addresses, active : array, shape (..., 32)
        As for `counted_conflicts`; requests without active lanes do not count.
    """
    taking = active.any(axis=-1)
    addresses, active = addresses[taking], active[taking]
    found = counted_conflicts(addresses, active)
    used, times = np.unique(addresses[active], return_counts=True)
    total = times.sum()

    def top(granule: int) -> Array:
        _, inverse = np.unique(used // granule, return_inverse=True)
        shares = np.bincount(np.ravel(inverse), weights=times) / total
        return np.sort(np.append(shares, (0.0, 0.0)))[::-1]

    pitch = (used[-1] - used[0]) / (len(used) - 1) if len(used) > 1 else float(LINE)
    return Sharing(
        Conflicts(*(np.atleast_1d(column.mean()) for column in found)),
        np.full(1, float(len(used))),
        np.full(1, float(pitch)),
        np.atleast_1d(times.max() / total),
        Hot(*(np.atleast_1d(share) for share in (top(SECTOR)[0], *top(GRANULE)[[0, 2]]))),
    )


def beyond_sample(
    seen: Sharing, addresses: Array, active: Array, lanes: float, whole: Sharing
) -> Sharing:
    """Return what a sample shows, at the places that all of the launch's lanes go to.

    Few sampled blocks may make most of the sample's requests, at the few places that are theirs,
    where as many others go elsewhere. A sample that has few of the addresses of a place stays as it
    is: somebody chose among them. So does one of a launch with too few lanes for all places, and
    one whose second half goes to no place that the first has not been to.

    Parameters
    ----------
    seen : Sharing
        Of the sample.
    addresses, active : array, shape (..., 32)
        Of the sample, as for `counted_sharing`.
    lanes : float
        Of the launch.
    whole : Sharing
        If all threads took part, one configuration.
    """
    room = GRANULE / min(max(float(whole.pitch.max()), 1.0), GRANULE)
    chosen = len(np.unique(addresses[active] % GRANULE)) < room / 2
    if chosen or lanes < _EVERYWHERE * float(whole.addresses.max()):
        return seen
    half = len(addresses) // 2
    first, every = (np.unique(addresses[:n][active[:n]] // GRANULE) for n in (half, len(addresses)))
    if half and len(first) == len(every):
        return seen
    # Words that the sample left out lie between those that it has.
    used = np.unique(addresses[active])
    closest = float(np.diff(used).min(initial=LINE))
    span = float(used[-1] - used[0])
    pitch = np.maximum(span / np.maximum(whole.addresses - 1, 1), closest)
    near = whole.pitch < _NEAR * pitch
    hot = Hot(
        *(np.where(near, np.minimum(s, w), s) for s, w in zip(seen.hot, whole.hot, strict=True))
    )
    return replace(seen, addresses=whole.addresses, pitch=pitch, hottest=whole.hottest, hot=hot)


def distinct_places(looked: int, found: int, most: int) -> float:
    """Return how many places lanes go to, if `looked` of them found so many different ones.

    Parameters
    ----------
    looked : int
        Lanes.
    found : int
        Distinct places of theirs.
    most : int
        Places that there are.
    """
    low, high = float(found), float(max(most, found))
    for _ in range(60):
        middle = (low + high) / 2
        few = -middle * np.expm1(looked * np.log1p(-1 / max(middle, 1.001))) < found
        low, high = (middle, high) if few else (low, middle)
    return high


def without_chance(
    seen: Sharing, addresses: Array, active: Array, size: float, width: int
) -> Sharing:
    """Return what a sample shows of popular places, without those that chance made popular there.

    Of equally popular places some have more of a sample's lanes than others, and the fewer it has
    the more. So a place is as much more popular than the mean as was seen, times the part of the
    variance between places that is not chance: the estimator of James and Stein.

    Parameters
    ----------
    seen : Sharing
        Of the sample.
    addresses, active : array, shape (..., 32)
        Of the sample, as for `counted_sharing`.
    size : float
        Bytes of the buffer.
    width : int
        Bytes of a lane's word.
    """
    request = np.broadcast_to(np.arange(len(addresses))[:, None], addresses.shape)[active]
    requests, lanes = len(np.unique(request)), len(request)

    def shrunk(granule: int, *found: tuple[int, Array]) -> list[Array]:
        place = addresses[active] // granule
        pairs = np.unique(np.stack([place, request]), axis=1)[0]
        times = np.sort(np.unique(place, return_counts=True)[1])[::-1]
        most = max(1, round(size / granule))
        # Lanes of one warp that go together count once; those that meet by chance do not.
        every = distinct_places(len(pairs), len(times), most)
        apart = -every * math.expm1(lanes / requests * math.log1p(-1 / max(every, 1.001)))
        together = max(1.0, requests * apart / len(pairs))
        every = distinct_places(max(round(lanes / together), len(times)), len(times), most)
        # No place is less popular than all would be if they were as popular.
        return [
            np.maximum(_shrunk(share, times[rank:], every - rank, together), 1 / most)
            for rank, share in found
        ]

    (hottest,) = shrunk(width, (0, seen.hottest))
    (sector,) = shrunk(SECTOR, (0, seen.hot.sector))
    granule, third = shrunk(GRANULE, (0, seen.hot.granule), (2, seen.hot.third))
    return replace(seen, hottest=hottest, hot=Hot(sector, granule, third))


def _shrunk(share: Array, times: Array, places: float, together: float) -> Array:
    """Return the share of the first of so many places that were met so many times."""
    if not len(times) or places < 1:
        return share
    mean = times.sum() / places
    variance = float((times.astype(float) ** 2).sum()) / places - mean**2
    own = max(0.0, 1 - together * mean / max(variance, 1e-30))
    even = share * mean / times[0]
    return np.asarray(np.minimum(share, even + (share - even) * own))


def stacked_sharing(rows: Sequence[Sharing | None]) -> Sharing | None:
    """Return the sharing of several configurations as one record; None if none has any."""
    some = next((row for row in rows if row is not None), None)
    if some is None:
        return None
    whole = [row or some for row in rows]

    def joined(values: Iterable[Any]) -> Array:
        return np.concatenate([np.atleast_1d(value) for value in values])

    return Sharing(
        Conflicts(*map(joined, zip(*(row.conflicts for row in whole), strict=True))),
        joined(row.addresses for row in whole),
        joined(row.pitch for row in whole),
        joined(row.hottest for row in whole),
        Hot(*map(joined, zip(*(row.hot for row in whole), strict=True))),
    )


def random_conflicts(
    found: Histogram, pitch: int, lanes: float = WARP_SIZE
) -> tuple[Conflicts, Hot]:
    """Return the expected conflicts of lanes that each draw a bin, and where they concentrate.

    Parameters
    ----------
    found : Histogram
    pitch : int
        Bytes from bin to bin.
    lanes : float
        Lanes that take part.
    """
    sizes = {g: max(1, g // max(pitch, 1)) for g in (SECTOR, HALF, LINE, GRANULE)}
    sectors, lines = found.merged(sizes[SECTOR]), found.merged(sizes[LINE])

    def touched(h: Histogram) -> Array:
        return np.asarray((h.sizes * -np.expm1(lanes * np.log1p(-_below_one(h.likely)))).sum())

    passes, of_sectors = _rounds(found, sizes[SECTOR], lanes)
    packets, halves = (_rounds(found, sizes[g], lanes)[0] for g in (LINE, HALF))
    conflicts = Conflicts(touched(found), touched(sectors), touched(lines), passes, packets, halves)
    granules = found.merged(sizes[GRANULE])
    # Of equally likely bins the last granule may have fewer, and the others then more.
    even = len(found.likely) == 1
    usual = min(1.0, sizes[GRANULE] / found.bins) if even else 1 / granules.bins
    top = np.sort(np.append(_grouped(of_sectors, sizes[GRANULE] // sizes[SECTOR]) / passes, 0.0))
    first = max(float(top[-1]), usual)
    third = max(float(top[-3]) if len(top) > 3 else 0.0, usual if granules.bins > 2 else 0.0)
    alone = min(1.0, sizes[SECTOR] / found.bins) if even else 1 / sectors.bins
    sector = max(float(np.max(of_sectors, initial=0.0) / passes), alone)
    return conflicts, Hot(*(np.asarray(share) for share in (sector, first, third)))


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
    return np.asarray(of_others + of_single.sum()), of_single


def _grouped(terms: Array, together: int) -> Array:
    """Return the sums of `together` neighbouring terms."""
    return np.add.reduceat(terms, np.arange(0, len(terms), together)) if len(terms) else terms


def _below_one(probability: Array) -> Array:
    return np.minimum(probability, 1 - 1e-12)
