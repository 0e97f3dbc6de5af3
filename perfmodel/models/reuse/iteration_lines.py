"""Lines that one iteration holds in a cache until the next one comes back to them.

A cache's room is lines: a thread that walks along a row of its own holds a line of it, however few
of its bytes it has read, and where the lines of all threads find no room, each iteration brings its
sectors again. Stores take lines as loads do (measurements/source-kernels/h200-sxm/row-streams).

Lines of rows apart fill a cache's sets unevenly: the knee of L1's second traversals serves them, in
L2 as well (same session: 0.75 and 0.26 of the reuse is left at 0.83 and 1.1 of L2).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.device import Device
from perfmodel.models.agreement import agreed
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.requests.coalescing import LINE
from perfmodel.models.requests.unrolled import loop_unroll
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import Group, group_of, same_strides
from perfmodel.models.reuse.rereads import L1_AGAIN
from perfmodel.models.reuse.reuse_windows import Iteration, resident_share
from perfmodel.records import record

_ONE: Final = np.ones(1)


@record
class Box:
    """Threads that go through their iterations together, and the cache that they share."""

    extents: Mapping[str, Array]  # values that each variable takes among them
    warps: Array | int  # how many they are
    capacity: Array | float  # of the cache [B]


def iterations(
    accesses: GlobalAccesses, groups: Sequence[Group], copies: Sequence[Array], box: Box
) -> list[Iteration | None]:
    """Return what the iterations of each group bring anew; None where lines find room.

    `copies` are those of each group's data that the cache holds.
    """
    requests, device = accesses.requests, accesses.device
    most = summed(
        requests[i].lines / np.maximum(requests[i].requests, 1e-9) * box.warps * n
        for g, n in zip(groups, copies, strict=True)
        for i in g.members
    )
    if agreed(most * LINE <= L1_AGAIN.low(device) * box.capacity):
        return [None] * len(groups)
    held = lines_held(accesses, groups, box.extents, copies)
    return [
        _iteration(accesses, g, lines_kept(n, box.capacity, device), box.extents)
        for g, n in zip(groups, held, strict=True)
    ]


def _iteration(
    accesses: GlobalAccesses, group: Group, kept: Array, extents: Mapping[str, Array]
) -> Iteration:
    """Return what the iterations of a group bring, of whose lines so many are kept.

    Loads of iterations that are put together go out together, unless a store parts them.
    """
    first, between = accesses.requests[group.members[0]].access, _stores_between(accesses, group)
    parts = _together(accesses.requests, group, between)
    if first.kind != "load" or first.loop is None or between:
        return Iteration(kept, parts, extents, _ONE)
    loads = [r for r in accesses.requests if r.access.kind == "load"]
    together = sum(r.access.loop == first.loop for r in loads)
    abreast = np.maximum(loop_unroll(accesses.instance, first.loop, together)[1], 1.0)
    return Iteration(kept, parts, {**extents, first.loop: abreast}, abreast)


def lines_held(
    accesses: GlobalAccesses,
    groups: Sequence[Group],
    extents: Mapping[str, Array],
    copies: Sequence[Array],
) -> list[Array]:
    """Return the lines that a cache holds in one iteration of a box, of each group's loop.

    What a store writes over is held once, and loops that follow each other do not run at the same
    time.
    """
    kernel = accesses.instance.kernel
    first = [accesses.requests[g.members[0]] for g in groups]
    lines = [g.granules(extents, LINE) * n for g, n in zip(groups, copies, strict=True)]
    loops = [r.access.loop for r in first]
    nests = [{None, *(loop.variable for loop in kernel.loop_nest(v))} for v in loops]
    over = [r.access.kind == "store" and any(_same_data(o, r) for o in first) for r in first]
    return [
        summed(
            held
            for held, other, around, again in zip(lines, loops, nests, over, strict=True)
            if not again and (other in nest or loop in around)
        )
        for loop, nest in zip(loops, nests, strict=True)
    ]


def lines_kept(lines: Array, capacity: Array | float, device: Device) -> Array:
    """Return the share of lines that a cache of so many bytes still has in the next iteration."""
    return resident_share(lines * LINE, capacity, L1_AGAIN(device))


def _together(requests: Sequence[Requests], group: Group, between: Sequence[int]) -> list[Group]:
    """Return the members of a group that go out together, with no store between them."""
    parts: dict[int, list[int]] = {}
    for i in group.members:
        parts.setdefault(sum(store < i for store in between), []).append(i)
    whole = len(parts) == 1
    return [group] if whole else [group_of(part, requests) for part in parts.values()]


def _stores_between(accesses: GlobalAccesses, group: Group) -> list[int]:
    """Return the stores of a program that no load overtakes: they may change what it reads."""
    load = accesses.requests[group.members[0]].access
    if load.read_only or not accesses.instance.kernel.translated:
        return []
    return [
        i
        for i, store in enumerate(r.access for r in accesses.requests)
        if store.kind == "store" and store.loop == load.loop and store.buffer != load.buffer
    ]


def stored_together(accesses: GlobalAccesses, group: Group) -> Array:
    """Return the bytes that a thread stores in a row, before it loads what they may be part of."""
    instance, requests = accesses.instance, accesses.requests
    store = requests[group.members[0]].access
    between = [
        i
        for i, load in enumerate(r.access for r in requests)
        if load.kind == "load"
        and load.loop == store.loop
        and load.buffer != store.buffer
        and not load.read_only
    ]
    parts = Counter(sum(load < i for load in between) for i in group.members)
    words = np.asanyarray(float(max(parts.values()) * group.width))
    if between:
        return words
    abreast = loop_unroll(instance, store.loop, len(group.members))[1]
    return np.asanyarray(words * np.maximum(abreast, 1.0))


def _same_data(load: Requests, store: Requests) -> bool:
    """Say whether a load goes through the data that a store writes."""
    kind, buffer = load.access.kind, load.access.buffer
    return kind == "load" and buffer == store.access.buffer and same_strides(load, store)
