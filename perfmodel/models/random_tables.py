"""Random tables: lines that reads at random places draw, and what a miss brings of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.models import residency
from perfmodel.models.coalescing import LINE, SECTOR
from perfmodel.models.requests import Requests

Array = npt.NDArray[Any]

RANDOM_ROOM: Final = 0.96
"""Share of L2 that lines at random places fill before the oldest leave.

Fitted: DRAM reads of cold gathers, single floats of tables of 16 MiB to 2 GiB and runs of 8 and 32
(measurements/h200-sxm-suite/gather.csv, fit rows), 0.9% rms; 0.95 and 0.97 give 1.0.
"""
_MOST_DRAWN: Final = 40.0


class RandomReads(NamedTuple):
    """What a launch reads of a table at random places.

    Attributes
    ----------
    first, again : array
        Bytes that first reads fetch, and that the others would if all of them missed.
    misses : array
        Share of the others that miss.
    kept : array
        Share of the first reads that need not miss where the same launch ran before, though L2
        cannot hold all of it.
    draws, wide : array
        Lines drawn, and bytes that a miss brings of each.
    """

    first: Array
    again: Array
    misses: Array
    kept: Array
    draws: Array
    wide: Array


def random_reads(
    size: Array,
    beside: tuple[Array, Array],
    passes: Array,
    capacity: float,
    requests: Sequence[Requests],
    members: Sequence[int],
    granule: float,
    part: Array | float = 1.0,
) -> RandomReads:
    """Return what a launch reads of a table at random places.

    Of `beside`, bytes are read and written in one pass over the table. Of a `part` of the lines,
    `size` is that part's.
    """
    draws, wide = random_draws(requests, members, granule)
    draws = np.maximum(draws * part, 1.0)
    stream = (1.5 * beside[0] + beside[1]) * passes / draws
    hits, steady, full = random_line_hits(size, stream, draws, RANDOM_ROOM * capacity, float(LINE))
    parts = residency.ATOM_HITS(h=hits, a=LINE / wide)
    atoms = np.maximum(size / wide, 1.0)
    first = atoms * (1 - np.exp(-draws / atoms))
    # Streams push out what there is room for too, between two draws of the same place: measured,
    # 16 Mi floats of a table of 16 MiB (measurements/h200-gather-runs/kept.csv, session 2).
    between = passes * np.minimum(atoms / draws, 1.0)
    leak = residency.leak(beside[0] * between, beside[1] * between, capacity)
    missed = np.maximum(draws * np.maximum(1 - parts, leak * full), first)
    # Where no line ever leaves, each part of it is fetched once.
    lines = size / LINE
    stays = draws * (1 - hits) <= 1.02 * lines * (1 - np.exp(-draws / lines))
    missed = np.where(stays, first, missed)
    again = np.maximum(draws - first, 1e-9)
    lost = draws * np.maximum(1 - residency.ATOM_HITS(h=steady, a=LINE / wide), leak)
    kept = np.clip((missed - lost) / first, 0.0, 1.0)
    misses = np.clip((missed - first) / again, 0.0, 1.0)
    return RandomReads(first * wide, again * wide, misses, kept, draws, wide)


def random_line_hits(
    table: Any, stream: Any, draws: Any, capacity: float, line: float
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
    capacity, line : float
        Bytes of L2, and of a line.

    Notes
    -----
    Derived: a line is there if it was drawn within the last t draws, and t is such that what
    was drawn and streamed since fills L2 (Che, Tung and Wang's characteristic time).
    """
    n = np.maximum(np.asarray(table, dtype=float) / line, 1.0)
    f, s = n * line, np.asarray(stream, dtype=float)
    low, high = (np.full(np.broadcast(n, s).shape, y) for y in (0.0, _MOST_DRAWN))
    for _ in range(40):
        y = (low + high) / 2
        fits = both_sides(y)[0] * f + s * y * n <= capacity
        low, high = np.where(fits, y, low), np.where(fits, high, y)
    steady = both_sides((low + high) / 2)[1]
    drawn = np.maximum(np.asarray(draws, dtype=float), 1.0)
    # Until t draws have been made nothing leaves.
    t = np.minimum((low + high) / 2 * n, drawn)
    first = n * (1 - np.exp(-t / n))
    hits = 1 - (first + (drawn - t) * (1 - steady)) / drawn
    return np.asarray(hits), np.where(t < drawn, steady, 0.0), np.asarray(1 - t / drawn)


def both_sides(times: Any) -> tuple[Array, Array]:
    """Return the lines of L2 that each line of a random table takes, and the share of hits.

    Parameters
    ----------
    times : array
        How often a line is drawn, on average, while a line that is not used stays.

    Notes
    -----
    Derived: of the draws, Poisson, half come from a line's own side, and it is there if one did; a
    draw from the far side leaves a copy there, which the next ones from there find. Those that do
    not find one go to the line's own side and use it too. So small tables are there twice, and
    lines drawn once take 1.5 on average, whether a miss brings all of one or a sector.
    """
    y = np.asarray(times, dtype=float)
    away = np.exp(-y / 2)
    gone = np.exp(-y / 2 * (1 + away))
    return np.asarray(2 - away - gone), np.asarray(1 - (away**2 + gone) / 2)


def random_draws(
    requests: Sequence[Requests], members: Sequence[int], granule: float
) -> tuple[Array, Array]:
    """Return how many lines random accesses draw, once a block, and the bytes a miss brings."""
    chosen = [requests[i] for i in members if requests[i].random]
    # What neighbouring blocks read at a time is drawn once.
    alike = [1.0 if r.access.counted is None else r.access.counted.alike for r in chosen]
    lines = [
        (r.lines if r.in_blocks is None else r.in_blocks[2]) / blocks
        for r, blocks in zip(chosen, alike, strict=True)
    ]
    draws = np.maximum(sum(lines, np.zeros(1)), 1.0)
    parts = (fetched_by(r, granule) * n for r, n in zip(chosen, lines, strict=True))
    wide = sum(parts, np.zeros(1)) / draws
    return draws, np.maximum(wide, granule)


def fetched_by(request: Requests, granule: float) -> Array:
    """Return the bytes that a miss brings of one line, for an access at random places."""
    if granule >= LINE:
        return np.full(1, float(LINE))
    if request.in_blocks is not None:  # runs that warps of a block share are drawn once
        sectors, pairs, lines = request.in_blocks
    else:
        sectors, pairs, lines = request.sectors, request.pairs, request.lines
    parts = sectors if granule <= SECTOR or pairs is None else pairs
    return np.asarray(parts * max(granule, SECTOR) / np.maximum(lines, 1.0))
