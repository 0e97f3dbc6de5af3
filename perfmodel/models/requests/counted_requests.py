"""Requests that somebody else has counted: the cuda front end, of a source's own addresses."""

from __future__ import annotations

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.counted import Counted
from perfmodel.models.grid.activity import warp_classes
from perfmodel.models.grid.affine import Variable, plane, with_threads
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.atomic_requests import sharing
from perfmodel.models.requests.bank_conflicts import counted_turns
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.contention import Sharing, counted_sharing
from perfmodel.models.requests.random_places import uses_random
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.sampled_places import beyond_sample, counted_places, without_chance

_ALONE: Final = 0.9


def given_requests(a: Addressing, counted: Counted) -> Requests:
    """Return the requests of an access that somebody counted; its index gives strides at most."""
    access, element, width = a.access, a.element, a.width
    variables = with_threads(a.variables, a.shape)
    flat = None if uses_random(a.index) else plane(a.index, a.values, variables)
    if flat is not None and not flat.affine:
        flat = None
    on_chip = a.instance.kernel.buffer(access.buffer).space == "shared"
    shared = banks = stored = None
    if counted.addresses is not None:
        addresses = np.asanyarray(counted.addresses)
        active = addresses >= 0
        if access.kind == "atomic":
            shared = _given_sharing(a, counted, addresses, variables)
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


def _given_sharing(
    a: Addressing, counted: Counted, addresses: Array, variables: tuple[Variable, ...]
) -> Sharing:
    """Return how the lanes of an atomic share addresses."""
    active, at = addresses >= 0, np.maximum(addresses, 0)
    shared = counted_sharing(at, active)
    if counted.sampled >= 1:
        return shared
    shared = without_chance(shared, at, active, a.buffer_bytes, a.element)
    everybody = warp_classes((), a.values, variables) if a.shape.regular else None
    if everybody is None or uses_random(a.index):
        return shared
    whole = sharing(a, variables, everybody)
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
