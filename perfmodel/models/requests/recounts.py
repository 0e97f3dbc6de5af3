"""Requests of warps counted by the residue of a line at which each starts, where no mean is exact.

Configurations that need it are counted by a compiled loop, or as arrays where there is none.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.compiled_loops import worth_loop
from perfmodel.models.derivation import definition
from perfmodel.models.grid.activity import Span
from perfmodel.models.grid.distinct import distinct_columns
from perfmodel.models.requests.coalescing import LINE, SECTOR, Box, warp_granules
from perfmodel.models.requests.footprint import integers
from perfmodel.models.requests.residues import mean_costs, residues_of_one

_LOOP: Final = "perfmodel.models.requests.residue_loop"
_MOST_KNOWN: Final = 1 << 12
"""Boxes of lanes whose costs are kept, for each unit and the like."""

_CACHE_LINE: Final = 8
"""Doubles in a line of a processor's cache."""

_Moves = Sequence[tuple[tuple[str, ...], Array, Array, Sequence[Array]]]
"""Names of the digits of each span of executions, its start, its count and its extents."""


def _recounted(
    which: bool,
    means: tuple[float, float],
    columns: Sequence[float],
    names: tuple[str, ...],
    spans: Sequence[tuple[Sequence[str], float, float, Sequence[float]]],
    shifts: Sequence[int],
) -> tuple[float, float]:
    """Return what `recounted` does of plain numbers."""
    if not which:
        return means
    parts = (part for _, start, count, extents in spans for part in (start, count, *extents))
    found = _alone((*columns, *parts), names, [own for own, *_ in spans], tuple(shifts))
    sectors, lines = (found / len(shifts)).tolist()
    return sectors, lines


@definition(one=_recounted, replaces=True)
def recounted(
    which: Array,
    means: tuple[Array, Array],
    columns: Sequence[Array],
    names: tuple[str, ...],
    spans: _Moves,
    shifts: Sequence[int],
) -> tuple[Array, Array]:
    """Return the means with those of some configurations replaced by counts over residues.

    `columns` are the box of lanes, the offset, and the strides by `names`; an element takes an
    access at each of the `shifts`. All in bytes, of one configuration axis.
    """
    parts = [part for _, start, count, extents in spans for part in (start, count, *extents)]
    which, sectors, lines, *every = np.broadcast_arrays(which, *means, *columns, *parts)
    sectors, lines = sectors.copy(), lines.copy()
    places = np.flatnonzero(which)
    if places.size:
        digits = [own for own, *_ in spans]
        if places.size == 1:
            numbers = [column[places[0]].item() for column in every]
            found = _alone(numbers, names, digits, tuple(shifts))[:, None]
        else:
            found = _counted(_table(every, places), len(places), names, digits, tuple(shifts))
        sectors[places], lines[places] = found / len(shifts)
    return sectors, lines


def _alone(
    numbers: Sequence[float],
    names: Sequence[str],
    digits: Sequence[Sequence[str]],
    shifts: tuple[int, ...],
) -> Array:
    """Return sectors and lines of one configuration, by plain numbers.

    `numbers` are the columns and parts of `recounted`.
    """
    box, offset, rest = numbers[:4], numbers[4], numbers[5:]
    strides, parts = dict(zip(names, map(int, rest), strict=False)), iter(rest[len(names) :])
    bits = reduce(or_, strides.values(), LINE | int(offset))
    unit = bits & -bits
    moves = []
    for own in digits:
        start, count, *extents = itertools.islice(parts, 2 + len(own))
        moves.append((extents, [strides[name] // unit for name in own], start, count))
    counts = residues_of_one(moves, int(offset // unit), LINE // unit)
    costs = _costs(_near(Box(*(np.array([float(number)]) for number in box))), unit, shifts)
    return np.asanyarray(costs[0] @ np.array(counts) / max(sum(counts), 1.0))


def _counted(
    table: Array,
    size: int,
    names: Sequence[str],
    digits: Sequence[Sequence[str]],
    shifts: tuple[int, ...],
) -> Array:
    """Return the same of so many configurations of a table, by a loop or as arrays."""
    found = None
    if worth_loop(_LOOP, size):
        found = _one_by_one(table, size, names, digits, shifts)
    return _together(table[:, :size], names, digits, shifts) if found is None else found


def _table(columns: Sequence[Array], places: Array) -> Array:
    """Return some places of columns as rows of a table, which is a cache line longer.

    Where rows are a power of two long, all of them lie in the same sets of a cache.
    """
    size = len(places)
    found = np.empty((len(columns), size + _CACHE_LINE))
    for row, column in zip(found, columns, strict=True):
        row[:size] = column[places]
    return found


def _one_by_one(
    table: Array,
    size: int,
    names: Sequence[str],
    digits: Sequence[Sequence[str]],
    shifts: tuple[int, ...],
) -> Array | None:
    """Return sectors and lines by a compiled loop; None where loops run a fraction of their turns.

    `table` has the columns and parts of `recounted`, of so many configurations.
    """
    from perfmodel.models.requests.residue_loop import boxes_of, means_by_residue

    every, bits = boxes_of(table, size, len(names))
    first, place = distinct_columns(every)
    unit = bits & -bits
    costs = _costs(Box(*every[:, first]), unit, shifts)
    sizes = np.array([len(own) for own in digits])
    moved_by = np.array([5 + names.index(name) for name in itertools.chain(*digits)])
    at = 5 + len(names)
    found, whole = means_by_residue(table, place, (sizes, moved_by, at), unit, costs)
    return np.asanyarray(found) if whole else None


def _together(
    table: Array, names: Sequence[str], digits: Sequence[Sequence[str]], shifts: tuple[int, ...]
) -> Array:
    """Return the same of all configurations of a table, as arrays."""
    inner, inner_stride, rows, row_stride, offset, *rest = table
    strides, parts = dict(zip(names, rest, strict=False)), iter(rest[len(names) :])
    moves = [
        Span(
            names=tuple(own),
            start=next(parts),
            count=next(parts),
            extents=tuple(itertools.islice(parts, len(own))),
        )
        for own in digits
    ]
    bits = LINE
    for part in (offset, *strides.values()):
        bits |= int(np.bitwise_or.reduce(integers(part)))
    unit = bits & -bits  # what divides all of them, and a line
    box = _near(Box(inner, inner_stride, rows, row_stride))
    first, place = distinct_columns(np.stack([*box]))
    costs = _costs(Box(*(column[first] for column in box)), unit, shifts)
    return mean_costs(moves, strides, offset, unit, costs, place)


def _near(box: Box) -> Box:
    """Return boxes of lanes whose rows are as close as what they touch lets them be.

    Whole lines more or less between rows that share no line do not change it.
    """
    near = (np.floor(np.maximum(box.inner, 1) * np.abs(box.inner_stride) / LINE) + 2) * LINE
    far = np.abs(box.row_stride) - near
    beyond = far - np.floor(far / LINE) * LINE  # a third of the time of "%"
    pitch = np.where(far > 0, np.sign(box.row_stride) * (near + beyond), box.row_stride)
    return box._replace(row_stride=pitch)


def _costs(box: Box, unit: int, shifts: tuple[int, ...]) -> Array:
    """Return the sectors and lines of boxes by the residue that they start at, all shifts together.

    Of the shape (boxes, 2, residues).
    """
    known = _known_costs(unit, shifts)
    keys: list[tuple[float, ...]] = [*zip(*(c.tolist() for c in box), strict=True)]
    new = [place for place, key in enumerate(keys) if key not in known]
    found = {key: known[key] for key in keys if key in known}
    if new:
        inner, inner_stride, rows, row_stride = (column[new, None] for column in box)
        starts = np.arange(0, LINE, unit)[None, :]
        every = np.empty((len(new), 2, starts.size))
        for kind, granule in enumerate((SECTOR, LINE)):
            every[:, kind] = summed(
                warp_granules(inner, inner_stride, rows, row_stride, starts + s, granule, granule)
                for s in shifts
            )
        found |= zip((keys[place] for place in new), every, strict=True)
        if len(known) < _MOST_KNOWN:
            known |= found
    return np.concatenate([found[key] for key in keys]).reshape(len(keys), 2, -1)


@lru_cache
def _known_costs(unit: int, shifts: tuple[int, ...]) -> dict[tuple[float, ...], Array]:
    """Return the costs of boxes that came before: there are few, and they come again."""
    return {}
