"""Requests for rows at random places, and for their numbers, one for all lanes of a row.

``table[random(i // run, rows)*run + i % run]``, and ``numbers[i // run]``.

The same blocks are looked at as in `enumeration`, but a row is drawn once for all lanes that read
it, and many warps are looked at side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, Number, Operation, evaluate, names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.compiled_loops import worth_loop
from perfmodel.models.derivation import definition
from perfmodel.models.each_launch import each_launch
from perfmodel.models.grid.affine import fixed, plane
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.enumeration import (
    GRANULES,
    Looks,
    lanes_counted,
    launch_counted,
)
from perfmodel.models.requests.patterns import Executions, Pattern, pattern_of
from perfmodel.models.requests.run_requests import Runs, runs_of
from perfmodel.models.requests.wavefronts import BANK_WORD, TAG_BITS

_LOOP: Final = "perfmodel.models.requests.drawn_row_loop"
FEWEST: Final = 1 << 4
"""Launches from which on loading the loop takes less time than looking at their lanes; one alone
is always looked at lane by lane, whatever was loaded before."""


class Rows(NamedTuple):
    """What launches have in common that read rows, or their numbers."""

    pattern: Pattern
    numbers: int  # of the pattern
    elements: Runs  # that a row and the place in it follow from


def rows_of(a: Addressing) -> tuple[Any, ...] | None:
    """Return what `rows_counted` takes; None of other indices.

    What launches have in common, then arrays of them: numbers of the pattern; elements of a row,
    rows, elements from each row to the next; then as for `by_runs`.
    """
    nodes = _rows(a.index)
    words = a.width == a.element == BANK_WORD
    if nodes is None or not words or a.access.weights is not None:
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
    return Rows(pattern, len(numbers), runs), *numbers, *rows, *columns[count:]


def _rows(index: Node) -> tuple[Node, ...] | None:
    """Return what is divided into rows, and for the place in one; a row's elements, rows, pitch.

    No rows where the index is the row's number itself.
    """
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
        case Operation("//", (place, run)):
            return place, place, run, Number(0), Number(1)
    return None


@definition
def rows_counted(rows: Rows, *columns: Any) -> tuple[Array, ...]:
    """Return what `lanes_counted` does of loads of rows, or of their numbers."""
    launches = max(np.size(column) for column in columns)
    if worth_loop(_LOOP, launches, few=2, many=FEWEST):
        found: tuple[Array, ...] = by_rows(rows, *columns)
    else:
        size = (launches,)
        numbers = (np.broadcast_to(np.ravel(c), size) for c in columns[: rows.numbers])
        found = lanes_counted(rows.pattern, *numbers)
    return found


@each_launch
def by_rows(rows: Rows, numbers: tuple[int, ...]) -> Sequence[Any]:
    """Return the same of a launch, row by row and many warps at a time."""
    from perfmodel.models.requests.drawn_row_loop import put_words, warp_sums

    runs, own = rows.elements, numbers[rows.numbers :]
    units = np.array(runs.digits, dtype=np.int64), runs.threads
    planes = np.array(own[6 + runs.axes :], dtype=np.int64).reshape(1 + runs.tests, -1)
    row = np.array(own[:3], dtype=np.int64)

    def drawn(a: Pattern, _: Executions, points: Sequence[Array]) -> tuple[Array, Array]:
        at = np.array(points, dtype=np.int64).reshape(runs.axes, -1 if points else 1)
        size = at.shape[1], a.shape.warps * WARP_SIZE
        found = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
        put_words(found, at, units, planes, row)
        address, active = (part.reshape(len(part), -1, WARP_SIZE) for part in found)
        return address, active

    def summed(a: Pattern, address: Array, active: Array) -> tuple[int, int, int, Array]:
        words, taking = (x.reshape(-1, WARP_SIZE) for x in (address, active))
        granules = np.array([BANK_WORD, *GRANULES])
        requests, lanes, bits, *sums = warp_sums(words, taking, granules, TAG_BITS).tolist()
        return requests, lanes, bits, np.array([sums], dtype=float)

    return launch_counted(rows.pattern, numbers[: rows.numbers], Looks(drawn, summed, _compared))


def _compared(own: Array, taking: Array, after: Array, there: Array) -> Sequence[Sequence[int]]:
    """Return the sectors, halves and lines of blocks, of those after them, and of both together."""
    from perfmodel.models.requests.drawn_row_loop import compared

    found: list[list[int]] = compared(own, taking, after, there).tolist()
    return found
