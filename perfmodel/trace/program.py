"""The order in which a block makes its accesses: a tree of loops with accesses as leaves."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.instance import Instance


@dataclass(slots=True)
class Body:
    """What a loop repeats: positions of accesses, and loops; `variable` is None for the kernel."""

    variable: str | None
    trips: int
    items: "list[int | Body]" = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some iterations of an innermost body, in order."""

    accesses: tuple[int, ...]  # their positions in the kernel
    loops: Mapping[str, Array]  # value of every loop variable in each iteration
    iterations: int


def program(instance: Instance, space: str = "global") -> Body:
    """Return the accesses of a kernel to a memory space, in the order of the kernel's list."""
    kernel = instance.kernel
    top = Body(None, 1)
    for position, access in enumerate(kernel.accesses):
        # The simulator sees local memory as global: without what later threads take over.
        if (kernel.buffer(access.buffer).space == "shared") != (space == "shared"):
            continue
        body = top
        for loop in kernel.loop_nest(access.loop):
            last = body.items[-1] if body.items else None
            if not (isinstance(last, Body) and last.variable == loop.variable):
                last = Body(loop.variable, int(instance.trips[loop.variable]))
                body.items.append(last)
            body = last
        body.items.append(position)
    return top


def executions(body: Body) -> int:
    """Return how many accesses a thread makes, if no guard holds it back."""
    return body.trips * sum(
        executions(item) if isinstance(item, Body) else 1 for item in body.items
    )


def batches(body: Body, most: int, share: slice | None = None) -> Iterator[Batch]:
    """Yield the accesses of a block in order.

    `most`: accesses in a batch; at least one iteration is. `share`: only these iterations of the
    outermost loops; what is outside loops goes with the first.
    """
    yield from _walk(body, {}, most, share)


def _walk(body: Body, around: Mapping[str, int], most: int, share: slice | None) -> Iterator[Batch]:
    leaves: list[int] = []
    for item in [*body.items, None]:
        if isinstance(item, int):
            leaves.append(item)
            continue
        if leaves and (share is None or share.start == 0):
            loops = {name: np.full(1, value, dtype=np.int64) for name, value in around.items()}
            yield Batch(tuple(leaves), loops, 1)
        leaves = []
        if item is not None:
            yield from _loop(item, around, most, share)


def _loop(body: Body, around: Mapping[str, int], most: int, share: slice | None) -> Iterator[Batch]:
    nest = [body]
    while len(nest[-1].items) == 1 and isinstance(nest[-1].items[0], Body):
        nest.append(nest[-1].items[0])
    extents = [part.trips for part in nest]
    first, last, _ = (share or slice(None)).indices(extents[0])
    inner = math.prod(extents[1:])
    first, last = first * inner, last * inner
    leaves = [item for item in nest[-1].items if isinstance(item, int)]
    names = [part.variable or "" for part in nest]
    if len(leaves) < len(nest[-1].items):
        for i in range(first, last):
            place = (int(part) for part in np.unravel_index(i, extents))
            values = dict(zip(names, place, strict=True))
            yield from _walk(nest[-1], {**around, **values}, most, None)
        return
    step = max(1, most // len(leaves))
    for start in range(first, last, step):
        flat = np.arange(start, min(start + step, last), dtype=np.int64)
        loops: dict[str, Array] = {name: np.full(len(flat), v) for name, v in around.items()}
        loops |= dict(zip(names, np.unravel_index(flat, extents), strict=True))
        yield Batch(tuple(leaves), loops, len(flat))
