"""Repeated stores to few sectors: the L2 slice that owns them limits the rate.

Stores go through to L2, so a flag or counter that many warps write sends all its stores to one
slice, which accepts one sector after another. The time is the number of stores at the busiest slice
times the slice's clocks per store, and L2 takes at least as long.

Stores of the warps of one block to one sector that follow one another closely merge on the way to
L2; a measured share of those beyond the first does not. Stores that each word receives only once
are left to L2's bandwidth.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.l1.local_memory import is_local
from perfmodel.models.l2.slices import BUSIEST_SLICE, most_pieces, slice_count
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.contention import GRANULE, Hot
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.sampled_places import StoredPlaces

REPEATED_STORES_TIME = Formula(
    name="time of the busiest slice for stores",
    unit="s",
    text="max(0, stores*share*(1 + unmerged*(n - 1))/n - few)*clocks/clock",
    symbols={
        "stores": "sectors of all stores [1]",
        "share": "share of them at the busiest slice [1]",
        "n": "stores of a block to the most popular sector within a short time [1]",
        "unmerged": "part of these, beyond the first, that do not merge on their way [1]",
        "few": "stores to 256 B if each float is stored once: left to L2's bandwidth [1]",
        "clocks": Coefficient("atomics.repeated_stores.sector_clocks"),
        "clock": "SM clock [Hz]",
    },
    holds="blocks of 1 and 8 warps that store once each to 1 to 8 sectors of 256 B, within 10%",
    source="fitted form: see the coefficients",
)
SLOWEST_SLICE = Formula(
    name="time of L2 with its busiest slice",
    unit="s",
    text="max(own, hot)",
    symbols={"own": "time of L2 [s]", "hot": "time of the busiest slice for stores [s]"},
    holds="as its parts",
    source="derived: all slices work at a time",
)
SEPARATE: Final = Coefficient("atomics.repeated_stores.separate")
FEW: Final = GRANULE / 4
"""A float each: what streams store is in L2's bandwidth already."""


def stored_places(r: Requests) -> StoredPlaces | None:
    """Return where the sectors of a store concentrate, by its strides or as counted."""
    if r.sampled is not None or r.strides is None or r.period is not None:
        return r.stored
    sector, granule, pitch = np.ones(1), np.ones(1), np.full(1, np.inf)
    for v in r.variables:
        stride = np.abs(np.asanyarray(r.strides.get(v.name, 0.0), dtype=float))
        extent = np.maximum(v.extent * np.asanyarray(r.shares.get(v.name, 1.0)), 1.0)
        moves = stride > 0
        pitch = np.where(moves, np.minimum(pitch, stride), pitch)
        step = np.maximum(stride, 1e-9)
        sector = sector * np.where(moves, np.minimum(1, np.maximum(SECTOR / step, 1) / extent), 1)
        inside = np.minimum(1, np.maximum(GRANULE / step, 1) / extent)
        granule = granule * np.where(moves, inside, 1)
    third = np.where(granule <= 1 / 3, granule, 0.0)
    return StoredPlaces(Hot(sector, granule, third), pitch)


@mechanism(neutral=lambda execution: None, evidence=["l1"])
def repeated_stores(execution: Execution) -> Array | None:
    """Return the busiest slice's time for the stores that need it longest [s]; None without any."""
    times = []
    for r in execution.requests:
        if r.access.kind != "store" or is_local(execution.instance, r):
            continue
        places = stored_places(r)
        if places is not None:
            time = _busiest_time(execution, r, places)
            if np.any(time > 0):
                times.append(time)
    return largest(*times) if times else None


def _busiest_time(execution: Execution, r: Requests, places: StoredPlaces) -> Array:
    """Return the time of the slice that has most of an access's stores [s]."""
    instance, requests, device = execution.instance, execution.requests, execution.device
    slices = slice_count(device)
    bursts, separate = np.ones(1), SEPARATE(device) * np.ones(1)
    if _again(requests, r) and not _waits(requests, r.access.loop):
        separate = separate * 0
    stores = r.sectors
    for loop in instance.kernel.loop_nest(r.access.loop):
        trips = np.maximum(np.asanyarray(instance.trips[loop.variable], dtype=float), 1.0)
        still = (r.strides or {}).get(loop.variable)
        if still is not None and not np.any(still) and not _waits(requests, loop.variable):
            # Warps that store to one place time and again, with no wait, leave nothing unmerged.
            stores = stores / trips
            separate = np.where(trips > 1, 0.0, separate)
        else:
            bursts = bursts * trips
    hot = places.hot
    pieces = 1 / np.maximum(hot.granule, 1e-12)
    # What is not side by side shares a slice by chance: the problem of birthdays.
    meet = -np.expm1(-pieces * (pieces - 1) / 2 / slices)
    third = hot.third * np.where(places.pitch > 2 * GRANULE, meet, 1.0)
    most = most_pieces(pieces, device)
    busiest = BUSIEST_SLICE(h=hot.granule, third=third, most=most)
    time = REPEATED_STORES_TIME.on(
        device,
        stores=np.atleast_1d(stores),
        # What no piece has more of than a slice has of all is in L2's bandwidth.
        share=np.atleast_1d(busiest * np.clip(hot.granule * slices - 1, 0.0, 1.0)),
        n=np.maximum(stores * hot.sector / (execution.blocks * bursts), 1.0),
        unmerged=separate,
        few=FEW,
        clock=device.sm_clock,
    )
    return np.atleast_1d(time)


def _again(requests: Sequence[Requests], r: Requests) -> bool:
    """Say whether another store of the same iteration goes to the same place."""
    own = (r.access.buffer, r.access.index, r.access.loop)
    every = [q.access for q in requests if q.access.kind == "store"]
    return sum((a.buffer, a.index, a.loop) == own for a in every) > 1


def _waits(requests: Sequence[Requests], loop: str | None) -> bool:
    return any(r.access.kind != "store" and r.access.loop == loop for r in requests)
