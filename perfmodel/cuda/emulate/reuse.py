"""What L1 would have of the loads that emulated blocks make, for caches of any size.

Of a few blocks every load is written down. A line is there if, since its last
touch, the block has touched no more lines than the cache holds for it; a sector, if it was loaded
since the line came. How many lines a stretch of so many touches meets follows from how long lines
wait for their next touch.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.machine import LANES
from perfmodel.cuda.emulate.memory import GAP_SHIFT, LOCAL_BASE
from perfmodel.cuda.parse.syntax import Function
from perfmodel.models.grid.distinct import distinct, distinct_pairs, first_of_equals
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.records import record

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
_PER_LINE: Final = LINE // SECTOR
_WARP: Final = 48
"""Bits below a warp's number: sectors of all memory."""


@record
class Reuse:
    """How the sectors of a load come again in the blocks that are followed."""

    # Share of the sectors that caches of `LINES` lines a block do not have.
    misses: tuple[float, ...] = ()
    # Share of the sectors that their block asks for the first time, and the pieces of `ATOM`
    # sectors that it does, for each sector.
    once: tuple[float, float] = (1.0, 1.0)
    # Lines of the table that is read at random places, as all blocks do; 0 of other loads.
    drawn: float = 0.0
    apart: bool = False  # whether each block goes through a dense part of its own
    jumping: bool = False  # whether each warp goes in no order from one request to the next
    alike: float = 1.0  # how many neighbouring blocks ask for a sector at a time
    # How many requests of a block wait for its new sectors, for each that asks for one: warps that
    # come to a sector in one turn all wait, whoever asks first.
    met: float = 1.0


class Touches:
    """Writes down which sectors some blocks load.

    `loads` are those that L1 caches, and how many waits of their straight code come before each.
    """

    def __init__(self, loads: Mapping[int, float], padded: int) -> None:
        self._loads = loads
        self._padded = padded
        self._parts: list[tuple[int, int, Array, Array]] = []
        self._count = 0
        self._blocks: list[int] = []  # that are followed
        self._end = 0  # past the last of their lanes, once there are enough of them
        # Counts executions of straight code: in one, each warp makes in a row the loads that wait
        # for as many others.
        self.turn = 0

    def take(self, at: int, address: Array, lanes: Array) -> None:
        """Write down one execution, by byte addresses; what is full takes no more."""
        full = self._count > MOST_TOUCHES or len(self._parts) > MOST_EXECUTIONS
        if full or at not in self._loads:
            return
        count = int(np.searchsorted(lanes, self._end)) if self._end else len(lanes)
        address, lanes = address[:count], lanes[:count]
        block = lanes // self._padded
        if not self._end:
            self._choose(distinct(block).tolist())
        inside = np.isin(block, self._blocks)
        if not inside.any():
            return
        sector = _own(address[inside], lanes[inside]) // SECTOR
        touched = distinct((lanes[inside].astype(np.int64) >> 5 << _WARP) + sector)
        warp = touched >> _WARP
        self._parts.append((at, self.turn, touched - (warp << _WARP), warp))
        self._count += len(touched)

    def _choose(self, coming: list[int]) -> None:
        """Follow blocks that come to loads, as many as may be: some of a grid load nothing."""
        new = [b for b in coming if b not in self._blocks]
        self._blocks += new[: MOST_BLOCKS - len(self._blocks)]
        if len(self._blocks) == MOST_BLOCKS:
            self._end = (max(self._blocks) + 1) * self._padded

    def reuse(self) -> dict[int, Reuse]:
        """Return what the loads that were written down show, by instruction."""
        if not self._parts:
            return {}
        sizes = [len(sector) for _, _, sector, _ in self._parts]
        at, turn = (np.repeat([part[i] for part in self._parts], sizes) for i in (0, 1))
        sector, warp = (np.concatenate([part[i] for part in self._parts]) for i in (2, 3))
        block = warp * 32 // self._padded
        execution = np.repeat(np.arange(len(sizes)), sizes)
        waits = np.repeat([self._loads[part[0]] for part in self._parts], sizes)
        # Block by block, as they come.
        order = np.lexsort((warp, waits, turn, block))
        own = (block[order] << _WARP) + sector[order]
        pieces = (block[order] << _WARP) + sector[order] // ATOM
        once = np.stack([_first(own), _first(pieces)])
        by_line, absent = _absent_lines(block[order], sector[order])
        asks, waiting = _asking(turn, (block << _WARP) + sector)
        found = {}
        for load in distinct(at).tolist():
            mine = at == load
            places, warps = _requests(execution[mine], warp[mine], sector[mine] // _PER_LINE)
            drawn = _unevenness(places) >= JUMPS
            ratios = [_unevenness(places[warps == w]) for w in distinct(warps)]
            missed = absent[:, at[order][by_line] == load].mean(axis=1)
            first = once[:, at[order] == load].mean(axis=1)
            found[load] = Reuse(
                misses=tuple(missed.tolist()),
                once=(float(first[0]), float(first[1])),
                drawn=_table_lines(sector[mine] // _PER_LINE, block[mine]) if drawn else 0.0,
                apart=_goes_apart(sector[mine], block[mine]),
                jumping=float(np.median(ratios)) >= JUMPS,
                alike=_alike(turn[mine], sector[mine], block[mine]),
                met=_met(turn[mine], warp[mine], asks[mine], waiting[mine]),
            )
        return found


def cached_loads(function: Function) -> frozenset[int]:
    """Return the loads that L1 keeps."""
    return frozenset(
        at
        for at, i in enumerate(function.instructions)
        if i.opcode == "ld"
        and i.space != "shared"
        and {"cg", "cv", "volatile", "relaxed"}.isdisjoint(i.modifiers)
    )


def _own(address: Array, lanes: Array) -> Array:
    """Return addresses, those of local memory as its words are interleaved among lanes."""
    local = (address >= np.uint64(LOCAL_BASE)) & (address < np.uint64(1 << GAP_SHIFT))
    if not local.any():
        return address.astype(np.int64)
    place = (address - np.uint64(LOCAL_BASE)).astype(np.int64) // 4 * 4 * LANES
    place += (lanes & LANES - 1) * 4 + (lanes >> 5).astype(np.int64) * (1 << 32)
    return np.where(local, place, address.astype(np.int64))


def _first(keys: Array) -> Array:
    """Return which of some keys come for the first time."""
    found = np.zeros(len(keys), dtype=bool)
    found[np.unique(keys, return_index=True)[1]] = True
    return found


def _alike(turn: Array, sector: Array, block: Array) -> float:
    """Return how many blocks a sector is asked for by at a time."""
    asked = turn * (len(sector) + 1) + np.unique(sector, return_inverse=True)[1]
    return len(distinct_pairs(asked, block)) / len(distinct(asked))


def _asking(turn: Array, own: Array) -> tuple[Array, Array]:
    """Return which touches ask for a block's own sector first, and which come in the same turn."""
    _, start, place = np.unique(own, return_index=True, return_inverse=True)
    # In the order of turns, and of warps: the first is who asks.
    return _first(own), turn[start][place] == turn


def _met(turn: Array, warp: Array, asks: Array, waiting: Array) -> float:
    """Return how many requests wait for new sectors, for each that asks for one."""
    every, request = np.unique((turn << 32) + warp, return_inverse=True)
    waits, first = (
        float(np.count_nonzero(np.bincount(request, some, len(every)))) for some in (waiting, asks)
    )
    return max(waits / max(first, 1.0), 1.0)


def _goes_apart(sector: Array, block: Array) -> bool:
    """Say whether each block goes through a dense part of its own."""
    line = sector // _PER_LINE
    parts = [np.unique(line[block == b]) for b in np.unique(block)]
    own, every = sum(map(len, parts)), len(np.unique(line))
    reach = sum(int(part[-1] - part[0]) + 1 for part in parts)
    dense = own <= _SHARED * every and reach <= _DENSE * own
    return dense and len(np.unique(sector)) >= _LEAST * len(parts)


def _requests(execution: Array, warp: Array, line: Array) -> tuple[Array, Array]:
    """Return the mean line of each request, one after the other, and its warp."""
    start = np.flatnonzero(first_of_equals(execution) | first_of_equals(warp))
    return np.add.reduceat(line, start) / np.diff([*start, len(line)]), warp[start]


def _table_lines(line: Array, block: Array) -> float:
    """Return how many lines the table of some touches has if blocks draw from it, else 0.

    They do if two have some lines in common by which the table's are known (capture and recapture),
    and each meets as many as it would at random.
    """
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


def _unevenness(place: Array) -> float:
    """Return the mean square from one place to the next over twice the variance (von Neumann)."""
    spread = float(np.var(place))
    return float(np.mean(np.diff(place) ** 2)) / (2 * spread) if len(place) > 2 and spread else 0.0


def _absent_lines(block: Array, sector: Array) -> tuple[Array, Array]:
    """Return touches line by line, and which find no such sector, for each of `LINES`."""
    order, since = _since(block, sector // _PER_LINE)
    part = sector[order] % _PER_LINE
    return order, np.stack([_absent(since[order] > reach, part) for reach in _reach(since)])


def _absent(gone: Array, part: Array) -> Array:
    """Return which touches, line by line, find no such sector: the first since the line came."""
    key = np.cumsum(gone) * _PER_LINE + part
    first = np.empty(int(key[-1]) + _PER_LINE, dtype=np.int64)
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
