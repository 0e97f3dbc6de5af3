"""Executions by the residues of a line that their addresses start at.

Blocks, warps and loops are the digits of mixed-radix numbers; each moves an address by its stride.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import gcd

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.grid.activity import Span
from perfmodel.models.requests.coalescing import LINE
from perfmodel.models.requests.footprint import integers


def start_residues(
    spans: Sequence[Span], strides: Mapping[str, Array], offset: Array, unit: int
) -> Array:
    """Count executions by the residues of a line that their address starts at.

    Of one configuration axis. `unit` divides all addresses and 128; the result has the shape
    (configurations, 128 // unit), executions that start at residue ``unit*i``.
    """
    first = np.mod(np.floor_divide(offset, unit), LINE // unit).astype(np.int64)
    steps = [[residue(strides, name) // unit for name in span.names] for span in spans]
    counts = (np.arange(LINE // unit) == first[:, None]) * 1.0
    for span, own in zip(spans, steps, strict=True):
        last = span.start + span.count
        below = _prefix(counts, span.extents, own, span.start) if np.any(span.start) else 0.0
        counts = _prefix(counts, span.extents, own, last) - below
    return np.asanyarray(counts)


def mean_costs(
    spans: Sequence[Span],
    strides: Mapping[str, Array],
    offset: Array,
    unit: int,
    costs: Array,
    place: Array,
) -> Array:
    """Return mean costs of executions that start at the residues of `start_residues`.

    `costs` of an execution are of shape (boxes, kinds, 128 // unit), NaN where they are not known;
    `place` is the box of each configuration, and the result of shape (kinds, configurations).
    """
    counts = start_residues(spans, strides, offset, unit)
    executions = np.maximum(counts.sum(axis=1), 1)
    kinds = (costs[:, kind][place] for kind in range(costs.shape[1]))
    return np.stack([np.einsum("ij,ij->i", counts, cost) / executions for cost in kinds])


def _prefix(
    counts: Array, extents: Sequence[Array], steps: Sequence[Array], number: Array
) -> Array:
    """Spread counts by all digits of the mixed-radix numbers below `number`."""
    weights = [np.ones(len(counts))]
    for extent in extents[:-1]:
        weights.append(weights[-1] * extent)
    total = np.zeros(counts.shape)
    for j in reversed(range(len(extents))):
        digit = number // np.maximum(weights[j], 1)
        part = _spread(counts, steps[j], digit)
        for extent, step in zip(extents[:j], steps[:j], strict=True):
            part = _spread(part, step, extent)
        total = total + part
        counts = _moved(counts, steps[j] * integers(digit))
        number = number - digit * weights[j]
    return total


def _spread(counts: Array, step: Array, times: Array) -> Array:
    """Return the sum of `counts` moved by 0, 1, ... `times` - 1 steps."""
    residues = counts.shape[1]
    periods, left = np.divmod(integers(times), residues)
    if np.all(step % residues == 0):
        return np.asanyarray(counts * times[:, None])
    done, total, double = np.zeros_like(left), np.zeros(counts.shape), counts
    length = 1
    while length < residues:
        odd = (left // length % 2 == 1)[:, None]
        total = total + np.where(odd, _moved(double, step * done), 0.0)
        done = np.where(odd[:, 0], done + length, done)
        double = double + _moved(double, step * length)
        length *= 2
    return np.asanyarray(total + double * periods[:, None])


def _moved(counts: Array, steps: Array) -> Array:
    residues = counts.shape[1]
    source = (np.arange(residues)[None, :] - steps[:, None]) & (residues - 1)
    return np.asanyarray(np.take_along_axis(counts, source, axis=1))


def residue(strides: Mapping[str, Array], name: str) -> Array:
    """Return the bytes modulo a line that a step of a variable moves an address."""
    return np.bitwise_and(integers(strides[name]), LINE - 1)


def residues_of_one(
    spans: Iterable[tuple[Sequence[float], Sequence[int], float, float]], first: int, residues: int
) -> list[float]:
    """Return what `start_residues` does of one configuration, by plain numbers.

    `spans` have extents, and what these move an address by, a start and a count; steps and the
    `first` address are in units, of which `residues` are a line.
    """
    counts = [0.0] * residues
    counts[first % residues] = 1.0
    for extents, steps, start, count in spans:
        found = _below(counts, extents, steps, start + count)
        if start:
            before = _below(counts, extents, steps, start)
            found = [a - b for a, b in zip(found, before, strict=True)]
        counts = found
    return counts


def _below(
    counts: list[float], extents: Sequence[float], steps: Sequence[int], number: float
) -> list[float]:
    """Return what `_prefix` does of one configuration."""
    weights = [1.0]
    for extent in extents[:-1]:
        weights.append(weights[-1] * extent)
    total = [0.0] * len(counts)
    for j in reversed(range(len(extents))):
        digit = number // max(weights[j], 1)
        if digit:
            part = _turned(counts, steps[j], digit)
            for extent, step in zip(extents[:j], steps[:j], strict=True):
                part = _turned(part, step, extent)
            total = [a + b for a, b in zip(total, part, strict=True)]
            moved = -steps[j] * int(digit) % len(counts)
            counts = counts[moved:] + counts[:moved]
            number -= digit * weights[j]
    return total


def _turned(counts: list[float], step: int, times: float) -> list[float]:
    """Return what `_spread` does of one configuration."""
    residues = len(counts)
    step %= residues
    if step == 0:
        return [count * times for count in counts]
    distance = gcd(step, residues)
    turns = residues // distance
    periods, left = divmod(int(times), turns)
    found = [0.0] * residues
    for first in range(distance):
        places = [(first + turn * step) % residues for turn in range(turns)]
        sums = [0.0, *accumulate(2 * [counts[place] for place in places])]
        for turn, place in enumerate(places, turns + 1):
            found[place] = periods * sums[turns] + sums[turn] - sums[turn - left]
    return found
