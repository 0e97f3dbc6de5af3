"""A kernel and a launch of it before a `Kernel` is made of them; which warps run which block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np

from perfmodel.cuda.addresses.conditions import TRUE
from perfmodel.cuda.addresses.launch import KernelLaunch
from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.addresses.sums import Sum, written
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.kernel.parts import renamed
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.syntax import Function
from perfmodel.expressions import Name, Node, Number, Operation, evaluate, names, parse
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.access import Access
from perfmodel.kernels.instance import Instance, bind
from perfmodel.kernels.kernel import (
    Buffer,
    Kernel,
    Launch,
    Loop,
    Parameter,
)
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.warp_requests import ActivityCache, access_requests
from perfmodel.records import record

FLAT: Final = parse("blockIdx.x*blockDim.x + threadIdx.x")
"""Number of a thread in a launch of one dimension."""
_INDICES: Final = frozenset(f"{of}Idx.{axis}" for of in ("thread", "block") for axis in "xyz")


@record
class Analysed:
    """A kernel and a launch of it, as followed and, where symbols end, emulated."""

    function: Function
    flow: ControlFlow
    found: Followed
    launch: KernelLaunch
    parameters: tuple[Parameter, ...]
    parts: Sequence[tuple[Name, Sum]]
    """Positions in the grid, by the names that guards have for them."""
    emulation: Emulation | None = None
    counted: frozenset[str] = frozenset()
    """Loops whose iterations emulation counted."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What follows from the way alone that following took."""

    def trips(self) -> dict[str, float]:
        """Return the iterations of each loop, where the launch decides; else that they are many."""
        known = known_numbers(self.launch, self.parameters)
        trips = {}
        for loop in self.found.loops:
            decided = loop.trips is not None and names(loop.trips) <= known.keys()
            trips[loop.variable] = (
                float(np.max(evaluate(loop.trips, known))) if decided and loop.trips else math.inf
            )
        return trips


@record
class Numbers:
    """What work is counted by, in a launch."""

    shares: Sequence[tuple[float, float]]
    """Of all warps that run each block, and the threads of the launch that do."""
    trips: Mapping[str, float]
    """Iterations of each loop."""
    steps: Mapping[str | None, int]
    """What divides the distances between lanes of each loop's loads [B]."""


def decided(name: str, value: int) -> Parameter:
    """Return a parameter with what the launch says: another value is another analysis."""
    low, high = min(1, value), max(1, value)
    return Parameter(name, Number(value), low, high, choices=(value,))


def known_numbers(launch: KernelLaunch, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the parameters and the sizes that the launch gives."""
    known = {p.name: evaluate(p.default, {}) for p in parameters if p.default is not None}
    return known | launch.dimensions


def shares_of(kernel: Analysed) -> list[tuple[float, float]]:
    """Return the share of all warps that run each block, and the threads of the launch that do."""
    return _followed(kernel) if kernel.emulation is None else _emulated(kernel, kernel.emulation)


def _emulated(kernel: Analysed, emulation: Emulation) -> list[tuple[float, float]]:
    """Return the shares and threads, from the blocks that were emulated."""
    found, launch = kernel.found, kernel.launch
    known = known_numbers(launch, kernel.parameters)
    trips = {
        loop.variable: int(np.max(evaluate(loop.trips or Number(1), known))) for loop in found.loops
    }
    warps = -(-math.prod(launch.block) // 32) * emulation.sampled
    shares = []
    for run in found.blocks:
        times = found.iterations(run.loop, trips)
        shares.append(
            (
                float(emulation.warps[run.block]) / (warps * times),
                float(emulation.threads[run.block]) * emulation.scale,
            )
        )
    return shares


def _followed(analysed: Analysed) -> list[tuple[float, float]]:
    """Return the shares and threads by the conditions of the blocks."""
    found, launch, parts = analysed.found, analysed.launch, analysed.parts
    if "blocks" not in analysed.kept:
        analysed.kept["blocks"] = _blocks(found, parts)
    blocks, loops = analysed.kept["blocks"]
    sizes = (launch.grid, launch.block)
    grid, block = (tuple(Number(n) for n in size) for size in sizes)
    kernel = Kernel(
        name="blocks",
        summary="",
        parameters=analysed.parameters,
        launch=Launch(grid, block),  # type: ignore[arg-type]
        buffers=(Buffer("at", Number(1)),),
        accesses=blocks,
        definitions=tuple((name.name, written(part)) for name, part in parts),
        loops=loops,
    )
    if all(access.guard is None and access.loop is None for access in blocks):
        return [(1.0, float(math.prod(launch.grid) * math.prod(launch.block)))] * len(blocks)
    instance = bind(kernel, {})
    shape = block_shape(launch.block)
    known: ActivityCache = {}
    cache: dict[tuple[Node, str | None], tuple[float, float]] = {}
    shares = []
    for i, run in enumerate(found.blocks):
        key = (run.guard, run.loop)
        if key not in cache:
            first = _first_threads(instance, i)
            cache[key] = _share(instance, i, shape, known) if first is None else first
        shares.append(cache[key])
    return shares


def _blocks(
    found: Followed, parts: Sequence[tuple[Name, Sum]]
) -> tuple[tuple[Access, ...], tuple[Loop, ...]]:
    """Return an access for each block of a kernel, by whoever runs it, and the loops."""
    accesses = tuple(
        Access(
            "at",
            "load",
            Number(0),
            loop=run.loop,
            guard=None if run.guard == TRUE else renamed(run.guard, parts),
            name=str(i),
        )
        for i, run in enumerate(found.blocks)
    )
    loops = tuple(
        Loop(loop.variable, renamed(loop.trips or Number(1), parts), loop.parent)
        for loop in found.loops
    )
    return accesses, loops


def _first_threads(instance: Instance, position: int) -> tuple[float, float] | None:
    """Return the share and threads of a block that all threads run, or the first so many.

    In all turns; None of other blocks, which the closed forms of requests count.
    """
    access = instance.kernel.accesses[position]
    loops = instance.kernel.loop_nest(access.loop)
    if any(names(loop.trips) & _INDICES for loop in loops):
        return None
    block, blocks = int(instance.threads_per_block), int(instance.blocks)
    every = threads = block * blocks
    if access.guard is not None:
        limit = _limit(instance, access.guard)
        if limit is None:
            return None
        threads = min(max(limit, 0), every)
    times = math.prod(int(instance.trips[loop.variable]) for loop in loops)
    whole, rest = divmod(threads, block)
    warps = whole * -(-block // WARP_SIZE) + -(-rest // WARP_SIZE)
    of_all = -(-block // WARP_SIZE) * blocks
    return float(warps * times) / max(1, of_all * times), float(threads * times)


def _limit(instance: Instance, guard: Node) -> int | None:
    """Return what threads' numbers in the grid are below where a guard holds; None if not that."""
    sizes = (*instance.grid[1:], *instance.block[1:])
    if not (isinstance(guard, Operation) and guard.operator == "<") or any(n != 1 for n in sizes):
        return None
    number, limit = guard.operands
    if isinstance(number, Name):
        number = dict(instance.kernel.definitions).get(number.name, number)
    values = instance.values
    if number != FLAT or not names(limit) <= values.keys():
        return None
    return int(evaluate(limit, {name: int(values[name]) for name in names(limit)}))


def _share(
    instance: Instance, position: int, shape: object, known: ActivityCache
) -> tuple[float, float]:
    requests = access_requests(instance, position, shape, known)  # type: ignore[arg-type]
    kernel = instance.kernel
    times = math.prod(
        int(instance.trips[loop.variable])
        for loop in kernel.loop_nest(kernel.accesses[position].loop)
    )
    warps = -(-int(instance.threads_per_block) // 32) * int(instance.blocks)
    every = max(1, warps * times)
    return float(np.max(requests.requests)) / every, float(np.max(requests.active_lanes))
