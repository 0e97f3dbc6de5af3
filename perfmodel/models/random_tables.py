"""Random tables: lines that reads at random places draw, and what a miss brings of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.models import residency
from perfmodel.models.coalescing import LINE, SECTOR
from perfmodel.models.requests import Requests

Array = npt.NDArray[Any]


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
) -> RandomReads:
    """Return what a launch reads of a table at random places.

    Of `beside`, bytes are read and written in one pass over the table.
    """
    draws, wide = random_draws(requests, members, granule)
    stream = (1.5 * beside[0] + beside[1]) * passes / draws
    hits, steady, full = residency.random_line_hits(size, stream, draws, capacity, float(LINE))
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
