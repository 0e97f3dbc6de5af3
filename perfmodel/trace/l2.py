"""L2: two partitions with a home side for every line, copies of far lines, and DRAM behind.

A read goes to the partition next to its SM. If the line's home is the other one, this partition
keeps a copy of what it has to ask for there, in the same sets as its own lines. So data that SMs
of both sides read is held twice; and a working set that every SM reads alone is held once in the
long run, but each miss fills two lines. Writes to the far side take a line on the near one too, and
go on to the home; atomics go there at once. A line persists at its home only (assumed: on an H100
the set-aside is full when hitRatio x window reaches it).

Lines leave in the order of their last use; but those that were read for the far side leave earlier,
for it has a copy, and dirty ones later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.trace.cache import (
    COPY,
    COUNT,
    PASS,
    PERSISTING,
    READ,
    SECTOR,
    STREAMING,
    WRITE,
    CacheShape,
    CacheState,
    Engine,
    Outcome,
    Policy,
    Touches,
    access,
    empty,
    place,
    uses_numba,
)

Array = npt.NDArray[Any]

UNDER_WAY: Final = 256
"""Line accesses of an SM that are under way at a time, 64 warps of 4 lines each (assumed)."""
EPOCH: Final = 132 * UNDER_WAY
"""Line accesses under way at a time: forwarded ones reach their home after all of these have
reached the near side. As many as the SMs of an H100 have."""

WAYS: Final = 16
DIRTY_SHARE: Final = 0.469
"""Most of L2 that dirty lines take before some are written back: 29.5 MB of 62.9 MB on an H200,
what the profiler itself left dirty included (fitted: measurements/h200-sxm/streams.csv)."""
RUN_SHARE: Final = 0.97
"""Neighbouring lines that are spread over sets without collisions, as a share of all sets (fitted:
measurements/h200-sxm/working-set.csv, with `FAR_AGE`; 0.93 and 1.0 fit as well)."""
FAR_AGE: Final = 0.25
"""How much older than its last use a line is taken to be that was read for the far side, which now
has a copy; as accesses, over the lines of L2 (fitted: re-reading 28 to 64 MiB on an H200 misses as
measured within 0.02 rms; measurements/h200-sxm/working-set.csv)."""
DIRTY_AGE: Final = 0.25
"""How much later than its last use a dirty line is taken to be used; in the same unit (fitted: the
rows marked fit, without windows, of measurements/h200-sxm-suite/data-reset.csv and its knee)."""


@dataclass(frozen=True, slots=True)
class L2Shape:
    """An L2.

    Attributes
    ----------
    cache : CacheShape
        Of both partitions together.
    partitions : int
    run : int
        Lines that lie in different sets for sure; a hash decides where the next ones start. 0 is
        no hashing: line modulo sets.
    epoch : int
        Accesses under way at a time.
    far_age : int
        `FAR_AGE` by the stamps of accesses.
    """

    cache: CacheShape
    partitions: int = 1
    run: int = 0
    epoch: int = EPOCH
    far_age: int = 0


def l2_shape(
    size: int,
    partitions: int,
    *,
    set_aside: int = 0,
    fetch_granularity: int = 64,
    policy: Policy = "lru",
    ways: int = WAYS,
    epoch: int = EPOCH,
    one_in: int = 1,
) -> L2Shape:
    """Return the L2 of a device.

    Parameters
    ----------
    size : int
        Capacity [B].
    partitions : int
    set_aside : int
        Capacity kept for persisting lines [B].
    fetch_granularity : int
        Least that a miss reads from DRAM [B].
    policy : {"lru", "fifo", "random", "nru"}
    ways : int
    epoch : int
        Accesses under way at a time.
    one_in : int
        Accesses that come are those to one of so many sets: time goes as much faster.
    """
    sets = max(1, size // (128 * ways * partitions)) * partitions
    # Two ticks an access: the near side's, and the far side's.
    ticks = 2 * sets * ways / one_in
    cache = CacheShape(
        sets=sets,
        ways=ways,
        policy=policy,
        fetch_sectors=fetch_granularity // SECTOR,
        dirty_ways=DIRTY_SHARE * ways,
        persisting_ways=ways * set_aside / size,
        dirty_age=int(DIRTY_AGE * ticks) if policy == "lru" else 0,
    )
    run = max(1, int(sets * RUN_SHARE))
    return L2Shape(cache, partitions, run, epoch, int(FAR_AGE * ticks))


class Lookups(NamedTuple):
    """Accesses to L2 in their order, one line each; arrays of one length.

    Attributes
    ----------
    line, sectors, words, kind, rank : array
        As in `perfmodel.trace.cache.Touches`.
    side : array
        Partition next to the SM.
    """

    line: Array
    sectors: Array
    words: Array
    kind: Array
    rank: Array
    side: Array


class Answers(NamedTuple):
    """What became of them; arrays of their length, masks of sectors.

    Attributes
    ----------
    near : array
        Sectors that the first partition asked had.
    missed : array
        Sectors that had to wait for DRAM.
    fetched : array
        Sectors that were read from DRAM.
    """

    near: Array
    missed: Array
    fetched: Array


class Written(NamedTuple):
    """Lines written back; the sectors written, and those that had to be read first."""

    line: Array
    sectors: Array
    partial: Array


class L2:
    """An L2 and its contents.

    Parameters
    ----------
    shape : L2Shape
    engine : {"auto", "numpy", "numba"}
    """

    def __init__(self, shape: L2Shape, engine: Engine = "auto") -> None:
        self.shape = shape
        self.engine: Engine = engine
        self.state: CacheState = empty(shape.cache)
        self._time = 1 + shape.far_age

    def sets_of(self, line: Array) -> Array:
        """Return the set of lines in any partition."""
        return place(line, self.shape.cache.sets, self.shape.run) // self.shape.partitions

    def epoch(self, asked: Lookups) -> tuple[Answers, Written]:
        """Run the accesses that are under way together; those for the far side come last."""
        shape, n = self.shape, len(asked.line)
        near_rows, far_rows = _steps(self.engine)
        stamp = self._time + np.arange(n)
        self._time += 2 * n
        rules = (shape.cache.sets, shape.partitions, shape.run)
        row, home_row, kind, rank = near_rows(*rules, *asked)
        first = self._touch(asked, row, asked.sectors, kind, rank, stamp)
        far_row, onward, early, near, missed, fetched = far_rows(
            row, home_row, kind, asked.sectors, first.hit, first.fetched
        )
        outcomes = [first]
        if shape.partitions > 1:
            stamp += n - np.where(early, shape.far_age, 0)
            second = self._touch(asked, far_row, onward, asked.kind, asked.rank, stamp)
            outcomes.append(second)
            missed |= onward & ~second.hit
            fetched |= second.fetched
        return Answers(near, missed, fetched), _written(outcomes)

    def _touch(
        self, asked: Lookups, row: Array, sectors: Array, kind: Array, rank: Array, stamp: Array
    ) -> Outcome:
        touches = Touches(row, asked.line, sectors, asked.words, kind, rank, stamp)
        return access(self.shape.cache, self.state, touches, self.engine)


def dirty_sectors(state: CacheState) -> int:
    """Return the sectors that have not been written to DRAM yet."""
    return int(COUNT[state.dirty].sum())


def near_rows(
    sets: int,
    parts: int,
    run: int,
    line: Array,
    sectors: Array,
    words: Array,
    kind: Array,
    rank: Array,
    side: Array,
) -> tuple[Array, Array, Array, Array]:
    """Return the first set of each access (-1: none), its set at home, and kind and rank there.

    Parameters
    ----------
    sets, parts, run : int
        Sets of all partitions, partitions, and run of an `L2Shape`.
    line, sectors, words, kind, rank, side : array
        Those of `Lookups`.
    """
    where = place(line, sets, run)
    home, where = where % parts, where // parts
    home_row = home * (sets // parts) + where
    row = side * (sets // parts) + where
    far = home != side
    copies, passes = far & (kind == READ), far & (kind == WRITE)
    row = np.where(copies | passes | ~far, row, -1)
    near_kind = np.where(copies, COPY, np.where(passes, PASS, kind)).astype(np.uint8)
    # A line persists at home: its copies would take room of the set-aside again.
    near_rank = np.where((copies | passes) & (rank == PERSISTING), STREAMING, rank)
    return row, home_row, near_kind, near_rank.astype(np.uint8)


def far_rows(
    row: Array, home_row: Array, kind: Array, sectors: Array, hit: Array, fetched: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return what goes on, and what the first set answered.

    Parameters
    ----------
    row, home_row, kind : array
        Those of `near_rows`.
    sectors, hit, fetched : array
        Asked, there and brought in at the first set.

    Returns
    -------
    tuple of array
        Sets at home (-1: nothing goes there), sectors for them, whether it is a read that leaves a
        copy; then `Answers` without what home adds.
    """
    here = (row >= 0) & (kind != PASS)
    copies = here & (kind == COPY)
    served = here & ~copies
    left = sectors & ~hit
    onward = np.where(copies, left, np.where(here, np.uint8(0), sectors))
    near, missed, brought = (
        np.where(mask, values, np.uint8(0))
        for mask, values in ((here, hit), (served, left), (served, fetched))
    )
    return np.where(onward > 0, home_row, -1), onward, copies & (left > 0), near, missed, brought


def _steps(engine: Engine) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return `near_rows` and `far_rows` of an engine."""
    if uses_numba(engine):
        from perfmodel.trace import l2_loop

        return l2_loop.near_rows, l2_loop.far_rows
    return near_rows, far_rows


def _written(outcomes: list[Outcome]) -> Written:
    line = np.concatenate([part for o in outcomes for part in (o.victim, o.cleaned)])
    sectors = np.concatenate([part for o in outcomes for part in (o.written, o.clean_written)])
    partial = np.concatenate([part for o in outcomes for part in (o.partial, o.clean_partial)])
    some = np.flatnonzero(sectors)
    return Written(line[some], sectors[some], partial[some])
