"""Alignment of one row of lanes that one stride moves: what breaks off within a period of a line.

The usual case of sizes that are no multiples of a line. Counts over residues give the same; sweeps
over many sizes take half longer with these.
"""

from collections.abc import Sequence

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.compiled_loops import worth_loop
from perfmodel.models.derivation import definition
from perfmodel.models.grid.activity import Span
from perfmodel.models.requests.coalescing import LINE, SECTOR, Box
from perfmodel.models.requests.footprint import integers, power_of_two_gcd
from perfmodel.records import record


@record
class _MovedRow:
    """A row of lanes that is moved by one stride, integers over configurations."""

    here: Array  # which configurations are of one
    base: Array  # address of the first lane [B]
    lanes: Array
    stride: Array  # between lanes [B]
    step: Array  # of a move [B]
    times: Array  # executions

    def mean(self, whole: Array, shifts: Sequence[int], granule: int) -> Array:
        """Return the mean granules per request; `whole` is that over whole periods."""
        base = self.base + np.minimum(self.stride, 0) * (self.lanes - 1)
        stride, step = np.abs(self.stride), self.step & (LINE - 1)
        extent = (self.lanes - 1) * stride
        period = LINE // power_of_two_gcd(LINE, self.step)
        left = self.times & (period - 1)
        edge = granule - extent % granule
        beyond = np.zeros(1, dtype=np.int64)
        for shift in shifts:
            at = (base + shift) & (LINE - 1)
            beyond = beyond + turns_past_edge(self.here, at, step, left, edge, granule)
        broken = left * (1 + extent // granule) + beyond / len(shifts)
        found = ((self.times - left) * whole + broken) / np.maximum(self.times, 1)
        return np.where(self.here, np.where(stride <= granule, found, self.lanes), whole)


def _past_edge(here: bool, at: int, step: int, left: int, edge: int, granule: int) -> int:
    """Return what `turns_past_edge` does of plain numbers."""
    within = granule - 1
    return sum((at + turn * step) & within >= edge for turn in range(left)) if here else 0


@definition(one=_past_edge)
def turns_past_edge(
    here: Array, at: Array, step: Array, left: Array, edge: Array, granule: int
) -> Array:
    """Return how many of `left` turns, a step on each, start in a granule at its edge or past it.

    Whole numbers under a line; only those of configurations `here` are looked at, 0 elsewhere.
    """
    columns = np.broadcast_arrays(here, at, step, left, edge)
    chosen = columns[0]
    if worth_loop(f"{__name__}_loop", chosen.size):
        from perfmodel.models.requests.row_alignment_loop import past_edge

        rows = np.array(columns, dtype=np.int64).reshape(len(columns), -1)
        return np.asanyarray(past_edge(rows, granule).reshape(chosen.shape))
    # Addresses modulo a line fit a byte, whose overflow at 256 is one of whole lines: the loop
    # over turns is cheap.
    place, move, times, limit = (column[chosen].astype(np.uint8) for column in columns[1:])
    turns = np.zeros_like(times)
    for turn in range(int(times.max(initial=0))):
        over = ((place & np.uint8(granule - 1)) >= limit) & (times > turn)
        turns += over.view(np.uint8)  # fewer than 128
        place += move
    found = np.zeros(chosen.shape, dtype=np.int64)
    found[chosen] = turns
    return found


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
    row = _MovedRow(plain, *map(integers, (start, *lanes, step, times)))
    sectors, lines = (
        row.mean(mean, shifts, granule) for mean, granule in zip(means, (SECTOR, LINE), strict=True)
    )
    return plain, sectors, lines
