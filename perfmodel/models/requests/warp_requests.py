"""From an instance to warp requests: what each access asks of L1, in closed form where one holds.

One record per access, every number an array over the configurations of the instance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.expressions import Node, Operation, evaluate, names
from perfmodel.kernels.access import Access
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.grid.activity import Activity, warp_classes
from perfmodel.models.grid.affine import (
    Variable,
    index_variables,
    nearly_plane,
    plane,
    with_threads,
)
from perfmodel.models.grid.digits import split_threads
from perfmodel.models.grid.geometry import BlockShape
from perfmodel.models.requests.affine_requests import affine_requests
from perfmodel.models.requests.atomic_requests import sharing, total_lanes
from perfmodel.models.requests.coalescing import LINE
from perfmodel.models.requests.contention import Sharing
from perfmodel.models.requests.counted_requests import (
    counted_requests,
    given_requests,
    uses_random,
    with_exact_requests,
)
from perfmodel.models.requests.request_record import Requests

__all__ = ["ActivityCache", "Requests", "access_requests"]

Array = npt.NDArray[Any]


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
    shared = access.kind == "load" and kernel.buffer(access.buffer).space == "shared"
    trips = {loop.variable: instance.trips[loop.variable] for loop in kernel.loop_nest(access.loop)}
    values = instance.known
    every = [instance.expression(g) for g in (kernel.guard, access.guard) if g is not None]
    guards = [g for g in every if not names(g) <= values.keys()]
    taken = np.ones(1)
    for guard in (g for g in every if names(g) <= values.keys()):
        taken = taken * np.asarray(evaluate(guard, values), dtype=float)
    variables = index_variables(shape, instance.grid, trips)
    if not agreed(taken > 0):
        return _nothing(access, width, variables)
    index = instance.expression(access.index)
    key = (*guards, *trips)
    if key not in known:
        known[key] = warp_classes(guards, values, variables) if shape.regular else None
    activity = known[key]
    if access.kind == "atomic" and activity is not None:
        meeting = sharing(access, index, values, variables, activity, element)
        if meeting is not None:
            return _only_where(taken, _of_atomic(access, meeting, activity, width, variables))
    if access.kind == "atomic":
        counted = counted_requests(
            instance, access, shape, index, guards, trips, element, width, pieces, shared
        )
        return _only_where(taken, replace(counted, random=uses_random(index)))
    flat = plane(index, values, variables) if activity is not None else None
    if shape.regular and (flat is None or not flat.affine):
        split = variables
        for node in (index, *guards):
            split = split_threads(node, values, split) or split
        finer = warp_classes(guards, values, split) if len(split) > len(variables) else None
        if finer is not None and (found := plane(index, values, split)).affine:
            activity, variables, flat = finer, split, found
    if activity is not None and flat is not None and flat.affine:
        closed = affine_requests(activity.classes, flat, variables, element, width, pieces, shared)
        if closed is not None:
            affine = Requests(
                access=access,
                width=width,
                variables=variables,
                shares=activity.shares,
                warp_shares=activity.warp_shares,
                **closed._asdict(),
            )
            return _only_where(taken, affine)
        counted = counted_requests(
            instance, access, shape, index, guards, trips, element, width, pieces, shared
        )
        strides = {name: stride * element for name, stride in flat.strides.items()}
        known_strides = replace(
            counted,
            strides=strides,
            offset=flat.offset * element,
            variables=variables,
            shares=activity.shares,
            warp_shares=activity.warp_shares,
        )
        return _only_where(taken, known_strides)
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
            closed = (
                affine_requests(activity.classes, flat, variables, element, width, pieces, shared)
                if agreed((period % LINE == 0) & (reach * element <= period))
                else None
            )
            requests = (
                Requests(
                    access=access,
                    width=width,
                    variables=variables,
                    shares=activity.shares,
                    warp_shares=activity.warp_shares,
                    **closed._asdict(),
                )
                if closed is not None
                else counted_requests(
                    instance, access, shape, index, guards, trips, element, width, pieces, shared
                )
            )
            periodic = replace(
                requests,
                strides={name: stride * element for name, stride in flat.strides.items()},
                offset=flat.offset * element,
                shares=activity.shares,
                warp_shares=activity.warp_shares,
                period=period,
            )
            return _only_where(taken, periodic)
    counted = counted_requests(
        instance, access, shape, index, guards, trips, element, width, pieces, shared
    )
    if activity is not None:
        counted = with_exact_requests(counted, activity, pieces)
    everything = with_threads(variables, shape)
    mostly = None if uses_random(index) else nearly_plane(index, values, everything)
    if mostly is not None:
        # Counted as it is; what comes again is told by its strides.
        counted = replace(
            counted,
            strides={name: stride * element for name, stride in mostly.strides.items()},
            offset=mostly.offset * element,
            variables=everything,
        )
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
    within = None if requests.in_blocks is None else requests.in_blocks * taken
    return replace(requests, **counts, **waves, in_blocks=within)


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
        warp_shares=activity.warp_shares,
        random=uses_random(access.index),
        sharing=shared,
    )


def _modulo(index: Node, shared: Mapping[str, Any]) -> tuple[Node, Node] | None:
    """Return a and m of an index ``a % m`` whose m is the same for all threads, else None."""
    if not isinstance(index, Operation) or index.operator != "%":
        return None
    whole, modulus = index.operands
    return (whole, modulus) if names(modulus) <= shared.keys() else None
