"""Executions by the residues of a line that they start at, compiled: one configuration at a time.

What `residues` does with arrays of configurations. Imported only where numba is installed.
"""

from typing import Final

import numpy as np
from numba import njit

from perfmodel.arrays import Array
from perfmodel.models.requests.coalescing import LINE

_POWERS: Final = np.array([max(number.bit_length() - 1, 0) for number in range(129)])
"""Logarithms of the powers of two up to a line: shifts take a tenth of the time of divisions."""


@njit(cache=True, nogil=True)
def boxes_of(table: Array, size: int, names: int) -> tuple[Array, int]:
    """Return boxes of lanes, as `recounts` makes rows of them that cost the same alike, and bits.

    Of the first columns of a table, whose rows are a box, an offset and so many strides; the bits
    are those of a line and of any of these strides and offsets.
    """
    boxes, bits = np.empty((4, size)), LINE
    for row in range(size):
        inner, inner_stride, pitch = table[0, row], table[1, row], table[3, row]
        near = (np.floor(max(inner, 1.0) * abs(inner_stride) / LINE) + 2) * LINE
        far = abs(pitch) - near
        if far > 0:
            beyond = near + (far - np.floor(far / LINE) * LINE)
            pitch = beyond if pitch > 0 else -beyond
        boxes[0, row], boxes[1, row] = inner, inner_stride
        boxes[2, row], boxes[3, row] = table[2, row], pitch
        for column in range(4, 5 + names):
            bits |= int(table[column, row])
    return boxes, bits


@njit(cache=True, nogil=True)
def means_by_residue(
    table: Array,
    boxes: Array,
    spans: tuple[Array, Array, int],
    unit: int,
    costs: Array,
) -> tuple[Array, bool]:
    """Return mean costs of executions by the residues that they start at, (2, boxes).

    Rows of the `table` are the offset, after a box, and by what digits move; from one on the
    start, the count and the extents of each span of executions, one after the other. They are whole
    numbers: else what is returned last is false. `boxes` are those of its first columns;
    `spans` have so many digits each, moved by these rows, and begin at a row. `unit` divides all
    addresses, and `costs`, (boxes, 2, residues), are of an execution, NaN where not known.
    """
    digits, moved_by, begin = spans
    residues, small = costs.shape[2], _POWERS[unit]
    found = np.zeros((2, len(boxes)))
    scratch = np.zeros((12, residues), dtype=np.int64)
    at_residues = np.zeros(residues, dtype=np.int64)
    sums = _sums(costs)
    bounds = np.zeros((len(digits), 2), dtype=np.int64)
    extents, steps = np.zeros_like(moved_by), np.zeros_like(moved_by)
    own = bounds, digits, extents, steps
    for row in range(len(boxes)):
        if not _read(table, row, begin, moved_by, own):
            return found, False
        for digit in range(len(steps)):
            steps[digit] = (steps[digit] & LINE - 1) >> small
        first = (int(table[4, row]) & LINE - 1) >> small
        walk, step, turns = _longest(own, residues)
        size, moved, times = _counted(own, walk, scratch, at_residues)
        of = sums[boxes[row]]
        counted = scratch[0, :size], at_residues, first + moved, float(times)
        found[0, row], found[1, row] = _mean(of, counted, step, turns)
    return found, True


@njit(cache=True, nogil=True)
def _read(
    table: Array, row: int, begin: int, moved_by: Array, spans: tuple[Array, Array, Array, Array]
) -> bool:
    """Read the spans of one configuration, and say whether all are of whole numbers."""
    bounds, digits, extents, steps = spans
    column, digit, whole = begin, 0, True
    for span in range(len(digits)):
        start, count = table[column, row], table[column + 1, row]
        bounds[span, 0], bounds[span, 1] = int(start), int(start + count)
        whole = whole and bounds[span, 0] == start and bounds[span, 1] == start + count
        column += 2
        for _ in range(digits[span]):
            extent = table[column, row]
            extents[digit], steps[digit] = int(extent), int(table[moved_by[digit], row])
            whole = whole and extents[digit] == extent
            column, digit = column + 1, digit + 1
    return whole


@njit(cache=True, nogil=True)
def _mean(
    sums: Array, counted: tuple[Array, Array, int, float], step: int, turns: int
) -> tuple[float, float]:
    """Return the mean costs of a walk of so many turns from counts at places, moved, and times."""
    counts, places, moved, times = counted
    residues = len(places)
    every = 0
    for entry in range(len(counts)):
        every += counts[entry]
    executions = max(every * times * turns, 1.0)  # more than whole numbers, of huge ones
    # The walk's whole periods, and what is left of one, or missing to one more.
    power = _period(step, residues)
    distance, periods, left = residues >> power, turns >> power, turns & (1 << power) - 1
    start, stop, sign = 0, left, 1.0
    if 2 * left > 1 << power:
        periods, start, stop, sign = periods + 1, left, 1 << power, -1.0
    one = two = 0.0
    for entry in range(len(counts)):
        at = places[entry] + moved
        whole = distance + (at & distance - 1)
        here, there = periods * sums[whole, 0], periods * sums[whole, 1]
        at += start * step
        for _ in range(start, stop):
            cost = residues + (at & residues - 1)
            here += sign * sums[cost, 0]
            there += sign * sums[cost, 1]
            at += step
        one += counts[entry] * here
        two += counts[entry] * there
    return one * times / executions, two * times / executions


@njit(cache=True, nogil=True)
def _sums(costs: Array) -> Array:
    """Return sums of costs over residues at a `distance` from one, at that place after it."""
    residues = costs.shape[2]
    found = np.zeros((len(costs), 2 * residues, 2))
    found[:, residues:, 0], found[:, residues:, 1] = costs[:, 0], costs[:, 1]
    for at in range(residues - 1, 0, -1):
        distance = 1
        while 2 * distance <= at:
            distance *= 2
        first = at + distance
        found[:, at] = found[:, first] + found[:, first + distance]
    return found


@njit(cache=True, nogil=True)
def _period(step: int, residues: int) -> int:
    """Return how many steps lead back to a residue, as the power of two that it is."""
    return int(_POWERS[residues] - _POWERS[(step | residues) & -(step | residues)])


@njit(cache=True, nogil=True)
def _longest(spans: tuple[Array, Array, Array, Array], residues: int) -> tuple[int, int, int]:
    """Return the span of one step that has most residues, its step, and its executions.

    Without one it is none: -1, of no step, once.
    """
    bounds, digits, _, steps = spans
    found, most, at = (-1, 0, 1), 1, 0
    for span in range(len(digits)):
        step = steps[at]
        turns = bounds[span, 1] - bounds[span, 0]
        many = min(turns, 1 << _period(step, residues))
        if many > most and _one_step(spans, span, at, residues):
            found, most = (span, step, turns), many
        at += digits[span]
    return found


@njit(cache=True, nogil=True)
def _counted(
    spans: tuple[Array, Array, Array, Array], walk: int, scratch: Array, places: Array
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
        start, stop, step, end = bounds[span, 0], bounds[span, 1], steps[at], at + digits[span]
        if not _one_step(spans, span, at, residues):
            own = extents[at:end], steps[at:end]
            size = _walked(own, start, stop, size, scratch, places)
            at = end
            continue
        moved += step * start
        power = _period(step, residues)
        if span == walk:
            pass
        elif step == 0 or stop - start == 1:
            times *= stop - start
        elif size * min(1 << power, stop - start) <= residues:
            size = _turned(size, step, stop - start, power, scratch[0], places)
        else:
            size = _everywhere(size, scratch, places)
            _repeat(scratch[0], step, stop - start, scratch[1])
            _move(scratch[1], 0, scratch[0])
        at = end
    return size, moved, times


@njit(cache=True, nogil=True)
def _turned(size: int, step: int, times: int, power: int, counts: Array, places: Array) -> int:
    """Move so many counts by 0, 1, ... `times` - 1 steps, and return how many there are then."""
    residues = len(places)
    rounds, left = times >> power, times & (1 << power) - 1
    turns = 1 << power if rounds else left
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
def _one_step(spans: tuple[Array, Array, Array, Array], span: int, at: int, residues: int) -> bool:
    """Say whether a number of some digits, from one on, moves by its first step for each more."""
    _, digits, extents, steps = spans
    step = steps[at]
    for digit in range(at + 1, at + digits[span]):
        step *= extents[digit - 1]
        if extents[digit] > 1 and steps[digit] - step & residues - 1:
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
    power = _period(step, residues)
    distance, turns = residues >> power, 1 << power
    rounds, left = times >> power, times & turns - 1
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
