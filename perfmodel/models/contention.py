"""Contention inside a warp: how many lanes of one atomic meet in sectors and at addresses.

An atomic request goes to L2 as one packet a line, with the lanes of each sector together. L2 adds
all lanes of a sector at once if their addresses differ; lanes at one address take turns. So a
request costs, for each of its sectors, as many passes as its most popular address has lanes.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.coalescing import LINE, SECTOR
from perfmodel.models.formula import Formula
from perfmodel.models.histogram import Histogram

Array = npt.NDArray[Any]

TOUCHED = Formula(
    name="distinct granules of random lanes",
    unit="granules",
    text="g*(1 - (1 - 1/g)**n)",
    symbols={
        "g": "granules that the bins lie in: addresses, sectors or lines [1]",
        "n": "lanes that take part [1]",
    },
    holds="equally likely granules; with a histogram, the sum of 1 - (1 - p)**n over granules",
    source="derived: each granule is missed by all lanes with probability (1 - 1/g)**n",
)
MODULO_PASSES = Formula(
    name="passes of a sector, consecutive lanes modulo m",
    unit="passes",
    text="ceil(n/m)",
    symbols={"n": "lanes that take part [1]", "m": "elements that they add to [1]"},
    holds="lanes i, i + 1, ... that add to element i % m; sectors with fewer are rounded up",
    source="derived: lanes m apart meet",
)

_MOST_ALIKE: Final = WARP_SIZE


class Conflicts(NamedTuple):
    """What the lanes of an atomic's requests share, means of a request.

    Attributes
    ----------
    addresses, sectors, lines : array
        Distinct ones.
    passes : array
        Over the sectors, the lanes at the most popular address of each, summed.
    """

    addresses: Array
    sectors: Array
    lines: Array
    passes: Array


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

    new_address, new_sector = first(1), first(SECTOR)
    place = np.arange(WARP_SIZE)
    since = np.maximum.accumulate(np.where(new_address, place, 0), axis=-1)
    rank = place - since + 1
    starts = np.flatnonzero(new_sector)
    most = np.maximum.reduceat(np.where(used, rank, 0).reshape(-1), starts)
    passes = np.bincount(starts // WARP_SIZE, weights=most, minlength=used.size // WARP_SIZE)
    return Conflicts(
        addresses=(new_address & used).sum(axis=-1),
        sectors=(new_sector & used).sum(axis=-1),
        lines=(first(LINE) & used).sum(axis=-1),
        passes=passes.reshape(used.shape[:-1]),
    )


def random_conflicts(found: Histogram, pitch: int, lanes: float = WARP_SIZE) -> Conflicts:
    """Return the expected conflicts of lanes that each draw a bin.

    Parameters
    ----------
    found : Histogram
    pitch : int
        Bytes from bin to bin.
    lanes : float
        Lanes that take part.
    """
    per_sector = max(1, SECTOR // max(pitch, 1))
    sectors, lines = found.merged(per_sector), found.merged(max(1, LINE // max(pitch, 1)))

    def touched(h: Histogram) -> Array:
        return np.asarray((h.sizes * -np.expm1(lanes * np.log1p(-_below_one(h.likely)))).sum())

    # E[most lanes at one of a sector's addresses] is the sum over k of P(more than k at one).
    single = int(np.argmin(np.append(found.sizes == 1, False))) // per_sector * per_sector
    share = _below_one(found.likely)
    together = min(per_sector, found.bins)
    edges = np.arange(0, single, per_sector)
    sectors_of = np.maximum(found.sizes[single:] / together, 1.0)
    at_most = np.zeros_like(share)
    probability = np.exp(lanes * np.log1p(-share))
    passes = np.zeros(())
    for k in range(_MOST_ALIKE):
        at_most = np.minimum(at_most + probability, 1.0)
        if single:
            passes = passes + (1 - np.multiply.reduceat(at_most[:single], edges)).sum()
        passes = passes + (sectors_of * (1 - at_most[single:] ** together)).sum()
        probability = probability * (max(lanes - k, 0.0) / (k + 1)) * share / (1 - share)
    return Conflicts(touched(found), touched(sectors), touched(lines), passes)


def _below_one(probability: Array) -> Array:
    return np.minimum(probability, 1 - 1e-12)
