"""How much of a launch's work each block does, and each loop, by the conditions of its code.

A triangle of tiles, of which half leave at once, or rows that get shorter: conditions of blocks,
threads and iterations say which blocks run what, without running it. What data decides is taken
as alike in all.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array
from perfmodel.cuda.addresses.conditions import TRUE, conjuncts
from perfmodel.cuda.addresses.launch import KernelLaunch, coordinates
from perfmodel.cuda.addresses.records import BlockRun, Followed
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Node, evaluate, names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.records import record

MOST_BLOCKS: Final = 8192
"""Of a launch, told apart: of more, those that run at the end are few."""
_MANY: Final = 512
"""Blocks of a larger launch that are looked at."""
_OF_LOOPS: Final = 64
"""Blocks in which it is seen how often loops run."""
_MOST_POINTS: Final = 1 << 19
"""Places at which a condition is looked at, at most."""
_FEW_TURNS: Final = 4
"""Iterations at which it is looked at, at least: of all lanes while that leaves as many."""
_IDLE: Final = 0.05
"""Work of a block over the longest's up to which it has left at once."""
_WARPS: Final = 32
"""Warps of a block, at most."""
_ALIKE: Final = 0.04
"""Difference of blocks' work, over the longest's, that is none."""


@record
class BlockWork:
    """What blocks do, by conditions."""

    # Work of each block in the order of the grid, over the mean of those that do not leave at once;
    # empty where all are alike but for the last along an axis, or there are too many.
    blocks: tuple[float, ...]
    # By loop: the share of its iterations that the last warp of a block runs, mean over the blocks
    # that do not leave at once.
    turns: Mapping[str, float]
    # By loop that not all do, where some were counted: the share of a block's warps that enter it,
    # mean over the blocks where some do.
    entering: Mapping[str, float]


ALL_ALIKE: Final = BlockWork((), {}, {})


def block_work(
    found: Followed,
    flow: ControlFlow,
    launch: KernelLaunch,
    trips: Mapping[str, float],
    counted: Collection[str] = (),
) -> BlockWork:
    """Return what the blocks of a launch do, as far as conditions say it.

    `trips`: iterations of each loop; `counted`: loops whose iterations were counted,
    as a mean thread's.
    """
    if any(not math.isfinite(n) for n in trips.values()):
        return ALL_ALIKE
    blocks = math.prod(launch.grid)
    looks = any(_differs(found, loop.variable) for loop in found.loops)
    if blocks > MOST_BLOCKS and not looks:
        return ALL_ALIKE
    named = set[str]().union(*(names(run.guard) for run in found.blocks))
    if not looks and not any(n.startswith("blockIdx.") for n in named):
        return ALL_ALIKE
    looked = np.arange(blocks) if blocks <= MOST_BLOCKS else _in_stretches(blocks, _MANY)
    work: Array = np.ones(len(looked))
    if any(n.startswith("blockIdx.") for n in named):
        work = _work(found, flow, _Places(found, launch, trips, looked, counted))
    most = float(work.max())
    if most <= 0:
        return ALL_ALIKE
    working = np.flatnonzero(work > _IDLE * most)
    mean = float(work[working].mean())
    if len(working) > _OF_LOOPS:
        working = working[_in_stretches(len(working), _OF_LOOPS)]
    places = _Places(found, launch, trips, looked[working], counted)
    runs = _runs(found, places)
    last = {name: run.max(axis=1) for name, run in runs.items() if name not in counted}
    turns = _shares({name: run.mean() for name, run in last.items()})
    entering = _shares({name: _enter(run) for name, run in runs.items() if counted})
    if counted:  # how blocks that stay differ was seen in some of them
        work = np.where(work > _IDLE * most, 1.0, 0.0)
        most = mean = 1.0
    alike = all(float(np.ptp(run)) <= _ALIKE for run in last.values())
    if blocks > MOST_BLOCKS or (alike and _boxed(work / most, launch.grid)):
        return BlockWork((), turns, entering)
    return BlockWork(tuple((work / mean).round(4).tolist()), turns, entering)


def _differs(found: Followed, loop: str) -> bool:
    """Say whether a loop has conditions in all that runs in it."""
    guards = [run.guard for run in found.blocks if run.loop == loop]
    return bool(guards) and TRUE not in guards


class _Places:
    """Some blocks of a launch, warps of theirs, lanes, and iterations of loops."""

    def __init__(
        self,
        found: Followed,
        launch: KernelLaunch,
        trips: Mapping[str, float],
        numbers: Array,
        counted: Collection[str],
    ) -> None:
        self.counted = frozenset(counted)
        self.nest = found.nest
        self.trips = {name: max(round(n), 1) for name, n in trips.items()}
        self.blocks = len(numbers)
        self.known: dict[str, npt.ArrayLike] = {
            launch.shown.get(name, name): value for name, value in launch.values.items()
        }
        self.known |= launch.dimensions
        self.known |= coordinates("blockIdx", numbers[:, None, None, None], launch.grid)
        self.threads = math.prod(launch.block)
        self.warps = -(-self.threads // WARP_SIZE)
        self.block = launch.block

    def share(self, run: BlockRun, most_warps: int = 8) -> Array | None:
        """Return the share of iterations in which each warp of each block runs something.

        An array of blocks and warps, either of which may be 1 where all are alike; None where
        nothing is known. So many of a block's warps are looked at, at most.
        """
        known = self._names(run.loop) - self.counted
        parts = [p for p in conjuncts(run.guard) if names(p) <= known]
        if not parts:
            return None
        used = set().union(*(names(p) for p in parts))
        nest = [name for name in self.nest(run.loop) if name in used]
        threads = any(name.startswith("threadIdx.") for name in used)
        blocks = self.blocks if any(name.startswith("blockIdx.") for name in used) else 1
        warps = _some(self.warps, most_warps) if threads else np.zeros(1, dtype=np.int64)
        lanes = np.arange(WARP_SIZE if threads else 1)
        if blocks * len(warps) * len(lanes) > _MOST_POINTS // _FEW_TURNS:
            lanes = lanes[[0, len(lanes) // 2, -1]]
        room = max(_MOST_POINTS // (blocks * len(warps) * len(lanes)), _FEW_TURNS)
        each = max(int(room ** (1 / max(len(nest), 1))), 2)
        thread = np.minimum(warps[:, None] * WARP_SIZE + lanes, self.threads - 1)
        env = self.known | coordinates("threadIdx", thread[None, :, :, None], self.block)
        steps = np.meshgrid(*(_some(self.trips[name], each) for name in nest), indexing="ij")
        env |= {name: s.reshape(1, 1, 1, -1) for name, s in zip(nest, steps, strict=True)}
        holds: Array = np.ones((1, 1, 1, 1), dtype=bool)
        try:
            for part in parts:
                value = evaluate(part, {n: env[n] for n in names(part)})
                holds = holds & np.asarray(value, dtype=bool)
        except PerfmodelError:
            return None
        return np.asarray(holds.any(axis=2).mean(axis=2))

    def _names(self, loop: str | None) -> set[str]:
        axes = {f"threadIdx.{a}" for a in "xyz"}
        return {*self.known, *axes, *self.nest(loop)}


def _work(found: Followed, flow: ControlFlow, places: _Places) -> Array:
    """Return the instructions of each block; few of one that comes to no access of memory."""
    work, touching = np.zeros(places.blocks), np.zeros(places.blocks, dtype=bool)
    touched = {access.at for access in found.accesses}
    shares: dict[tuple[Node, str | None], Array | None] = {}
    for run in found.blocks:
        key = (run.guard, run.loop)
        if key not in shares:
            shares[key] = None if run.guard == TRUE else places.share(run)
        block = flow.blocks[run.block]
        times = math.prod(places.trips[name] for name in places.nest(run.loop))
        share = shares[key]
        of_block = 1.0 if share is None else share.mean(axis=1)
        work += (block.stop - block.start) * times * of_block
        if not touched.isdisjoint(range(block.start, block.stop)):
            touching |= np.asarray(of_block) > 0
    return np.where(touching, work, np.minimum(work, _IDLE * work.max())) if touched else work


def _runs(found: Followed, places: _Places) -> dict[str, Array]:
    """Return the share of each loop's iterations that each warp of each block runs."""
    runs: dict[str, Array] = {}
    for loop in found.loops:
        most: Array = np.zeros((1, 1))
        for run in found.blocks:
            if run.loop != loop.variable:
                continue
            share = None if run.guard == TRUE else places.share(run, _WARPS)
            most = np.ones((1, 1)) if share is None else np.maximum(most, share)
            if share is None:
                break
        runs[loop.variable] = most
    return runs


def _enter(run: Array) -> float:
    """Return the share of warps that come to a loop, mean over the blocks where some do."""
    enters = run[run.any(axis=1)] > 0
    return float(enters.mean()) if enters.size else 1.0


def _shares(found: Mapping[str, float]) -> dict[str, float]:
    """Return those shares that are not all."""
    return {name: round(float(share), 4) for name, share in found.items() if 0 < share < 1}


def _in_stretches(count: int, most: int) -> Array:
    """Return numbers below `count`, one of each of `most` even stretches, at random.

    Rows and columns of a grid have no part in it.
    """
    random = np.random.default_rng(0).random(most)
    return np.floor((np.arange(most) + random) * count / most).astype(np.int64)


def _some(count: int, most: int) -> Array:
    """Return numbers below `count`, all of them or as many as `most`, spread evenly."""
    if count <= most:
        return np.arange(count)
    return np.floor((np.arange(most) + 0.5) * count / most).astype(np.int64)


def _boxed(work: Array, grid: Sequence[int]) -> bool:
    """Say whether blocks with work are the first along each axis, alike but for the last of them.

    What guards of accesses cut off so is known without (`perfmodel.models.launch.waves`).
    """
    x, y, z = grid
    shaped = work.reshape(z, y, x)
    busy = shaped > _IDLE
    others = ((1, 2), (0, 2), (0, 1))
    ends = [int(np.flatnonzero(busy.any(axis=apart)).max()) + 1 for apart in others]
    inside = tuple(slice(0, n) for n in ends)
    if not busy[inside].all():
        return False
    whole = shaped[tuple(slice(0, max(n - 1, 1)) for n in ends)]
    return bool(whole.max() - whole.min() <= _ALIKE)
