"""What emulation adds where symbols end: trips of loops, and accesses as counted requests.

Loops that some lanes leave before others are counted: where ptxas runs four iterations at a time,
then two, then one, lanes with fewer of them run theirs while the others wait: a warp runs more
iterations than any of its lanes, which has no formula.
"""

import math
from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array
from perfmodel.cuda.addresses.launch import KernelLaunch, coordinates
from perfmodel.cuda.addresses.records import BlockRun, Followed
from perfmodel.cuda.emulate.counts import LOCAL_REGION, Count
from perfmodel.cuda.emulate.lock_step import Turns
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.emulate.reuse import LINES, Reuse
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate, names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.counted import Counted

_MOST_TURNS: Final = 1 << 18
"""Turns of threads whose conditions are looked at one by one."""
_MANY: Final = 1000.0
"""Turns of a loop whose end nobody knows: assumed."""


def mean_trips(emulation: Emulation, flow: ControlFlow, loop: int) -> int:
    """Return the iterations of a warp that enters a loop: the mean, at least 1."""
    found = flow.loops[loop]
    entries = emulation.entries(found)
    if not entries:
        return 1
    return max(1, round(float(emulation.warps[found.header]) / entries))


def counted(count: Count | None, emulation: Emulation, changes: bool, at: int) -> Counted:
    """Return what an access asks for in the whole launch, from what the sample did."""
    sampled = emulation.sampled / emulation.blocks
    if count is None:
        return Counted(0, 0, 0, 0, 0, 0, 0, 0, sampled)
    # Local memory is laid out by words: wider accesses are several requests.
    words = max(1, count.width // 4) if count.region == LOCAL_REGION else 1
    requests = count.requests * emulation.scale * words

    reuse = emulation.reuse.get(at, Reuse())

    def total(sum_of_looked: float) -> float:
        return count.mean(sum_of_looked) * requests

    return Counted(
        requests=requests,
        lanes=count.lanes * emulation.scale * words,
        different=total(count.different),
        sectors=total(count.sectors),
        lines=total(count.lines),
        pairs=total(count.pairs),
        data_wavefronts=total(count.data),
        tag_wavefronts=total(count.tags),
        sampled=sampled,
        addresses=_addresses(count) if changes and count.kept else None,
        run=count.width * count.lanes / count.requests if count.bulk else 0.0,
        misses=tuple(zip(LINES, reuse.misses, strict=False)),
        once=reuse.once,
        drawn=reuse.drawn,
        apart=reuse.apart,
        jumping=reuse.jumping,
        alike=reuse.alike,
        met=reuse.met,
    )


def _addresses(count: Count) -> npt.NDArray[np.int64]:
    places = np.concatenate([p for p, _ in count.kept])
    active = np.concatenate([a for _, a in count.kept])
    return np.asarray(np.where(active, places - places[active].min(), -1))


def body_runs(found: Followed, trips: Mapping[str, float]) -> dict[str | None, float]:
    """Return how often the body of each loop runs; where nobody knows the end, many times."""
    times = {name: trips[name] if trips[name] < math.inf else _MANY for name in trips}
    runs: dict[str | None, float] = {None: 1.0}
    for loop in found.loops:
        runs[loop.variable] = math.prod(times[own] for own in found.nest(loop.variable))
    return runs


def sure_turns(found: Followed, launch: KernelLaunch, known: Mapping[str, int]) -> Turns:
    """Return how often some thread of a block of a launch runs a basic block, and on average.

    By basic block, where numbers of the launch, which are `known` by their names, decide.
    """
    trips = found.decided_trips(known)
    every = math.prod(launch.block)
    threads = coordinates("threadIdx", np.arange(every), launch.block)
    turns = {}
    for run in found.blocks:
        nest, decide = found.nest(run.loop), names(run.guard)
        own = [variable for variable in nest if variable in decide]
        if not (trips.keys() >= {*nest} and decide <= {*known, *threads, *own}) or len(own) > 1:
            continue
        first = math.prod(trips[variable] for variable in own)
        if first * every <= _MOST_TURNS:
            place = {variable: np.arange(first)[:, None] for variable in own}
            held = evaluate(run.guard, {**known, **threads, **place})
            run_by = np.broadcast_to(np.asarray(held, dtype=bool), (first, every))
            times = math.prod(trips[variable] for variable in nest if variable not in own)
            turns[run.block] = (
                times * float(run_by.any(axis=1).sum()),
                times * float(run_by.mean(axis=1).sum()),
            )
    return turns


_BLOCKS: Final = 8
"""Of the launch, looked at: spread evenly, the last among them."""
_ITERATIONS: Final = 512
"""Of a loop, looked at: the last."""
_SHARE: Final = 0.05
"""Of the warps that run a loop; the last warps of a launch alone are fewer."""
_PLACES: Final = ("blockIdx.", "threadIdx.")


def left_unevenly(found: Followed) -> frozenset[str]:
    """Return the variables of loops that blocks, threads or outer iterations leave apart."""
    variables = {loop.variable for loop in found.loops}
    return frozenset(
        loop.variable
        for loop in found.loops
        if loop.trips is not None
        and any(n in variables or n.startswith(_PLACES) for n in names(loop.trips))
    )


def left_apart(
    found: Followed, flow: ControlFlow, together: Collection[int], launch: KernelLaunch
) -> frozenset[str]:
    """Return the variables of the loops that some warps' lanes leave apart.

    `together`: blocks that are loops whose iterations ptxas puts together.
    """
    headers = {flow.loops[loop.index].header: loop.variable for loop in found.loops}
    known = _values(found, launch)
    apart = set()
    for run in found.blocks:
        variable = headers.get(run.block, "") if run.block in together else ""
        wanted = names(run.guard)
        if variable in wanted and any(name.startswith("threadIdx") for name in wanted):
            trips = found.decided_trips(known).get(variable, 0)
            if trips and _differ(run, variable, trips, _threads(launch), known):
                apart.add(variable)
    return frozenset(apart)


def _values(found: Followed, launch: KernelLaunch) -> dict[str, npt.ArrayLike]:
    """Return what formulas may name besides threads: loops around are at their first iteration."""
    known: dict[str, npt.ArrayLike] = {loop.variable: 0 for loop in found.loops}
    known |= {launch.shown.get(name, name): value for name, value in launch.values.items()}
    return known | launch.dimensions


def _threads(launch: KernelLaunch) -> dict[str, Array]:
    """Return the coordinates of the threads of some blocks: whole warps, a row each."""
    thread = np.arange(math.prod(launch.block) // WARP_SIZE * WARP_SIZE)
    blocks = math.prod(launch.grid)
    block = np.unique(np.linspace(0, blocks - 1, _BLOCKS).astype(np.int64))[:, None]
    found = {
        **coordinates("threadIdx", thread, launch.block),
        **coordinates("blockIdx", block, launch.grid),
    }
    shape = (len(block), len(thread))
    return {
        name: np.broadcast_to(value, shape).reshape(-1, WARP_SIZE, 1)
        for name, value in found.items()
    }


def _differ(
    run: BlockRun,
    variable: str,
    trips: int,
    threads: Mapping[str, Array],
    known: Mapping[str, npt.ArrayLike],
) -> bool:
    values = {**known, **threads, variable: np.arange(max(trips - _ITERATIONS, 0), trips)}
    if not names(run.guard) <= values.keys():
        return False
    try:
        runs = np.broadcast_to(
            np.asarray(evaluate(run.guard, {n: values[n] for n in names(run.guard)}), dtype=bool),
            (*threads["threadIdx.x"].shape[:2], min(trips, _ITERATIONS)),
        )
    except PerfmodelError:
        return False
    turns = runs.sum(axis=2)
    inside = turns > 0
    fewest = np.where(inside, turns, trips).min(axis=1)
    most = turns.max(axis=1)
    entered = most > 0
    return bool(np.count_nonzero(entered & (fewest < most)) > _SHARE * np.count_nonzero(entered))
