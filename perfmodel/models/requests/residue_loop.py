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
    places = np.zeros(residues, dtype=np.int64)
    doublings = _doublings(residues)
    spans = bounds, digits, extents, steps
    for row in range(len(first)):
        size, moved, times = _counted(spans, row, doublings, scratch, places)
        moved += first[row]
        every = 0
        for entry in range(size):
            every += scratch[0, entry]
        executions = max(every * float(times), 1.0)  # more than whole numbers hold, of huge ones
        box = place[row]
        for kind in range(len(costs)):
            total = 0.0
            for entry in range(size):
                at = places[entry] + moved & residues - 1
                total += scratch[0, entry] * costs[kind, box, at]
            found[kind, row] = total * times / executions
    return found


@njit(cache=True, nogil=True)
def _doublings(residues: int) -> Array:
    """Return how often a step is doubled until it is a whole turn, of each step but 0."""
    found = np.zeros(residues, dtype=np.int64)
    for step in range(1, residues):
        while step << found[step] & residues - 1:
            found[step] += 1
    return found


@njit(cache=True, nogil=True)
def _counted(
    spans: tuple[Array, Array, Array, Array],
    row: int,
    doublings: Array,
    scratch: Array,
    places: Array,
) -> tuple[int, int, int]:
    """Count the executions of one configuration by residues, from 0 on.

    The first of `scratch` has counts at `places`, some of which may be the same. Returns how many,
    how many residues further they are, and how many times as many.
    """
    bounds, digits, extents, steps = spans
    residues = len(places)
    scratch[0, 0], places[0] = 1, 0
    size, moved, times = 1, 0, 1
    at = 0
    for span in range(len(digits)):
        end = at + digits[span]
        start, stop = bounds[span, 0, row], bounds[span, 1, row]
        step = steps[at, row] & residues - 1
        if digits[span] > 1 and not _one_step(extents[at:end, row], steps[at:end, row], residues):
            size = _everywhere(size, scratch, places)
            _between(scratch, extents[at:end, row], steps[at:end, row], start, stop)
            at = end
            continue
        moved += step * start
        if step == 0 or stop - start == 1:
            times *= stop - start
        elif size * min(1 << doublings[step], stop - start) <= residues:
            size = _turned(size, step, stop - start, doublings[step], scratch[0], places)
        else:
            size = _everywhere(size, scratch, places)
            _repeat(scratch[0], step, stop - start, scratch[1])
            _move(scratch[1], 0, scratch[0])
        at = end
    return size, moved, times


@njit(cache=True, nogil=True)
def _turned(size: int, step: int, times: int, doublings: int, counts: Array, places: Array) -> int:
    """Move so many counts by 0, 1, ... `times` - 1 steps, and return how many there are then."""
    residues = len(places)
    rounds, left = times >> doublings, times & (1 << doublings) - 1
    turns = 1 << doublings if rounds else left
    for turn in range(turns - 1, -1, -1):
        whole, by, to = rounds + (turn < left), turn * step, turn * size
        for entry in range(size):
            counts[to + entry] = counts[entry] * whole
            places[to + entry] = places[entry] + by & residues - 1
    return size * turns


@njit(cache=True, nogil=True)
def _everywhere(size: int, scratch: Array, places: Array) -> int:
    """Have a count at each residue, in order, and return how many these are."""
    counts, found = scratch[0], scratch[1]
    found[:] = 0
    for entry in range(size):
        found[places[entry]] += counts[entry]
    for at in range(len(places)):
        counts[at], places[at] = found[at], at
    return len(places)


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
