"""Requests that somebody else has counted: the cuda front end, of a source's own addresses."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.access import Access
from perfmodel.kernels.counted import Counted
from perfmodel.kernels.instance import Instance
from perfmodel.models.grid.activity import warp_classes
from perfmodel.models.grid.affine import Variable, index_variables, plane, with_threads
from perfmodel.models.grid.geometry import BlockShape
from perfmodel.models.requests.atomic_requests import sharing
from perfmodel.models.requests.bank_turns import counted_turns
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.contention import Sharing, counted_sharing
from perfmodel.models.requests.drawn_places import uses_random
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.sampled_places import (
    StoredPlaces,
    beyond_sample,
    counted_places,
    without_chance,
)

_ALONE: Final = 0.9


def given_requests(
    instance: Instance, position: int, counted: Counted, shape: BlockShape
) -> Requests:
    """Return the requests of an access that somebody counted; its index gives strides at most.

    `instance` is one configuration.
    """
    access = instance.kernel.accesses[position]
    element = int(np.max(instance.element_bytes[access.buffer]))
    loops = instance.kernel.loop_nest(access.loop)
    trips = {loop.variable: instance.trips[loop.variable] for loop in loops}
    variables = with_threads(index_variables(shape, instance.grid, trips), shape)
    index = instance.expression(access.index)
    flat = None if uses_random(index) else plane(index, instance.known, variables)
    if flat is not None and not flat.affine:
        flat = None
    width = math.gcd(element * int(np.max(instance.vectors[position])), 16)
    shared = _given_sharing(instance, access, counted, variables, shape)
    on_chip = instance.kernel.buffer(access.buffer).space == "shared"
    banks = None
    if shared and on_chip:
        addresses = np.asanyarray(counted.addresses)
        banks = counted_turns(np.maximum(addresses, 0), addresses >= 0, width)
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
        shares={},
        sampled=counted.sampled,
        random=uses_random(index) if banks is not None else flat is None,
        sharing=shared,
        banks=banks,
        stored=None if on_chip else _given_stores(instance, access, counted),
        different=_one(counted.different),
        pairs=_one(counted.pairs),
        filled=_one(_filled(counted, width)),
    )


def _given_sharing(
    instance: Instance,
    access: Access,
    counted: Counted,
    variables: tuple[Variable, ...],
    shape: BlockShape,
) -> Sharing | None:
    """Return how the lanes of an atomic share addresses; None if that was not counted."""
    if access.kind != "atomic" or counted.addresses is None:
        return None
    element = int(np.max(instance.element_bytes[access.buffer]))
    index = instance.expression(access.index)
    addresses = np.asanyarray(counted.addresses)
    active = addresses >= 0
    shared = counted_sharing(np.maximum(addresses, 0), active)
    if counted.sampled >= 1:
        return shared
    size = float(np.max(instance.lengths[access.buffer])) * element
    shared = without_chance(shared, np.maximum(addresses, 0), active, size, element)
    everybody = warp_classes((), instance.known, variables) if shape.regular else None
    if everybody is None or uses_random(index):
        return shared
    whole = sharing(access, index, instance.known, variables, everybody, element)
    if whole is None:
        return shared
    return beyond_sample(shared, addresses, active, counted.lanes, whole)


def _given_stores(instance: Instance, access: Access, counted: Counted) -> StoredPlaces | None:
    """Return where the sectors of a store concentrate; None if that was not counted."""
    if access.kind != "store" or counted.addresses is None:
        return None
    places = np.asanyarray(counted.addresses)
    element = int(np.max(instance.element_bytes[access.buffer]))
    size = float(np.max(instance.lengths[access.buffer])) * element
    return counted_places(places, places >= 0, size)


def _one(value: float) -> Array:
    return np.full(1, float(value))


def _filled(counted: Counted, width: int) -> float:
    """Return the share of their sectors that stores fill: lanes each in a line of their own, alone.

    Others may well be rows, whose next lanes fill what these leave.
    """
    scattered = counted.lines > _ALONE * counted.lanes
    return (
        min(1.0, counted.lanes * width / max(counted.sectors * SECTOR, 1.0)) if scattered else 1.0
    )
