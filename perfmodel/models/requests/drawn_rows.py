"""Requests for words of rows at random places: ``table[random(i // run, rows)*run + i % run]``.

The same blocks are looked at as in `enumeration`, but row by row and line by line, not lane by
lane: a row is drawn once for all lanes that read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, Operation, evaluate, names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.compiled_loops import worth_loop
from perfmodel.models.derivation import definition
from perfmodel.models.grid.affine import fixed, plane
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.enumeration import WHOLE_BLOCKS, evenly, lanes_counted
from perfmodel.models.requests.patterns import Pattern, pattern_of
from perfmodel.models.requests.run_requests import Runs, runs_of
from perfmodel.models.requests.wavefronts import BANK_WORD, tag_tables

_LOOP: Final = "perfmodel.models.requests.drawn_row_loop"
_WORTH: Final = 1 << 4
"""Launches from which on loading the loop takes less time than looking at their lanes; one alone
is always looked at lane by lane, whatever was loaded before."""


class Rows(NamedTuple):
    """What launches have in common that read rows at random places."""

    pattern: Pattern
    numbers: int  # of the pattern
    elements: Runs  # that a row and the place in it follow from
    blocks: int  # axis of blocks among those that decide; -1 if they do not


def rows_of(a: Addressing) -> tuple[Any, ...] | None:
    """Return what `rows_counted` takes; None of other indices.

    What launches have in common, then arrays of them: numbers of the pattern; elements of a row,
    rows, elements from each row to the next; then as for `by_runs`.
    """
    nodes = _rows(a.index)
    if nodes is None or not (a.width == a.element == BANK_WORD):
        return None
    place, turn, *sizes = nodes
    if not all(fixed(node, a.values) for node in sizes):
        return None
    if names(a.index) - a.values.keys() != names(place) - a.values.keys():
        return None
    rows = [np.asanyarray(evaluate(node, a.values)) for node in sizes]
    flat = plane(place, a.values, a.variables)
    # Where these lie whole rows apart, one is as far into its row as the other.
    apart = plane(Operation("-", (place, turn)), a.values, a.variables)
    whole = not any(np.any(part % rows[0]) for part in (apart.offset, *apart.strides.values()))
    found = runs_of(replace(a, index=place), flat) if apart.affine and whole else None
    if found is None:
        return None
    runs, count, *columns = found
    pattern, *numbers = pattern_of(a)
    axes = [name for name in pattern.indices if name in names(place).union(*map(names, a.guards))]
    blocks = axes.index("blockIdx.x") if "blockIdx.x" in axes else -1
    return Rows(pattern, len(numbers), runs, blocks), *numbers, *rows, *columns[count:]


def _rows(index: Node) -> tuple[Node, ...] | None:
    """Return what is divided into rows, and for the place in one; a row's elements, rows, pitch."""
    match index:
        case Operation(
            "+",
            (
                Operation(
                    "*", (Operation("random", (Operation("//", (place, run)), count)), pitch)
                ),
                Operation("%", (turn, same)),
            ),
        ) if run == same:
            return place, turn, run, count, pitch
    return None


@definition
def rows_counted(rows: Rows, *columns: Any) -> tuple[Array, ...]:
    """Return what `lanes_counted` does of loads at random places."""
    size = (max(np.size(column) for column in columns),)
    whole = [np.broadcast_to(np.ravel(column), size).astype(np.int64) for column in columns]
    numbers, drawn = whole[: rows.numbers], whole[rows.numbers :]
    if worth_loop(_LOOP, *size, few=2, many=_WORTH):
        return by_rows(rows, drawn)
    found: tuple[Array, ...] = lanes_counted(rows.pattern, *numbers)
    return found


def by_rows(rows: Rows, columns: Sequence[Array]) -> tuple[Array, ...]:
    """Return the same row by row."""
    from perfmodel.models.requests.drawn_row_loop import counted_rows

    runs, size = rows.elements, len(columns[0])
    extents, (alike, *_) = columns[3 : 3 + runs.axes], columns[3 + runs.axes :]
    threads = rows.pattern.shape.warps * WARP_SIZE
    own, requests, lanes, bits, *found = counted_rows(
        (np.array(runs.digits, dtype=np.int64), runs.threads),
        np.array(evenly(runs.axes, runs.most)).reshape(runs.axes, runs.most),
        np.array(extents, dtype=np.int64).reshape(runs.axes, size),
        np.array(columns[6 + runs.axes :]).reshape(1 + runs.tests, -1, size),
        np.array(columns[:3]),
        (rows.blocks, max(1, WHOLE_BLOCKS // threads)),
        tag_tables(),
    )
    every = np.multiply.reduce([n.astype(float) for n in extents], axis=0, initial=1.0)
    some = alike * every > 0
    scale = np.where(some, alike * every / np.maximum(own, 1), 0.0)
    share = np.where(some, np.minimum(1.0, own / np.maximum(every, 1.0)), 1.0)
    step = np.where(some, bits & -bits, 1).astype(float)
    sums, few, (first, after, both) = found[:7], found[7], np.reshape(found[8:], (3, 3, size))
    in_blocks = first * (scale * own / np.maximum(few, 1))
    seams = np.where(some & (rows.blocks >= 0), (first + after - both) / np.maximum(first, 1), 0.0)
    none = np.zeros(size, dtype=bool)
    filled = np.ones(size)
    return (
        *(requests * scale, lanes * scale, share, step, filled, in_blocks, seams, none),
        *(each * scale for each in sums),
    )
