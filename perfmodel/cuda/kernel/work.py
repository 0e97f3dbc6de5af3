"""A kernel's instructions besides memory accesses: on pipes, and as FLOP."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from perfmodel.cuda.addresses.conditions import TRUE
from perfmodel.cuda.addresses.lane_steps import lane_steps
from perfmodel.cuda.addresses.launch import KernelLaunch
from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.addresses.sums import Sum, written
from perfmodel.cuda.emulate.odd_values import (
    OddShares,
    odd_added,
    odd_clocks,
    odd_counts,
    odd_doubt,
)
from perfmodel.cuda.emulate.run import Emulation
from perfmodel.cuda.kernel.block_work import ALL_ALIKE, BlockWork, block_work
from perfmodel.cuda.kernel.constant_data import constants_read
from perfmodel.cuda.kernel.counts import body_runs
from perfmodel.cuda.kernel.loads_in_flight import loads_in_flight
from perfmodel.cuda.kernel.partings import Run, partings
from perfmodel.cuda.kernel.parts import renamed
from perfmodel.cuda.parse.control_flow import ControlFlow, control_flow
from perfmodel.cuda.parse.registers import is_memory
from perfmodel.cuda.parse.syntax import Function
from perfmodel.cuda.sass.branch_tables import branch_tables
from perfmodel.cuda.sass.divergence import MEETING, meetings, varying_constants
from perfmodel.cuda.sass.latencies import latencies
from perfmodel.cuda.sass.loop_pace import paces
from perfmodel.cuda.sass.machine_code import MachineCode
from perfmodel.cuda.sass.machine_instructions import (
    START,
    machine_instructions,
)
from perfmodel.cuda.sass.machine_loops import MachineLoop, machine_loops
from perfmodel.cuda.sass.predication import predicated_blocks, with_moves
from perfmodel.cuda.sass.tensor_work import tensor_flop
from perfmodel.cuda.sass.unrolling import Around, rounds
from perfmodel.expressions import Name, Node, Number, evaluate, names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.access import Access
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.kernels.instance import Instance, bind
from perfmodel.kernels.kernel import (
    Arithmetic,
    Barrier,
    Buffer,
    Kernel,
    Launch,
    Loop,
    Pace,
    Parameter,
)
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.warp_requests import ActivityCache, access_requests
from perfmodel.models.time.issue import TABLE_BRANCH

_FLOP: Final = {"fma": 2, "mad": 2, "add": 1, "sub": 1, "mul": 1, "div": 1, "sqrt": 1}
_PRECISIONS: Final = {"f32": "fp32", "f64": "fp64"}


@dataclass(frozen=True, slots=True)
class Work:
    """A kernel's instructions that are no memory accesses.

    Attributes
    ----------
    arithmetic : tuple of Arithmetic
    flop : float
        Of the launch.
    precision : str
        Ceiling that most of them belong to.
    in_flight : int or None
        Loads that a thread issues before it waits for the first, in the loop that loads most.
    barriers : tuple of Barrier
        Those at which all warps of a block wait.
    paces : tuple of Pace
        Of each loop, and of what runs once.
    constants : float
        Bytes of constant memory that a warp reads, at most.
    by_block : BlockWork
        What each block does of it, by conditions.
    doubt : Doubt
        If odd values come as often as they do by chance.
    """

    arithmetic: tuple[Arithmetic, ...]
    flop: float
    precision: str
    in_flight: int | None
    barriers: tuple[Barrier, ...] = ()
    paces: tuple[Pace, ...] = ()
    constants: float = 0.0
    by_block: BlockWork = ALL_ALIKE
    doubt: Doubt = SURE


def work_of(
    function: Function,
    found: Followed,
    launch: KernelLaunch,
    parameters: Sequence[Parameter],
    parts: Sequence[tuple[Name, Sum]],
    emulation: Emulation | None = None,
    registers: int = 255,
    waits: Mapping[str | None, int] = MappingProxyType({}),
    machine: MachineCode = (),
    odd: OddShares = MappingProxyType({}),
    counted: frozenset[str] = frozenset(),
) -> Work:
    """Return the work of a kernel's blocks, each for the warps that run it.

    `waits` says how many loads of each loop wait for one another by their addresses; `machine` is
    what ptxas made of the kernel, if it is at hand; `odd`, which share of an instruction's warps
    takes which way of odd values; `counted`, the loops whose iterations emulation counted.
    """
    flow = control_flow(function)
    trips = _trips(found, launch, parameters)
    around = _around(found, flow, trips) if emulation is None else emulation.around(flow)
    counts = machine_instructions(function, flow, around)
    if emulation is None:
        shares = _shares(found, launch, parameters, parts)
    else:
        shares = _emulated(found, launch, parameters, emulation)
    loops = {run.block: run.loop for run in found.blocks}
    predicated = predicated_blocks(function, flow, counts, loops)
    counts = tuple(with_moves(function, flow, counts, predicated))
    odd_waits: dict[str | None, float] = {}
    added: dict[str | None, tuple[float, float]] = {}
    issued = _issued(found, predicated, [warps for warps, _ in shares])
    totals: dict[tuple[str, str | None], float] = {("other", None): float(START)}
    flop = dict.fromkeys(_PRECISIONS.values(), 0.0)

    def add(pipe: str, loop: str | None, count: float) -> None:
        totals[pipe, loop] = totals.get((pipe, loop), 0.0) + count

    tables = branch_tables(function, flow)
    meeting, varying = meetings(function, flow), varying_constants(function)
    ran = {r.block: warps for r, (warps, _) in zip(found.blocks, shares, strict=True)}
    for run, (warps, threads), (slots, branch) in zip(found.blocks, shares, issued, strict=True):
        if run.block in meeting:
            add("other", run.loop, MEETING * branch)
        block = flow.blocks[run.block]
        if run.block in tables:
            # where each way begins stands in constant memory
            ways = sum(min(ran.get(way, 0.0), branch) for way in tables[run.block])
            add("constant", run.loop, (1.0 + TABLE_BRANCH) * ways)
        for at in range(block.start, block.stop):
            instruction = function.instructions[at]
            kept = branch if instruction.opcode == "bra" else slots
            for pipe, count in counts[at].items():
                add(pipe, run.loop, count * kept)
            if at in odd:
                waited = odd_clocks(instruction, odd[at]) * slots
                odd_waits[run.loop] = odd_waits.get(run.loop, 0.0) + waited
                before, more = added.get(run.loop, (0.0, 0.0)), odd_added(instruction, odd[at])
                added[run.loop] = (before[0] + more[0] * kept, before[1] + more[1] * kept)
                for pipe, count in odd_counts(instruction, odd[at]).items():
                    add(pipe, run.loop, count * kept)
            if emulation is not None and at in varying and at in emulation.counts:
                read = emulation.counts[at]
                add("constant", run.loop, kept * read.data / max(read.requests, 1))
            if is_memory(instruction) and slots > warps:
                add("masked", run.loop, slots - warps)
            kind = instruction.type_name
            if kind in _PRECISIONS:
                flop[_PRECISIONS[kind]] += _FLOP.get(instruction.opcode, 0) * threads
            ceiling, of_thread = tensor_flop(instruction)
            if of_thread:
                flop[ceiling] = flop.get(ceiling, 0.0) + of_thread * threads
    arithmetic = tuple(
        Arithmetic(pipe, _number(count), loop) for (pipe, loop), count in totals.items() if count
    )
    precision = max(flop, key=lambda name: flop[name])
    taken = [
        (run.block, slots, run.loop) for run, (slots, _) in zip(found.blocks, issued, strict=True)
    ]
    found_paces = paces(
        *(function, flow, counts, taken, trips, registers, predicated),
        _machine_loops(function, found, launch, parameters, machine),
    )
    parted = partings(
        flow,
        [Run(r.block, r.loop, *share) for r, share in zip(found.blocks, shares, strict=True)],
        frozenset(
            r.block
            for r, (_, branch) in zip(found.blocks, issued, strict=True)
            if r.block in meeting and branch > 0
        ),
    )
    abreast = {v: round(p.abreast(waits.get(v, 1)), 4) for v, p in found_paces.items()}
    wait = latencies().parting
    by_block = block_work(found, flow, launch, trips, counted)
    return Work(
        arithmetic,
        flop[precision],
        precision,
        loads_in_flight(function, flow, found, abreast),
        _barriers(function, flow, found),
        tuple(
            Pace(_number(round(p.clocks + more, 2)), loop, every)
            for loop, p in found_paces.items()
            for more in (wait * parted.get(loop, 0.0) + odd_waits.get(loop, 0.0),)
            for every in (_number(abreast[loop]),)
        ),
        constants_read(function, flow, found, trips),
        by_block,
        odd_doubt(totals, added, body_runs(found, trips)) if added else SURE,
    )


def _machine_loops(
    function: Function,
    found: Followed,
    launch: KernelLaunch,
    parameters: Sequence[Parameter],
    code: MachineCode,
) -> dict[str | None, tuple[MachineLoop, ...]]:
    """Return the loops of the machine code, as each loop's lanes come to new data."""
    if not code:
        return {}
    steps = lane_steps(function, found, launch, _known(launch, parameters))
    warps = math.ceil(math.prod(launch.block) / WARP_SIZE)
    every = {step: machine_loops(code, step, warps) for step in {0, *steps.values()}}
    return {loop.variable: every[steps.get(loop.variable, 0)] for loop in found.loops}


def _known(launch: KernelLaunch, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the parameters and the sizes that the launch gives."""
    known = {p.name: evaluate(p.default, {}) for p in parameters if p.default is not None}
    for base, sizes in (("blockDim", launch.block), ("gridDim", launch.grid)):
        known |= {f"{base}.{axis}": n for axis, n in zip("xyz", sizes, strict=True)}
    return known


def _around(found: Followed, flow: ControlFlow, trips: Mapping[str, float]) -> dict[int, Around]:
    """Return how often loops whose iterations may be put together are entered and gone around."""
    return {
        flow.loops[loop.index].header: Around(rounds(n) / n, 1.0 / n)
        for loop in found.loops
        if 1 <= (n := trips[loop.variable]) < math.inf
    }


def _trips(
    found: Followed, launch: KernelLaunch, parameters: Sequence[Parameter]
) -> dict[str, float]:
    """Return the iterations of each loop, where the launch decides; else that they are many."""
    known = _known(launch, parameters)
    trips = {}
    for loop in found.loops:
        decided = loop.trips is not None and names(loop.trips) <= known.keys()
        trips[loop.variable] = (
            float(np.max(evaluate(loop.trips, known))) if decided and loop.trips else math.inf
        )
    return trips


def _barriers(function: Function, flow: ControlFlow, found: Followed) -> tuple[Barrier, ...]:
    """Return how often a block's warps wait for one another, by loop."""
    counts: dict[str | None, int] = {}
    for run in found.blocks:
        block = flow.blocks[run.block]
        for instruction in function.instructions[block.start : block.stop]:
            if instruction.opcode in ("bar", "barrier") and "arrive" not in instruction.modifiers:
                counts[run.loop] = counts.get(run.loop, 0) + 1
    return tuple(Barrier(Number(count), loop) for loop, count in counts.items())


def _issued(
    found: Followed, predicated: Mapping[int, int], shares: Sequence[float]
) -> list[tuple[float, float]]:
    """Return the share of warps that issue each block's instructions, and that of its branch.

    A short block that a branch skips becomes instructions with a predicate: all warps issue them,
    and nobody branches.
    """
    issued = {run.block: share for run, share in zip(found.blocks, shares, strict=True)}
    branches = dict(issued)
    for number in sorted(predicated):
        before = predicated[number]
        issued[number] = max(issued[number], issued[before])
        branches[before] = 0.0
    return [(issued[run.block], branches[run.block]) for run in found.blocks]


def _emulated(
    found: Followed, launch: KernelLaunch, parameters: Sequence[Parameter], emulation: Emulation
) -> list[tuple[float, float]]:
    """Return the same as `_shares`, from the blocks that were emulated."""
    known = _known(launch, parameters)
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


def _number(count: float) -> Number:
    return Number(int(count)) if count == int(count) else Number(float(count))


def _shares(
    found: Followed,
    launch: KernelLaunch,
    parameters: Sequence[Parameter],
    parts: Sequence[tuple[Name, Sum]],
) -> list[tuple[float, float]]:
    """Return the share of all warps that run each block, and the threads of the launch that do."""
    sizes = (launch.grid, launch.block)
    grid, block = (tuple(Number(n) for n in size) for size in sizes)
    kernel = Kernel(
        name="blocks",
        summary="",
        parameters=tuple(parameters),
        launch=Launch(grid, block),  # type: ignore[arg-type]
        buffers=(Buffer("at", Number(1)),),
        accesses=tuple(
            Access(
                "at",
                "load",
                Number(0),
                loop=run.loop,
                guard=None if run.guard == TRUE else renamed(run.guard, parts),
                name=str(i),
            )
            for i, run in enumerate(found.blocks)
        ),
        definitions=tuple((name.name, written(part)) for name, part in parts),
        loops=tuple(
            Loop(loop.variable, renamed(loop.trips or Number(1), parts), loop.parent)
            for loop in found.loops
        ),
    )
    instance = bind(kernel, {})
    shape = block_shape(launch.block)
    known: ActivityCache = {}
    cache: dict[tuple[Node, str | None], tuple[float, float]] = {}
    shares = []
    for i, run in enumerate(found.blocks):
        key = (run.guard, run.loop)
        if key not in cache:
            cache[key] = _share(instance, i, shape, known)
        shares.append(cache[key])
    return shares


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
