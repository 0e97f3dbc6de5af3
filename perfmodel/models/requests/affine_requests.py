"""Requests of an affine index in closed form: sectors, lines and wavefronts of classes of warps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.agreement import agreed
from perfmodel.models.grid.activity import Activity, WarpClass
from perfmodel.models.grid.affine import Plane, Variable
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.alignment import mean_granules
from perfmodel.models.requests.coalescing import LINE, Box
from perfmodel.models.requests.footprint import power_of_two_gcd
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.wavefronts import pattern_wavefronts

_RARE: Final = 0.05
"""Share of the requests under which a cut warp's wavefronts are scaled, not worked out."""


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
    typical: tuple[Array, Array, Array] | None = None
    counted = partial(pattern_wavefronts, width=a.width, shared=a.from_shared)
    for group in classes:
        counts = [group.lanes[v.name] for v in lanes] + [np.ones(1)] * (2 - len(lanes))
        box = Box(counts[0], stride[0], counts[1], stride[1])
        used = group.requests > 0
        at = offset
        for v in lanes:
            at = at + group.skipped[v.name] * strides[v.name]
        sectors, lines = mean_granules(group.spans, strides, at, box, a.width, pieces)
        if agreed((np.isnan(sectors) | np.isnan(lines)) & used):
            return None
        data, tags = _wavefronts(
            box, at - np.floor(at / LINE) * LINE, step, group, every, typical, counted
        )
        typical = typical or (data, tags, group.active)
        parts = (np.ones(1), sectors, lines, group.active, data, tags)
        totals = [
            total + np.where(used, group.requests * part, 0.0) * pieces
            for total, part in zip(totals, parts, strict=True)
        ]
    requests, sectors, lines, active, data, tags = totals
    return Requests(
        access=a.access,
        width=a.width,
        requests=requests,
        sectors=sectors,
        lines=lines,
        active_lanes=active,
        data_wavefronts=data,
        tag_wavefronts=tags,
        strides=strides,
        offset=offset,
        variables=variables,
        shares=activity.shares,
        warp_shares=activity.warp_shares,
    )


def _wavefronts(
    box: Box,
    offset: Array,
    step: Array,
    group: WarpClass,
    every: Array,
    typical: tuple[Array, Array, Array] | None,
    counted: Callable[[Box, Array, Array], tuple[Array, Array]],
) -> tuple[Array, Array]:
    """Return data and tag wavefronts of a class; `typical` is those of full warps, and their lanes.

    Warps that a guard cuts short are many shapes and few requests: scaled by their lanes.
    """
    if typical is None:
        return counted(box, offset, step)
    part = group.active / np.maximum(typical[2], 1)
    data, tags = (np.maximum(whole * part, 1.0) for whole in typical[:2])
    many = group.requests > _RARE * every
    if np.any(many):
        arrays = np.broadcast_arrays(many, data, tags, *box, offset, step)
        chosen, (data, tags) = arrays[0], (arrays[1].copy(), arrays[2].copy())
        some, at, every_step = Box(*(a[chosen] for a in arrays[3:7])), arrays[7], arrays[8]
        data[chosen], tags[chosen] = counted(some, at[chosen], every_step[chosen])
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
