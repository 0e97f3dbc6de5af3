"""Coalescing: the 32 B sectors and 128 B lines that one request of a warp touches.

L1 turns the addresses of a request's active lanes into distinct lines and sectors; lanes in the
same sector share it. A request is charged the distinct sectors of all its lanes, whatever the width
of the access. Accesses are naturally aligned, so none straddles a sector.

Lanes at a stride of at most a sector touch every sector from the first to the last; lanes at larger
strides touch one each. Warps start at different alignments, so the formula is the exact mean over
the alignments that occur. Checked against the profiler on 816 patterns of loads and stores
(`measurements/suite`, foundation/coalescer.csv).
"""

from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.derivation import most_turns, skippable
from perfmodel.models.formula import Formula

SECTOR: Final = 32
"""Bytes of a sector, the unit in which L1, L2 and the profiler count."""
LINE: Final = 128
"""Bytes of a cache line: four sectors under one tag."""
PAGE: Final = 2 << 20
"""Bytes of a page of device memory, by NVIDIA's documentation of virtual memory management."""


_STEP = "common step of the addresses of all warps, a divisor of the granule [B]"
_GRANULE = "granule: sector 32 or line 128 [B]"
GRANULES = Formula(
    name="granules per request",
    unit="granules",
    text="where(s <= G, 1 + g/G*floor((o % g + (n - 1)*s)/g), n)",
    symbols={
        "n": "active lanes of a request [1]",
        "s": "distance between neighbouring lanes [B]",
        "o": "address of the first lane, modulo the granule [B]",
        "g": _STEP,
        "G": _GRANULE,
    },
    holds="exact for evenly spaced lanes; the mean over warps whose addresses are o plus "
    "multiples of g; with g = G, one fixed alignment",
    source="derived: lanes at strides of at most a granule touch every granule between first and "
    "last; the mean of floor((o + (n-1)s)/G) over the offsets o, o+g, ... by Hermite's identity",
)
ROW_OVERLAP = Formula(
    name="granules that neighbouring rows of a warp share",
    unit="granules",
    text="max(0, 1 - g/G*floor((x % g + d)/g))",
    symbols={
        "x": "address of a row's last lane [B]",
        "d": "from a row's last lane to the next row's first [B]",
        "g": _STEP,
        "G": _GRANULE,
    },
    holds="exact for rows whose lanes are at strides of at most a granule",
    source="derived: the rows share a granule if no boundary lies between them",
)
EFFICIENCY = Formula(
    name="sector efficiency",
    unit="1",
    text="n*w/(32*sectors)",
    symbols={
        "n": "distinct elements that a request asks for: same-address lanes count once [1]",
        "w": "bytes of an element [B]",
        "sectors": "sectors per request [1]",
    },
    holds="always",
    source="definition: distinct bytes that the lanes ask for, over bytes of the sectors moved",
)


class Box(NamedTuple):
    """The lanes of a warp: `rows` rows of `inner` lanes, and the bytes between them."""

    inner: Array
    inner_stride: Array
    rows: Array
    row_stride: Array


def row_granules(lanes: Any, stride: Any, offset: Any, step: Any, granule: int) -> Array:
    """Return the mean distinct granules of one row of evenly spaced lanes; 0 lanes give 0.

    `stride` and `offset` are in bytes, the stride 0 or more. `step` divides `granule`, 32 for
    sectors and 128 for lines: the warps' addresses differ by multiples of it [B], and only the
    offset's value modulo it matters.
    """
    lanes = np.asanyarray(lanes)
    count = GRANULES(
        n=lanes.astype(float), s=_float(stride), o=_float(offset), g=_float(step), G=float(granule)
    )
    return np.where(lanes > 0, count, 0.0)


def warp_granules(
    inner: Any,
    inner_stride: Any,
    rows: Any,
    row_stride: Any,
    offset: Any,
    step: Any,
    granule: int,
) -> Array:
    """Return the mean distinct granules of a warp whose lanes form `rows` rows of `inner` lanes.

    Lane (i, j) reads at ``offset + i*inner_stride + j*row_stride``, in bytes, as for
    `row_granules`. Strides may have any sign. NaN marks a pattern that no closed form covers (lanes
    over a granule apart in both directions and interleaved);
    `perfmodel.models.requests.enumeration` counts those.
    """
    # Arrays keep their own shapes: what is alike in all configurations is worked out once.
    inner, rows, inner_stride, row_stride = map(
        np.asanyarray, (inner, rows, inner_stride, row_stride)
    )
    # Reading a row backwards touches the same granules.
    offset = offset + np.where(inner_stride < 0, (inner - 1) * inner_stride, 0)
    offset = offset + np.where(row_stride < 0, (rows - 1) * row_stride, 0)
    box = _one_direction(Box(inner, np.abs(inner_stride), rows, np.abs(row_stride)))
    inner, inner_stride, rows, row_stride = box
    if skippable(rows <= 1):
        return np.where(rows > 0, row_granules(inner, inner_stride, offset, step, granule), 0.0)
    # The denser direction is the row.
    swap = (rows > 1) & (row_stride < inner_stride)
    inner, rows = np.where(swap, rows, inner), np.where(swap, inner, rows)
    inner_stride, row_stride = (
        np.where(swap, row_stride, inner_stride),
        np.where(swap, inner_stride, row_stride),
    )
    total = _rows_granules(Box(inner, inner_stride, rows, row_stride), offset, step, granule)
    sparse = (inner_stride > granule) & (rows > 1)
    separate = row_stride >= (inner - 1) * inner_stride + granule
    return np.where(sparse, np.where(separate, inner * rows * 1.0, np.nan), total)


def _one_direction(box: Box) -> Box:
    """Return a box without the direction that has one lane or does not move."""
    inner, inner_stride, rows, row_stride = box
    flat = (inner == 1) | (inner_stride == 0)
    inner, rows = np.where(flat, rows, inner), np.where(flat, 1, rows)
    inner_stride = np.where(flat, row_stride, inner_stride)
    rows = np.where(row_stride == 0, np.minimum(rows, 1), rows)
    return Box(inner, inner_stride, rows, row_stride)


def _rows_granules(box: Box, offset: Any, step: Any, granule: int) -> Array:
    """Return the mean distinct granules of rows, each less what it shares with the one before."""
    inner, inner_stride, rows, row_stride = box
    span = (inner - 1) * inner_stride
    total = np.zeros(())
    for j in range(most_turns(rows)):
        start = offset + j * row_stride
        row = row_granules(inner, inner_stride, start, step, granule)
        shared = ROW_OVERLAP(
            x=_float(start - row_stride + span),
            d=_float(row_stride - span),
            g=_float(step),
            G=float(granule),
        )
        total = total + np.where(j < rows, row - (shared if j else 0.0), 0.0)
    return total


def _float(value: Any) -> Array:
    # The expressions check integers for overflow; addresses modulo a granule cannot.
    return np.asanyarray(value, dtype=float)
