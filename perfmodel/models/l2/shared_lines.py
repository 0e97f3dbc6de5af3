"""Which blocks and warps ask L2 for the same lines: how many read the same, and in what parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import names
from perfmodel.kernels.instance import Instance
from perfmodel.models.grid.geometry import BLOCK_INDICES
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests

ONE_A_SM: Final = 16.0
"""Blocks of a GPC that has one on each of its SMs."""


def in_parts(requests: Sequence[Requests], i: int, others: Sequence[int]) -> Array:
    """Return whether a warp asks for a line in several requests, of other sectors each.

    Measured: bodies that all lanes read, four of 16 B at a time, are merged in one read of nine
    (measurements/l2, merged-reads/kept.csv). Of those that wait one for the other, 0.98 of
    what can be is merged (measurements/l1, reuse: walks).
    """
    own, found = requests[i], np.zeros(1, dtype=bool)
    for j in others:
        r = requests[j]
        if j == i or r.strides is None or own.strides is None:
            continue
        if r.access.buffer != own.access.buffer or r.strides.keys() != own.strides.keys():
            continue
        alike = np.ones(1, dtype=bool)
        for name, stride in r.strides.items():
            alike = alike & (stride == own.strides[name])
        same_line = r.offset // LINE == own.offset // LINE
        found = found | (alike & same_line & (r.offset // SECTOR != own.offset // SECTOR))
    return found


def split_by_warps(r: Requests) -> Array:
    """Return whether warps of a block ask for other parts of the same lines, at the same time.

    Counted: of halves that all blocks read, 64 B a warp, no read is merged
    (measurements/source-kernels, copies: matrix loads).
    """
    found = np.zeros(1, dtype=bool)
    for v in r.variables:
        if r.strides is not None and v.name.startswith("warp."):
            stride = np.abs(r.strides[v.name])
            found = found | ((v.extent > 1) & (stride > 0) & (stride < LINE))
    return found


def alike(instance: Instance, r: Requests, run: Array, other: Requests | None = None) -> Array:
    """Return how many blocks of a run, numbered one after the other, a load reads the same for.

    And another load as well, if one is given. Along axes that an index at irregular places depends
    on, blocks are taken to read different data.
    """
    found = np.ones(1)
    blocks = np.asanyarray(instance.blocks, dtype=float)
    both = [x for x in (r, other) if x is not None]
    left = run
    for name, extent in zip(BLOCK_INDICES, instance.grid, strict=True):
        count = np.asanyarray(extent, dtype=float)
        part = np.clip(left, 1.0, count)
        # Where GPCs get few blocks, their bounds cut through rows of blocks that read the same.
        cut = (run <= ONE_A_SM) & (count < blocks)
        part = np.where(cut, np.maximum(count * left / (count + left), 1.0), part)
        for x in both:
            part = np.where(_still(instance, x, name), part, 1.0)
        found = found * part
        left = left / count
    return np.asanyarray(found)


def _still(instance: Instance, r: Requests, name: str) -> Any:
    """Return whether a load reads the same whatever a block index is."""
    if r.strides is not None:
        return r.strides[name] == 0
    return name not in names(instance.expression(r.access.index))
