"""What L1 would have of the loads that emulated blocks make, for caches of any size.

Of a few blocks every load is written down. A line is there if, since its last
touch, the block has touched no more lines than the cache holds for it; a sector, if it was loaded
since the line came. How many lines a stretch of so many touches meets follows from how long lines
wait for their next touch.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.models.coalescing import LINE, SECTOR

Array = npt.NDArray[Any]

LINES: Final = tuple(1 << k for k in range(2, 15))
"""Sizes of a block's part of the cache for which shares are worked out [lines]."""
MOST_TOUCHES: Final = 1 << 20
MOST_EXECUTIONS: Final = 1 << 11
"""Sectors, and executions of loads, that are written down; later ones are taken to be alike."""
MOST_BLOCKS: Final = 4
_WARP: Final = 48
"""Bits below a warp's number: sectors of all memory."""


class Touches:
    """Writes down which sectors some blocks load.

    Parameters
    ----------
    loads : frozenset of int
        Instructions that L1 caches.
    padded : int
        Lanes of a block.
    """

    def __init__(self, loads: frozenset[int], padded: int) -> None:
        self._loads = loads
        self._padded = padded
        self._parts: list[tuple[int, int, Array, Array]] = []
        self._count = 0
        self.turn = 0
        """Counts executions of straight code: in one, each warp makes its loads in a row."""

    def take(self, at: int, address: Array, lanes: Array) -> None:
        """Write down one execution: byte addresses, each byte of memory with its own."""
        if self.full or at not in self._loads:
            return
        count = int(np.searchsorted(lanes, MOST_BLOCKS * self._padded))
        if not count:
            return
        sector = address[:count].astype(np.int64) // SECTOR
        touched = np.unique((lanes[:count].astype(np.int64) >> 5 << _WARP) + sector)
        warp = touched >> _WARP
        self._parts.append((at, self.turn, touched - (warp << _WARP), warp))
        self._count += len(touched)

    def alike(self) -> Mapping[int, float]:
        """Return how many blocks a load's sector is asked for by at a time, of those followed."""
        found = {}
        for at in {part[0] for part in self._parts}:
            own = [part for part in self._parts if part[0] == at]
            turn = np.concatenate([np.full(len(s), t) for _, t, s, _ in own])
            sector = np.concatenate([s for *_, s, _ in own])
            block = np.concatenate([w for *_, w in own]) * 32 // self._padded
            each = np.unique(np.stack([turn, sector, block]), axis=1)
            found[at] = each.shape[1] / np.unique(each[:2], axis=1).shape[1]
        return MappingProxyType(found)

    @property
    def full(self) -> bool:
        """Whether no more is written down."""
        return self._count > MOST_TOUCHES or len(self._parts) > MOST_EXECUTIONS

    def misses(self) -> Mapping[int, tuple[float, ...]]:
        """Return the share of each load's sectors that are not there, for each of `LINES`."""
        if not self._parts:
            return MappingProxyType({})
        at = np.concatenate([np.full(len(s), a) for a, _, s, _ in self._parts])
        turn = np.concatenate([np.full(len(s), t) for _, t, s, _ in self._parts])
        sector = np.concatenate([s for *_, s, _ in self._parts])
        warp = np.concatenate([w for *_, w in self._parts])
        block = warp * 32 // self._padded
        # A block's touches in a row, in the order in which they come.
        order = np.lexsort((warp, turn, block))
        at, sector, block = at[order], sector[order], block[order]
        order, since = _since(block, sector // (LINE // SECTOR))
        part = sector[order] % (LINE // SECTOR)
        absent = np.stack([_absent(since[order] > reach, part) for reach in _reach(since)])
        at = at[order]
        found = {
            int(one): tuple(float(share) for share in absent[:, at == one].mean(axis=1))
            for one in np.unique(at)
        }
        return MappingProxyType(found)


def _absent(gone: Array, part: Array) -> Array:
    """Return which touches, line by line, find no such sector: the first since the line came.

    Parameters
    ----------
    gone : array of bool
        Touches that find no such line.
    part : array of int
        Sector of the line.
    """
    key = np.cumsum(gone) * (LINE // SECTOR) + part
    first = np.empty(int(key[-1]) + LINE // SECTOR, dtype=np.int64)
    places = np.arange(len(key))
    first[key[::-1]] = places[::-1]
    return np.asarray(first[key] == places)


def _since(block: Array, item: Array) -> tuple[Array, Array]:
    """Return touches item by item, and how many went by since the last of the same item.

    Infinitely many for the first.
    """
    order = np.lexsort((np.arange(len(item)), item, block))
    same = (item[order][1:] == item[order][:-1]) & (block[order][1:] == block[order][:-1])
    found = np.full(len(item), np.inf)
    found[order[1:][same]] = np.diff(order)[same]
    return order, found


def _reach(since: Array) -> list[float]:
    """Return the touches in which so many lines are met, for each of `LINES`."""
    known = np.sort(since)
    count = len(known)
    finite = known[np.isfinite(known)]
    # Lines met in t touches: the sum, up to t, of the share that waits for longer.
    edges = np.concatenate([[0.0], np.unique(finite)])
    longer = 1.0 - np.searchsorted(known, edges, side="right") / count
    met = np.concatenate([[0.0], np.cumsum(np.diff(edges) * longer[:-1])])
    found = []
    for most in LINES:
        if met[-1] <= most:
            rest = longer[-1]
            found.append(edges[-1] + (most - met[-1]) / rest if rest > 0 else np.inf)
        else:
            found.append(float(np.interp(most, met, edges)))
    return found
