"""One launch on its way through the caches, a batch of iterations at a time."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.instance import Instance
from perfmodel.trace.addresses import Generator, Requests, Wave, sms_of
from perfmodel.trace.batch import Waiting, ask, instructions, left_over
from perfmodel.trace.cache import ATOMIC, COUNT, READ, SECTOR, WRITE, Engine, uses_numba
from perfmodel.trace.counts import (
    ACCESS_FIELDS,
    BUFFER_FIELDS,
    ELSEWHERE,
    SERIES,
    SERIES_FIELDS,
    AccessCount,
    BufferCount,
    Simulation,
    Sums,
)
from perfmodel.trace.l1 import L1
from perfmodel.trace.l2 import Answers, Lookups, Written, dirty_sectors
from perfmodel.trace.layout import Layout, ranks
from perfmodel.trace.program import Batch, Body, batches, executions, program
from perfmodel.trace.sampling import (
    FILLS,
    LEAST,
    WINDOWS,
    SetSample,
    estimate,
    relative_error,
    windows,
)
from perfmodel.trace.threads import in_threads, shares

if TYPE_CHECKING:
    from perfmodel.trace.simulate import Simulator


class Met(NamedTuple):
    """Sectors, as sums of int64."""

    by_access: Array  # that the near side had, that waited for DRAM, that were read; (accesses, 3)
    over_time: Array  # that hit, by point of the series
    # Read for accesses, written back, and read to complete partly written ones; one row more than
    # there are buffers: (buffers + 1, 3).
    by_buffer: Array


def met(
    asked: Waiting,
    answers: Answers,
    written: Written,
    accesses: int,
    layout: Layout,
    engine: Engine,
) -> Met:
    """Return what accesses of a launch met in L2."""
    if not uses_numba(engine):
        return _met(asked, answers, written, accesses, layout)
    from perfmodel.trace.l2_loop import tally_answers, tally_written

    columns = (asked.line, asked.sectors, asked.access, asked.when)
    spans = layout.spans()

    def answered(low: int, high: int) -> Met:
        sums = _zeros(accesses, len(spans))
        some = slice(low, high)
        tally_answers(
            tuple(c[some] for c in columns), tuple(c[some] for c in answers), spans, tuple(sums)
        )
        return sums

    parts = in_threads(answered, shares(len(asked.line), len(asked.line)))
    found = Met(*(sum(each) for each in zip(*parts, strict=True)))
    tally_written(tuple(written), spans, found.by_buffer)
    return found


def _met(asked: Waiting, answers: Answers, written: Written, accesses: int, layout: Layout) -> Met:
    found = _zeros(accesses, len(layout.names))

    def add(sums: Array, row: Array, masks: Array) -> None:
        # Weights are summed as floats, exactly: they are small integers.
        sums += np.bincount(row, COUNT[masks], len(sums)).astype(np.int64)

    for column, masks in enumerate(answers):
        add(found.by_access[:, column], asked.access, masks)
    add(found.over_time, asked.when, asked.sectors & ~answers.missed)
    add(found.by_buffer[:, 0], layout.owner(asked.line), answers.fetched)
    owner = layout.owner(written.line)
    add(found.by_buffer[:, 1], owner, written.sectors)
    add(found.by_buffer[:, 2], owner, written.partial)
    return found


def _zeros(accesses: int, buffers: int) -> Met:
    shapes = (accesses, 3), (SERIES,), (buffers + 1, 3)
    return Met(*(np.zeros(shape, np.int64) for shape in shapes))


Progress = Callable[[float], None]

_EPOCHS: Final = 16
"""Epochs of L2 that are run together, so that a group of its sets has many accesses."""

# What a batch of a small grid may hold.
_MOST_ITERATIONS: Final = 1024
_L2_SECTORS: Final = ACCESS_FIELDS.index("l2_sectors")
_L2_MET: Final = [
    ACCESS_FIELDS.index(f) for f in ("l2_near_sectors", "l2_missed_sectors", "dram_read_sectors")
]
_KINDS: Final = {"load": READ, "store": WRITE, "atomic": ATOMIC}


@dataclass(frozen=True, slots=True)
class Residency:
    """What an SM holds of a launch."""

    blocks_per_sm: int  # blocks at a time
    l1_bytes: int  # what shared memory leaves of L1 [B]


class Run:
    """One launch on its way through the caches."""

    def __init__(
        self, owner: "Simulator", instance: Instance, residency: Residency, layout: Layout
    ) -> None:
        self.owner = owner
        self.instance = instance
        self.layout = layout
        self.generator = Generator(instance, layout, owner.engine)
        self.program = program(instance)
        self.slots = owner.device.sm_count * max(1, residency.blocks_per_sm)
        kernel = instance.kernel
        self.lines = max(map(self.generator.most_lines, range(len(kernel.accesses))))
        self.loads = np.array([a.kind == "load" for a in kernel.accesses])
        self.cached = np.array([a.kind == "load" and a.cache == "l1" for a in kernel.accesses])
        self.kinds = np.array([_KINDS[a.kind] for a in kernel.accesses], dtype=np.uint8)
        self.by_access = Sums(ACCESS_FIELDS, len(kernel.accesses))
        self.by_buffer = Sums(BUFFER_FIELDS, len(layout.names) + 1)
        self.over_time = Sums(SERIES_FIELDS, SERIES)
        self.l1 = L1(owner.device.sm_count, residency.l1_bytes, owner.engine)
        self.steps = max(1, executions(self.program) * self.generator.total_blocks)
        self.done = 0
        self.sets = SetSample(owner.sets)
        self.waiting: list[Waiting] = []
        self.queued = 0

    def all(self, share: float, progress: Progress | None) -> Simulation:
        """Run the launch, or a sample of it, and add up."""
        began = time.perf_counter()
        self.progress = progress
        parts: list[tuple[Array, ...]] = []
        weights: tuple[float, ...] = (1.0,)
        error, counted, interrupted = None, 1.0, False
        self.since = self._sums()
        try:
            waves = self.generator.total_blocks / self.slots
            trips = _outer_trips(self.program)
            by_wave = waves >= LEAST
            total = waves if by_wave else float(trips)
            if share >= 1 or total < LEAST:
                self._visit(by_wave, None)
                parts.append(self._count())
            else:
                start, filled = self._start(by_wave, total, share)
                parts.append(self._count())
                ran, counted = 0, start / total
                rest, scale = windows(start, total, share)
                weights += scale
                for window in rest:
                    self._visit(by_wave, slice(window.first, window.last))
                    change = self._count()
                    ran += window.last - window.first
                    if window.counted:
                        parts.append(change)
                        counted += (window.last - window.first) / total
                counted = min(1.0, counted)
                error = None if counted == 1 else self._error(parts, weights, filled)
        except KeyboardInterrupt:
            interrupted = True
            parts.append(self._count())
            weights += (1.0,) * (len(parts) - len(weights))
            counted = self.done / self.steps
        took = time.perf_counter() - began
        sums = [
            estimate(np.stack(each), weights[: len(parts)]) for each in zip(*parts, strict=True)
        ]
        return self._result(sums, counted, error, interrupted, took)

    def stores_under_way(self) -> float:
        """Return the bytes that threads on the GPU store if each makes its widest store."""
        blocks = min(self.slots, self.generator.total_blocks)
        widest = max(
            (p.width for p, k in zip(self.generator.plans, self.kinds, strict=True) if k == WRITE),
            default=0,
        )
        return float(blocks * int(self.generator.inside.sum()) * widest)

    def _sums(self) -> tuple[Array, ...]:
        return tuple(t.sums.copy() for t in (self.by_access, self.by_buffer, self.over_time))

    def _count(self) -> tuple[Array, ...]:
        """Return what was counted since the last time: by access, by buffer and over time."""
        self._drain(everything=True)
        before, self.since = self.since, self._sums()
        return tuple(a - b for a, b in zip(self.since, before, strict=True))

    def _start(self, by_wave: bool, total: float, share: float) -> tuple[int, bool]:
        """Run until L2 is in a steady state; return how far that is, and whether it is."""
        most = math.ceil(min(1.0, 4 * share) * total)
        step = max(1, int(share * total / (2 * WINDOWS)))
        enough = FILLS * self.owner.device.l2_size / SECTOR
        end = 0
        while end < most:
            self._visit(by_wave, slice(end, min(end + step, most)))
            end = min(end + step, most)
            self._drain(everything=True)
            stored = self.by_access.sums[~self.loads, _L2_SECTORS].sum()
            if int(stored + self.by_buffer.sums[:, 0].sum()) >= enough:
                return end, True
        return end, False

    def _error(
        self, parts: list[tuple[Array, ...]], weights: tuple[float, ...], filled: bool
    ) -> float:
        dram = np.array([part[1][:, :2].sum() for part in parts], dtype=float)
        asked = np.array([part[0][:, _L2_SECTORS].sum() for part in parts], dtype=float)
        error = relative_error((dram, asked), weights)
        moved = float(np.dot(dram, weights))
        # Before L2 is full it is not known how much of the stores is left in it at the end.
        stored = np.array([part[0][~self.loads, _L2_SECTORS].sum() for part in parts], dtype=float)
        left = min(float(np.dot(stored, weights)), self.owner.device.l2_size / SECTOR)
        return float(error if filled else error + left / max(moved, left, 1.0))

    def _visit(self, by_wave: bool, part: slice | None) -> None:
        """Run some waves of the nominal order, or some of the outermost iterations; or all."""
        waves: Iterable[Wave] = self.generator.waves(self.slots)
        if by_wave and part is not None:
            ends = range(part.start * self.slots, part.stop * self.slots + 1, self.slots)
            blocks = np.arange(self.generator.total_blocks)
            waves = (self.generator.wave(blocks[a:b]) for a, b in pairwise(ends))
        for wave in waves:
            size = len(wave.blocks) * self.generator.warps * self.lines
            most = min(_MOST_ITERATIONS, max(1, self.owner.batch // size))
            for batch in batches(self.program, most, None if by_wave else part):
                self._batch(wave, batch)
                if self.progress:
                    self.progress(min(1.0, self.done / self.steps))

    def _batch(self, wave: Wave, batch: Batch) -> None:
        """Coalesce all accesses of a batch, and run them through L1 in their order."""
        owner, device = self.owner, self.owner.device
        asked, by_leaf = ask(self.generator, wave, batch)
        access = np.array([position for position, _ in instructions(self.generator, batch)])
        for (position, piece), parts in zip(
            instructions(self.generator, batch), by_leaf, strict=True
        ):
            self._count_requests(position, piece, parts)
        sm = sms_of(wave.blocks, device.sm_count, self.slots, owner.seed)
        hits = self.l1.run(asked, self.cached[access], sm).sum(axis=2)
        sums = asked.sums.sum(axis=2)
        per_step = len(batch.accesses) * len(wave.blocks)
        steps = self.done + np.arange(batch.iterations) * per_step
        when = np.minimum(steps * SERIES // self.steps, SERIES - 1)
        self.done += batch.iterations * per_step
        self.by_access.add("l1_hit_sectors", access, hits.sum(axis=0))
        self.by_access.add("l2_sectors", access, (sums - hits).sum(axis=0))
        self.over_time.add("l1_sectors", when, sums[:, self.loads[access]].sum(axis=1))
        self.over_time.add("l1_hits", when, hits.sum(axis=1))
        self.over_time.add("l2_sectors", when, (sums - hits).sum(axis=1))
        self._to_l2(left_over(asked, owner.sides[sm], access, when, owner.engine))

    def _to_l2(self, left: Waiting) -> None:
        """Queue what L1 has left."""
        if self.sets.one_in > 1:
            left = left.at(self.sets.chosen(self.owner.l2, left.line))
        self.waiting.append(left)
        self.queued += len(left.line)
        self._drain(everything=False)

    def _count_requests(self, position: int, piece: int, parts: list[Requests]) -> None:
        """Count the requests of an instruction, of which the first counts its lanes."""
        for asked in parts:
            for field, amount in (
                ("requests", asked.requests),
                ("lanes", asked.lanes if piece == 0 else 0),
                ("sectors", asked.sums.sum()),
                ("lines", len(asked.line)),
                ("atomic_addresses", asked.addresses),
                ("atomic_busiest", asked.busiest),
                ("atomic_passes", asked.passes),
            ):
                self.by_access.sums[position, ACCESS_FIELDS.index(field)] += amount

    def _drain(self, everything: bool) -> None:
        """Run whole epochs of what waits for L2, so that batches do not matter; or all of it."""
        epoch = self.owner.l2.shape.epoch
        size = _EPOCHS * epoch
        if not self.queued or (self.queued < size and not everything):
            return
        asked = Waiting(*(np.concatenate(parts) for parts in zip(*self.waiting, strict=True)))
        end = self.queued if everything else self.queued // epoch * epoch
        # Taken out first: what an interruption stops is not run again.
        self.waiting = [asked.at(slice(end, None))]
        self.queued -= end
        for first in range(0, end, size):
            self._through_l2(asked.at(slice(first, min(first + size, end))))

    def _through_l2(self, asked: Waiting) -> None:
        """Run accesses through L2, and count what they met."""
        line, sectors, words, side, access, _ = asked
        owner = self.owner
        rank = ranks(owner.control, self.layout, line, owner.seed)
        answers, written = owner.l2.run(
            Lookups(line, sectors, words, self.kinds[access], rank, side)
        )
        times = self.sets.one_in  # each set stands for as many
        if times > 1:
            self.sets.add(owner.l2, line, COUNT[answers.fetched] * np.int64(times))
            gone = COUNT[written.sectors] + COUNT[written.partial]
            self.sets.add(owner.l2, written.line, gone * np.int64(times))
        found = met(asked, answers, written, len(self.kinds), self.layout, owner.engine)
        self.by_access.sums[:, _L2_MET] += found.by_access * times
        self.over_time.sums[:, SERIES_FIELDS.index("l2_hits")] += found.over_time * times
        # What completes partly written sectors is read as well.
        read, gone, partial = found.by_buffer.T * times
        self.by_buffer.sums += np.stack([read + partial, gone, partial], axis=1)

    def _result(
        self,
        sums: list[Array],
        counted: float,
        error: float | None,
        interrupted: bool,
        took: float,
    ) -> Simulation:
        access_sums, buffer_sums, series = sums
        ratio = SECTOR / self.owner.control.compression
        kernel = self.instance.kernel
        return Simulation(
            accesses=tuple(
                AccessCount(
                    a.name,
                    a.buffer,
                    a.kind,
                    **dict(zip(ACCESS_FIELDS, map(float, sums), strict=True)),
                )
                for a, sums in zip(kernel.accesses, access_sums, strict=True)
                if kernel.buffer(a.buffer).space != "shared"
            ),
            buffers=tuple(
                BufferCount(name, *(float(n) * ratio for n in sums))
                for name, sums in zip((*self.layout.names, ELSEWHERE), buffer_sums, strict=True)
                if name != ELSEWHERE or sums.any()
            ),
            dirty_left_bytes=dirty_sectors(self.owner.l2.state) * float(SECTOR * self.sets.one_in),
            series={name: tuple(map(float, series[:, i])) for i, name in enumerate(SERIES_FIELDS)},
            sampled=counted,
            error=self.sets.error(error),
            sets=1 / self.sets.one_in,
            interrupted=interrupted,
            seconds=took,
        )


def _outer_trips(body: Body) -> int:
    """Return the iterations of the outermost loop; 1 if there is none, or several."""
    loops = [item for item in body.items if isinstance(item, Body)]
    return loops[0].trips if len(loops) == 1 else 1
