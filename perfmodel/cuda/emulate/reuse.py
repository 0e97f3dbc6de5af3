"""What L1 would have of the loads that emulated blocks make, for caches of any size.

Of a few blocks every load is written down. A line is there if, since its last
touch, the block has touched no more lines than the cache holds for it; a sector, if it was loaded
since the line came. How many lines a stretch of so many touches meets follows from how long lines
wait for their next touch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.cuda.parse.syntax import Function
from perfmodel.models.grid.distinct import distinct
from perfmodel.models.requests.coalescing import LINE, SECTOR

Array = npt.NDArray[Any]

LINES: Final = tuple(1 << k for k in range(2, 15))
"""Sizes of a block's part of the cache for which shares are worked out [lines]."""
MOST_TOUCHES: Final = 1 << 20
MOST_EXECUTIONS: Final = 1 << 11
"""Sectors, and executions of loads, that are written down; later ones are taken to be alike."""
MOST_BLOCKS: Final = 4
LEAST_MET: Final = 32.0
"""Lines that two blocks have in common from which on their number says how many there are."""
DRAWN: Final = 0.2
"""Share by which lines met may differ from those of places drawn at random: chosen."""
JUMPS: Final = 0.5
"""Mean square from one request to the next, over twice the variance, from which on places follow no
order: 1 at random (von Neumann's ratio), 0 of a walk; chosen."""
_SHARED: Final = 1.25
_DENSE: Final = 2.0
_LEAST: Final = 8
"""Lines of some blocks over those that all of them touch, lines from a block's first to its last
over those that it touches, and sectors of a block: up to and from which on a load's blocks go
through dense parts of their own. Chosen."""
ATOM: Final = 2
"""Sectors that DRAM brings together."""
_WARP: Final = 48
"""Bits below a warp's number: sectors of all memory."""


class Touches:
    """Writes down which sectors some blocks load.

    `loads` are those that L1 caches, and how many waits of their straight code come before each.
    """

    def __init__(self, loads: Mapping[int, float], padded: int) -> None:
        self._loads = loads
        self._padded = padded
        self._parts: list[tuple[int, int, Array, Array]] = []
        self._count = 0
        self.turn = 0
        """Counts executions of straight code: in one, each warp makes in a row the loads that
        wait for as many others."""

    def take(self, at: int, address: Array, lanes: Array) -> None:
        """Write down one execution: byte addresses, each byte of memory with its own."""
        if self.full or at not in self._loads:
            return
        count = int(np.searchsorted(lanes, MOST_BLOCKS * self._padded))
        if not count:
            return
        sector = address[:count].astype(np.int64) // SECTOR
        touched = distinct((lanes[:count].astype(np.int64) >> 5 << _WARP) + sector)
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

    def once(self) -> Mapping[int, tuple[float, float]]:
        """Return of each load's sectors those that its block has not asked for before, as a share.

        And the pieces of `ATOM` sectors that it has not asked for, for each sector.
        """
        if not self._parts:
            return MappingProxyType({})
        at, sector, block = self._sorted()
        new = []
        for piece in (1, ATOM):
            own = (block << _WARP) + sector // piece
            first = np.zeros(len(at), dtype=bool)
            first[np.unique(own, return_index=True)[1]] = True
            new.append(first)
        return MappingProxyType(
            {
                int(one): (float(new[0][at == one].mean()), float(new[1][at == one].mean()))
                for one in distinct(at)
            }
        )

    def met(self) -> Mapping[int, float]:
        """Return how many of a block's requests wait for a load's new sectors, for each that asks.

        Warps of a block that come to a sector in one turn all wait, whoever asks first.
        """
        if not self._parts:
            return MappingProxyType({})
        parts = self._parts
        at = np.concatenate([np.full(len(s), a) for a, _, s, _ in parts])
        turn = np.concatenate([np.full(len(s), t) for _, t, s, _ in parts])
        sector = np.concatenate([s for *_, s, _ in parts])
        warp = np.concatenate([w for *_, w in parts])
        block = warp * 32 // self._padded
        _, start, place = np.unique(
            (block << _WARP) + sector, return_index=True, return_inverse=True
        )
        # In the order of turns, and of warps: the first is who asks.
        new = turn[start][place] == turn
        asks = np.zeros(len(new), dtype=bool)
        asks[start] = True
        found = {}
        for load in distinct(at):
            own = at == load
            every, request = np.unique((turn[own] << 32) + warp[own], return_inverse=True)
            waits, first = (
                float(np.count_nonzero(np.bincount(request, some[own], len(every))))
                for some in (new, asks)
            )
            found[int(load)] = max(waits / max(first, 1.0), 1.0)
        return MappingProxyType(found)

    def drawn(self) -> Mapping[int, float]:
        """Return the lines of a table that a load reads at random places, as all blocks do.

        Only of loads that do: two blocks have some lines in common by which the table's are known
        (capture and recapture), each meets as many as it would at random, and requests follow no
        order.
        """
        if not self._parts:
            return MappingProxyType({})
        found = {}
        for one in {part[0] for part in self._parts}:
            own = [(t, s // (LINE // SECTOR), w) for a, t, s, w in self._parts if a == one]
            if not _in_order([(line, warp) for _, line, warp in own]):
                line = np.concatenate([line for _, line, _ in own])
                block = np.concatenate([w for *_, w in own]) * 32 // self._padded
                lines = _table_lines(line, block)
                if lines:
                    found[one] = lines
        return MappingProxyType(found)

    def apart(self) -> frozenset[int]:
        """Return the loads by which each block goes through a dense part of its own."""
        found = set()
        for one in {part[0] for part in self._parts}:
            sector = np.concatenate([s for a, _, s, _ in self._parts if a == one])
            line = sector // (LINE // SECTOR)
            warp = np.concatenate([w for a, *_, w in self._parts if a == one])
            block = warp * 32 // self._padded
            parts = [np.unique(line[block == b]) for b in np.unique(block)]
            own, every = sum(map(len, parts)), len(np.unique(line))
            reach = sum(int(part[-1] - part[0]) + 1 for part in parts)
            if (
                own <= _SHARED * every
                and reach <= _DENSE * own
                and len(np.unique(sector)) >= _LEAST * len(parts)
            ):
                found.add(one)
        return frozenset(found)

    def jumping(self) -> frozenset[int]:
        """Return the loads by which each warp goes in no order from one request to the next."""
        found = set()
        for load in {part[0] for part in self._parts}:
            sectors = [(s, w) for a, _, s, w in self._parts if a == load]
            line, warp = (np.concatenate(column) for column in zip(*sectors, strict=True))
            order = np.argsort(warp, kind="stable")
            turn = np.concatenate([np.full(len(s), t) for t, (s, _) in enumerate(sectors)])[order]
            _, start = np.unique(np.stack([warp[order], turn]), axis=1, return_index=True)
            place = np.add.reduceat(line[order], start) / np.diff([*start, len(line)])
            own = warp[order][start]
            ratios = [_unevenness(place[own == w]) for w in distinct(own)]
            if float(np.median(ratios)) >= JUMPS:
                found.add(load)
        return frozenset(found)

    def _sorted(self) -> tuple[Array, Array, Array]:
        """Return load, sector and block of all touches: block by block, as they come."""

        def column(values: Iterator[Any]) -> Array:
            return np.concatenate([*values])

        parts = self._parts
        at = column(np.full(len(s), a) for a, _, s, _ in parts)
        waits = column(np.full(len(s), self._loads[a]) for a, _, s, _ in parts)
        turn = column(np.full(len(s), t) for _, t, s, _ in parts)
        sector = column(s for *_, s, _ in parts)
        warp = column(w for *_, w in parts)
        block = warp * 32 // self._padded
        order = np.lexsort((warp, waits, turn, block))
        return at[order], sector[order], block[order]

    def misses(self) -> Mapping[int, tuple[float, ...]]:
        """Return the share of each load's sectors that are not there, for each of `LINES`."""
        if not self._parts:
            return MappingProxyType({})
        at, sector, block = self._sorted()
        order, since = _since(block, sector // (LINE // SECTOR))
        part = sector[order] % (LINE // SECTOR)
        absent = np.stack([_absent(since[order] > reach, part) for reach in _reach(since)])
        at = at[order]
        found = {
            int(one): tuple(float(share) for share in absent[:, at == one].mean(axis=1))
            for one in distinct(at)
        }
        return MappingProxyType(found)


def cached_loads(function: Function) -> frozenset[int]:
    """Return the loads that L1 keeps."""
    return frozenset(
        at
        for at, i in enumerate(function.instructions)
        if i.opcode == "ld" and not {"shared", "cg", "cv", "volatile", "relaxed"} & {*i.modifiers}
    )


def _table_lines(line: Array, block: Array) -> float:
    """Return how many lines the table of some touches has if blocks draw from it, else 0."""
    blocks = np.unique(block)
    met = [np.unique(line[block == b]) for b in blocks]
    pairs = [(a, b) for i, a in enumerate(met) for b in met[:i]]
    common = sum(len(np.intersect1d(a, b, assume_unique=True)) for a, b in pairs)
    if common < LEAST_MET:
        return 0.0
    lines = sum(float(len(a)) * len(b) for a, b in pairs) / common
    draws = len(line) / len(blocks)
    random = lines * -np.expm1(draws * np.log1p(-1 / max(lines, 2.0)))
    mean = float(np.mean([len(a) for a in met]))
    return lines if abs(mean / random - 1) < DRAWN else 0.0


def _in_order(requests: list[tuple[Array, Array]]) -> bool:
    """Say whether a load's requests, lines and warp of each touch, follow an order."""
    means = []
    for line, warp in requests:
        _, start = np.unique(warp, return_index=True)
        means.append(np.add.reduceat(line, start) / np.diff([*start, len(line)]))
    place = np.concatenate(means)
    spread = float(np.var(place))
    return len(place) < 3 or float(np.mean(np.diff(place) ** 2)) < 2 * JUMPS * spread or not spread


def _unevenness(place: Array) -> float:
    """Return the mean square from one place to the next over twice the variance (von Neumann)."""
    spread = float(np.var(place))
    return float(np.mean(np.diff(place) ** 2)) / (2 * spread) if len(place) > 2 and spread else 0.0


def _absent(gone: Array, part: Array) -> Array:
    """Return which touches, line by line, find no such sector: the first since the line came."""
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
