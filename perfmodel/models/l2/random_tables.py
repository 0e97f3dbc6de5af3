"""Random tables: lines that reads at random places draw, and what a miss brings of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.models.extremes import smallest
from perfmodel.models.l2 import residency
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests

Array = npt.NDArray[Any]

RANDOM_ROOM: Final = 0.98
"""Share of L2 that lines at random places fill before the oldest leave.

Fitted: DRAM reads of cold gathers, single floats of tables of 16 MiB to 2 GiB and runs of 8 and 32
(gather.csv of measurements/h200-sxm-suite and h100-sxm-suite, fit rows): 0.6 and 0.9% rms; 0.96 and
1.0 give 1.0 to 1.25. Of an H200 it is all that 94 slices hold, of an H100 98%, see
`perfmodel.models.l2.slices.working_share`.
"""
STREAM_LINES: Final = 1.5
"""Lines of L2 that a line of a stream takes, read or written: half of them come from or go to the
far side, and lie on both. Derived for reads; with one for what is written, DRAM reads of the same
gathers are off by 0.9% rms on an H200 and 1.5 on an H100.
"""
_MOST_DRAWN: Final = 40.0
STREAMING_WAYS: Final = 1.0
"""Ways that lines at random places take from the others if they are marked streaming: whatever
comes pushes one of them out before any other.

Derived: one line of each set. How many of them hit: `perfmodel.models.l2.windows`.
"""


class Shares(NamedTuple):
    """Of a table's lines, those that a set-aside keeps, and those marked streaming [1]."""

    kept: Array
    streaming: Array


NONE: Final = Shares(np.zeros(()), np.zeros(()))


class Rounds(NamedTuple):
    """Parts of a table that are drawn from one after the other, as blocks move on through it.

    Attributes
    ----------
    number : array
        How many: the table over what blocks draw from that run at a time.
    alone : array
        Share of the places of a block that no other block draws from [1].
    """

    number: Array
    alone: Array


ONE_ROUND: Final = Rounds(np.ones(()), np.zeros(()))


class OtherTable(NamedTuple):
    """Another table that the same launch draws from.

    Attributes
    ----------
    size : array
        Bytes.
    often : array
        Times that a line of it is drawn in the launch, on average.
    copied : bool
        Whether the side that draws keeps a copy: what atomics change stays at home.
    """

    size: Array
    often: Array
    copied: bool


@dataclass(frozen=True, slots=True)
class DrawnTable:
    """A table that a launch draws from at random places, and what it shares L2 with.

    Attributes
    ----------
    size : array
        [B]
    read, written : array
        Bytes of streams in one pass over it.
    passes : array
        Times that it is read.
    capacity : float
        L2 that is left beside what other kernels keep, as far as it works [B].
    shares : Shares
        Of its lines.
    spilled : array
        Share of the persisting ones that find no way.
    rounds : Rounds
    others : sequence of OtherTable
        That take room as it does.
    """

    size: Array
    read: Array
    written: Array
    passes: Array
    capacity: float
    shares: Shares
    spilled: Array
    rounds: Rounds = ONE_ROUND
    others: Sequence[OtherTable] = ()

    def room(self, size: Array) -> Array:
        """Return the L2 that its competing lines and streams have, of so many bytes of it [B]."""
        # What is kept stays on its own side, in ways that nobody else has.
        passing = STREAMING_WAYS * self.capacity / residency.WAYS
        room = RANDOM_ROOM * self.capacity - self.shares.kept * size
        return np.asanyarray(room - np.where(self.shares.streaming > 0, passing, 0.0))


@dataclass(frozen=True, slots=True)
class RandomReads:
    """What a launch reads of a table at random places.

    Attributes
    ----------
    first, again : array
        Bytes that first reads fetch, and that the others would if all of them missed.
    misses : array
        Share of the others that miss, of lines that a window neither keeps nor lets pass.
    spilled : array
        The same of lines marked persisting.
    crossing : array
        Share of the others for which lines that a set-aside keeps have to cross from L2's far side.
    kept : array
        Share of the first reads that need not miss where the same launch ran before, though L2
        cannot hold all of it.
    draws, wide : array
        Lines drawn, and bytes that a miss brings of each.
    """

    first: Array
    again: Array
    misses: Array
    spilled: Array
    crossing: Array
    kept: Array
    draws: Array
    wide: Array


def random_reads(
    table: DrawnTable, requests: Sequence[Requests], members: Sequence[int], granule: float
) -> RandomReads:
    """Return what a launch reads of a table at random places.

    Each round is as if it were a table by itself.

    Parameters
    ----------
    table : DrawnTable
    requests : sequence of Requests
    members : sequence of int
        Positions of the accesses to it.
    granule : float
        Bytes that a miss fetches.
    """
    shares, number = table.shares, table.rounds.number
    every, wide = random_draws(requests, members, granule)
    draws, size = every / number, table.size / number
    atoms, lines = np.maximum(size / wide, 1.0), size / LINE
    pitch = pitch_of([requests[i] for i in members])
    first = atoms * drawn_share(draws / atoms, None if pitch is None else wide / pitch)
    stream = STREAM_LINES * (table.read + table.written) * table.passes / every
    others = [o._replace(often=o.often / number) for o in table.others]
    room, alone = table.room(size), table.rounds.alone
    hits, steady, full = random_line_hits(size, stream, draws, room, shares, alone, others)
    # Streams push out what there is room for too, between two draws of the same place: measured,
    # 16 Mi floats of a table of 16 MiB (measurements/h200-gather-runs/kept.csv, session 2).
    between = table.passes / number * np.minimum(atoms / draws, 1.0)
    leak = residency.leak(table.read * between, table.written * between, table.capacity)
    parts = residency.ATOM_HITS(h=hits, a=LINE / wide)
    missed = np.maximum(draws * np.maximum(1 - parts, leak * full), first)
    # Where no line ever leaves, each part of it is fetched once.
    stays = draws * (1 - hits) <= 1.02 * lines * (1 - np.exp(-draws / lines))
    missed = np.where(stays, first, missed)
    again = np.maximum(draws - first, 1e-9)
    lost = draws * np.maximum(1 - residency.ATOM_HITS(h=steady, a=LINE / wide), leak)
    misses = np.clip((missed - first) / again, 0.0, 1.0)
    y = stay(size, stream * lines, room, shares, alone, rates(others, draws / lines))
    gone, away = lost_lines(y, table.spilled)
    return RandomReads(
        first=first * wide * number,
        again=again * wide * number,
        misses=misses,
        spilled=1 - residency.ATOM_HITS(h=1 - gone, a=LINE / wide),
        crossing=shares.kept * away / 2,
        kept=_found_warm(table, np.clip((missed - lost) / first, 0.0, 1.0)),
        draws=every,
        wide=wide,
    )


def _found_warm(table: DrawnTable, kept: Array) -> Array:
    """Return the share of the first reads that hit where the same launch ran before.

    Of lines that compete for L2, it has left the share `kept`.
    """
    # The launch before has left the last round, this one starts with the first.
    kept = kept * np.clip(2 - table.rounds.number, 0.0, 1.0)
    # Lines of a set-aside outlast the launch.
    shares = table.shares
    return np.asanyarray(shares.kept + np.maximum(1 - shares.kept - shares.streaming, 0.0) * kept)


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
    and the share of the draws that are made with L2 full.

    Parameters
    ----------
    table : array
        Bytes.
    stream : array
        Bytes of L2 that streams take for each draw.
    draws : array
        Lines drawn in the launch.
    capacity : array
        Bytes of L2.
    shares : Shares
        What of the table does not compete for that capacity.
    alone : array
        Share of it that one SM draws from.
    others : sequence of OtherTable
        Tables drawn from beside it.

    Notes
    -----
    Derived: a line is there if it was drawn within the last t draws, and t is such that what
    was drawn and streamed since fills L2 (Che, Tung and Wang's characteristic time).
    """
    n = np.maximum(np.asanyarray(table, dtype=float) / LINE, 1.0)
    drawn = np.maximum(np.asanyarray(draws, dtype=float), 1.0)
    beside = np.asanyarray(stream, dtype=float) * n
    y = stay(n * LINE, beside, capacity, shares, alone, rates(others, drawn / n))
    steady = both_sides(y, shares, alone)[1]
    # Until t draws have been made nothing leaves.
    t = np.minimum(y * n, drawn)
    first = n * (1 - np.exp(-t / n))
    hits = 1 - (first + (drawn - t) * (1 - steady)) / drawn
    return np.asanyarray(hits), np.where(t < drawn, steady, 0.0), np.asanyarray(1 - t / drawn)


def lost_lines(y: Array, spilled: Array) -> tuple[Array, Array]:
    """Return the share of draws of persisting lines that find them neither kept nor among others.

    And the share of those from the far side that find no copy there.

    Parameters
    ----------
    y : array
        How often lines that a set-aside does not keep are drawn while they stay: see `stay`.
    spilled : array
        Share of the persisting lines that find no way of those set aside.

    Notes
    -----
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

    Parameters
    ----------
    table, stream : array
        Bytes of the table, and of L2 that streams take while each of its lines is drawn once.
    capacity, shares, alone
        As for `random_line_hits`.
    others : sequence of OtherTable
        Drawn from beside it, so often for each time that a line of it is.
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

    Parameters
    ----------
    times : array
        How often a line is drawn, on average, while a line that is not used stays.
    shares : Shares
        What of the table takes no lines of its own, and what not even copies.
    alone : array
        Share of it that one SM draws from.

    Notes
    -----
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
    own = np.maximum(copied - shares.kept, 0.0)
    lines = copied * (1 - away) + own * (1 - gone)
    hits = 1 - (away**2 + gone) / 2
    once = 1 - np.exp(-y)
    lines = lines + alone * ((copied / 2 + own) * once - lines)
    return np.asanyarray(lines), np.asanyarray(hits + alone * (once - hits))


def drawn_share(times: Any, places: Any = None) -> Array:
    """Return the share of lines, or of their parts, that draws at random touch.

    Parameters
    ----------
    times : array
        Draws for each of them.
    places : array, optional
        Places in each, where none is drawn twice: a permutation.

    Notes
    -----
    Derived: without a limit to draws of a place, Poisson; else each place is drawn or not.
    """
    if places is None:
        return np.asanyarray(1 - np.exp(-np.asanyarray(times, dtype=float)))
    each = np.maximum(places, 1.0)
    return np.asanyarray(1 - (1 - np.minimum(times / each, 1.0)) ** each)


def pitch_of(requests: Sequence[Requests]) -> Array | None:
    """Return the bytes between places of a table, if none of its loads draws one twice."""
    pitches = [r.pitch for r in requests if r.random]
    known = [p for p in pitches if p is not None]
    return smallest(*known) if known and len(known) == len(pitches) else None


def random_draws(
    requests: Sequence[Requests], members: Sequence[int], granule: float
) -> tuple[Array, Array]:
    """Return how many lines random accesses draw, once a block, and the bytes a miss brings."""
    chosen = [requests[i] for i in members if requests[i].random]
    # What neighbouring blocks read at a time is drawn once.
    alike = [1.0 if r.access.counted is None else r.access.counted.alike for r in chosen]
    lines = [_once(r)[2] / blocks for r, blocks in zip(chosen, alike, strict=True)]
    draws = np.maximum(sum(lines, np.zeros(1)), 1.0)
    parts = (fetched_by(r, granule) * n for r, n in zip(chosen, lines, strict=True))
    wide = sum(parts, np.zeros(1)) / draws
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
    if request.in_blocks is None:
        return request.sectors, request.pairs, request.lines
    seams = np.zeros(3) if request.seams is None else request.seams
    sectors, pairs, lines = (n * (1 - s) for n, s in zip(request.in_blocks, seams, strict=True))
    return sectors, pairs, lines
