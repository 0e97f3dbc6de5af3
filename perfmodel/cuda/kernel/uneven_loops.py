"""Loops whose iterations have no formula, since some leave them before others: they are counted.

Where ptxas runs four iterations at a time, then two, then one, lanes with fewer of them run theirs
while the others wait: a warp runs more iterations than any of its lanes, which has no formula.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array
from perfmodel.cuda.addresses.launch import KernelLaunch, coordinates
from perfmodel.cuda.addresses.records import BlockRun, Followed
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate, names
from perfmodel.hardware.device import WARP_SIZE

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
    apart = set()
    for run in found.blocks:
        variable = headers.get(run.block, "") if run.block in together else ""
        wanted = names(run.guard)
        if variable in wanted and any(name.startswith("threadIdx") for name in wanted):
            trips = _trips(found, launch, variable)
            if trips and _differ(run, variable, trips, _threads(launch), _values(found, launch)):
                apart.add(variable)
    return frozenset(apart)


def _values(found: Followed, launch: KernelLaunch) -> dict[str, npt.ArrayLike]:
    """Return what formulas may name besides threads: loops around are at their first iteration."""
    known: dict[str, npt.ArrayLike] = {loop.variable: 0 for loop in found.loops}
    known |= {launch.shown.get(name, name): value for name, value in launch.values.items()}
    return known | launch.dimensions


def _trips(found: Followed, launch: KernelLaunch, variable: str) -> int:
    trips = next(loop.trips for loop in found.loops if loop.variable == variable)
    known = _values(found, launch)
    if trips is None or not names(trips) <= known.keys():
        return 0
    return int(np.max(evaluate(trips, known)))


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
