"""Placement: how densely what an access touches lies in its buffer, in L2's lines and in DRAM."""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.dram.throughput import random_cost, read_cost
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l2.random_lines import drawn_share, fetched_by
from perfmodel.models.l2.residency import TABLE_WEIGHT
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.footprint import Extent, by_stride
from perfmodel.models.requests.warp_requests import Requests

_WHOLE: Final = 0.9
"""Share of their lines that DRAM's atoms are from which on they are dense: by choice."""


def dram_read_cost(
    accesses: GlobalAccesses, r: Requests, filled: Array | float = 0.0, within: Array | None = None
) -> Array:
    """Return the cost of an access's DRAM bytes, relative to dense reads.

    `filled` is the share of the lines that it reads with others, where blocks were followed;
    random places lie `within` so many bytes at a time, by default the buffer's.
    """
    if agreed(filled > _WHOLE):
        return np.ones(1)
    granule, device = accesses.granule, accesses.device
    if r.random:
        size = buffer_bytes(accesses.instance, r) if within is None else within
        return random_cost(fetched_by(r, granule), size, device)
    return read_cost(_pitch(r, granule), granule, device)


def _pitch(r: Requests, granule: int) -> Array:
    """Return the distance of isolated DRAM atoms that an access reads [B]; 0 where it is dense."""
    strides = r.strides
    if strides is None:  # whole lines are dense enough, single sectors lie anywhere
        return np.where(r.sectors >= 3.5 * r.lines, 64.0, 2048.0)
    run = np.full(1, float(r.width))
    pitch = np.full(1, 0.0)
    at_once = []
    for v in r.variables:
        step, count = np.abs(strides[v.name]), v.extent
        if v.is_loop:
            # It comes to what follows an atom later: DRAM has gone on to other threads' by then.
            later = step < run + granule
            run = np.where(later, np.maximum(run, step), run)
            count = np.where(later, 1, count)
        at_once.append(Extent(step, count))
    for stride, count in by_stride(at_once):
        dense = stride < run + granule
        run = np.where(dense, run + (count - 1) * stride, run)
        pitch = np.where(~dense & (pitch == 0), stride, pitch)
    isolated = (run <= granule) & (pitch > granule)
    return np.where(isolated, pitch, 0.0)


def line_bytes(instance: Instance, r: Requests, touched: Array) -> Array:
    """Return the bytes of the L2 lines that hold what an access touches."""
    if r.random:
        n = np.maximum(buffer_bytes(instance, r) / LINE, 1.0)
        draws = r.lines if r.distinct_per_block is None else r.distinct_per_block[2]
        # A line that one SM reads lies on one side of L2, and by its home: again is what counts.
        # A place that is drawn once is drawn from one side.
        places = None if r.pitch is None else LINE / r.pitch
        touched_lines = drawn_share(draws / n, places)
        again = 2 * drawn_share(draws / n / 2, places) - touched_lines
        return np.asanyarray(LINE * n * (touched_lines + (TABLE_WEIGHT - 1) * again))
    filled = np.clip(r.sectors / np.maximum(r.lines, 1e-9), 1.0, LINE / SECTOR)
    # What one request leaves of a line, others may take.
    whole = np.maximum(touched, buffer_bytes(instance, r))
    return np.asanyarray(np.minimum(touched * (LINE / SECTOR) / filled, whole))


def buffer_bytes(instance: Instance, r: Requests) -> Array:
    """Return the bytes of an access's buffer, of which random places may lie in a part."""
    name = r.access.buffer
    length = np.asanyarray(instance.lengths[name], dtype=float)
    size = np.asanyarray(length * np.asanyarray(instance.element_bytes[name], dtype=float))
    return size if r.drawn is None else np.asanyarray(np.minimum(size, r.drawn.size))


def reached_bytes(instance: Instance, r: Requests, granule: int = SECTOR) -> Array:
    """Return the bytes of the granules of an access's buffer that its addresses can touch."""
    step = np.ones(1) if r.random or r.step is None else r.step
    return buffer_bytes(instance, r) * np.minimum(1.0, granule / step)
