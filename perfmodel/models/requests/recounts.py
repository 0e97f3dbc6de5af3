"""Requests of warps counted by the residue of a line at which each starts, where no mean is exact.

Configurations that need it are counted by a compiled loop, or as arrays where there is none.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.compiled_loops import worth_loop
from perfmodel.models.derivation import definition
from perfmodel.models.grid.activity import Span
from perfmodel.models.grid.distinct import distinct_columns
from perfmodel.models.requests.coalescing import LINE, SECTOR, Box, warp_granules
from perfmodel.models.requests.footprint import integers
from perfmodel.models.requests.residues import mean_costs

_LOOP: Final = "perfmodel.models.requests.residue_loop"
_MOST_KNOWN: Final = 1 << 12
"""Boxes of lanes whose costs are kept, for each unit and the like."""

_CACHE_LINE: Final = 8
"""Doubles in a line of a processor's cache."""

_Moves = Sequence[tuple[tuple[str, ...], Array, Array, Sequence[Array]]]
"""Names of the digits of each span of executions, its start, its count and its extents."""


@definition(replaces=True)
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
        table, digits = _table(every, places), [own for own, *_ in spans]
        found = None
        if worth_loop(_LOOP, len(places)):
            found = _one_by_one(table, len(places), names, digits, tuple(shifts))
        if found is None:
            found = _together(table[:, : len(places)], names, digits, tuple(shifts))
        sectors[places], lines[places] = found / len(shifts)
    return sectors, lines


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
    box, place = _distinct(Box(inner, inner_stride, rows, row_stride))
    return mean_costs(moves, strides, offset, unit, _costs(box, unit, shifts), place)


def _distinct(box: Box) -> tuple[Box, Array]:
    """Return the boxes of lanes that touch other granules, and the place of each among them.

    Whole lines more or less between rows that share no line do not change what they touch.
    """
    near = (np.floor(np.maximum(box.inner, 1) * np.abs(box.inner_stride) / LINE) + 2) * LINE
    far = np.abs(box.row_stride) - near
    beyond = far - np.floor(far / LINE) * LINE  # a third of the time of "%"
    pitch = np.where(far > 0, np.sign(box.row_stride) * (near + beyond), box.row_stride)
    every = np.stack([box.inner, box.inner_stride, box.rows, pitch])
    chosen, place = distinct_columns(every)
    return Box(*every[:, chosen]), place


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
