"""Write merging: consecutive stores of one warp to the same sectors that reach L2 as one.

L1 is write-through, but stores wait in a queue on their way to L2. When a warp stores the words of
a record one instruction after another (a stride in an array of structures), the parts of one sector
merge if they are in the queue together, and L2 receives the sector once. The more lines a warp
writes between the first and the last part, the less merges. How many warps store makes next to no
difference: 8 and 64 of an SM merge alike (measurements/l1, narrow-stores).

Merging needs stores that issue close together. A load whose result one of the stores needs, between
two stores, separates them; so does a load that may alias the stored address, which the compiler
keeps behind the store. Warps that first wait for loads start their stores at different times, and
merge more of them.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.models.agreement import agreed
from perfmodel.models.derivation import definition
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import Group

MERGED = Formula(
    name="share of the possible merging of consecutive stores that happens",
    unit="1",
    text="most/(1 + (lines/half)**sharp)",
    symbols={
        "lines": "lines that a request touches, or stores of a thread if those are more [1]",
        "most": "share where stores follow one another immediately [1]",
        "half": "lines of a request at which half of the merging is left [1]",
        "sharp": "exponent [1]",
    },
    holds="2 to 8 words stored one after another, and 8 halves; less with operations between them",
    source="fitted form. With 8 operations between them stores merge next to nothing; that the "
    "stores of one iteration are consecutive is assumed, as ptxas schedules them at the end",
)
MOST_AT_ONCE: Final = Coefficient("l1.merged_stores.most_at_once")
HALF_AT_ONCE: Final = Coefficient("l1.merged_stores.half_at_once")
SHARP_AT_ONCE: Final = Coefficient("l1.merged_stores.sharp_at_once")
HALF_LATER = Formula(
    name="lines of a request at which half of the merging is left, of warps that wait for loads",
    unit="1",
    text="lines*(1 + spread*sqrt(loads)/stores)",
    symbols={
        "loads": "loads that a thread waits for before it stores [1]",
        "stores": "consecutive stores of a thread [1]",
        "lines": Coefficient("l1.merged_stores.half_later_lines"),
        "spread": Coefficient("l1.merged_stores.loads_spread"),
    },
    holds="1 to 10 loads, 2 to 10 stores: some warps store while others wait for loads",
    source="fitted form, with coefficient sharp_later",
)
SHARP_LATER: Final = Coefficient("l1.merged_stores.sharp_later")
OWN_LOADS: Final = Coefficient("l1.merged_stores.own_loads")
SENT_SECTORS = Formula(
    name="sectors that stores send to L2",
    unit="1",
    text="asked*(1 - merged*(1 - union))",
    symbols={
        "asked": "sectors of all requests [1]",
        "merged": "share of the possible merging that happens [1]",
        "union": "distinct sectors of a warp's consecutive stores, over the sum of their "
        "requests' [1]",
    },
    holds="consecutive stores to the same sectors",
    source="derived",
)


@mechanism(
    neutral=lambda accesses, groups: [np.ones(1) for _ in accesses.requests],
    evidence=["source-kernels", "instructions", "dram", "l1"],
)
def sent(accesses: GlobalAccesses, groups: Sequence[Group]) -> list[Array]:
    """Return, for each access, the share of its sectors that reach L2; 1 for all but stores.

    `groups` are accesses that share lines.
    """
    requests, device = accesses.requests, accesses.device
    shares = [np.ones(1) for _ in requests]
    loads = [r.access.loop for r in requests if r.access.kind == "load"]
    stores = (g for g in groups if requests[g.members[0]].access.kind == "store")
    parts = (part for each in stores for part in _one_after_the_other(each, requests))
    for g in parts:
        places = _distinct_places(g, requests)
        if len(places) < 2:
            continue
        inside = [v for v in requests[g.members[0]].variables if v.in_lane or v.is_thread]
        union = _union(
            places,
            [np.asanyarray(g.strides[v.name], float) for v in inside],
            [int(np.max(v.extent)) for v in inside],
        )
        count = summed(requests[i].requests for i in g.members)
        lines = summed(requests[i].lines for i in g.members) / np.maximum(count, 1e-9)
        lines = np.maximum(lines, len(places))
        before = loads.count(requests[g.members[0]].access.loop)
        given = after_loads(max(before, 1) if loads else 0, len(places), device)
        merged = MERGED(lines=lines, **given)
        if _loads_between(g, requests):
            merged = merged * OWN_LOADS(device)
        sectors = SENT_SECTORS(asked=np.ones(1), merged=merged, union=union)
        for i in g.members:
            shares[i] = np.asanyarray(sectors)
    return shares


def after_loads(loads: float, stores: float, device: Device) -> dict[str, Any]:
    """Return what `MERGED` takes of so many stores that wait for so many loads.

    Without any, all warps of an SM store as soon as they start.
    """
    if not loads:
        most, half = MOST_AT_ONCE(device), HALF_AT_ONCE(device)
        return {"most": most, "half": half, "sharp": SHARP_AT_ONCE(device)}
    half_later = HALF_LATER.on(device, loads=loads, stores=stores)
    return {"most": 1.0, "half": half_later, "sharp": SHARP_LATER(device)}


def _one_after_the_other(g: Group, requests: Sequence[Requests]) -> list[Group]:
    """Return the parts of a group of stores that no wait for a load keeps apart.

    A load that may read what was stored stays behind the store, and waits with it: nothing merges.
    Measured: 2, 3 and 4 words of 4 Mi threads, each loaded after the one before was stored, all
    reach L2, and take 1.2 to 1.7 times as long (measurements/dram, tiles/planes.csv, alias).
    """
    parts: list[list[int]] = []
    for i in sorted(g.members):
        if parts and not _waits_between(parts[-1][-1], i, requests):
            parts[-1].append(i)
        else:
            parts.append([i])
    return [replace(g, members=tuple(part)) for part in parts]


def _distinct_places(g: Group, requests: Sequence[Requests]) -> list[Array]:
    """Return the offsets of a group's stores, those to the same address once.

    A thread makes one of these: a compiler leaves out a store that the next overwrites, so they are
    of branches of which one is taken.
    """
    found: list[Array] = []
    for i in g.members:
        if not any(agreed(requests[i].offset == place) for place in found):
            found.append(requests[i].offset)
    return found


def _loads_between(g: Group, requests: Sequence[Requests]) -> bool:
    """Say whether a source loads something between each store of a group and the next.

    What lies next to an earlier load comes with it: the words of a record that is changed in place.
    """
    return all(
        any(
            r.access.kind == "load" and not any(_next_to(r, other) for other in requests[:first])
            for r in requests[first:second]
        )
        for first, second in pairwise(g.members)
    )


def _next_to(load: Requests, other: Requests) -> bool:
    """Say whether a load reads within a line of another one, wherever the thread is."""
    if other.access.kind != "load" or other.access.buffer != load.access.buffer:
        return False
    if load.strides is None or other.strides is None or load.strides.keys() != other.strides.keys():
        return False
    alike = (np.array_equal(s, other.strides[n]) for n, s in load.strides.items())
    near = np.abs(np.asanyarray(load.offset) - np.asanyarray(other.offset)) < LINE
    return all(alike) and bool(np.all(near))


def _waits_between(first: int, second: int, requests: Sequence[Requests]) -> bool:
    """Say whether a load between two stores waits for the last one before them."""
    before = [r.access.name for r in requests[:first] if r.access.kind == "load"]
    between = (r.access for r in requests[first + 1 : second])
    return bool(before) and any(a.kind == "load" and a.needs == before[-1] for a in between)


@definition  # how many sectors are distinct is a length, which no derivation follows
def _union(starts: Sequence[Array], strides: Sequence[Array], extents: Sequence[int]) -> Array:
    """Return the distinct sectors of a warp's stores of one group, over the sum of each.

    By their offsets, and the strides and extents of the variables that lanes differ in.
    """
    offsets = np.stack(np.broadcast_arrays(*starts), axis=-1)
    lanes = np.zeros((*offsets.shape[:-1], WARP_SIZE))
    left = np.arange(WARP_SIZE)
    for along, count in zip(strides, extents, strict=True):
        stride = np.broadcast_to(along, offsets.shape[:-1])
        lanes = lanes + stride[..., None] * (left % count)
        left = left // count
    found = []
    for o, own in zip(
        offsets.reshape(-1, offsets.shape[-1]), lanes.reshape(-1, WARP_SIZE), strict=True
    ):
        sectors = [np.unique((own + o_i) // SECTOR) for o_i in o - o.min()]
        found.append(len(np.unique(np.concatenate(sectors))) / sum(map(len, sectors)))
    return np.asanyarray(found).reshape(offsets.shape[:-1])
