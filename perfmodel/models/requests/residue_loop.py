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
    scratch = np.zeros((12, residues), dtype=np.int64)
    places = np.zeros(residues, dtype=np.int64)
    sums = _sums(costs)
    spans = bounds, digits, extents, steps
    for row in range(len(first)):
        walk, step, turns = _longest(spans, row, residues)
        size, moved, times = _counted(spans, row, walk, scratch, places)
        moved += first[row]
        every = 0
        for entry in range(size):
            every += scratch[0, entry]
        executions = max(every * float(times) * turns, 1.0)  # more than whole numbers, of huge ones
        box = place[row]
        # The walk's whole periods, and what is left of one, or missing to one more.
        apart = step & -step if step else residues
        rounds, left = turns // (residues // apart), turns & residues // apart - 1
        start, stop, sign = 0, left, 1.0
        if 2 * left > residues // apart:
            rounds, start, stop, sign = rounds + 1, left, residues // apart, -1.0
        for kind in range(len(costs)):
            total = 0.0
            for entry in range(size):
                at = places[entry] + moved
                here = rounds * sums[kind, box, apart + (at & apart - 1)]
                for turn in range(start, stop):
                    here += sign * costs[kind, box, at + turn * step & residues - 1]
                total += scratch[0, entry] * here
            found[kind, row] = total * times / executions
    return found


@njit(cache=True, nogil=True)
def _sums(costs: Array) -> Array:
    """Return sums of costs over all residues that are `apart` from one, at that place after it."""
    residues = costs.shape[2]
    found = np.zeros((costs.shape[0], costs.shape[1], 2 * residues))
    found[:, :, residues:] = costs
    for at in range(residues - 1, 0, -1):
        apart = 1
        while 2 * apart <= at:
            apart *= 2
        first = at + apart
        found[:, :, at] = found[:, :, first] + found[:, :, first + apart]
    return found


@njit(cache=True, nogil=True)
def _longest(
    spans: tuple[Array, Array, Array, Array], row: int, residues: int
) -> tuple[int, int, int]:
    """Return the span of one step that has most residues, its step, and its executions.

    Without one it is none: -1, of no step, once.
    """
    bounds, digits, extents, steps = spans
    found, most, at = (-1, 0, 1), 1, 0
    for span in range(len(digits)):
        end, step = at + digits[span], steps[at, row] & residues - 1
        turns = bounds[span, 1, row] - bounds[span, 0, row]
        many = min(turns, residues // (step & -step) if step else 1)
        if many > most and (
            digits[span] == 1 or _one_step(extents[at:end, row], steps[at:end, row], residues)
        ):
            found, most = (span, step, turns), many
        at = end
    return found


@njit(cache=True, nogil=True)
def _counted(
    spans: tuple[Array, Array, Array, Array], row: int, walk: int, scratch: Array, places: Array
) -> tuple[int, int, int]:
    """Count the executions of one configuration by residues, from 0 on, a `walk` as its first.

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
            own = extents[at:end, row], steps[at:end, row]
            size = _walked(own, start, stop, size, scratch, places)
            at = end
            continue
        moved += step * start
        period = residues // (step & -step) if step else 1
        if span == walk:
            pass
        elif step == 0 or stop - start == 1:
            times *= stop - start
        elif size * min(period, stop - start) <= residues:
            size = _turned(size, step, stop - start, period, scratch[0], places)
        else:
            size = _everywhere(size, scratch, places)
            _repeat(scratch[0], step, stop - start, scratch[1])
            _move(scratch[1], 0, scratch[0])
        at = end
    return size, moved, times


@njit(cache=True, nogil=True)
def _turned(size: int, step: int, times: int, period: int, counts: Array, places: Array) -> int:
    """Move so many counts by 0, 1, ... `times` - 1 steps, and return how many there are then."""
    residues = len(places)
    rounds, left = times // period, times & period - 1
    turns = period if rounds else left
    for turn in range(turns - 1, -1, -1):
        whole, by, to = rounds + (turn < left), turn * step, turn * size
        for entry in range(size):
            counts[to + entry] = counts[entry] * whole
            places[to + entry] = places[entry] + by & residues - 1
    return size * turns


@njit(cache=True, nogil=True)
def _walked(
    digits: tuple[Array, Array], start: int, stop: int, size: int, scratch: Array, places: Array
) -> int:
    """Move so many counts by all numbers of a span, and return how many there are then.

    `digits` of its numbers: how many values each has, and by how much it moves.
    """
    extents, steps = digits
    residues, bits = len(places), len(places)
    for step in steps:
        bits |= step
    apart = bits & -bits  # all that it reaches is so far apart
    reached = residues // apart
    if size * reached > residues:
        size = _everywhere(size, scratch, places)
        _between(scratch, extents, steps, start, stop)
        return size
    alone = scratch[6:, :reached]
    alone[0] = 0
    alone[0, 0] = 1
    _between(alone, extents, steps // apart, start, stop)
    for turn in range(reached - 1, -1, -1):
        for entry in range(size):
            scratch[0, turn * size + entry] = scratch[0, entry] * alone[0, turn]
            places[turn * size + entry] = places[entry] + turn * apart & residues - 1
    return size * reached


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
