"""Patterns: what decides the addresses of an access, and the addresses of executions by it.

Whatever goes by addresses is a function of patterns and of whole numbers, those of each launch, so
that a derivation follows from one to the other.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, evaluate, names
from perfmodel.kernels.access import Access, AccessKind
from perfmodel.kernels.histogram import BIN, Histogram, histogram, random_part
from perfmodel.models.grid.geometry import BLOCK_INDICES, BlockShape
from perfmodel.models.requests.addressing import Addressing
from perfmodel.records import record

MAX_LANES: Final = 1 << 19
"""Lanes of a sample at most."""
ALL_LANES: Final = 1 << 23
"""Lanes of the samples of all accesses of a kernel together, at most: time stays in seconds."""


class Drawn(NamedTuple):
    """A random part of an index whose values are not equally likely: its key, and the chances."""

    key: Node
    histogram: Histogram


@record
class Pattern:
    """What decides the addresses of an access, but for the numbers of a launch."""

    kind: AccessKind
    weighted: Access | None  # the access itself, if the places it draws are not as likely
    shape: BlockShape
    index: Node  # in elements
    guards: tuple[Node, ...]
    element: int
    width: int
    pieces: int
    from_shared: bool
    lanes: int  # of a sample at most
    names: tuple[str, ...]  # of parameters and dimensions that decide
    indices: tuple[str, ...]  # of blocks and loops


@record
class Executions:
    """The block executions of a launch whose requests may differ."""

    index: Node  # element index; where `drawn` says so, ``bin`` in it is drawn
    drawn: Drawn | None
    values: Mapping[str, int]  # parameters and dimensions, plain numbers
    extents: Mapping[str, int]  # of the block and loop indices that decide
    alike: int  # executions of the launch that repeat the requests of each

    @property
    def number(self) -> int:
        """How many there are."""
        return math.prod(self.extents.values())


def addresses_at(a: Addressing, at: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the addresses of some executions by blocks [B], and which lanes take part.

    Of one configuration; otherwise as `addresses_in`.
    """
    pattern, *numbers = pattern_of(a)
    address, active = addresses_in(pattern, [int(np.ravel(n)[0]) for n in numbers], at)
    return address, active & bool(np.all(a.taken > 0))


def addresses_in(
    a: Pattern, numbers: Sequence[int], at: Mapping[str, Array]
) -> tuple[Array, Array]:
    """Return the addresses of some executions of a launch [B], and which lanes take part.

    `at` has ``blockIdx.x`` and so on, and loop variables, an array of one length each; others are
    0. Both results have the shape (executions, warps, 32); addresses count from the start of the
    buffer, those of lanes that take no part are 0.
    """
    different = executions(a, numbers)
    count = max((len(each) for each in at.values()), default=1)
    none = np.zeros(count, dtype=np.int64)
    points = [np.asanyarray(at.get(name, none)) for name in different.extents]
    address, active = addresses(a, different, points)
    # What none of these decides is the same in all executions.
    shape = (count, *address.shape[1:])
    return np.broadcast_to(address, shape), np.broadcast_to(active, shape)


def pattern_of(a: Addressing) -> tuple[Pattern, *tuple[Any, ...]]:
    """Return what decides an access's addresses, and its numbers.

    Parameters and dimensions, extents of block and loop indices, bytes that are stored to.
    """
    weights = a.access.weights
    nodes = (a.index, *a.guards, *(() if weights is None or type(weights) is tuple else (weights,)))
    used = [name for name in a.values if any(name in names(node) for node in nodes)]
    most = min(MAX_LANES, ALL_LANES // len(a.instance.kernel.accesses))
    stored = np.asanyarray(a.instance.lengths[a.access.buffer]) * a.element
    indices = {**dict(zip(BLOCK_INDICES, a.instance.grid, strict=True)), **a.trips}
    weighted = None if weights is None else a.access
    pattern = Pattern(
        *(a.access.kind, weighted, a.shape, a.index, a.guards),
        *(a.element, a.width, a.pieces, a.from_shared),
        lanes=MAX_LANES >> 3 if a.access.kind == "atomic" else most,
        names=tuple(used),
        indices=tuple(indices),
    )
    last = stored if a.access.kind == "store" else 0
    return pattern, *(a.values[name] for name in used), *indices.values(), last


def executions(a: Pattern, numbers: Sequence[int]) -> Executions:
    """Return the executions of a launch, by the numbers of its pattern."""
    values = dict(zip(a.names, numbers, strict=False))
    every = dict(zip(a.indices, numbers[len(a.names) :], strict=False))
    part = None if a.weighted is None else random_part(a.index)
    index, drawn = a.index, None
    if a.weighted is not None and part is not None:
        index, (key, bins) = part[0], part[1].operands
        drawn = Drawn(key, histogram(a.weighted, int(evaluate(bins, values)), values))
    # What neither index nor guards depend on repeats the same requests.
    used = names(index).union(*map(names, a.guards), names(drawn.key) if drawn else ())
    return Executions(
        index,
        drawn,
        values,
        extents={name: extent for name, extent in every.items() if name in used},
        alike=math.prod(extent for name, extent in every.items() if name not in used),
    )


def addresses(a: Pattern, different: Executions, points: Sequence[Array]) -> tuple[Array, Array]:
    """Return addresses [B] and which lanes take part, both by execution, warp and lane."""
    threads = a.shape.thread_indices()
    inside = a.shape.inside
    env: dict[str, Any] = dict(different.values)
    for name, at in zip(different.extents, points, strict=True):
        env[name] = np.asanyarray(at, dtype=np.int64)[:, None, None]
    env |= {name: np.maximum(part, 0)[None] for name, part in threads.items()}
    full = (max((len(at) for at in points), default=1), *inside.shape)
    active = np.broadcast_to(inside[None], full).copy()
    for guard in a.guards:
        active &= np.broadcast_to(np.asanyarray(evaluate(guard, env), dtype=bool), full)
    drawn = different.drawn
    if drawn is not None:
        env[BIN] = drawn.histogram.draw(
            np.broadcast_to(np.asanyarray(evaluate(drawn.key, env)), full)
        )
    element = np.broadcast_to(np.asanyarray(evaluate(different.index, env)), full)
    return np.where(active, element * a.element, 0).astype(np.int64, copy=False), active
