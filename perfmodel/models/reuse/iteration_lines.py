"""Lines that one iteration holds in a cache until the next one comes back to them.

A cache's room is lines: a thread that walks along a row of its own holds a line of it, however few
of its bytes it has read, and where the lines of all threads find no room, each iteration brings its
sectors again. Stores take lines as loads do (measurements/source-kernels/h200-sxm/row-streams).

Lines of rows apart fill a cache's sets unevenly: the knee of L1's second traversals serves them, in
L2 as well (same session: 0.75 and 0.26 of the reuse is left at 0.83 and 1.1 of L2).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.requests.coalescing import LINE
from perfmodel.models.requests.unrolled import loop_unroll
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import Group, group_of, same_strides
from perfmodel.models.reuse.rereads import L1_AGAIN
from perfmodel.models.reuse.reuse_windows import resident_share


def lines_held(
    instance: Instance,
    requests: Sequence[Requests],
    groups: Sequence[Group],
    base: Mapping[str, Array],
    copies: Sequence[Array],
) -> list[Array]:
    """Return the lines that a cache holds in one iteration of a box, of each group's loop.

    What a store writes over is held once, and loops that follow each other do not run at the same
    time.
    """
    first = [requests[g.members[0]] for g in groups]
    lines = [g.granules(base, LINE) * n for g, n in zip(groups, copies, strict=True)]
    loops = [r.access.loop for r in first]
    nests = [{None, *(loop.variable for loop in instance.kernel.loop_nest(v))} for v in loops]
    over = [r.access.kind == "store" and any(_same_data(o, r) for o in first) for r in first]
    return [
        summed(
            held
            for held, other, around, again in zip(lines, loops, nests, over, strict=True)
            if not again and (other in nest or loop in around)
        )
        for loop, nest in zip(loops, nests, strict=True)
    ]


def lines_kept(lines: Sequence[Array], capacity: Array | float, device: Device) -> list[Array]:
    """Return the share of lines that a cache of so many bytes still has in the next iteration."""
    return [resident_share(n * LINE, capacity, L1_AGAIN(device)) for n in lines]


def asked_together(
    instance: Instance, requests: Sequence[Requests], groups: Sequence[Group]
) -> list[list[Group]]:
    """Return the members of each group that go out together.

    In a program, a store to another buffer parts loads: it may be to what the later one reads.
    """
    if not instance.kernel.translated:
        return [[g] for g in groups]
    stores = [(i, r.access) for i, r in enumerate(requests) if r.access.kind == "store"]
    found = []
    for g in groups:
        load = requests[g.members[0]].access
        between = [
            i
            for i, store in stores
            if store.loop == load.loop and store.buffer != load.buffer and not load.read_only
        ]
        parts: dict[int, list[int]] = {}
        for i in g.members:
            parts.setdefault(sum(store < i for store in between), []).append(i)
        alone = len(parts) == 1
        found.append([g] if alone else [group_of(part, requests) for part in parts.values()])
    return found


def stored_together(instance: Instance, requests: Sequence[Requests], group: Group) -> Array:
    """Return the bytes that a thread stores in a row, before it loads what they may be part of."""
    store = requests[group.members[0]].access
    loads = [
        i
        for i, r in enumerate(requests)
        if r.access.loop == store.loop and r.access.kind == "load" and not r.access.read_only
    ]
    between = [i for i in loads if requests[i].access.buffer != store.buffer]
    parts = Counter(sum(load < i for load in between) for i in group.members)
    words = np.asanyarray(float(max(parts.values()) * group.width))
    return words if between else words * loop_unroll(instance, store.loop, len(group.members))[1]


def _same_data(load: Requests, store: Requests) -> bool:
    """Say whether a load goes through the data that a store writes."""
    kind, buffer = load.access.kind, load.access.buffer
    return kind == "load" and buffer == store.access.buffer and same_strides(load, store)
