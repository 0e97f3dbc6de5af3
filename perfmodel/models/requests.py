"""From an instance to warp requests: what each access asks of L1, in closed form where one holds.

One record per access, every number an array over the configurations of the instance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.expressions import Node, Operation, evaluate, names
from perfmodel.kernels.histogram import histogram, random_part
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.kernel import Access
from perfmodel.models import enumeration
from perfmodel.models.activity import Activity, warp_classes
from perfmodel.models.affine import Variable, index_variables, plane
from perfmodel.models.affine_requests import affine_requests
from perfmodel.models.atomic_requests import sharing, total_lanes
from perfmodel.models.coalescing import LINE
from perfmodel.models.contention import Sharing, stacked_sharing
from perfmodel.models.digits import split_threads
from perfmodel.models.geometry import BlockShape

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Requests:
    """What one access asks for in the whole launch.

    Attributes
    ----------
    access : Access
    width : int
        Bytes that a lane moves at once.
    requests, sectors, lines : array
        Warp requests, and the distinct sectors and lines summed over them.
    active_lanes : array
        Lanes that take part, summed over requests.
    data_wavefronts, tag_wavefronts : array
        Clocks in L1's two stages, summed over requests.
    strides : mapping of str to array, or None
        Bytes that a step of each variable moves the address; None where the index is not affine.
    offset : array
        Address at the origin of all variables [B].
    variables : tuple of Variable
    shares : mapping of str to array
        Share of each variable's range that the guards let through.
    sampled : float or None
        None for a closed form, else the share of the launch that was counted.
    period : array or None
        Bytes after which the addresses start again, where the index is ``affine % period``;
        strides and offset are then those before the modulo.
    random : bool
        Whether the index is random: rows of a table that other data chooses.
    sharing : Sharing or None
        How the lanes of an atomic share addresses.
    pairs : array or None
        Distinct 64 B halves of lines, summed over requests; None for a closed form.
    """

    access: Access
    width: int
    requests: Array
    sectors: Array
    lines: Array
    active_lanes: Array
    data_wavefronts: Array
    tag_wavefronts: Array
    strides: Mapping[str, Array] | None
    offset: Array
    variables: tuple[Variable, ...]
    shares: Mapping[str, Array]
    sampled: float | None = None
    period: Array | None = None
    random: bool = False
    sharing: Sharing | None = None
    pairs: Array | None = None

    @property
    def wanted_bytes(self) -> Array:
        """Bytes that the lanes asked for."""
        return self.active_lanes * self.width


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
    if not np.any(taken):
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
        counted = _counted(
            instance, access, shape, index, guards, trips, element, width, pieces, shared
        )
        return _only_where(taken, replace(counted, random=_uses_random(index)))
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
                **closed._asdict(),
            )
            return _only_where(taken, affine)
        counted = _counted(
            instance, access, shape, index, guards, trips, element, width, pieces, shared
        )
        strides = {name: stride * element for name, stride in flat.strides.items()}
        known_strides = replace(
            counted,
            strides=strides,
            offset=flat.offset * element,
            variables=variables,
            shares=activity.shares,
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
                if not np.any(period % LINE) and np.all(reach * element <= period)
                else None
            )
            requests = (
                Requests(
                    access=access,
                    width=width,
                    variables=variables,
                    shares=activity.shares,
                    **closed._asdict(),
                )
                if closed is not None
                else _counted(
                    instance, access, shape, index, guards, trips, element, width, pieces, shared
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
    counted = _counted(
        instance, access, shape, index, guards, trips, element, width, pieces, shared
    )
    return _only_where(taken, replace(counted, random=_uses_random(index)))


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
        random=_uses_random(access.index),
        sharing=shared,
    )


def _modulo(index: Node, shared: Mapping[str, Any]) -> tuple[Node, Node] | None:
    """Return a and m of an index ``a % m`` whose m is the same for all threads, else None."""
    if not isinstance(index, Operation) or index.operator != "%":
        return None
    whole, modulus = index.operands
    return (whole, modulus) if names(modulus) <= shared.keys() else None


def _uses_random(node: Node) -> bool:
    return isinstance(node, Operation) and (
        node.operator == "random" or any(_uses_random(part) for part in node.operands)
    )


def _counted(
    instance: Instance,
    access: Access,
    shape: BlockShape,
    index: Any,
    guards: list[Any],
    trips: Mapping[str, Any],
    element: int,
    width: int,
    pieces: int,
    shared: bool,
) -> Requests:
    size = math.prod(instance.shape)
    rows = []
    part = random_part(index) if access.weights is not None else None
    for i in range(size):
        pick = _picker(i, size)
        known = {name: pick(value) for name, value in instance.known.items()}
        drawn = None
        if part is not None:
            key, bins = part[1].operands
            likely = histogram(access, int(evaluate(bins, known)), known)
            drawn = enumeration.Drawn(key, likely)
        rows.append(
            enumeration.count(
                index if part is None else part[0],
                guards,
                known,
                shape,
                [pick(g) for g in instance.grid],
                {name: pick(t) for name, t in trips.items()},
                element,
                width,
                pieces,
                access.kind == "atomic",
                drawn,
                shared,
            )
        )

    def column(name: str) -> Array:
        return np.array([getattr(row, name) for row in rows])

    return Requests(
        access=access,
        width=width,
        requests=column("requests"),
        sectors=column("sectors"),
        lines=column("lines"),
        active_lanes=column("active_lanes"),
        data_wavefronts=column("data_wavefronts"),
        tag_wavefronts=column("tag_wavefronts"),
        strides=None,
        offset=np.zeros(1),
        variables=index_variables(shape, instance.grid, trips),
        shares={},
        sampled=min(row.sampled for row in rows),
        sharing=stacked_sharing([row.sharing for row in rows]),
        pairs=column("pairs"),
    )


def _picker(i: int, size: int) -> Any:
    def pick(value: Any) -> int:
        return int(np.broadcast_to(np.atleast_1d(value), (size,))[i])

    return pick
