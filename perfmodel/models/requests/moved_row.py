"""Alignment of one row of lanes that one stride moves: what breaks off within a period of a line.

The usual case of sizes that are no multiples of a line. Counts over residues give the same; sweeps
over many sizes take half longer with these.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.derivation import definition
from perfmodel.models.grid.activity import Span
from perfmodel.models.requests.coalescing import LINE, SECTOR, Box
from perfmodel.models.requests.footprint import integers, power_of_two_gcd
from perfmodel.records import record


@record
class _MovedRow:
    """A row of lanes that is moved by one stride, integers over configurations."""

    base: Array  # address of the first lane [B]
    lanes: Array
    stride: Array  # between lanes [B]
    step: Array  # of a move [B]
    times: Array  # executions

    def mean(self, whole: Array, shifts: Sequence[int], granule: int) -> Array:
        """Return the mean granules per request; `whole` is that over whole periods."""
        # Addresses modulo a line fit a byte, whose overflow at 256 is one of whole lines: the loop
        # over alignments is cheap.
        base = (self.base + np.minimum(self.stride, 0) * (self.lanes - 1)) & (LINE - 1)
        stride, small = np.abs(self.stride), (self.step & (LINE - 1)).astype(np.uint8)
        extent = (self.lanes - 1) * stride
        period = LINE // power_of_two_gcd(LINE, self.step)
        left = (self.times & (period - 1)).astype(np.uint8)
        edge = (granule - extent % granule).astype(np.uint8)
        beyond = np.zeros(base.shape, dtype=np.int64)
        for shift in shifts:
            at, turns = ((base + shift) & (LINE - 1)).astype(np.uint8), np.zeros_like(left)
            for turn in range(int(left.max())):
                over = ((at & np.uint8(granule - 1)) >= edge) & (left > turn)
                turns += over.view(np.uint8)  # fewer than 128
                at += small
            beyond += turns
        broken = left.astype(np.int64) * (1 + extent // granule) + beyond / len(shifts)
        found = ((self.times - left) * whole + broken) / np.maximum(self.times, 1)
        return np.where(stride <= granule, found, self.lanes)


def moved_row_granules(
    which: Array,
    spans: Sequence[Span],
    moves: Sequence[tuple[Array, Array]],
    start: Array,
    box: Box,
    shifts: Sequence[int],
    means: tuple[Array, Array],
) -> tuple[Array, Array, Array]:
    """Correct mean sectors and lines where one row of lanes is moved by one stride.

    Of the configurations `which` these are returned first, then the means.
    """
    inner, inner_stride, rows, row_stride = box
    across = (inner <= 1) | (inner_stride == 0)
    plain = which & (across | (rows <= 1) | (row_stride == 0))
    moving, step, times = np.zeros(1, dtype=int), np.zeros(1, dtype=int), np.zeros(1)
    for span, (stride, linear) in zip(spans, moves, strict=True):
        counts = (stride != 0) & (span.count > 1)
        plain = plain & linear
        moving = moving + counts
        step = step + np.where(counts, stride, 0)
        times = times + np.where(counts, span.count, 0)
    plain = plain & (moving == 1)
    if not np.any(plain):
        return plain, *means
    lanes = np.where(across, rows, inner), np.where(across, row_stride, inner_stride)
    shaped = np.broadcast_arrays(plain, start, *lanes, step, times, *means)
    sectors, lines = _broken_periods(shaped, shifts)
    return shaped[0], sectors, lines


@definition
def _broken_periods(shaped: Sequence[Array], shifts: Sequence[int]) -> tuple[Array, Array]:
    """Return the means of sectors and lines, corrected where moves break off within a period.

    `shaped` says in which configurations; then the columns of `_MovedRow`, and the means.
    """
    plain = shaped[0]
    row = _MovedRow(*(integers(a[plain]) for a in shaped[1:6]))
    results = []
    for mean, granule in zip(shaped[6:], (SECTOR, LINE), strict=True):
        corrected = mean.copy()
        corrected[plain] = row.mean(mean[plain], shifts, granule)
        results.append(corrected)
    return results[0], results[1]
