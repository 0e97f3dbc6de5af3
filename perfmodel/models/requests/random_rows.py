"""Requests of loads at random places in closed form: rows of elements, each drawn as a whole.

``table[random(i // run, rows)*run + i % run]``: the lanes of a warp fall into rows, and each row's
number is drawn among so many, all as likely. What is expected of distinct granules and of clocks in
L1's banks follows from how many are drawn, and from the bytes of a row.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, Number, Operation, evaluate
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.agreement import agreed
from perfmodel.models.derivation import definition
from perfmodel.models.formula import Formula
from perfmodel.models.grid.activity import Activity
from perfmodel.models.grid.affine import Plane, Variable, fixed, plane, split_threads
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.coalescing import LINE, PAGE, SECTOR
from perfmodel.models.requests.footprint import power_of_two_gcd
from perfmodel.models.requests.random_places import (
    Drawn,
    drawn_at,
    draws_of,
    first_place,
    last_place,
)
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.wavefronts import BANK_WORD, TAG_BANKS

_ABOVE_ONE: Final = 1 + 2.0**-52
"""The next number: of a single place the logarithm of what is missed would be infinite."""
TOUCHED = Formula(
    name="granules that random rows touch",
    unit="granules",
    text="each*(floor(places)*(1 - (1 - 1/places)**rows) + 1 - (floor(places)/places)**rows)",
    symbols={
        "each": "granules of a row [1]",
        "places": "granules that rows may start in; the last one's share of a whole one [1]",
        "rows": "rows drawn [1]",
    },
    holds="rows that start at multiples of their size, all as likely",
    source="derived: so many independent draws all miss a granule with probability "
    "(1 - 1/places)**rows, and the last one as often as they are all in whole ones",
)
DISTINCT = Formula(
    name="distinct ones of independent draws",
    unit="1",
    text="n*(1 - (1 - 1/n)**draws)",
    symbols={
        "n": "sectors of a table, or sets of data, that are drawn from [1]",
        "draws": "sectors that an SM asks for, or blocks that share an SM [1]",
    },
    holds="random places; blocks as good as drawn from those that read a set each",
    source="derived: independent draws all miss one with probability (1 - 1/n)**draws",
)


def touched(each: Any, places: Any, rows: Any) -> Array:
    """Return the granules that random rows touch, as exactly of very many places as of a few."""
    found: Array = TOUCHED.by(_touched, each=each, places=places, rows=rows)
    return found


def _touched(each: Any, places: Any, rows: Any) -> Any:
    whole = np.floor(places)
    likely = 1 / np.maximum(places, _ABOVE_ONE)
    missed = whole * np.expm1(rows * np.log1p(-likely)) + np.expm1(rows * np.log(whole / places))
    return -each * missed


class Rows(NamedTuple):
    """Rows at random places; of each launch an array, bytes and numbers."""

    places: Array  # to draw from
    pitch: Array  # from one place to the next [B]
    size: Array  # of a row that a warp reads [B]
    warp: Array  # rows that a warp draws
    block_size: Array  # of a row that a block reads [B]
    block: Array  # rows that a block draws
    drawn: Drawn  # part of the buffer that they lie in

    def touched(self, granule: int, size: Array, rows: Array) -> Array:
        """Return the distinct granules of so many bytes that rows are in."""
        each = np.maximum(1.0, size / granule)
        return touched(each, self.places_in(granule), rows)

    def places_in(self, granule: int) -> Array:
        """Return how many granules rows may start in."""
        places: Array = self.places * np.minimum(1.0, self.pitch / granule)
        return np.maximum(places, 1.0)


def random_rows(a: Addressing, activity: Activity | None) -> Requests | None:
    """Return the requests of a load of rows at random places; None of others.

    Guards that cut blocks short cut their rows as they cut their lanes.
    """
    rows = None if activity is None else _rows(a)
    if activity is None or rows is None:
        return None
    threads = {v.name for v in a.variables if v.target.startswith("threadIdx")}
    if any(agreed(activity.shares[name] < 1) for name in threads & {*activity.shares}):
        return None
    requests, lanes = activity.requests, activity.active_lanes
    taking = lanes / np.maximum(requests * WARP_SIZE, 1e-9)
    warp = np.maximum(rows.warp * taking, 1.0)
    size = rows.size * np.minimum(rows.warp * taking, 1.0)
    words, sectors, halves, lines, pages = (
        requests * rows.touched(granule, size, warp)
        for granule in (a.width, SECTOR, LINE // 2, LINE, PAGE)
    )
    clocks = _wavefronts(a, rows, warp, lines / np.maximum(requests, 1e-9))
    data, tags = (requests * each for each in clocks)
    own, next_block_share = _of_blocks(a, rows, np.maximum(rows.block * taking, 1.0))
    return Requests(
        *(a.access, a.width, requests, sectors, lines, lanes, data, tags, a.variables),
        **activity.passing,
        different=words,
        pairs=halves,
        pages=pages,
        random=True,
        drawn=rows.drawn,
        distinct_per_block=_stacked([requests / a.shape.warps * each for each in own]),
        next_block_share=_stacked(next_block_share),
    )


def _of_blocks(a: Addressing, rows: Rows, drawn: Array) -> tuple[list[Array], list[Array]]:
    """Return sectors, halves and lines of a block, and the shares that the next one touches too."""
    own, next_block_share = [], []
    several = np.asanyarray(a.instance.grid[0]) > 1
    for granule in (SECTOR, LINE // 2, LINE):
        one, two = (rows.touched(granule, rows.block_size, n) for n in (drawn, 2 * drawn))
        own.append(one)
        next_block_share.append(np.where(several, 2 - two / one, 0.0))
    return own, next_block_share


def _stacked(parts: Sequence[Array]) -> Array:
    return np.stack(np.broadcast_arrays(*map(np.atleast_1d, parts)))


def _rows(a: Addressing) -> Rows | None:
    """Return the rows that an access reads; None where lanes or rows lie otherwise."""
    draws = [*draws_of(a.index)]
    plain = a.shape.regular and a.pieces == 1 and not a.from_shared and a.access.weights is None
    if a.access.kind != "load" or not plain or [d.operator for d in draws] != ["random"]:
        return None
    key, count = draws[0].operands
    first = drawn_at(a.index, first_place)
    if not fixed(count, a.values):
        return None
    variables = a.variables
    for node in (key, first):
        variables = split_threads(node, a.values, variables) or variables
    keys, place = (plane(node, a.values, variables) for node in (key, first))
    places = np.asanyarray(evaluate(count, a.values), dtype=float)
    pitch = _pitch(a, first, places, variables)
    if pitch is None or not (keys.affine and place.affine):
        return None
    found = _laid_out(a, variables, keys, place)
    if found is None:
        return None
    reach = pitch * (places - 1) + found[2]
    for v in variables:
        if not (v.is_block or v.target.startswith("threadIdx")):
            reach = reach + np.abs(place.strides[v.name]) * a.element * (v.extent - 1)
    rows = Rows(places, pitch, *found, Drawn(place.offset * a.element, reach))
    return rows if _aligned(a, variables, rows, place) else None


def _pitch(
    a: Addressing, first: Node, places: Array, variables: Sequence[Variable]
) -> Array | None:
    """Return the bytes from one place that is drawn to the next; None if that is not one number."""
    steps: list[Array] = []
    for at in (lambda _: Number(1), last_place):
        moved = plane(Operation("-", (drawn_at(a.index, at), first)), a.values, variables)
        if not moved.affine or not agreed(sum(np.abs(s) for s in moved.strides.values()) == 0):
            return None
        steps.append(moved.offset)
    step, last = steps
    return np.abs(step) * a.element if agreed(last == step * (places - 1)) else None


def _laid_out(
    a: Addressing, variables: Sequence[Variable], keys: Plane, place: Plane
) -> tuple[Array, Array, Array, Array] | None:
    """Return bytes of a row and rows of a warp, then the same of a block.

    Digits of the thread's number either tell rows, or places in a row, one after the other.
    """
    size, rows, reach = np.full(1, float(a.width)), np.ones(1), np.zeros(1)
    of_warp = size, rows
    for v in variables:
        if not v.target.startswith("threadIdx"):
            continue
        key, move = np.abs(keys.strides[v.name]), place.strides[v.name] * a.element
        if agreed(key == 0):
            if agreed(move == 0):
                continue
            whole = move == size if v.in_lane else (move == size) & (size % LINE == 0)
            if not agreed(whole) or (v.in_lane and not agreed(rows == 1)):
                return None
            size = size * v.extent
        elif agreed((move == 0) & (key > reach)):
            rows, reach = rows * v.extent, reach + key * (v.extent - 1)
        else:
            return None
        if v.in_lane:
            of_warp = size, rows
    return *of_warp, size, rows


def _aligned(a: Addressing, variables: Sequence[Variable], rows: Rows, place: Plane) -> bool:
    """Say whether rows start at multiples of their size and do not overlap, in all blocks."""
    unit = np.minimum(rows.size, LINE)
    holds = (rows.pitch >= rows.block_size) | (rows.places == 1)
    holds = holds & (rows.pitch % unit == 0) & (place.offset * a.element % unit == 0)
    for v in variables:
        if not v.target.startswith("threadIdx"):
            move = np.where(v.extent > 1, np.abs(place.strides[v.name]) * a.element, 0.0)
            holds = holds & (move % unit == 0)
            if v.is_block:  # the next block draws from the same places
                holds = holds & (move == 0)
    return agreed(holds)


def _wavefronts(a: Addressing, rows: Rows, warp: Array, lines: Array) -> tuple[Array, Array]:
    """Return the clocks of a request in the data banks and in the tag banks."""
    parts = max(1, a.width // BANK_WORD)  # half or quarter warps
    part = np.maximum(warp / parts, 1.0)
    span = np.maximum(np.maximum(rows.size, power_of_two_gcd(LINE, rows.pitch)), BANK_WORD)
    places = rows.places_in(BANK_WORD)
    words = touched(1.0, places, part)
    data = parts * busiest(words, LINE / np.minimum(span, LINE), places)
    each = np.maximum(1.0, rows.size / LINE)  # consecutive lines are in different banks
    tags = busiest(lines / each, np.maximum(1.0, TAG_BANKS / each), rows.places_in(LINE))
    return data, tags * np.maximum(1.0, each / TAG_BANKS)


@definition
def busiest(balls: Any, bins: Any, places: Any) -> Array:
    """Return how many of some balls are expected in the fullest of some bins.

    Balls, at most 32, are different ones of so many in all, as many of each bin's; a number
    between whole ones is taken to be as often the one as the other. Bins are a power of two, at
    most 32. Drawn of few, they lie more evenly: their deviation is that of draws without
    replacement (Cochran, Sampling Techniques, 2.6), up to 20% too much of two or three a bin.
    """
    balls, bins, places = (np.asanyarray(each, dtype=float) for each in (balls, bins, places))
    balls = np.minimum(balls, WARP_SIZE)
    low = np.floor(balls).astype(int)
    table, kind = _fullest(), np.log2(bins).astype(int)
    few, more = table[kind, low], table[kind, np.minimum(low + 1, WARP_SIZE)]
    evenly = balls / bins
    left = np.maximum(places - balls, 0.0) / np.maximum(places - 1, 1.0)
    uneven = few + (more - few) * (balls - low) - evenly
    return np.asanyarray(np.maximum(1.0, evenly + uneven * np.sqrt(left)))


_KINDS: Final = 6
"""Powers of two up to the banks of the data stage, 32."""


@lru_cache
def _fullest() -> Array:
    """Return the mean of the fullest bin, by the logarithm of the bins and the balls.

    Of n balls in b bins, no bin has more than m with probability n!/b^n times the coefficient of
    x^n in (1 + x + x^2/2! + ... + x^m/m!)^b.
    """
    every = np.arange(WARP_SIZE + 1)
    factorials = np.cumprod(np.maximum(every, 1), dtype=float)
    found = np.zeros((_KINDS, WARP_SIZE + 1))
    for most in range(WARP_SIZE):
        power = np.where(every <= most, 1 / factorials, 0.0)
        for kind in range(_KINDS):
            none_above = power * factorials / float(1 << kind) ** every
            found[kind] += 1 - none_above
            power = np.convolve(power, power)[: WARP_SIZE + 1]
    return found
