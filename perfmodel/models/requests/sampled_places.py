"""What a sample of a launch's atomics or stores shows of the places that all its lanes go to.

Few sampled blocks go to few places, and chance makes some of these look popular.
"""

import math
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.grid.distinct import distinct, distinct_pairs, first_of_equals
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.contention import GRANULE, AddressSharing, Hot, counted_sharing

_EVERYWHERE: Final = 4.0
"""Lanes an address from which on hardly any is left out: assumed."""
_NEAR: Final = 2.0
"""Bytes between words over those that were seen, from which on they are another's: by choice."""
_PARTS: Final = 4
"""Parts of a count in each of which a hot place is met, and again: by choice."""


class StoredPlaces(NamedTuple):
    """Where the sectors of stores concentrate: shares of all, bytes between neighbouring ones."""

    hot: Hot
    pitch: Array


def beyond_sample(
    seen: AddressSharing, addresses: Array, active: Array, lanes: float, whole: AddressSharing
) -> AddressSharing:
    """Return what a sample shows, at the places that all of the launch's lanes go to.

    Few sampled blocks may make most of the sample's requests, at the few places that are theirs,
    where as many others go elsewhere. A sample that has few of the addresses of a place stays as it
    is: somebody chose among them. So does one of a launch with too few lanes for all places, and
    one whose second half goes to no place that the first has not been to. `whole` is the sharing if
    all threads took part, `lanes` the launch's.
    """
    room = GRANULE / min(max(float(whole.pitch.max()), 1.0), GRANULE)
    chosen = len(distinct(addresses[active] % GRANULE)) < room / 2
    if chosen or lanes < _EVERYWHERE * float(whole.addresses.max()):
        return seen
    half = len(addresses) // 2
    first, every = (distinct(addresses[:n][active[:n]] // GRANULE) for n in (half, len(addresses)))
    if half and len(first) == len(every):
        return seen
    # Words that the sample left out lie between those that it has.
    used = distinct(addresses[active])
    closest = float(np.diff(used).min(initial=LINE))
    span = float(used[-1] - used[0])
    pitch = np.maximum(span / np.maximum(whole.addresses - 1, 1), closest)
    near = whole.pitch < _NEAR * pitch
    hot = Hot(
        *(np.where(near, np.minimum(s, w), s) for s, w in zip(seen.hot, whole.hot, strict=True))
    )
    return replace(seen, addresses=whole.addresses, pitch=pitch, hottest=whole.hottest, hot=hot)


def distinct_places(looked: int, found: int, most: int) -> float:
    """Return how many of `most` places lanes go to, if `looked` of them found so many."""
    low, high = float(found), float(max(most, found))
    for _ in range(60):
        middle = (low + high) / 2
        few = -middle * np.expm1(looked * np.log1p(-1 / max(middle, 1.001))) < found
        low, high = (middle, high) if few else (low, middle)
    return high


def without_chance(
    seen: AddressSharing, addresses: Array, active: Array, size: float, width: int
) -> AddressSharing:
    """Return what a sample shows of popular places, without those that chance made popular there.

    Of equally popular places some have more of a sample's lanes than others, and the fewer it has
    the more. So a place is as much more popular than the mean as was seen, times the part of the
    variance between places that is not chance: the estimator of James and Stein. The buffer has
    `size` bytes, a lane's word `width`.
    """
    request = np.broadcast_to(np.arange(len(addresses))[:, None], addresses.shape)[active]
    requests, lanes = len(distinct(request)), len(request)

    def shrunk(granule: int, *found: tuple[int, Array]) -> list[Array]:
        place = addresses[active] // granule
        pairs = distinct_pairs(place, request)
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


def counted_places(addresses: Array, active: Array, size: float) -> StoredPlaces | None:
    """Return where store requests concentrate in a buffer of `size` bytes; None if nowhere."""
    taking = active.any(axis=-1)
    if taking.sum() < 2 * _PARTS:
        return None
    sectors = np.sort(np.where(active, addresses // SECTOR, -1)[taking], axis=-1)
    piece = sectors[:, -1] * SECTOR // GRANULE
    found, times = np.unique(piece, return_counts=True)
    first = found[np.argmax(times)]
    # Blocks that follow one another may go on to places of their own.
    if min(np.count_nonzero(part == first) for part in np.array_split(piece, _PARTS)) < 2:
        return None
    once = first_of_equals(sectors) & (sectors >= 0)
    places = np.maximum(sectors, 0) * SECTOR
    seen = without_chance(counted_sharing(places, once), places, once, size, SECTOR)
    return StoredPlaces(seen.hot, seen.pitch)


def once_of_sample(addresses: Array | None, granule: int) -> float:
    """Return the different granules that a sample's requests go to, over the sum of each one's.

    Less than 1 where runs of neighbouring warps meet: lists that all append to. Addresses of lanes
    that take no part are negative; without a sample it is 1.
    """
    if addresses is None:
        return 1.0
    places = np.sort(np.where(addresses >= 0, addresses // granule, -1), axis=-1)
    taken = places[first_of_equals(places) & (places >= 0)]
    return len(distinct(taken)) / max(len(taken), 1)


def _shrunk(share: Array, times: Array, places: float, together: float) -> Array:
    """Return the share of the first of so many places that were met so many times."""
    if not len(times) or places < 1:
        return share
    mean = times.sum() / places
    variance = float((times.astype(float) ** 2).sum()) / places - mean**2
    own = max(0.0, 1 - together * mean / max(variance, 1e-30))
    even = share * mean / times[0]
    return np.asanyarray(np.minimum(share, even + (share - even) * own))
