"""Executions by the residues of a line that their addresses start at.

Blocks, warps and loops are the digits of mixed-radix numbers; each moves an address by its stride.
"""

from collections.abc import Mapping, Sequence

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
    if len(counts) == 1:  # all turns of a period at once: residues are few
        turn = np.arange(residues)
        every = counts[0][(turn[:, None] - step[0] * turn) & (residues - 1)]
        rest = every[:, : left[0]].sum(axis=1)
        return np.asanyarray((rest + every.sum(axis=1) * periods[0])[None, :])
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
    if len(counts) == 1:
        return np.asanyarray(counts[:, (np.arange(residues) - steps[0]) & (residues - 1)])
    source = (np.arange(residues)[None, :] - steps[:, None]) & (residues - 1)
    return np.asanyarray(np.take_along_axis(counts, source, axis=1))


def residue(strides: Mapping[str, Array], name: str) -> Array:
    """Return the bytes modulo a line that a step of a variable moves an address."""
    return np.bitwise_and(integers(strides[name]), LINE - 1)
