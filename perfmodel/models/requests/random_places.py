"""Drawn places: where the random places of an access lie, for a block and for many of them.

An index such as ``blockIdx.x*columns + random(..., columns)`` is at random places of the block's
own row only. What blocks that run at a time draw from moves through the buffer with them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.expressions import Node, Number, Operation, evaluate
from perfmodel.models.agreement import agreed
from perfmodel.models.grid.affine import Plane, Variable, fixed, nearly_plane, plane
from perfmodel.models.requests.footprint import Extent


class Places(NamedTuple):
    """Where the random places of an access lie."""

    start: Array  # where those of the first block begin in the buffer [B]
    reach: Array  # bytes that one block draws from
    # bytes by which the next block along an axis draws elsewhere, and blocks along it; x first;
    # none where all blocks draw from the same
    moves: tuple[tuple[Array, Array], ...]

    def of(self, blocks: Array, gap: Array | float = 1.0) -> Array:
        """Return the bytes that blocks draw from together, each `gap` blocks after the other [B].

        Those along x follow each other; beside them come those of the next row.
        """
        found = self.reach
        left, gap = np.asanyarray(blocks * gap, dtype=float), np.asanyarray(gap, dtype=float)
        for step, extent in self.moves:
            along = np.clip(left, 1.0, extent)
            apart = np.clip(gap, 1.0, along)
            found = found + (along / apart - 1) * np.minimum(step * apart, found)
            left, gap = left / extent, gap / extent
        return np.asanyarray(found)

    @property
    def alone(self) -> Array:
        """Share of the places of a block that no other block draws from [1]."""
        steps = (np.where(extent > 1, step, 0.0) for step, extent in self.moves)
        return np.asanyarray(np.minimum(reduce(np.maximum, steps) / self.reach, 1.0))


class Drawn(NamedTuple):
    """The part of a buffer that random places lie in, whichever block draws them."""

    start: Array  # [B]
    size: Array  # [B]


class DrawnWalk(NamedTuple):
    """The way of a load from the place that its thread has drawn."""

    draws: tuple[Operation, ...]  # what is drawn: loads that draw the same are at the same place
    pitch: Array  # from one place to the next [B]
    offset: Array  # from the place drawn to the first word [B]
    turns: tuple[Extent, ...]  # of loops that stay at it


def drawn_together(parts: Sequence[Drawn | None]) -> Drawn | None:
    """Return the part of a buffer that several loads draw from; None if that is not known."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    start = reduce(np.minimum, (part.start for part in known))
    end = reduce(np.maximum, (part.start + part.size for part in known))
    return Drawn(start, end - start)


def uses_random(node: Node) -> bool:
    """Say whether an index is at random places."""
    return isinstance(node, Operation) and (
        node.operator in ("random", "shuffled") or any(uses_random(part) for part in node.operands)
    )


def random_places(
    index: Node, values: Mapping[str, Any], variables: Sequence[Variable], element: int, width: int
) -> Places | None:
    """Return where the random places of an index lie, None where no stride tells.

    The index is in elements of so many bytes, of which a lane moves `width` at once; `variables`
    tell all threads of the block.
    """
    index = _unclamped(index, values)
    low, high = (_flat(drawn_at(index, end), values, variables) for end in _ENDS)
    if low is None or high is None:
        return None
    if not all(agreed(low.strides[v.name] == high.strides[v.name]) for v in variables):
        return None
    reach = np.abs(high.offset - low.offset) * element + width
    start = np.minimum(high.offset, low.offset) * element
    for v in variables:
        if not v.is_block:
            along = low.strides[v.name] * element * (v.extent - 1)
            reach, start = reach + np.abs(along), start + np.minimum(along, 0)
    blocks = sorted((v for v in variables if v.is_block), key=lambda v: v.name)
    moves = tuple((np.abs(low.strides[v.name]) * element, v.extent * 1.0) for v in blocks)
    still = not moves or agreed(summed(s * (n > 1) for s, n in moves) == 0)
    return Places(np.asanyarray(start), np.asanyarray(reach), () if still else moves)


def pitch_of_shuffled(
    index: Node, values: Mapping[str, Any], variables: Sequence[Variable], element: int
) -> Array | None:
    """Return the bytes from one place to the next, None unless each is drawn once."""
    draws = [*draws_of(index)]
    if (
        len(draws) != 1
        or draws[0].operator != "shuffled"
        or not fixed(draws[0].operands[1], values)
    ):
        return None
    origin = {**values, **{v.target: np.zeros(1) for v in variables}}
    low, high = (
        np.atleast_1d(np.asanyarray(evaluate(drawn_at(index, end), origin), dtype=float))
        for end in _ENDS
    )
    places = np.asanyarray(evaluate(draws[0].operands[1], values), dtype=float)
    step: Array = np.abs(high - low) / np.maximum(places - 1, 1.0) * element
    return step


def draws_of(node: Node) -> Iterator[Operation]:
    """Yield what an index draws."""
    if isinstance(node, Operation):
        if node.operator in ("random", "shuffled"):
            yield node
        for part in node.operands:
            yield from draws_of(part)


def _unclamped(index: Node, values: Mapping[str, Any]) -> Node:
    """Return an index without the bounds that hold it inside its buffer."""
    while isinstance(index, Operation) and index.operator in ("min", "max"):
        moving = [part for part in index.operands if not fixed(part, values)]
        if len(moving) != 1:
            break
        index = moving[0]
    return index


def _flat(index: Node, values: Mapping[str, Any], variables: Sequence[Variable]) -> Plane | None:
    """Return the plane that an index is, or mostly is where it is held inside the buffer."""
    found = plane(index, values, variables)
    return found if found.affine else nearly_plane(index, values, variables)


def drawn_at(node: Node, place: Callable[[Node], Node]) -> Node:
    """Return an index whose draws all give one place, told by how many there are."""
    if not isinstance(node, Operation):
        return node
    if node.operator in ("random", "shuffled"):
        return place(node.operands[1])
    return Operation(node.operator, tuple(drawn_at(part, place) for part in node.operands))


def first_place(_: Node) -> Node:
    """Return the number of the first place."""
    return Number(0)


def last_place(places: Node) -> Node:
    """Return the number of the last of so many places."""
    return Operation("-", (places, Number(1)))


_ENDS: Final = (first_place, last_place)
