"""Counts of what accesses met in L2: by access, over time and by buffer."""

from typing import NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.trace.batch import Waiting
from perfmodel.trace.cache import COUNT, Engine, uses_numba
from perfmodel.trace.counts import SERIES
from perfmodel.trace.l2 import Answers, Written
from perfmodel.trace.layout import Layout
from perfmodel.trace.threads import in_threads, shares


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
