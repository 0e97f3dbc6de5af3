"""From an instance to warp requests: what each access asks of L1, in closed form where one holds.

One record per access, every number an array over the configurations of the instance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.expressions import Node, Operation, evaluate, names
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.kernel import Access
from perfmodel.models.activity import Activity, WarpClass, warp_classes
from perfmodel.models.affine import Plane, Variable, index_variables, plane
from perfmodel.models.alignment import mean_granules
from perfmodel.models.atomic_requests import sharing, total_lanes
from perfmodel.models.coalescing import LINE, Box
from perfmodel.models.contention import Sharing
from perfmodel.models.counted_requests import (
    counted_requests,
    given_requests,
    uses_random,
    with_exact_requests,
)
from perfmodel.models.geometry import BlockShape
from perfmodel.models.request_record import Requests
from perfmodel.models.wavefronts import pattern_wavefronts

__all__ = ["ActivityCache", "Requests", "access_requests"]

Array = npt.NDArray[Any]

_RARE: Final = 0.05
"""Share of the requests under which a cut warp's wavefronts are scaled, not worked out."""


class _Totals(NamedTuple):
    """What a closed form gives of `Requests`."""

    requests: Array
    sectors: Array
    lines: Array
    active_lanes: Array
    data_wavefronts: Array
    tag_wavefronts: Array
    strides: Mapping[str, Array]
    offset: Array


ActivityCache = dict[tuple[Any, ...], Activity | None]


def access_requests(
    instance: Instance, position: int, shape: BlockShape, known: ActivityCache
) -> Requests:
    """Work out the requests of one access.

    Parameters
    ----------
    instance : Instance
        A kernel with numbers in; arrays hold configurations of one block shape and one width.
    position : int
        Which of the kernel's accesses.
    shape : BlockShape
        The block of all the configurations.
    known : dict
        Activities by guards and loops, shared by the accesses of one instance.
    """
    kernel = instance.kernel
    access = kernel.accesses[position]
    if access.counted is not None:
        return given_requests(instance, position, access.counted, shape)
    element = int(np.max(instance.element_bytes[access.buffer]))
    moved = element * int(np.max(instance.vectors[position]))
    # An element of an odd size moves as several accesses of its largest power of two.
    width = math.gcd(moved, 16)
    pieces = moved // width
    trips = {loop.variable: instance.trips[loop.variable] for loop in kernel.loop_nest(access.loop)}
    values = instance.known
    every = [instance.expression(g) for g in (kernel.guard, access.guard) if g is not None]
    guards = [g for g in every if not names(g) <= values.keys()]
    taken = np.ones(1)
    for guard in (g for g in every if names(g) <= values.keys()):
        taken = taken * np.asarray(evaluate(guard, values), dtype=float)
    variables = index_variables(shape, instance.grid, trips)
    if not np.any(taken):
        return _nothing(access, width, variables)
    index = instance.expression(access.index)
    key = (*guards, *trips)
    if key not in known:
        known[key] = warp_classes(guards, values, variables) if shape.regular else None
    activity = known[key]
    if access.kind == "atomic" and activity is not None:
        shared = sharing(access, index, values, variables, activity, element)
        if shared is not None:
            return _only_where(taken, _of_atomic(access, shared, activity, width, variables))
    if access.kind == "atomic":
        counted = counted_requests(
            instance, access, shape, index, guards, trips, element, width, pieces
        )
        return _only_where(taken, replace(counted, random=uses_random(index)))
    flat = plane(index, values, variables) if activity is not None else None
    if activity is not None and flat is not None and flat.affine:
        found = _closed_form(activity.classes, flat, variables, element, width, pieces)
        if found is not None:
            affine = Requests(
                access=access,
                width=width,
                variables=variables,
                shares=activity.shares,
                **found._asdict(),
            )
            return _only_where(taken, affine)
    cycle = _modulo(index, values)
    if activity is not None and cycle is not None:
        flat = plane(cycle[0], values, variables)
        period = np.atleast_1d(np.asarray(evaluate(cycle[1], values), dtype=float)) * element
        if flat.affine:
            # Where the period is whole lines, and more than a request spans, none notices it.
            reach = sum(
                (np.abs(flat.strides[v.name]) * (v.extent - 1) for v in variables if v.in_lane),
                np.ones(1),
            )
            found = (
                _closed_form(activity.classes, flat, variables, element, width, pieces)
                if not np.any(period % LINE) and np.all(reach * element <= period)
                else None
            )
            requests = (
                Requests(
                    access=access,
                    width=width,
                    variables=variables,
                    shares=activity.shares,
                    **found._asdict(),
                )
                if found is not None
                else counted_requests(
                    instance, access, shape, index, guards, trips, element, width, pieces
                )
            )
            periodic = replace(
                requests,
                strides={name: stride * element for name, stride in flat.strides.items()},
                offset=flat.offset * element,
                shares=activity.shares,
                period=period,
            )
            return _only_where(taken, periodic)
    counted = counted_requests(
        instance, access, shape, index, guards, trips, element, width, pieces
    )
    if activity is not None:
        counted = with_exact_requests(counted, activity, pieces)
    return _only_where(taken, replace(counted, random=uses_random(index)))


def _nothing(access: Access, width: int, variables: tuple[Variable, ...]) -> Requests:
    """Return the requests of an access that no thread takes part in."""
    none = np.zeros(1)
    return Requests(
        access, width, none, none, none, none, none, none, None, none, variables, shares={}
    )


def _only_where(taken: Array, requests: Requests) -> Requests:
    """Return requests with those configurations empty in which no thread takes part."""
    if np.all(taken):
        return requests
    names_of = ("requests", "sectors", "lines", "active_lanes")
    counts = {name: getattr(requests, name) * taken for name in names_of}
    waves = {n: getattr(requests, n) * taken for n in ("data_wavefronts", "tag_wavefronts")}
    return replace(requests, **counts, **waves)


def _of_atomic(
    access: Access, shared: Sharing, activity: Activity, width: int, variables: tuple[Variable, ...]
) -> Requests:
    """Return the requests of an atomic from how its lanes share addresses."""
    requests = np.asarray(sum((c.requests for c in activity.classes), np.zeros(1)))
    lines = requests * shared.conflicts.lines
    return Requests(
        access=access,
        width=width,
        requests=requests,
        sectors=requests * shared.conflicts.sectors,
        lines=lines,
        active_lanes=total_lanes(activity),
        data_wavefronts=requests,
        tag_wavefronts=requests,
        strides=None,
        offset=np.zeros(1),
        variables=variables,
        shares=activity.shares,
        random=uses_random(access.index),
        sharing=shared,
    )


def _modulo(index: Node, shared: Mapping[str, Any]) -> tuple[Node, Node] | None:
    """Return a and m of an index ``a % m`` whose m is the same for all threads, else None."""
    if not isinstance(index, Operation) or index.operator != "%":
        return None
    whole, modulus = index.operands
    return (whole, modulus) if names(modulus) <= shared.keys() else None


def _closed_form(
    classes: tuple[WarpClass, ...],
    flat: Plane,
    variables: tuple[Variable, ...],
    element: int,
    width: int,
    pieces: int,
) -> _Totals | None:
    strides = {name: stride * element for name, stride in flat.strides.items()}
    offset = flat.offset * element
    lanes = [v for v in variables if v.in_lane]
    if len(lanes) > 2:
        return None
    step = _common_step(strides, variables, LINE)
    stride = [strides[v.name] for v in lanes] + [np.zeros(1)] * (2 - len(lanes))
    totals = [np.zeros(1)] * 6
    every = sum((group.requests for group in classes), np.zeros(1))
    typical: tuple[Array, Array, Array] | None = None
    for group in classes:
        counts = [group.lanes[v.name] for v in lanes] + [np.ones(1)] * (2 - len(lanes))
        box = Box(counts[0], stride[0], counts[1], stride[1])
        used = group.requests > 0
        at = offset
        for v in lanes:
            at = at + group.skipped[v.name] * strides[v.name]
        sectors, lines = mean_granules(group.spans, strides, at, box, width, pieces)
        if np.any(np.isnan(sectors) & used) or np.any(np.isnan(lines) & used):
            return None
        data, tags = _wavefronts(box, np.mod(at, LINE), step, width, group, every, typical)
        typical = typical or (data, tags, group.active)
        parts = (np.ones(1), sectors, lines, group.active, data, tags)
        totals = [
            total + np.where(used, group.requests * part, 0.0) * pieces
            for total, part in zip(totals, parts, strict=True)
        ]
    requests, sectors, lines, active, data, tags = totals
    return _Totals(requests, sectors, lines, active, data, tags, strides, offset)


def _wavefronts(
    box: Box,
    offset: Array,
    step: Array,
    width: int,
    group: WarpClass,
    every: Array,
    typical: tuple[Array, Array, Array] | None,
) -> tuple[Array, Array]:
    """Return data and tag wavefronts of a class; `typical` is those of full warps, and their lanes.

    Warps that a guard cuts short are many shapes and few requests: scaled by their lanes.
    """
    if typical is None:
        return pattern_wavefronts(box, offset, step, width)
    part = group.active / np.maximum(typical[2], 1)
    data, tags = (np.maximum(whole * part, 1.0) for whole in typical[:2])
    many = group.requests > _RARE * every
    if np.any(many):
        arrays = np.broadcast_arrays(many, data, tags, *box, offset, step)
        chosen, (data, tags) = arrays[0], (arrays[1].copy(), arrays[2].copy())
        some, at, every_step = Box(*(a[chosen] for a in arrays[3:7])), arrays[7], arrays[8]
        data[chosen], tags[chosen] = pattern_wavefronts(some, at[chosen], every_step[chosen], width)
    return data, tags


def _common_step(
    strides: Mapping[str, Array], variables: tuple[Variable, ...], granule: int
) -> Array:
    """Return the largest step that divides every move between warps, and the granule."""
    step: Array = np.full(1, granule, dtype=np.int64)
    for v in variables:
        if not v.in_lane:
            moves = np.where(v.extent > 1, np.abs(strides[v.name]), 0).astype(np.int64)
            step = np.gcd(step, moves)
    return step
