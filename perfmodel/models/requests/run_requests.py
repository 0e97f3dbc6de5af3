"""Requests of blocks or warps that read runs: one element after the other, as far as a guard lets.

Where runs start anywhere in a line, the same blocks are looked at as in `enumeration`, but warp by
warp, not lane by lane: a run of bytes says all that its lanes ask for.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.agreement import agreed
from perfmodel.models.compiled_loops import worth_loop
from perfmodel.models.derivation import definition, number
from perfmodel.models.grid.affine import Plane
from perfmodel.models.grid.geometry import BLOCK_INDICES
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.block_runs import Even, even, even_in_warps, falling_tests
from perfmodel.models.requests.enumeration import evenly, lanes_counted
from perfmodel.models.requests.patterns import Pattern, pattern_of
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.wavefronts import BANK_WORD, tag_tables, tags_of_warps

_LOOP: Final = "perfmodel.models.requests.run_request_loop"
_WORTH: Final = 1 << 5
"""Launches from which on loading the loop takes less time than looking at their lanes; one alone
is always looked at lane by lane, whatever was loaded before."""


class Runs(NamedTuple):
    """What launches have in common whose blocks read runs."""

    pattern: Pattern
    most: int  # samples
    axes: int  # block indices and loops that decide
    digits: tuple[int, ...]  # runs of a block, by the extents of the digits that tell them apart
    threads: int  # of a run
    tests: int  # of which all must be above zero for a thread to take part


def run_requests(a: Addressing, flat: Plane) -> Requests | None:
    """Count the requests of a load of each launch by itself, scaled from sampled blocks.

    `flat` is the index. None where threads do not read one element after the other, or a guard lets
    others through than the first of them.
    """
    given = runs_of(a, flat)
    if given is None:
        return None
    requests, lanes, share, step, sectors, halves, lines, data, tags = _counted(*given)
    sampled: Any = number(share[0]) if share.size == 1 else share
    return Requests(
        *(a.access, a.width, requests, sectors, lines, lanes, data, tags, a.variables),
        sampled=sampled,
        different=lanes,
        pairs=halves,
        step=step,
    )


def runs_of(a: Addressing, flat: Plane) -> tuple[Any, ...] | None:
    """Return what `by_runs` and `by_lanes` take; None where threads read no runs.

    What launches have in common; then arrays of launches: how many numbers the pattern has, and
    these; extents of axes; executions that repeat the same; and planes, the address [B], then the
    tests.
    """
    if not flat.affine or not whole_words(a):
        return None
    runs, digits = _by_blocks(a, flat), []
    if runs is None:
        runs = _by_warps(a, flat)
        digits = [v for v in a.variables if v.target.startswith("threadIdx") and not v.in_lane]
    if runs is None or not _are_runs(a, runs[0]):
        return None
    extents = {**dict(zip(BLOCK_INDICES, a.instance.grid, strict=True)), **a.trips}
    used = names(a.index).union(*map(names, a.guards))
    axes = [name for name in extents if name in used]
    index, *tests = runs
    every = [*axes, *(v.name for v in digits)]
    planes = [*index.columns(every, a.element), *(part for t in tests for part in t.columns(every))]
    alike = math.prod(np.asanyarray(n) for name, n in extents.items() if name not in used)
    pattern, *numbers = pattern_of(a)
    most = max(1, pattern.lanes // (a.shape.warps * WARP_SIZE))
    sizes = tuple(int(v.extent) for v in digits)
    threads = a.shape.threads // math.prod(sizes)
    given = Runs(pattern, most, len(axes), sizes, threads, len(tests))
    return given, len(numbers), *numbers, *(extents[n] for n in axes), alike, *planes


def _by_blocks(a: Addressing, flat: Plane) -> list[Even] | None:
    """Return planes of the index and of tests where a whole block reads a run."""
    index, tests = even(a, flat), falling_tests(a)
    return None if index is None or tests is None else [index, *tests]


def _by_warps(a: Addressing, flat: Plane) -> list[Even] | None:
    """Return the same where each warp reads one."""
    index, tests = even_in_warps(a, flat), falling_tests(a, even_in_warps)
    return None if index is None or tests is None else [index, *tests]


def _are_runs(a: Addressing, index: Even) -> bool:
    """Say whether lanes read elements one after the other."""
    flat = index.plane
    holds = (index.step * a.element == a.width) & (flat.offset >= 0)
    for v in a.variables:
        holds = holds & (flat.strides[v.name] >= 0)
    return agreed(holds)


def whole_words(a: Addressing) -> bool:
    """Say whether lanes load whole words of global memory, each at once."""
    return a.access.kind == "load" and not a.from_shared and a.pieces == 1 and a.width >= BANK_WORD


@definition
def _counted(runs: Runs, numbers: int, *columns: Any) -> tuple[Array, ...]:
    """Return `by_runs`, or `by_lanes` of launches too few for the loop to be loaded."""
    rows = max(np.size(column) for column in columns)
    by = by_runs if worth_loop(_LOOP, rows, few=2, many=_WORTH) else by_lanes
    return by(runs, numbers, *columns)


def by_lanes(runs: Runs, numbers: int, *columns: Any) -> tuple[Array, ...]:
    """Return what each launch asks for, lane by lane.

    Requests, lanes, the share that was counted, the step of addresses [B], sectors, halves of
    lines, lines, data and tag wavefronts.
    """
    size = (max(np.size(column) for column in columns),)
    given = (np.broadcast_to(np.ravel(column), size) for column in columns[:numbers])
    requests, lanes, share, step, *found = lanes_counted(runs.pattern, *given)
    _, sectors, halves, lines, _, data, tags, *_ = found[4:]
    return requests, lanes, share, step, sectors, halves, lines, data, tags


def by_runs(runs: Runs, numbers: int, *columns: Any) -> tuple[Array, ...]:
    """Return the same warp by warp."""
    from perfmodel.models.requests.run_request_loop import counted_runs

    size = (max(np.size(column) for column in columns),)
    whole = [np.broadcast_to(np.ravel(c), size).astype(np.int64) for c in columns[numbers:]]
    extents, alike = whole[: runs.axes], whole[runs.axes]
    planes = np.array(whole[runs.axes + 1 :]).reshape(1 + runs.tests, -1, *size)
    pattern = runs.pattern
    own, *sums, bits = counted_runs(
        (np.array(runs.digits, dtype=np.int64), runs.threads, pattern.width.bit_length() - 1),
        np.array(evenly(runs.axes, runs.most)).reshape(runs.axes, runs.most),
        np.array(extents, dtype=np.int64).reshape(runs.axes, *size),
        planes,
        (*tag_tables(), tags_of_warps(pattern.width)),
    )
    every = np.multiply.reduce([n.astype(float) for n in extents], axis=0, initial=1.0)
    some = alike * every > 0
    scale = np.where(some, alike * every / np.maximum(own, 1), 0.0)
    share = np.where(some, np.minimum(1.0, own / np.maximum(every, 1.0)), 1.0)
    step = np.where(some, bits & -bits, 1).astype(float)
    requests, lanes, *rest = (each * scale for each in sums)
    return requests, lanes, share, step, *rest
