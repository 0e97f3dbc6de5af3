"""From an instance to warp requests: what each access asks of L1, in closed form where one holds.

One record per access, every number an array over the configurations of the instance.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.counted import Counted
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.derivation import scope
from perfmodel.models.grid.activity import Activity, conditions, let_in, warp_classes
from perfmodel.models.grid.affine import (
    Plane,
    Variable,
    nearly_plane,
    plane,
    plane_within_a_step,
    split_threads,
)
from perfmodel.models.grid.geometry import BlockShape
from perfmodel.models.grid.split_lanes import in_split_lanes
from perfmodel.models.requests.addressing import Addressing, addressing
from perfmodel.models.requests.affine_requests import affine_requests
from perfmodel.models.requests.atomic_requests import sharing
from perfmodel.models.requests.bank_conflicts import counted_turns
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.contention import AddressSharing, counted_sharing
from perfmodel.models.requests.drawn_walks import drawn_walk
from perfmodel.models.requests.enumeration import counted_requests
from perfmodel.models.requests.periodic_index import periodic_index
from perfmodel.models.requests.periodic_requests import periodic_requests
from perfmodel.models.requests.random_places import (
    Drawn,
    pitch_of_shuffled,
    random_places,
    uses_random,
)
from perfmodel.models.requests.random_rows import random_rows
from perfmodel.models.requests.request_record import Requests, no_requests, scaled
from perfmodel.models.requests.run_requests import run_requests
from perfmodel.models.requests.sampled_places import beyond_sample, counted_places, without_chance

__all__ = ["ActivityCache", "Requests", "access_requests"]


ActivityCache = dict[tuple[Any, ...], Activity | None]
_ALONE: Final = 0.9
"""Lines a lane of stores from which on each lane has a line of its own."""


def access_requests(
    instance: Instance, position: int, shape: BlockShape, known: ActivityCache
) -> Requests:
    """Work out the requests of the access at a position of a kernel's.

    Arrays of the instance hold configurations of one block shape and one width. `known` has
    activities by guards and loops, shared by the accesses of one instance.
    """
    access = instance.kernel.accesses[position]
    with scope(access):
        a = addressing(instance, position, shape)
        if access.counted is not None:
            return given_requests(a, access.counted)
        return _access_requests(a, known)


def _access_requests(a: Addressing, known: ActivityCache) -> Requests:
    access, shape = a.access, a.shape
    if not agreed(a.taken > 0):
        return no_requests(access, a.width, a.variables)
    key = (*a.guards, *a.trips)
    if key not in known:
        known[key] = warp_classes(a.guards, a.values, a.variables) if shape.regular else None
    activity = known[key]
    if access.kind == "atomic":
        found = _of_atomic(a, activity)
    else:
        closed = _affine(a, activity) or _periodic(a, activity) or random_rows(a, activity)
        found = closed or _counted(a, activity)
    if found.random and access.kind != "store":
        found = replace(found, walk=drawn_walk(a))
    # Of some configurations no thread may take part.
    return found if np.all(a.taken) else scaled(found, a.taken)


def _of_atomic(a: Addressing, activity: Activity | None) -> Requests:
    """Return the requests of an atomic: how its lanes share addresses, or a count."""
    if activity is not None:
        meeting = sharing(a, activity)
        if meeting is not None:
            return _from_sharing(a, meeting, activity)
    return replace(counted_requests(a), random=uses_random(a.index))


def _affine(a: Addressing, activity: Activity | None) -> Requests | None:
    """Return the requests of an affine index, if need be of threads taken digit by digit."""
    variables = a.variables
    flat = plane(a.index, a.values, variables) if activity is not None else None
    if a.shape.regular and (flat is None or not flat.affine):
        split = variables
        for node in (a.index, *(conditions(a.guards) or ())):
            split = split_threads(node, a.values, split) or split
        finer = warp_classes(a.guards, a.values, split) if len(split) > len(variables) else None
        if finer is None and activity is not None:
            finer = in_split_lanes(activity, variables, split)
        if finer is not None and (found := plane(a.index, a.values, split)).affine:
            activity, variables, flat = finer, split, found
    if activity is None or flat is None or not flat.affine:
        return None
    closed = affine_requests(a, activity, flat, variables)
    if closed is not None:
        return closed
    return replace(
        run_requests(replace(a, variables=variables), flat) or counted_requests(a),
        strides={name: stride * a.element for name, stride in flat.strides.items()},
        offset=flat.offset * a.element,
        variables=variables,
        **activity.passing,
    )


def _periodic(a: Addressing, activity: Activity | None) -> Requests | None:
    """Return the requests of an index that is affine modulo a period."""
    if activity is None:
        return None
    found = periodic_index(a.index, a.values, a.variables)
    if found is None:
        return None
    flat, period, start = found.plane, found.period * a.element, found.shift * a.element
    # Where the period is whole lines, and a line more than a request spans, none notices it.
    reach = sum(
        (np.abs(flat.strides[v.name]) * (v.extent - 1) for v in a.variables if v.in_lane),
        np.ones(1),
    )
    whole = (period % LINE == 0) & (start % LINE == 0)
    unnoticed = agreed(whole & (reach * a.element + LINE <= period))
    if unnoticed:
        closed = affine_requests(a, activity, flat, a.variables)
    else:
        closed = periodic_requests(a, activity, found)
    strides = {name: stride * a.element for name, stride in flat.strides.items()}
    extents = {v.name: v.extent * activity.shares.get(v.name, 1.0) for v in a.variables}
    walked = sum((np.abs(strides[n]) * (extents[n] - 1) for n in strides), np.full(1, a.width))
    # Gone round once at most, as by neighbours of periodic edges: nothing comes again.
    once = agreed(walked <= period)
    offset = flat.offset * a.element
    nearest = start + np.mod(offset - start + period / 2, period) - period / 2
    return replace(
        closed or counted_requests(a),
        strides=strides,
        offset=nearest if once else offset,
        **activity.passing,
        period=None if once else period,
        start=None if once else start,
    )


def _counted(a: Addressing, activity: Activity | None) -> Requests:
    """Return the requests of any other index; counted ones of a nearly affine with its strides."""
    random = uses_random(a.index)
    load = a.access.kind == "load"
    known = load and a.shape.regular and not random
    flat = plane(a.index, a.values, a.variables) if known else None
    runs = None if flat is None else run_requests(a, flat)
    counted = runs or counted_requests(a)
    if activity is not None:
        # The guards say how many requests there are, the sample what each asks for.
        requests = a.pieces * activity.requests
        times = requests / np.maximum(counted.requests, 1e-9)
        counted = replace(
            scaled(counted, np.where(counted.requests > 0, times, 1.0)),
            requests=requests,
            active_lanes=a.pieces * activity.active_lanes,
        )
    passing = activity if a.shape.regular else let_in(a.guards, a.values, a.variables)
    if passing is not None:
        counted = replace(counted, **passing.passing)
    mostly = None if random else _mostly(a, flat)
    if mostly is not None:
        # Counted as it is; what comes again is told by its strides.
        counted = replace(
            counted,
            strides={name: stride * a.element for name, stride in mostly.strides.items()},
            offset=mostly.offset * a.element,
        )
    if not random or not load:
        return replace(counted, random=random)
    found = random_places(a.index, a.values, a.variables, a.element, a.width)
    own = found is not None and bool(found.moves)
    return replace(
        counted,
        random=True,
        places=found if own else None,
        drawn=None if found is None or own else Drawn(found.start, found.reach),
        pitch=pitch_of_shuffled(a.index, a.values, a.variables, a.element),
    )


def _mostly(a: Addressing, flat: Plane | None) -> Plane | None:
    """Return the plane that an index is, or mostly is; what has one value moves nothing."""
    if flat is None or not flat.affine:
        return nearly_plane(a.index, a.values, a.variables)
    strides = {v.name: np.where(v.extent > 1, flat.strides[v.name], 0.0) for v in a.variables}
    return replace(flat, strides=strides)


def _from_sharing(a: Addressing, shared: AddressSharing, activity: Activity) -> Requests:
    """Return the requests of an atomic from how its lanes share addresses."""
    requests, lanes = activity.requests, activity.active_lanes
    sectors, lines = requests * shared.conflicts.sectors, requests * shared.conflicts.lines
    return Requests(
        *(a.access, a.width, requests, sectors, lines, lanes, requests, requests, a.variables),
        **activity.passing,
        random=uses_random(a.index),
        sharing=shared,
    )


def given_requests(a: Addressing, counted: Counted) -> Requests:
    """Return the requests of an access that somebody counted; its index gives strides at most."""
    access, element, width = a.access, a.element, a.width
    variables = a.variables
    flat = None if uses_random(a.index) else plane(a.index, a.values, variables)
    if flat is not None and not flat.affine:
        loads = access.kind == "load" and not counted.misses
        flat = plane_within_a_step(a.index, a.values, variables) if loads else None
    on_chip = a.instance.kernel.buffer(access.buffer).space == "shared"
    shared = banks = stored = None
    if counted.addresses is not None:
        addresses = np.asanyarray(counted.addresses)
        active = addresses >= 0
        if access.kind == "atomic":
            shared = _given_sharing(a, counted, addresses)
            banks = counted_turns(np.maximum(addresses, 0), active, width) if on_chip else None
        elif access.kind == "store" and not on_chip:
            stored = counted_places(addresses, active, a.buffer_bytes)
    strides = None if flat is None else {n: s * element for n, s in flat.strides.items()}
    if counted.run and strides is not None:
        # One thread has a run of bytes moved: as if threads of its own did it piece by piece.
        pieces = Variable("copied", _one(max(1.0, counted.run / width)), "threadIdx.copied")
        variables = (*variables, pieces)
        strides |= {pieces.name: _one(width)}
    return Requests(
        access=access,
        width=width,
        requests=_one(counted.requests),
        sectors=_one(counted.sectors),
        lines=_one(counted.lines),
        active_lanes=_one(counted.lanes),
        data_wavefronts=_one(counted.data_wavefronts),
        tag_wavefronts=_one(counted.tag_wavefronts),
        strides=strides,
        offset=np.zeros(1) if flat is None else flat.offset * element,
        variables=variables,
        sampled=counted.sampled,
        random=flat is None if banks is None else uses_random(a.index),
        sharing=shared,
        banks=banks,
        stored=stored,
        different=_one(counted.different),
        pairs=_one(counted.pairs),
        filled=_one(_filled(counted, width)),
    )


def _given_sharing(a: Addressing, counted: Counted, addresses: Array) -> AddressSharing:
    """Return how the lanes of an atomic share addresses."""
    active, at = addresses >= 0, np.maximum(addresses, 0)
    shared = counted_sharing(at, active)
    if counted.sampled >= 1:
        return shared
    shared = without_chance(shared, at, active, a.buffer_bytes, a.element)
    everybody = warp_classes((), a.values, a.variables) if a.shape.regular else None
    if everybody is None or uses_random(a.index):
        return shared
    whole = sharing(a, everybody)
    if whole is None:
        return shared
    return beyond_sample(shared, addresses, active, counted.lanes, whole)


def _one(value: float) -> Array:
    return np.full(1, float(value))


def _filled(counted: Counted, width: int) -> float:
    """Return the share of their sectors that stores fill: lanes each in a line of their own, alone.

    Others may well be rows, whose next lanes fill what these leave.
    """
    if counted.lines <= _ALONE * counted.lanes:
        return 1.0
    return min(1.0, counted.lanes * width / max(counted.sectors * SECTOR, 1.0))
