"""What emulation adds where symbols end: trips of loops, and accesses as counted requests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from perfmodel.cuda.addresses.launch import KernelLaunch, coordinates
from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.emulate.counts import LOCAL_REGION, Count
from perfmodel.cuda.emulate.lock_step import Turns
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.emulate.reuse import LINES, Reuse
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.expressions import evaluate, names
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


def most_turns(emulation: Emulation, flow: ControlFlow, loop: int) -> float:
    """Return the iterations of a loop that the warp with most work can have run.

    No warp runs more of them than the mean of all warps, times what the longest warp does over an
    average one. Products of the iterations of nested loops know no such bound: an inner loop that
    few iterations of the outer one enter is in them as if all did. `loop`: its number in `flow`.
    """
    iterations = float(emulation.warps[flow.loops[loop].header])
    return max(iterations / emulation.sampled_warps * emulation.unequal.longest, 1.0)


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


def buffer_bytes(emulation: Emulation, region: int) -> int:
    """Return the size of a buffer that is nowhere stated: as far as the sample reached [B]."""
    return max(emulation.regions[region].reach, 1)


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
    trips = {
        loop.variable: int(evaluate(loop.trips, known))
        for loop in found.loops
        if loop.trips is not None and names(loop.trips) <= known.keys()
    }
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
