"""Executions by the residues of a line that they start at, compiled: one configuration at a time.

What `residues` does with arrays of configurations. Imported only where numba is installed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perfmodel.arrays import Array


@njit(cache=True, nogil=True)
def means_by_residue(
    first: Array,
    bounds: Array,
    digits: Array,
    extents: Array,
    steps: Array,
    costs: Array,
    place: Array,
) -> Array:
    """Return mean costs of executions by the residues that they start at, (kinds, configurations).

    Configurations are along the last axis. Whole numbers: `first` residue of all; `bounds` of each
    span of executions, where it starts and stops; of spans with so many `digits` each, one after
    the other, how many values a digit has, and how far it moves; `place`, the box of each
    configuration. `costs`, (kinds, boxes, residues), are of an execution, NaN where not known.
    """
    residues = costs.shape[2]
    found = np.zeros((len(costs), len(first)))
    scratch = np.zeros((6, residues), dtype=np.int64)
    for row in range(len(first)):
        moved, times = _counted(
            first[row], bounds[:, :, row], digits, extents[:, row], steps[:, row], scratch
        )
        every = 0
        for at in range(residues):
            every += scratch[0, at]
        executions = max(every * float(times), 1.0)  # more than whole numbers hold, of huge ones
        for kind in range(len(costs)):
            total = _product(scratch[0], costs[kind, place[row]], moved & residues - 1)
            found[kind, row] = total * times / executions
    return found


@njit(cache=True, nogil=True)
def _product(counts: Array, costs: Array, moved: int) -> float:
    """Return the sum of counts times the costs so many residues further."""
    left, total = len(counts) - moved, 0.0
    for at in range(left):
        total += counts[at] * costs[at + moved]
    for at in range(moved):
        total += counts[at + left] * costs[at]
    return total


@njit(cache=True, nogil=True)
def _counted(
    first: int, bounds: Array, digits: Array, extents: Array, steps: Array, scratch: Array
) -> tuple[int, int]:
    """Count the executions of one configuration by residues: in the first of `scratch`.

    Returns how many residues further they are, and how many times as many.
    """
    counts = scratch[0]
    residues = len(counts)
    for at in range(residues):
        counts[at] = at == 0
    moved, times, alone = first, 1, True
    at = 0
    for span in range(len(digits)):
        end = at + digits[span]
        own, moves = extents[at:end], steps[at:end]
        start, stop = bounds[span, 0], bounds[span, 1]
        step = moves[0] & residues - 1
        if not _one_step(own, moves, residues):
            _between(scratch, own, moves, start, stop)
            alone = False
        else:
            moved += step * start
            if step == 0 or stop - start == 1:
                times *= stop - start
            elif alone:
                _repeat_one(step, stop - start, counts)
                alone = False
            else:
                _repeat(counts, step, stop - start, scratch[1])
                _move(scratch[1], 0, counts)
        at = end
    return moved, times


@njit(cache=True, nogil=True)
def _one_step(extents: Array, steps: Array, residues: int) -> bool:
    """Say whether a number of some digits moves by its first step for each one more."""
    step = steps[0]
    for place in range(1, len(extents)):
        step *= extents[place - 1]
        if extents[place] > 1 and steps[place] - step & residues - 1:
            return False
    return True


@njit(cache=True, nogil=True)
def _between(scratch: Array, extents: Array, steps: Array, start: int, stop: int) -> None:
    """Set the first of `scratch` to itself moved by all mixed-radix numbers of a span."""
    counts = scratch[0]
    _below(counts, extents, steps, stop, scratch[1:])
    if start > 0:
        scratch[5] = scratch[1]
        _below(counts, extents, steps, start, scratch[1:])
        scratch[1] = scratch[5] - scratch[1]
    counts[:] = scratch[1]


@njit(cache=True, nogil=True)
def _below(counts: Array, extents: Array, steps: Array, number: int, scratch: Array) -> None:
    """Set the first of `scratch` to counts moved by all mixed-radix numbers below one."""
    total, moved, part, other = scratch[0], scratch[1], scratch[2], scratch[3]
    total[:] = 0
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
def _repeat_one(step: int, times: int, found: Array) -> None:
    """Set `found` to how many of 0, 1, ... `times` - 1 steps lead to each residue."""
    residues = len(found)
    turns = residues // (step & -step)
    rounds, left = times // turns, times & turns - 1
    found[:] = 0
    at = 0
    for turn in range(turns):
        found[at] = rounds + (turn < left)
        at = at + step & residues - 1


@njit(cache=True, nogil=True)
def _repeat(counts: Array, step: int, times: int, found: Array) -> None:
    """Set `found` to the sum of counts moved by 0, 1, ... `times` - 1 steps."""
    residues = len(counts)
    step &= residues - 1
    if step == 0 or times == 1:
        for at in range(residues):
            found[at] = counts[at] * times
        return
    distance = step & -step
    turns = residues // distance
    rounds, left = times // turns, times & turns - 1
    for start in range(distance):
        whole = window = 0
        if rounds:
            for at in range(start, residues, distance):
                whole += counts[at]
        for turn in range(left):
            window += counts[start - turn * step & residues - 1]
        at, last = start, start - left * step & residues - 1
        for _ in range(turns):
            found[at] = whole * rounds + window
            at, last = at + step & residues - 1, last + step & residues - 1
            window += counts[at] - counts[last]
