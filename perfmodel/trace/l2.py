"""L2: two partitions with a home side for every line, copies of far lines, and DRAM behind.

A read goes to the partition next to its SM. If the line's home is the other one, this partition
keeps a copy of what it has to ask for there, in the same sets as its own lines. So data that SMs
of both sides read is held twice; and a working set that every SM reads alone is held once in the
long run, but each miss fills two lines. Writes to the far side take a line on the near one too, and
go on to the home; atomics go there at once. A line persists at its home only (assumed: on an H100
the set-aside is full when hitRatio x window reaches it).

Lines leave in the order of their last use; but those that were read for the far side leave earlier,
for it has a copy, and dirty ones later, the more stores are under way. Sets of 28 to 64 MiB that an
H200 reads again miss as measured within 0.010 rms so; in the order in which they came 0.019, those
not recently used first 0.039, by chance 0.34
(measurements/suite/h200-sxm/foundation/working-set.csv, every fourth).
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.trace.cache import (
    ATOMIC,
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
    Touches,
    access,
    empty,
    place,
    uses_numba,
)

UNDER_WAY: Final = 256
"""Line accesses of an SM that are under way at a time, 64 warps of 4 lines each (assumed)."""
EPOCH: Final = 132 * UNDER_WAY
"""Line accesses under way at a time: forwarded ones reach their home after all of these have
reached the near side. As many as the SMs of an H100 have."""

WAYS: Final = 16
DIRTY_SHARE: Final = 0.469
"""Most of L2 that dirty lines take before some are written back: 29.5 MB of 62.9 MB on an H200,
what the profiler itself left dirty included (fitted:
measurements/suite/h200-sxm/foundation/streams.csv)."""
RUN_SHARE: Final = 0.97
"""Neighbouring lines that are spread over sets without collisions, as a share of all sets (fitted:
measurements/suite/h200-sxm/foundation/working-set.csv, with `FAR_AGE`; 0.93 and 1.0 fit as
well)."""
FAR_AGE: Final = 0.25
"""How much older than its last use a line is taken to be that was read for the far side, which now
has a copy; as accesses, over the lines of L2 (fitted: re-reading 28 to 64 MiB on an H200 misses as
measured within 0.02 rms; measurements/suite/h200-sxm/foundation/working-set.csv)."""
DIRTY_AGE: Final = 3.6
"""How much later than its last use a dirty line is taken to be used, as bytes over those of stores
under way: DRAM falls behind, and lines wait in L2 (fitted: the rows marked fit, without windows, of
measurements/suite/h200-sxm/sweeps/data-reset.csv and its knee; that what counts is the bytes under
way, not the width of lanes or the blocks on an SM: measurements/l2/h200-sxm/stores)."""
DIRTY_AGE_MOST: Final = 0.25
"""Most that this is, over L2: with twice and four times the stores of an H200's SMs full of threads
that store 16 B, tables are read no more often (measurements/l2/h200-sxm/stores, rows for
validation)."""


@dataclass(frozen=True, slots=True)
class L2Shape:
    """An L2."""

    cache: CacheShape  # of both partitions together
    partitions: int = 1
    # Lines that lie in different sets for sure; a hash decides where the next ones start. 0 is no
    # hashing: line modulo sets.
    run: int = 0
    epoch: int = EPOCH  # accesses under way at a time
    far_age: int = 0  # `FAR_AGE` by the stamps of accesses


def l2_shape(
    size: int,
    partitions: int,
    *,
    set_aside: int = 0,
    fetch_granularity: int = 64,
    ways: int = WAYS,
    epoch: int = EPOCH,
    one_in: int = 1,
    stores_under_way: float = 0.0,
) -> L2Shape:
    """Return the L2 of a device.

    `size`: capacity [B]. `set_aside`: capacity kept for persisting lines [B]. `fetch_granularity`:
    least that a miss reads from DRAM [B]. `epoch`: accesses under way at a time. `one_in`: accesses
    that come are those to one of so many sets: time goes as much faster. `stores_under_way`: bytes
    that warps store at a time.
    """
    sets = max(1, size // (128 * ways * partitions)) * partitions
    # Two ticks an access: the near side's, and the far side's.
    ticks = 2 * sets * ways / one_in
    cache = CacheShape(
        sets=sets,
        ways=ways,
        fetch_sectors=fetch_granularity // SECTOR,
        dirty_ways=DIRTY_SHARE * ways,
        persisting_ways=ways * set_aside / size,
        dirty_age=int(min(DIRTY_AGE_MOST, DIRTY_AGE * stores_under_way / size) * ticks),
    )
    run = max(1, int(sets * RUN_SHARE))
    return L2Shape(cache, partitions, run, max(1, epoch // one_in), int(FAR_AGE * ticks))


class Lookups(NamedTuple):
    """Accesses to L2 in their order, one line each; arrays of one length."""

    # As in `perfmodel.trace.cache.Touches`.
    line: Array
    sectors: Array
    words: Array
    kind: Array
    rank: Array
    side: Array  # partition next to the SM


class Answers(NamedTuple):
    """What became of them; arrays of their length, masks of sectors."""

    near: Array  # sectors that the first partition asked had
    missed: Array  # sectors that had to wait for DRAM
    fetched: Array  # sectors that were read from DRAM


class Written(NamedTuple):
    """Lines written back; the sectors written, and those that had to be read first."""

    line: Array
    sectors: Array
    partial: Array


class L2:
    """An L2 and its contents."""

    def __init__(self, shape: L2Shape, engine: Engine = "auto") -> None:
        self.shape = shape
        self.engine: Engine = engine
        self.state: CacheState = empty(shape.cache)
        self._time = 1 + shape.far_age

    def sets_of(self, line: Array) -> Array:
        """Return the set of lines in any partition."""
        return place(line, self.shape.cache.sets, self.shape.run) // self.shape.partitions

    def run(self, asked: Lookups) -> tuple[Answers, Written]:
        """Run accesses, so many at a time as are under way together."""
        began, n = self._time, len(asked.line)
        self._time += 2 * n
        if uses_numba(self.engine):
            from perfmodel.trace.l2_groups import run

            return run(self.shape, self.state, asked, began)
        epoch = self.shape.epoch
        parts = [
            self._epoch(Lookups(*(column[first : first + epoch] for column in asked)), first, began)
            for first in range(0, n, epoch)
        ]
        answers, written = (
            [np.concatenate(columns) for columns in zip(*each, strict=True)]
            for each in zip(*parts, strict=True)
        )
        return Answers(*answers), Written(*written)

    def _epoch(self, asked: Lookups, before: int, began: int) -> tuple[Answers, Written]:
        """Run the accesses that are under way together; those for the far side come last."""
        shape, kind, n = self.shape, asked.kind, len(asked.line)
        stamp = began + 2 * before + np.arange(n)
        anywhere = place(asked.line, shape.cache.sets, shape.run)
        where = anywhere // shape.partitions
        home = anywhere - where * shape.partitions
        each = shape.cache.sets // shape.partitions
        far = home != asked.side
        copies, passes = far & (kind == READ), far & (kind == WRITE)
        # Atomics for the far side touch nothing here; reads and writes take a line, which never
        # persists: copies would take room of the set-aside again.
        row = np.where(far & (kind == ATOMIC), -1, asked.side.astype(np.int64) * each + where)
        near_kind, rank = kind, asked.rank
        if shape.partitions > 1:
            near_kind = np.where(copies, COPY, np.where(passes, PASS, kind)).astype(np.uint8)
            rank = np.where(far & (rank == PERSISTING), STREAMING, rank).astype(np.uint8)
        first = self._touch(asked, row, asked.sectors, near_kind, rank, stamp)
        left = asked.sectors & ~first.hit
        if shape.partitions == 1:
            return Answers(first.hit, left, first.fetched), _written([first])
        onward = left * far
        row = np.where(onward > 0, home * each + where, -1)
        stamp += n - np.where(copies, shape.far_age, 0)
        second = self._touch(asked, row, onward, kind, asked.rank, stamp)
        missed = np.where(far, onward & ~second.hit, left)
        fetched = np.where(far, second.fetched, first.fetched)
        return Answers(first.hit, missed, fetched), _written([first, second])

    def _touch(
        self, asked: Lookups, row: Array, sectors: Array, kind: Array, rank: Array, stamp: Array
    ) -> Outcome:
        touches = Touches(row, asked.line, sectors, asked.words, kind, rank, stamp)
        return access(self.shape.cache, self.state, touches, "numpy")


def dirty_sectors(state: CacheState) -> int:
    """Return the sectors that have not been written to DRAM yet."""
    return int(COUNT[state.dirty].sum())


def _written(outcomes: list[Outcome]) -> Written:
    line = np.concatenate([part for o in outcomes for part in (o.victim, o.cleaned)])
    sectors = np.concatenate([part for o in outcomes for part in (o.written, o.clean_written)])
    partial = np.concatenate([part for o in outcomes for part in (o.partial, o.clean_partial)])
    some = np.flatnonzero(sectors)
    return Written(line[some], sectors[some], partial[some])
