"""Footprints: distinct sectors, DRAM access units or lines that threads and iterations touch.

An affine index over a box of variables (lanes, warps, loop iterations, blocks) touches a run of
bytes that is repeated at a pitch. Taken in the order of their strides, each variable either
lengthens the run, if its stride leaves no gap of a whole granule, or repeats it.

The granules of a run are those of its length, averaged over the alignments at which runs start.
This is exact for nested boxes, where each stride fills the gap that smaller ones leave or exceeds
their span, and an upper bound where repeats interleave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.derivation import glimpse, is_recording, skippable
from perfmodel.models.formula import Formula
from perfmodel.records import record

RUN_GRANULES = Formula(
    name="granules of a run of bytes",
    unit="granules",
    text="1 + g/G*floor((run - w)/g)",
    symbols={
        "run": "bytes from the first to the last [B]",
        "w": "bytes of one access [B]",
        "g": "common step of the runs' starts, a divisor of the granule [B]",
        "G": "granule [B]",
    },
    holds="the mean over runs that start at every multiple of g",
    source="derived, as the granules of a request",
)


@record
class Extent:
    """One variable of a box: `count` values (fractions allowed), `stride` bytes apart."""

    stride: Array
    count: Array


def footprint(
    extents: Sequence[Extent],
    width: int,
    granule: int,
    start: Array | float = 0.0,
    long_too: bool = False,
) -> Array:
    """Return the distinct granules that an access touches over a box of variables.

    A mean over alignments where the runs start at several. Runs of a granule at most (32 B for
    sectors, 64 for DRAM atoms, 128 for lines) start at `start` [B]; longer ones are taken to start
    with a granule, unless `long_too`.
    """
    ordered = by_stride(extents)
    if not ordered:
        return np.asanyarray(1.0)
    # Arrays keep their own shapes: what is alike in all configurations is worked out once.
    run = span = np.asanyarray(float(width))
    pitch = np.asanyarray(np.inf)
    repeats = within = np.ones(())  # runs: `repeats` a pitch apart, of `within` runs each
    step = np.asanyarray(granule, dtype=np.int64)
    for stride, count in ordered:
        dense = stride <= run + (granule - width)
        reach, moved = span + (granule - width), (count - 1) * stride
        span = span + moved
        if skippable(dense):
            run = run + moved
            continue
        run = np.where(dense, run + moved, run)
        far = np.where(dense, 0.0, stride)
        # A repeat that lands among earlier, evenly spaced ones adds only what sticks out.
        ratio = far / pitch
        among = (ratio <= repeats) & (ratio >= 1) & (ratio == np.floor(ratio))
        apart = ~(dense | among)
        within = np.where(apart, within * repeats, within)
        repeats = np.where(among, repeats + (count - 1) * ratio, repeats)
        pitch = np.where(apart, stride, pitch)
        repeats = np.where(apart, count, repeats)
        step = power_of_two_gcd(step, far)
        interleaved = apart & (stride < reach)
        if skippable(~interleaved):
            continue
        # Interleaved repeats share granules; they fill at most all from the first to the last.
        every = _granules(span, width, np.asanyarray(granule), granule)
        full = interleaved & (every < within * repeats * _granules(run, width, step, granule))
        run, pitch = np.where(full, span, run), np.where(full, np.inf, pitch)
        repeats, within = np.where(full, 1.0, repeats), np.where(full, 1.0, within)
        step = np.where(full, granule, step)
    into = np.mod(start, step)
    if not long_too:
        into = np.where(run <= granule, into, 0.0)
    return np.asanyarray(within * repeats * _granules(run + into, width, step, granule))


def by_stride(extents: Sequence[Extent]) -> list[tuple[Array, Array]]:
    """Return strides and counts of what moves, the smallest stride first in every configuration.

    Where a variable does not move it has a stride of 0 and a count of 1: it lengthens nothing.
    """
    found: list[tuple[Array, Array]] = []
    for e in extents:
        stride = np.abs(np.asanyarray(e.stride, dtype=float))
        count = np.asanyarray(e.count, dtype=float)
        moves = (count > 1) & (stride != 0)
        if skippable(~moves):
            continue
        if is_recording() or not np.all(moves):  # cheap, and other launches may need it
            stride, count = np.where(moves, stride, 0.0), np.where(moves, count, 1.0)
        found.append((stride, count))
    if len(found) < 2:
        return found
    # Configurations of one kernel mostly order their strides alike.
    found.sort(key=lambda pair: np.max(glimpse(pair[0])))
    before = np.zeros(())
    for stride, _ in found:
        if np.any((stride < before) & (stride > 0)):
            break
        before = np.maximum(before, stride)
    else:
        return found
    every = np.broadcast_arrays(*(column for pair in found for column in pair))
    strides, counts = np.stack(every[::2]), np.stack(every[1::2])
    order = np.argsort(strides, axis=0, kind="stable")
    each = (np.take_along_axis(column, order, axis=0) for column in (strides, counts))
    return list(zip(*each, strict=True))


def _granules(run: Array, width: int, step: Array, granule: int) -> Array:
    return RUN_GRANULES(run=run, w=float(width), g=step.astype(float), G=float(granule))


def power_of_two_gcd(power: Any, value: Any) -> Array:
    """Return gcd(power, value) for powers of two: the lower of `power` and value's lowest bit."""
    both = integers(value) | np.asanyarray(power)
    return np.asanyarray(both & -both)


def integers(values: Any) -> Array:
    """Return whole numbers as integers of 64 bits."""
    found: Array = np.asanyarray(values).astype(np.int64)
    return found
