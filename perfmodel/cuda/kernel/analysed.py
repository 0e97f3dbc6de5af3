"""A kernel and a launch of it before a `Kernel` is made of them; which warps run which block."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Final

import numpy as np

from perfmodel.cuda.addresses.conditions import TRUE
from perfmodel.cuda.addresses.launch import KernelLaunch
from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.addresses.sums import Sum, written
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.kernel.accesses import three_numbers
from perfmodel.cuda.kernel.parts import renamed
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.syntax import Function
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, Number, Operation, evaluate, names, parse
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.access import Access
from perfmodel.kernels.instance import MOST_TRIPS, Instance, bind
from perfmodel.kernels.kernel import Buffer, Kernel, Launch, Loop, Parameter
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.warp_requests import ActivityCache, access_requests
from perfmodel.records import record

FLAT: Final = parse("blockIdx.x*blockDim.x + threadIdx.x")
"""Number of a thread in a launch of one dimension."""


_THREADS: Final = frozenset(f"threadIdx.{axis}" for axis in "xyz")
_EXACT: Final = 2**53
"""Whole numbers that floats hold."""


@record
class Analysed:
    """A kernel and a launch of it, as followed and, where symbols end, emulated."""

    function: Function
    flow: ControlFlow
    found: Followed
    launch: KernelLaunch
    parameters: tuple[Parameter, ...]
    # Positions in the grid, by the names that guards have for them.
    parts: Sequence[tuple[Name, Sum]]
    emulation: Emulation | None = None
    counted: frozenset[str] = frozenset()  # loops whose iterations emulation counted
    # What follows from the way alone that following took.
    kept: dict[str, Any] = field(default_factory=dict)

    def known(self) -> dict[str, Any]:
        """Return the parameters and the sizes that the launch gives."""
        defaults = ((p.name, p.default) for p in self.parameters if p.default is not None)
        known = {n: d.value if type(d) is Number else evaluate(d, {}) for n, d in defaults}
        return known | self.launch.dimensions

    def trips(self) -> dict[str, float]:
        """Return the iterations of each loop, where the launch decides; else that they are many."""
        trips = self.found.decided_trips(self.known())
        return {n: float(trips.get(n, math.inf)) for n in (x.variable for x in self.found.loops)}


@record
class Numbers:
    """What work is counted by, in a launch."""

    # Of all warps that run each block, and the threads of the launch that do.
    shares: Sequence[tuple[float, float]]
    trips: Mapping[str, float]  # iterations of each loop
    # What divides the distances between lanes of each loop's loads [B].
    steps: Mapping[str | None, int]
    # The share of a block's warps that enter a loop, where not all do: as of `BlockWork`.
    entering: Mapping[str, float]


def decided(name: str, value: int) -> Parameter:
    """Return a parameter with what the launch says: another value is another analysis."""
    low, high = min(1, value), max(1, value)
    return Parameter(name, Number(value), low, high, choices=(value,))


def shares_of(kernel: Analysed) -> list[tuple[float, float]]:
    """Return the share of all warps that run each block, and the threads of the launch that do."""
    return _followed(kernel) if kernel.emulation is None else _emulated(kernel, kernel.emulation)


def _emulated(kernel: Analysed, emulation: Emulation) -> list[tuple[float, float]]:
    """Return the shares and threads, from the blocks that were emulated."""
    found, trips = kernel.found, kernel.trips()
    warps = -(-math.prod(kernel.launch.block) // 32) * emulation.sampled
    return [
        (
            float(emulation.warps[run.block]) / (warps * found.iterations(run.loop, trips)),
            float(emulation.threads[run.block]) * emulation.scale,
        )
        for run in found.blocks
    ]


def _followed(analysed: Analysed) -> list[tuple[float, float]]:
    """Return the shares and threads by the conditions of the blocks."""
    found, launch, parts = analysed.found, analysed.launch, analysed.parts
    if "blocks" not in analysed.kept:
        analysed.kept["blocks"] = _blocks(found, parts)
    blocks, nests, _ = analysed.kept["blocks"]
    if "first" not in analysed.kept:
        definitions = {name.name: written(part) for name, part in parts}
        known = {p.name for p in analysed.parameters}
        analysed.kept["first"] = [
            _first(each, nest, definitions, launch, known)
            for each, nest in zip(blocks, nests, strict=True)
        ]
    counted = Threads(analysed)
    shares: dict[tuple[Node, str | None], tuple[float, float]] = {}
    for i, (run, first) in enumerate(zip(found.blocks, analysed.kept["first"], strict=True)):
        key = (run.guard, run.loop)
        if key not in shares:
            shares[key] = counted.any(i) if first is None else counted.first(first)
    return [shares[run.guard, run.loop] for run in found.blocks]


class Threads:
    """Counts the threads of a launch that run blocks of a kernel."""

    def __init__(self, analysed: Analysed) -> None:
        self.analysed, launch = analysed, analysed.launch
        self.known = analysed.known()
        self.block, self.blocks = math.prod(launch.block), math.prod(launch.grid)
        self.activities: ActivityCache = {}

    def first(self, of: "_First") -> tuple[float, float]:
        """Return the share and threads of what the first threads run, in all turns."""
        every = threads = self.block * self.blocks
        if of.limit is not None:
            threads = min(max(int(evaluate(of.limit, self.known)), 0), every)
        times = math.prod(self._turns(of))
        whole, rest = divmod(threads, self.block)
        warps = whole * -(-self.block // WARP_SIZE) + -(-rest // WARP_SIZE)
        of_all = -(-self.block // WARP_SIZE) * self.blocks
        return float(warps * times) / max(1, of_all * times), float(threads * times)

    def _turns(self, of: "_First") -> list[int]:
        try:
            turns = [evaluate(trips, self.known) for trips in of.trips.values()]
        except PerfmodelError:  # which binding says better
            turns = []
        whole = all(type(n) is int and 0 <= n <= MOST_TRIPS for n in turns)
        if whole and len(turns) == len(of.trips):
            return [int(n) for n in turns]
        return [int(self.instance.trips[name]) for name in of.trips]

    def any(self, position: int) -> tuple[float, float]:
        """Return the share of all warps that run a block, and the threads that do.

        What threads alone decide is the same in each block, and counted once.
        """
        kept, (blocks, nests, _) = self.analysed.kept, self.analysed.kept["blocks"]
        guard, nest = blocks[position].guard, nests[position]
        values = {n: self.known[n] for n in names(guard or TRUE) if n in self.known}
        alike = guard is None or names(guard) <= values.keys() | _THREADS
        if not alike or any(not names(trips) <= self.known.keys() for trips in nest.values()):
            return self._counted(position)[:2]
        times = self.blocks * math.prod(self._turns(_First(nest, None)))
        each = kept.setdefault("each", {})
        key = position, tuple(values.items())
        if key not in each:
            share, threads, requests = self._counted(position)
            if requests is None or (parts := _divided((requests, threads), times)) is None:
                return share, threads
            each[key] = parts
        requests, threads = (n * times for n in each[key])
        if max(requests, threads) >= _EXACT:
            return self._counted(position)[:2]
        every = -(-self.block // WARP_SIZE) * times
        return float(requests) / max(1, every), float(threads)

    def _counted(self, position: int) -> tuple[float, float, float | None]:
        """Return what `any` does, and the requests of a closed form."""
        shape = block_shape(self.analysed.launch.block)
        return _share(self.instance, position, shape, self.activities)

    @cached_property
    def instance(self) -> Instance:
        """The blocks as accesses of a kernel."""
        launch, (accesses, _, loops) = self.analysed.launch, self.analysed.kept["blocks"]
        kernel = Kernel(
            name="blocks",
            summary="",
            parameters=self.analysed.parameters,
            launch=Launch(three_numbers(launch.grid), three_numbers(launch.block)),
            buffers=(Buffer("at", Number(1)),),
            accesses=accesses,
            definitions=tuple((name.name, written(part)) for name, part in self.analysed.parts),
            loops=loops,
        )
        return bind(kernel, {})


def _blocks(
    found: Followed, parts: Sequence[tuple[Name, Sum]]
) -> tuple[tuple[Access, ...], list[dict[str, Node]], tuple[Loop, ...]]:
    """Return an access for each block, by whoever runs it, the trips around each, and the loops."""
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
    trips = {loop.variable: loop.trips for loop in loops}
    return accesses, [{v: trips[v] for v in found.nest(run.loop)} for run in found.blocks], loops


@record
class _First:
    """What all threads of a launch run, or the first so many."""

    trips: Mapping[str, Node]  # of the loops around it, by their variables
    limit: Node | None  # what threads' numbers in the grid are below; None where all run it


def _first(
    access: Access,
    nest: Mapping[str, Node],
    definitions: Mapping[str, Node],
    launch: KernelLaunch,
    known: set[str],
) -> _First | None:
    """Return which threads run a block if it is the first so many, in all turns.

    None of other blocks, which the closed forms of requests count; `known`: the parameters.
    """
    if any(not names(trips) <= known | launch.dimensions.keys() for trips in nest.values()):
        return None
    if access.guard is None:
        return _First(nest, None)
    limit = _limit(access.guard, definitions, launch)
    return None if limit is None or not names(limit) <= known else _First(nest, limit)


def _limit(guard: Node, definitions: Mapping[str, Node], launch: KernelLaunch) -> Node | None:
    """Return what threads' numbers in the grid are below where a guard holds; None if not that."""
    sizes = (*launch.grid[1:], *launch.block[1:])
    if not (isinstance(guard, Operation) and guard.operator == "<") or any(n != 1 for n in sizes):
        return None
    number, limit = guard.operands
    if isinstance(number, Name):
        number = definitions.get(number.name, number)
    return limit if number == FLAT else None


def _divided(numbers: Sequence[float], by: int) -> tuple[int, ...] | None:
    """Return numbers over another if all are whole, and floats that have them exactly."""
    if by <= 0 or any(n >= _EXACT or n != int(n) or int(n) % by for n in numbers):
        return None
    return tuple(int(n) // by for n in numbers)


def _share(
    instance: Instance, position: int, shape: object, known: ActivityCache
) -> tuple[float, float, float | None]:
    found = access_requests(instance, position, shape, known)  # type: ignore[arg-type]
    kernel = instance.kernel
    times = math.prod(
        int(instance.trips[loop.variable])
        for loop in kernel.loop_nest(kernel.accesses[position].loop)
    )
    warps = -(-int(instance.threads_per_block) // 32) * int(instance.blocks)
    requests, threads = float(np.max(found.requests)), float(np.max(found.active_lanes))
    share = requests / max(1, warps * times)
    return share, threads, requests if found.sampled is None else None
