"""Lines drawn at random: which of them L2 has, on one of its sides or on both."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests

_MOST_DRAWN: Final = 40.0


class Shares(NamedTuple):
    """Of a table's lines, those that a set-aside keeps, and those marked streaming [1]."""

    resident: Array
    streaming: Array


NONE: Final = Shares(np.zeros(()), np.zeros(()))


class TablePhases(NamedTuple):
    """Parts of a table that are drawn from one after the other, as blocks move on through it."""

    number: Array  # how many: the table over what blocks draw from that run at a time
    alone: Array  # share of the places of a block that no other block draws from [1]


ONE_PHASE: Final = TablePhases(np.ones(()), np.zeros(()))


class OtherTable(NamedTuple):
    """Another table that the same launch draws from."""

    size: Array  # bytes
    often: Array  # times that a line of it is drawn in the launch, on average
    copied: bool  # whether the side that draws keeps a copy: what atomics change stays at home


def random_line_hits(
    table: Any,
    stream: Any,
    draws: Any,
    capacity: Any,
    shares: Shares = NONE,
    alone: Any = 0.0,
    others: Sequence[OtherTable] = (),
) -> tuple[Array, Array, Array]:
    """Return the share of random draws of a table that find their line in L2, from a cold start on.

    And the share at the end, which the same launch finds again, 0 where nothing has left L2 yet;
    and the share of the draws that are made with L2 full. Table, capacity and what streams take of
    it for each draw are in bytes; `draws` are lines. `shares` of the table do not compete for L2,
    and `alone` of it one SM draws from.

    Derived: a line is there if it was drawn within the last t draws, and t is such that what was
    drawn and streamed since fills L2 (Che, Tung and Wang's characteristic time).
    """
    n = np.maximum(np.asanyarray(table, dtype=float) / LINE, 1.0)
    drawn = np.maximum(np.asanyarray(draws, dtype=float), 1.0)
    streams = np.asanyarray(stream, dtype=float) * n
    y = stay(n * LINE, streams, capacity, shares, alone, rates(others, drawn / n))
    steady = both_sides(y, shares, alone)[1]
    # Until t draws have been made nothing leaves.
    t = np.minimum(y * n, drawn)
    first = n * (1 - np.exp(-t / n))
    hits = 1 - (first + (drawn - t) * (1 - steady)) / drawn
    return np.asanyarray(hits), np.where(t < drawn, steady, 0.0), np.asanyarray(1 - t / drawn)


def lost_lines(y: Array, spilled: Array) -> tuple[Array, Array]:
    """Return the share of draws of persisting lines that find them neither kept nor among others.

    And the share of those from the far side that find no copy there. `y` is how often lines are
    drawn while they stay, see `stay`; `spilled` the share of the persisting lines that find no way
    set aside.

    Derived: what a set-aside lets go was not used for longest, so it goes on among the others only
    if they stay for longer than it has stayed already. A draw from the far side finds its copy.
    """
    away = np.exp(-y / 2)
    gone = np.exp(-y / 2 * (1 + away))
    return np.asanyarray(np.minimum(spilled, gone) * (1 + away) / 2), np.asanyarray(away)


def rates(others: Sequence[OtherTable], often: Array) -> list[OtherTable]:
    """Return other tables with their draws for each of a line that is drawn so often."""
    return [o._replace(often=o.often / np.maximum(often, 1e-9)) for o in others]


def stay(
    table: Array,
    stream: Array,
    capacity: Any,
    shares: Shares = NONE,
    alone: Any = 0.0,
    others: Sequence[OtherTable] = (),
) -> Array:
    """Return how often each line of a random table is drawn, on average, while an unused one stays.

    Streams take `stream` bytes of L2 while each line is drawn once; the rest as
    `random_line_hits`.
    """
    low, high = (np.full(np.broadcast(table, stream).shape, y) for y in (0.0, _MOST_DRAWN))
    for _ in range(40):
        y = (low + high) / 2
        taken = both_sides(y, shares, alone)[0] * table + stream * y
        for o in others:
            lines = both_sides(y * o.often)[0] if o.copied else -np.expm1(-y * o.often)
            taken = taken + lines * o.size
        fits = taken <= capacity
        low, high = np.where(fits, y, low), np.where(fits, high, y)
    return np.asanyarray((low + high) / 2)


def both_sides(times: Any, shares: Shares = NONE, alone: Any = 0.0) -> tuple[Array, Array]:
    """Return the lines of L2 that each line of a random table takes, and the share of hits.

    Lines are drawn `times` on average while one that is not used stays, a share `alone` by one SM.
    Of `shares` the resident take no lines of their own, those marked streaming not even copies.

    Derived: of the draws, Poisson, half come from a line's own side, and it is there if one did; a
    draw from the far side leaves a copy there, which the next ones from there find. Those that do
    not find one go to the line's own side and use it too. So small tables are there twice, and
    lines drawn once take 1.5 on average, whether a miss brings all of one or a sector. Lines that
    one SM draws are drawn from one side: half of them are there twice, however often.
    """
    y = np.asanyarray(times, dtype=float)
    away = np.exp(-y / 2)
    gone = np.exp(-y / 2 * (1 + away))
    copied = 1 - shares.streaming
    own = np.maximum(copied - shares.resident, 0.0)
    lines = copied * (1 - away) + own * (1 - gone)
    hits = 1 - (away**2 + gone) / 2
    once = 1 - np.exp(-y)
    lines = lines + alone * ((copied / 2 + own) * once - lines)
    return np.asanyarray(lines), np.asanyarray(hits + alone * (once - hits))


def drawn_share(times: Any, places: Any = None) -> Array:
    """Return the share of lines, or of their parts, that so many draws of each at random touch.

    Derived: without a limit to draws of a place, Poisson; else each of its `places` is drawn or
    not, as by a permutation.
    """
    if places is None:
        return np.asanyarray(1 - np.exp(-np.asanyarray(times, dtype=float)))
    each = np.maximum(places, 1.0)
    return np.asanyarray(1 - (1 - np.minimum(times / each, 1.0)) ** each)


def random_draws(
    requests: Sequence[Requests], members: Sequence[int], granule: float
) -> tuple[Array, Array]:
    """Return how many lines random accesses draw, once a block, and the bytes a miss brings."""
    chosen = [requests[i] for i in members if requests[i].random]
    # What neighbouring blocks read at a time is drawn once.
    alike = [1.0 if r.access.counted is None else r.access.counted.alike for r in chosen]
    lines = [_once(r)[2] / blocks for r, blocks in zip(chosen, alike, strict=True)]
    draws = np.maximum(summed(lines), 1.0)
    parts = (fetched_by(r, granule) * n for r, n in zip(chosen, lines, strict=True))
    wide = summed(parts) / draws
    return draws, np.maximum(wide, granule)


def fetched_by(request: Requests, granule: float) -> Array:
    """Return the bytes that a miss brings of one line, for an access at random places."""
    if granule >= LINE:
        return np.full(1, float(LINE))
    sectors, pairs, lines = _once(request)
    parts = sectors if granule <= SECTOR or pairs is None else pairs
    return np.asanyarray(parts * max(granule, SECTOR) / np.maximum(lines, 1.0))


def _once(request: Requests) -> tuple[Array, Array | None, Array]:
    """Return the sectors, 64 B halves and lines of an access at random places, each drawn once.

    Runs that warps of a block share are, and runs that go on in the next block, which runs then.
    """
    if request.distinct_per_block is None:
        return request.sectors, request.pairs, request.lines
    next_block_share = np.zeros(3) if request.next_block_share is None else request.next_block_share
    sectors, pairs, lines = (
        n * (1 - s) for n, s in zip(request.distinct_per_block, next_block_share, strict=True)
    )
    return sectors, pairs, lines
