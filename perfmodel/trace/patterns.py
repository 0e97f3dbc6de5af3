"""Requests of separable indices: an address a warp, and each pattern of lanes coalesced once.

A pattern is which lanes take part, how far they are from the first, and where that one lies in its
line. All requests of a pattern touch the same lines but for where these start.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.trace.cache import COUNT, LINE
from perfmodel.trace.coalescer import LANES, coalesce

MOST: Final = 1 << 16
"""Most patterns that are coalesced beforehand."""


class Warps(NamedTuple):
    """Lanes of a block's warps: [warp], and [kind, lane]."""

    lead: Array  # address of the first lane from the block's [B]
    kind: Array  # which of `steps` the warp has
    steps: Array  # distances of lanes from the first [B]


class Patterns(NamedTuple):
    """Lines of all patterns, ordered by lanes that take part, kind of warp, and byte in a line."""

    start: Array  # where a pattern's lines start, one more than there are patterns
    # As in `perfmodel.trace.coalescer.Lines`; lines from that of the first lane.
    line: Array
    sectors: Array
    words: Array
    total: Array  # sectors of a pattern


def warps(lanes: Array) -> Warps:
    """Return the lanes of warps from their addresses in a block, shape (warps, 32) [B]."""
    steps, kind = np.unique(lanes - lanes[:, :1], axis=0, return_inverse=True)
    return Warps(np.ascontiguousarray(lanes[:, 0]), kind.reshape(-1), steps)


def patterns(masks: Array, steps: Array, first: int, step: int, how: tuple[int, bool]) -> Patterns:
    """Coalesce all patterns.

    Parameters
    ----------
    masks : array of uint32
        Lanes that take part, a bit each.
    steps : array, shape (kinds, 32)
        Distances of lanes from the first [B].
    first, step : int
        Addresses of first lanes are `first` and multiples of `step` more [B].
    how : tuple
        `width` and `words` of `perfmodel.trace.coalescer.coalesce`.
    """
    shape = (len(masks), len(steps), LINE)
    bytes_ = np.arange(first % step, LINE, step)
    number = np.arange(np.prod(shape)).reshape(shape)[..., bytes_].reshape(-1)
    address = bytes_[:, None] + steps[:, None, :]
    address = np.broadcast_to(address, (len(masks), *address.shape)).reshape(-1, LANES)
    active = (masks[:, None] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)
    active = np.repeat(active, len(steps) * len(bytes_), axis=0)
    # With NumPy, for they are few: the compiled loops need not be loaded.
    request, line, sectors, words = coalesce(address, active, *how, "numpy")
    which = number[request]
    count = np.bincount(which, minlength=int(np.prod(shape)))
    total = np.bincount(which, weights=COUNT[sectors], minlength=len(count)).astype(np.int64)
    return Patterns(np.concatenate([[0], np.cumsum(count)]), line, sectors, words, total)
