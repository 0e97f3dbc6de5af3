"""A sectored set-associative cache: its shape, its state, and where lines go.

L1 and L2 are both made of it. What an access does to a set is written twice, with equal results:
`perfmodel.trace.cache_rounds` with NumPy, all sets at a time, and `perfmodel.trace.cache_loop` one
access after the other, which numba compiles.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from perfmodel.arrays import Array

Engine = Literal["auto", "numpy", "numba"]

SECTOR: Final = 32
"""Bytes of a sector."""
LINE: Final = 128
"""Bytes of a line: four sectors under one tag."""
WORD: Final = 4
"""Bytes of a word, in which partly written sectors are tracked."""

READ, WRITE, ATOMIC, COPY, PASS = 0, 1, 2, 3, 4
"""What an access does; COPY reads a line whose home is another cache, sector by sector, and PASS
takes a line here for a write that goes on to its home."""
STREAMING, NORMAL, PERSISTING = 0, 1, 2
"""How hard a line is to replace."""

CLASS_SHIFT: Final = 50
"""A line's rank for replacement is its property above this bit, and its age below."""

COUNT: Final = np.array([bin(mask).count("1") for mask in range(16)], dtype=np.uint8)
"""Sectors of a mask of four."""


class Touches(NamedTuple):
    """Accesses to a cache in their order, one line each; arrays of one length."""

    row: Array  # set
    line: Array  # byte address // 128
    sectors: Array  # which of the line's sectors are asked for, a bit each
    words: Array  # which 4 B words a write fills, a bit each
    kind: Array  # READ, WRITE, ATOMIC, COPY or PASS
    rank: Array  # STREAMING, NORMAL or PERSISTING
    stamp: Array  # time; increases from access to access over the life of the cache


class Outcome(NamedTuple):
    """What the accesses met and did; arrays of their length."""

    # Asked sectors that were there; sectors brought in.
    hit: Array
    fetched: Array
    victim: Array  # line that was replaced, -1 if none
    # Its sectors that went to DRAM; those of them that were written in part and had to be read.
    written: Array
    partial: Array
    # The same of a line that was written back but stays, for want of room for dirty lines.
    cleaned: Array
    clean_written: Array
    clean_partial: Array


@dataclass(frozen=True, slots=True)
class CacheShape:
    """Size and rules of a cache."""

    sets: int
    ways: int
    fetch_sectors: int = 1  # aligned sectors that a miss brings in together: 1, 2 or 4
    dirty_ways: float = float("inf")  # most dirty lines a set, as a mean over sets
    # Persisting lines that a set keeps from others, rounded up; with one more, the oldest of them
    # becomes a normal line (an H200 with 16 MiB persisting in 8 MiB set aside hits as if nothing
    # were: read-persistent.csv).
    persisting_ways: float = 0.0
    # How much later than its last use a dirty line is taken to be used, by the accesses' stamps.
    dirty_age: int = 0
    # Whether the line that leaves is the one used longest ago, or else the oldest.
    renewed: bool = True


COLUMNS, LIMITS = 3, 4


class CacheState(NamedTuple):
    """Contents of a cache, changed in place: [set, way], and counts and limits by set.

    All are parts of one table, whose rows are sets, so that a set's are neighbours in memory.
    """

    table: Array  # int64, shape (sets, 3 * ways + 4)
    line: Array
    rank: Array
    valid: Array
    dirty: Array
    words: Array
    dirty_lines: Array
    dirty_most: Array
    persisting: Array
    persisting_most: Array


def empty(shape: CacheShape) -> CacheState:
    """Return an empty cache."""
    ways = shape.ways
    table = np.zeros((shape.sets, COLUMNS * ways + LIMITS), dtype=np.int64)
    state = _state(table, ways)
    state.line[:] = -1
    state.dirty_most[:] = _shared_out(shape, shape.dirty_ways)
    state.persisting_most[:] = _whole_ways(shape, shape.persisting_ways)
    return state


def _state(table: Array, ways: int) -> CacheState:
    line, rank = (table[:, k * ways : (k + 1) * ways] for k in range(2))
    # Of a way's last 8 bytes: valid and dirty sectors a byte each, and 4 of filled words.
    by_byte = table.view("<u1")[:, 2 * ways * 8 : 3 * ways * 8]
    words = table.view("<u4")[:, 2 * ways * 2 + 1 : 3 * ways * 2 : 2]
    limits = (table[:, COLUMNS * ways + k] for k in range(LIMITS))
    return CacheState(table, line, rank, by_byte[:, ::8], by_byte[:, 1::8], words, *limits)


def mixed(x: Any) -> Any:
    """Return well-mixed 64-bit numbers, the same on any machine (the finaliser of SplitMix64)."""
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def mix(values: Array) -> Array:
    """Return the same of integers of any kind."""
    return np.asarray(mixed(np.asarray(values).astype(np.uint64)))


def draw(stamp: Any, other: Any) -> Any:
    """Return what stands for chance in a set: a number of a time and of a line or set."""
    x = (other * 2654435761 + stamp * 40503) & 0x7FFFFFFFFFFF
    x = ((x ^ x >> 17) * 1103515245) & 0x7FFFFFFFFFFF
    return x ^ x >> 19


def place(line: Array, sets: int, run: int) -> Array:
    """Return the set of lines.

    `run`: neighbouring lines, at most `sets`, that lie in neighbouring sets; a hash decides where
    the next run starts. 0 is no hashing: line modulo sets.
    """
    if not run:
        return line % sets
    stretch = line // run
    start = (mix(stretch) % np.uint64(sets)).astype(np.int64)
    found = line - stretch * run + start
    return np.asarray(found - np.where(found >= sets, sets, 0))


def access(
    shape: CacheShape, state: CacheState, touches: Touches, engine: Engine = "auto"
) -> Outcome:
    """Run accesses through a cache.

    `shape` and `state`: the cache; its state changes. `touches`: the accesses in order; those whose
    set is negative do nothing. `engine`: who counts; the counts are equal. "auto" is numba if it is
    installed.
    """
    n = len(touches.line)
    outcome = Outcome(
        *(
            np.full(n, -1, np.int64) if name in ("victim", "cleaned") else np.zeros(n, np.uint8)
            for name in Outcome._fields
        )
    )
    rules = (shape.renewed, shape.fetch_sectors, shape.dirty_age)
    if not uses_numba(engine):
        from perfmodel.trace.cache_rounds import run as run_rounds

        run_rounds(rules, state, touches, outcome)
        return outcome
    from perfmodel.trace.cache_loop import run

    gone = np.empty((2 * n, 3), np.int64)
    # Plain tuples: numba knows their types sooner.
    some = run(rules, state.table, tuple(touches), tuple(outcome[:3]), gone, n)
    line, masks, number = gone[:some].T
    for replaced, into in ((True, outcome[3:5]), (False, outcome[6:8])):
        which = (number >= 0) == replaced
        at = np.where(number < 0, ~number, number)[which]
        into[0][at], into[1][at] = masks[which] & 15, masks[which] >> 4
        if not replaced:
            outcome.cleaned[at] = line[which]
    return outcome


def room(n: int) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Return room for touches and outcomes of compiled loops, of their first three columns."""
    kinds = (np.int64, np.int64, np.uint8, np.uint32, np.uint8, np.uint8, np.int64)
    touches = tuple(np.zeros(n, kind) for kind in kinds)
    return touches, tuple(np.empty(n, kind) for kind in (np.uint8, np.uint8, np.int64))


def memo() -> Array:
    """Return what compiled loops remember of where runs of lines start."""
    return np.full((256, 2), -1, np.int64)


@cache
def has_numba() -> bool:
    """Say whether numba is installed."""
    from importlib.util import find_spec

    return find_spec("numba") is not None


def uses_numba(engine: Engine) -> bool:
    """Say whether compiled loops do the work."""
    return engine == "numba" or (engine == "auto" and has_numba())


def _whole_ways(shape: CacheShape, mean: float) -> Array:
    """Return the ways that a set keeps for persisting lines: whole ones, so rather more than less.

    On an H200 a table as large as the set-aside stays whole (read-persistent.csv, 8 MiB).
    """
    return np.full(shape.sets, min(shape.ways, math.ceil(mean)), dtype=np.int16)


def _shared_out(shape: CacheShape, mean: float) -> Array:
    """Return whole ways for each set so that their mean is as asked."""
    mean = min(mean, float(shape.ways))
    # Every set's fraction of a way is decided by its number alone, evenly.
    extra = np.diff(np.floor(np.arange(shape.sets + 1) * (mean - int(mean))))
    return np.asarray(int(mean) + extra, dtype=np.int16)
