"""Blocks of a launch that walk a buffer in several ways: what each way touches, and brings first.

Blocks from the middle of the launch are followed, and what the inner ones of these touch is told.
Where a block's threads read one place after the other, it touches ranges, which are compared as
such; else every lane's sector is looked at.
"""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.agreement import agreed
from perfmodel.models.compiled_loops import worth_loop
from perfmodel.models.derivation import definition
from perfmodel.models.each_launch import each_launch
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.affine import plane
from perfmodel.models.grid.distinct import distinct
from perfmodel.models.grid.geometry import BLOCK_INDICES
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.block_runs import even, falling_tests
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.patterns import Pattern
from perfmodel.models.reuse.followed_blocks import (
    MOST_LANES,
    addressings_of,
    asked_in,
    followed,
    patterns_of,
    together,
)

_LOOP: Final = "perfmodel.models.reuse.walked_run_loop"
_WORTH: Final = 1 << 5
"""Launches from which on loading the loop takes less time than looking at their lanes; one alone
is always looked at lane by lane, whatever was loaded before."""
_INNER: Final = 4
"""Part of the blocks followed whose own sectors are looked for among those of all: the others are
their neighbours. By choice."""


class Walks(NamedTuple):
    """What launches have in common whose blocks walk a buffer."""

    patterns: tuple[Pattern, ...]  # of all loads, one walk after the other
    lengths: tuple[int, ...]  # loads of each walk
    sure: tuple[bool, ...]  # walks that are sure to take place
    atom: int  # bytes of DRAM's atoms
    tests: int = 0  # planes of each load that decide who takes part
    loops: int = 0  # around each load, at most


def first_brought(
    accesses: GlobalAccesses, walks: Sequence[tuple[int, ...]], sure: tuple[bool, ...]
) -> Sequence[Array]:
    """Return the bytes of DRAM's atoms that each walk touches, and those that it is first to bring.

    Walks are positions of loads, those that are `sure` to take place first.
    """
    loads = addressings_of(accesses, [i for members in walks for i in members])
    patterns, numbers = patterns_of(loads)
    given = Walks(patterns, tuple(map(len, walks)), sure, accesses.granule)
    numbers = [accesses.wave, *numbers]
    runs = _runs_of(loads)
    if runs is None:
        return by_lanes(given, *numbers)
    tests, loops, columns = runs
    given = given._replace(tests=tests, loops=loops)
    return _brought(given, len(numbers), *numbers, *columns)


@definition
def _brought(given: Walks, count: int, *columns: Any) -> Sequence[Array]:
    """Return `by_runs`, or `by_lanes` of launches too few for the loop to be loaded."""
    rows = max(np.size(column) for column in columns)
    if worth_loop(_LOOP, rows, few=2, many=_WORTH):
        return by_runs(given, count, *columns)
    return by_lanes(given, *(np.broadcast_to(np.ravel(c), (rows,)) for c in columns[:count]))


@each_launch
def by_lanes(given: Walks, numbers: tuple[int, ...]) -> Sequence[float]:
    """Return both of each walk, by the blocks that run at a time and numbers of the patterns."""
    wave, *own_numbers = numbers
    loads = followed(given.patterns, own_numbers)
    blocks = math.prod(loads[0].grid)
    first, run, inside, inner = _followed(given, [load.trips for load in loads], blocks, wave)
    if run < 1:
        return [0.0] * (2 * len(given.lengths))
    each = float(given.atom) * blocks / inner
    brought = np.empty(0, dtype=np.int64)
    found: list[float] = []
    for count, certain in zip(given.lengths, given.sure, strict=True):
        members, loads = loads[:count], loads[count:]
        block, sector = together(asked_in(members, np.arange(run) + first))
        atoms = sector // (given.atom // SECTOR)
        own = distinct(atoms[(block >= inside) & (block < inside + inner)])
        new = int(np.count_nonzero(np.isin(own, brought, assume_unique=True, invert=True)))
        found += [len(own) * each, new * each]
        if certain:
            brought = distinct(np.concatenate([brought, atoms]))
    return found


def by_runs(given: Walks, count: int, *columns: Any) -> Sequence[Array]:
    """Return the same of arrays of launches, by `_runs_of` their loads after so many numbers."""
    from perfmodel.models.reuse.walked_run_loop import first_brought as brought_in

    size = (max(np.size(column) for column in columns),)
    whole = [np.broadcast_to(np.ravel(c), size).astype(np.int64) for c in columns]
    wave, grid, loads = whole[0], whole[count : count + 3], len(given.patterns)
    own = np.array(whole[count + 3 :]).reshape(loads, -1, *size)
    trips, extents, planes = np.split(own, (given.loops, 2 * given.loops), axis=1)
    blocks = math.prod(grid)
    places = np.array(_followed(given, trips, blocks, wave))
    pattern = given.patterns[0]
    found = brought_in(
        (np.array(given.lengths), np.array(given.sure)),
        (pattern.shape.threads, given.atom.bit_length() - 1),
        places,
        np.array(grid),
        extents,
        planes.reshape(loads, 1 + given.tests, -1, *size),
    )
    return [*(found * (float(given.atom) * blocks / places[3]))]


def _followed(given: Walks, trips: Any, blocks: Any, wave: Any) -> tuple[Any, Any, Any, Any]:
    """Return the first block that is followed, how many are, the first inner of them, and its like.

    By the loops' turns of each load, the blocks of the launch, and those that run at a time.
    """
    warps = given.patterns[0].shape.warps
    turns = sum(np.multiply.reduce(own, axis=0, dtype=np.int64) for own in trips)
    most = 2 * MOST_LANES // np.maximum(turns * warps * WARP_SIZE, 1)
    run = np.minimum(np.minimum(blocks, wave), most)
    inner = np.maximum(run // _INNER, 1)
    return (blocks - run) // 2, run, (run - inner) // 2, inner


def _runs_of(loads: Sequence[Addressing]) -> tuple[int, int, list[Any]] | None:
    """Return how many tests and loops loads have at most, and arrays of launches about them.

    The grid; then of each load its loops' turns, those of loops that move it, and planes as in
    `block_run_loop`. None where a load's threads do not read one place after the other, so close
    that no sector is between them.
    """
    every = []
    for a in loads:
        flat, tests = even(a, plane(a.index, a.values, a.variables)), falling_tests(a)
        if flat is None or tests is None:
            return None
        apart = flat.step * a.element
        holds = (apart >= 0) & (apart <= SECTOR) & (flat.plane.offset >= 0)
        for v in a.variables:
            holds = holds & (flat.plane.strides[v.name] >= 0)
        if not agreed(holds):
            return None
        every.append((a, flat, tests))
    loops, most = (
        max(map(len, each)) for each in ([a.trips for a in loads], [t for *_, t in every])
    )
    columns: list[Any] = [*loads[0].instance.grid]
    one, none = np.ones(1), np.zeros(1)
    for a, flat, tests in every:
        used = names(a.index).union(*map(names, a.guards))
        rest = loops - len(a.trips)
        moving = (n if name in used else np.minimum(n, 1) for name, n in a.trips.items())
        columns += [*a.trips.values(), *[one] * rest, *moving, *[one] * rest]
        for place, each in enumerate((flat, *tests)):
            *own, step = each.columns((*BLOCK_INDICES, *a.trips), 1 if place else a.element)
            columns += [*own, *[none] * rest, step]
        always = [one, *[none] * (len(BLOCK_INDICES) + loops + 1)]
        columns += always * (most - len(tests))
    return most, loops, columns
