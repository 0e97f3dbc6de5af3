"""Executions by the residues of a line that they start at, compiled: one configuration at a time.

What `residues` does with arrays of configurations. Imported only where numba is installed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perfmodel.arrays import Array


@njit(cache=True, nogil=True)
def counted_residues(
    first: Array, bounds: Array, digits: Array, extents: Array, steps: Array, residues: int
) -> Array:
    """Return how many executions start at each residue, (configurations, residues).

    Whole numbers, configurations along the last axis: `first` residue of all; `bounds` of each span
    of executions, where it starts and stops; of spans with so many `digits` each, one after the
    other, how many values a digit has, and how far it moves.
    """
    found = np.zeros((len(first), residues))
    scratch = np.zeros((5, residues))
    for row in range(len(first)):
        counts = found[row]
        counts[first[row]] = 1.0
        at = 0
        for span in range(len(digits)):
            end = at + digits[span]
            own, moves = extents[at:end, row], steps[at:end, row]
            start, stop = bounds[span, 0, row], bounds[span, 1, row]
            if len(own) == 1:
                _move(counts, moves[0] * start, scratch[0])
                _repeat(scratch[0], moves[0], stop - start, counts)
            else:
                _below(counts, own, moves, stop, scratch)
                if start > 0:
                    scratch[1] = scratch[0]
                    _below(counts, own, moves, start, scratch)
                    scratch[0] = scratch[1] - scratch[0]
                counts[:] = scratch[0]
            at = end
    return found


@njit(cache=True, nogil=True)
def _below(counts: Array, extents: Array, steps: Array, number: int, scratch: Array) -> None:
    """Set the first of `scratch` to counts moved by all mixed-radix numbers below one."""
    total, moved, part, other = scratch[0], scratch[2], scratch[3], scratch[4]
    total[:] = 0.0
    moved[:] = counts
    for place in range(len(extents) - 1, -1, -1):
        weight = 1
        for faster in range(place):
            weight *= extents[faster]
        digit = number // max(weight, 1)
        if digit > 0:
            _repeat(moved, steps[place], digit, part)
            for faster in range(place):
                _repeat(part, steps[faster], extents[faster], other)
                part, other = other, part
            total += part
            number -= digit * weight
        if place > 0:
            _move(moved, steps[place] * digit, other)
            moved, other = other, moved


@njit(cache=True, nogil=True)
def _move(counts: Array, by: int, found: Array) -> None:
    """Set `found` to counts that are so many residues further."""
    residues = len(counts)  # a power of two, so that "&" is a remainder
    for at in range(residues):
        found[at] = counts[at - by & residues - 1]


@njit(cache=True, nogil=True)
def _repeat(counts: Array, step: int, times: int, found: Array) -> None:
    """Set `found` to the sum of counts moved by 0, 1, ... `times` - 1 steps."""
    residues = len(counts)
    step &= residues - 1
    if step == 0 or times == 1:
        for at in range(residues):
            found[at] = counts[at] * times
        return
    apart = step & -step
    turns = residues // apart
    rounds, left = times // turns, times & turns - 1
    for start in range(apart):
        whole = window = 0.0
        for at in range(start, residues, apart):
            whole += counts[at]
        for turn in range(left):
            window += counts[start - turn * step & residues - 1]
        at, last = start, start - left * step & residues - 1
        for _ in range(turns):
            found[at] = whole * rounds + window
            at, last = at + step & residues - 1, last + step & residues - 1
            window += counts[at] - counts[last]
