"""Requests of an affine index in closed form: sectors, lines and wavefronts of classes of warps.

Every block, warp and iteration moves an address by its own stride. Modulo a line these moves
usually run through whole periods, and then the mean over all alignments is exact. Where they do
not, the warps are counted by the residue at which they start: at most 128 of them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.agreement import agreed
from perfmodel.models.derivation import definition
from perfmodel.models.grid.activity import RARE, Activity, Span
from perfmodel.models.grid.affine import Plane, Variable
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.coalescing import LINE, SECTOR, Box, warp_granules
from perfmodel.models.requests.footprint import integers, power_of_two_gcd
from perfmodel.models.requests.recounts import recounted
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.residues import residue
from perfmodel.models.requests.row_alignment import moved_row_granules
from perfmodel.models.requests.wavefronts import pattern_wavefronts


def affine_requests(
    a: Addressing, activity: Activity, flat: Plane, variables: tuple[Variable, ...]
) -> Requests | None:
    """Return the requests of an index that is affine; None where no closed form counts them.

    `flat` is the index in elements. At most two digits of the lane have a closed form.
    """
    classes, element, pieces = activity.classes, a.element, a.pieces
    strides = {name: stride * element for name, stride in flat.strides.items()}
    offset = flat.offset * element
    lanes = [v for v in variables if v.in_lane]
    if len(lanes) > 2:
        return None
    step = _common_step(strides, variables, LINE)
    stride = [strides[v.name] for v in lanes] + [np.zeros(1)] * (2 - len(lanes))
    totals = [np.zeros(1)] * 6
    every = activity.requests
    # Wavefronts and lanes of the first class that has any requests, mostly of full warps.
    typical: tuple[Array, ...] = (np.ones(1), np.ones(1), np.ones(1))
    seen = np.zeros(1, dtype=bool)
    counted = partial(pattern_wavefronts, width=a.width, shared=a.from_shared)
    for group in classes:
        counts = [group.lanes[v.name] for v in lanes] + [np.ones(1)] * (2 - len(lanes))
        box = Box(counts[0], stride[0], counts[1], stride[1])
        used = group.requests > 0
        at = offset
        for v in lanes:
            at = at + group.skipped[v.name] * strides[v.name]
        sectors, lines = mean_granules(used, group.spans, strides, at, box, a.width, pieces)
        if agreed((np.isnan(sectors) | np.isnan(lines)) & used):
            return None
        part = group.active / np.maximum(typical[2], 1)
        # Warps that a guard cuts short are many shapes and few requests: scaled by their lanes.
        scaled = np.maximum(typical[0] * part, 1.0), np.maximum(typical[1] * part, 1.0)
        chosen = used & (~seen | (group.requests > RARE * every))
        pattern = (*box, at - np.floor(at / LINE) * LINE, step)
        data, tags = _counted_where(chosen, scaled, pattern, counted)
        typical = tuple(
            np.where(seen, before, new)
            for before, new in zip(typical, (data, tags, group.active), strict=True)
        )
        seen = seen | used
        parts = (np.ones(1), sectors, lines, group.active, data, tags)
        totals = [
            total + np.where(used, group.requests * part, 0.0) * pieces
            for total, part in zip(totals, parts, strict=True)
        ]
    requests, sectors, lines, active, data, tags = totals
    return Requests(
        *(a.access, a.width, requests, sectors, lines, active, data, tags, variables),
        strides=strides,
        offset=offset,
        **activity.passing,
    )


@definition(replaces=True)
def _counted_where(
    chosen: Array,
    others: tuple[Array, Array],
    pattern: tuple[Array, ...],
    counted: Callable[[Box, Array, Array], tuple[Array, Array]],
) -> tuple[Array, Array]:
    """Return wavefronts: counted of the chosen patterns, and those of `others` as they are."""
    if np.all(chosen):
        *every, offset, step = pattern
        return counted(Box(*every), offset, step)
    where, data, tags, *given = np.broadcast_arrays(chosen, *others, *pattern)
    data, tags = data.copy(), tags.copy()
    if not np.any(where):
        return data, tags
    places = np.nonzero(where)  # a quarter of the time that a mask takes for each column
    *box, offset, step = (each[places] for each in given)
    data[places], tags[places] = counted(Box(*box), offset, step)
    return data, tags


def _common_step(
    strides: Mapping[str, Array], variables: tuple[Variable, ...], granule: int
) -> Array:
    """Return the largest step that divides every move between warps, and the granule."""
    step: Array = np.full(1, granule, dtype=np.int64)
    for v in variables:
        if not v.in_lane:
            moves = np.where(v.extent > 1, np.abs(strides[v.name]), 0).astype(np.int64)
            step = power_of_two_gcd(step, moves)
    return step


def mean_granules(
    used: Array,
    spans: Sequence[Span],
    strides: Mapping[str, Array],
    offset: Array,
    box: Box,
    width: int,
    pieces: int,
) -> tuple[Array, Array]:
    """Return the sectors and lines per request, exact means over the warps of one class.

    Of configurations that are `used`, the others' may be any. `spans` are their executions,
    `strides` the bytes that a step of each variable moves the address, `offset` the address at the
    origin [B], `box` the lanes as for `warp_granules`; an element takes `pieces` accesses of
    `width` bytes. NaN where `warp_granules` has no closed form.
    """
    moves = [_progression(span, strides) for span in spans]
    start, step = _first_and_step(spans, moves, strides, offset)
    shifts = [piece * width for piece in range(pieces)]
    sectors, lines = (
        summed(
            warp_granules(*box, start + s, power_of_two_gcd(step, granule), granule) for s in shifts
        )
        / pieces
        for granule in (SECTOR, LINE)
    )
    exact = _indifferent(box) | (step == LINE) | _whole_periods(spans, moves, step)
    left = used & ~exact
    if not np.any(left):
        return sectors, lines
    counted, sectors, lines = moved_row_granules(
        *(left, spans, moves, start, box, shifts, (sectors, lines))
    )
    rest = left & ~counted
    if not np.any(rest):
        return sectors, lines
    names = tuple(dict.fromkeys(name for span in spans for name in span.names))
    moved = [(span.names, span.start, span.count, list(span.extents)) for span in spans]
    steps = [strides[name] for name in names]
    columns = [*box, offset, *steps]
    return recounted(rest, (sectors, lines), columns, names, moved, shifts)


def _first_and_step(
    spans: Sequence[Span],
    moves: Sequence[tuple[Array, Array]],
    strides: Mapping[str, Array],
    offset: Array,
) -> tuple[Array, Array]:
    """Return where the first warps start [B], and the step of all moves, a divisor of a line."""
    start, step = np.asanyarray(offset, dtype=float), np.full(1, LINE, dtype=np.int64)
    for span, (stride, linear) in zip(spans, moves, strict=True):
        start = start + np.where(linear, stride * span.start, 0)
        step = power_of_two_gcd(step, np.where(linear & (span.count > 1), stride, 0))
        if not np.all(linear):
            for name, extent in zip(span.names, span.extents, strict=True):
                step = power_of_two_gcd(
                    step, np.where(~linear & (extent > 1), residue(strides, name), 0)
                )
    return start, step


def _whole_periods(
    spans: Sequence[Span], moves: Sequence[tuple[Array, Array]], step: Array
) -> Array:
    """Return where a span runs through whole periods of a line.

    All moves are multiples of the smallest: if that runs through whole periods, all do.
    """
    exact = np.zeros(1, dtype=bool)
    for span, (stride, linear) in zip(spans, moves, strict=True):
        whole = integers(span.count) & (LINE // step - 1) == 0
        exact = exact | (linear & (power_of_two_gcd(LINE, stride) == step) & whole)
    return exact


def _indifferent(box: Box) -> Array:
    """Return where a request costs the same at any alignment: lanes together, or far apart."""
    inner, inner_stride, rows, row_stride = box
    still = (inner <= 1) | (inner_stride == 0)
    still_rows = (rows <= 1) | (row_stride == 0)
    far = still | (np.abs(inner_stride) >= LINE)
    far_rows = still_rows | (np.abs(row_stride) >= LINE)
    # Two directions can meet in a granule although each is a granule and more apart.
    return np.asanyarray((still & far_rows) | (still_rows & far))


def _progression(span: Span, strides: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the stride of a span's number modulo a line, and whether that is all that moves."""
    stride: Array = np.zeros(1, dtype=np.int64)
    weight: Array = np.ones(1, dtype=np.int64)
    linear: Array = np.ones(1, dtype=bool)
    for name, extent in zip(span.names, span.extents, strict=True):
        own = residue(strides, name)
        stride = np.where(weight == 1, own, stride)
        linear = linear & ((extent <= 1) | ((own - stride * weight) & (LINE - 1) == 0))
        weight = weight * integers(extent)
    return stride, linear
