"""Requests that are counted, not worked out: address by address here, or by somebody else."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.kernels.counted import Counted
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import alone
from perfmodel.models.grid.activity import Activity, warp_classes
from perfmodel.models.grid.affine import Variable, index_variables, plane, with_threads
from perfmodel.models.grid.geometry import BlockShape
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.atomic_requests import sharing, total_lanes
from perfmodel.models.requests.bank_turns import counted_turns
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.contention import counted_sharing, stacked_sharing
from perfmodel.models.requests.drawn_places import uses_random
from perfmodel.models.requests.enumeration import count
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.sampled_places import beyond_sample, counted_places, without_chance

Array = npt.NDArray[Any]
_ALONE: Final = 0.9


def given_requests(
    instance: Instance, position: int, counted: Counted, shape: BlockShape
) -> Requests:
    """Return the requests of an access that somebody counted; its index gives strides at most.

    Parameters
    ----------
    instance : Instance
        One configuration.
    position : int
        Which of the kernel's accesses.
    counted : Counted
    shape : BlockShape
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
    shared = None
    if access.kind == "atomic" and counted.addresses is not None:
        addresses = np.asanyarray(counted.addresses)
        active = addresses >= 0
        shared = counted_sharing(np.maximum(addresses, 0), active)
        if counted.sampled < 1:
            size = float(np.max(instance.lengths[access.buffer])) * element
            shared = without_chance(shared, np.maximum(addresses, 0), active, size, element)
        everybody = warp_classes((), instance.known, variables) if shape.regular else None
        if counted.sampled < 1 and everybody is not None and not uses_random(index):
            whole = sharing(access, index, instance.known, variables, everybody, element)
            if whole is not None:
                shared = beyond_sample(shared, addresses, active, counted.lanes, whole)

    on_chip = instance.kernel.buffer(access.buffer).space == "shared"
    banks = counted_turns(np.maximum(addresses, 0), active, width) if shared and on_chip else None
    stored = None
    if access.kind == "store" and not on_chip and counted.addresses is not None:
        places = np.asanyarray(counted.addresses)
        size = float(np.max(instance.lengths[access.buffer])) * element
        stored = counted_places(places, places >= 0, size)

    def one(value: float) -> Array:
        return np.full(1, float(value))

    strides = None if flat is None else {n: s * element for n, s in flat.strides.items()}
    if counted.run and strides is not None:
        # One thread has a run of bytes moved: as if threads of its own did it piece by piece.
        pieces = Variable("copied", one(max(1.0, counted.run / width)), "threadIdx.copied")
        variables = (*variables, pieces)
        strides["copied"] = one(width)
    return Requests(
        access=access,
        width=width,
        requests=one(counted.requests),
        sectors=one(counted.sectors),
        lines=one(counted.lines),
        active_lanes=one(counted.lanes),
        data_wavefronts=one(counted.data_wavefronts),
        tag_wavefronts=one(counted.tag_wavefronts),
        strides=strides,
        offset=np.zeros(1) if flat is None else flat.offset * element,
        variables=variables,
        shares={},
        sampled=counted.sampled,
        random=uses_random(index) if banks is not None else flat is None,
        sharing=shared,
        banks=banks,
        stored=stored,
        different=one(counted.different),
        pairs=one(counted.pairs),
        filled=one(_filled(counted, width)),
    )


def _filled(counted: Counted, width: int) -> float:
    """Return the share of their sectors that stores fill: lanes each in a line of their own, alone.

    Others may well be rows, whose next lanes fill what these leave.
    """
    scattered = counted.lines > _ALONE * counted.lanes
    return (
        min(1.0, counted.lanes * width / max(counted.sectors * SECTOR, 1.0)) if scattered else 1.0
    )


def with_exact_requests(counted: Requests, activity: Activity, pieces: int) -> Requests:
    """Return a sample's counts with the requests that the guards are known to let through."""
    requests = pieces * sum((c.requests for c in activity.classes), np.zeros(1))
    lanes = pieces * total_lanes(activity)
    times = requests / np.maximum(counted.requests, 1e-9)
    names_of = (
        *("sectors", "lines", "data_wavefronts", "tag_wavefronts"),
        *("different", "pairs", "pages", "in_blocks"),
    )
    counts = {
        name: np.where(counted.requests > 0, found * times, found)
        for name in names_of
        if (found := getattr(counted, name)) is not None
    }
    return replace(
        counted,
        requests=requests,
        active_lanes=lanes,
        shares=activity.shares,
        warp_shares=activity.warp_shares,
        **counts,
    )


def counted_requests(a: Addressing) -> Requests:
    """Count the requests of an access, address by address."""
    instance, access = a.instance, a.access
    alone(math.prod(instance.shape))  # what a count leaves open is told of one at a time
    row = count(a)
    size = float(np.max(instance.lengths[access.buffer])) * a.element

    def column(name: str) -> Array:
        return np.array([getattr(row, name)])

    return Requests(
        access=access,
        width=a.width,
        requests=column("requests"),
        sectors=column("sectors"),
        lines=column("lines"),
        active_lanes=column("active_lanes"),
        data_wavefronts=column("data_wavefronts"),
        tag_wavefronts=column("tag_wavefronts"),
        strides=None,
        offset=np.zeros(1),
        variables=a.variables,
        shares={},
        sampled=row.sampled,
        sharing=stacked_sharing([row.sharing]),
        banks=row.banks,
        stored=None if row.stored is None else counted_places(*row.stored, size),
        different=column("different"),
        pairs=column("pairs"),
        step=column("step"),
        pages=column("pages"),
        in_blocks=column("in_blocks").T,
        seams=column("seams").T,
        filled=column("filled"),
    )
