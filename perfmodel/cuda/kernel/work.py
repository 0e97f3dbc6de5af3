"""A kernel's instructions besides memory accesses: on pipes, and as FLOP."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from perfmodel.cuda.addresses.lane_steps import lane_steps
from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.emulate.odd_values import (
    OddShares,
    odd_added,
    odd_clocks,
    odd_counts,
    odd_doubt,
)
from perfmodel.cuda.kernel.analysed import Analysed, known_numbers
from perfmodel.cuda.kernel.block_shares import issued_shares, shares_of
from perfmodel.cuda.kernel.block_work import ALL_ALIKE, BlockWork, block_work
from perfmodel.cuda.kernel.constant_data import constants_read
from perfmodel.cuda.kernel.counts import body_runs
from perfmodel.cuda.kernel.loads_in_flight import loads_in_flight
from perfmodel.cuda.kernel.machine_counts import machine_work
from perfmodel.cuda.kernel.partings import Run, partings
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.registers import is_memory
from perfmodel.cuda.parse.syntax import Function, Instruction
from perfmodel.cuda.sass.branch_tables import TABLE_BRANCH, branch_tables
from perfmodel.cuda.sass.dependence import BlockReader
from perfmodel.cuda.sass.divergence import MEETING, meetings, varying_constants
from perfmodel.cuda.sass.latencies import latencies
from perfmodel.cuda.sass.loop_pace import LoopPace, paces
from perfmodel.cuda.sass.machine_code import MachineCode
from perfmodel.cuda.sass.machine_instructions import START, machine_instructions
from perfmodel.cuda.sass.machine_loops import MachineLoop, machine_loops
from perfmodel.cuda.sass.predication import predicated_blocks, with_moves
from perfmodel.cuda.sass.tensor_work import tensor_counts, tensor_flop
from perfmodel.cuda.sass.unrolling import Around, rounds
from perfmodel.expressions import Number
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.kernels.kernel import (
    Arithmetic,
    Barrier,
    Pace,
)

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


@dataclass(frozen=True, slots=True)
class _Tally:
    """Instructions, FLOP and odd values of a launch, added up by pipe and loop."""

    totals: dict[tuple[str, str | None], float]
    flop: dict[str, float]
    odd_waits: dict[str | None, float] = field(default_factory=dict)
    odd_added: dict[str | None, tuple[float, float]] = field(default_factory=dict)

    def add(self, pipe: str, loop: str | None, count: float) -> None:
        """Count instructions of a warp."""
        self.totals[pipe, loop] = self.totals.get((pipe, loop), 0.0) + count

    def add_odd(
        self,
        instruction: Instruction,
        shares: Mapping[str, float],
        loop: str | None,
        issued: tuple[float, float],
    ) -> None:
        """Count the ways that odd values take, of an instruction that so many warps issue."""
        slots, kept = issued
        waited = odd_clocks(instruction, shares) * slots
        self.odd_waits[loop] = self.odd_waits.get(loop, 0.0) + waited
        before, more = self.odd_added.get(loop, (0.0, 0.0)), odd_added(instruction, shares)
        self.odd_added[loop] = (before[0] + more[0] * kept, before[1] + more[1] * kept)
        for pipe, count in odd_counts(instruction, shares).items():
            self.add(pipe, loop, count * kept)

    def add_flop(self, instruction: Instruction, threads: float) -> None:
        """Count the FLOP of an instruction that so many threads run."""
        kind = instruction.type_name
        if kind in _PRECISIONS:
            self.flop[_PRECISIONS[kind]] += _FLOP.get(instruction.opcode, 0) * threads
        ceiling, of_thread = tensor_flop(instruction)
        if of_thread:
            self.flop[ceiling] = self.flop.get(ceiling, 0.0) + of_thread * threads


def work_of(
    kernel: Analysed,
    registers: int = 255,
    waits: Mapping[str | None, int] = MappingProxyType({}),
    machine: MachineCode = (),
    odd: OddShares = MappingProxyType({}),
) -> Work:
    """Return the work of a kernel's blocks, each for the warps that run it.

    `waits` says how many loads of each loop wait for one another by their addresses; `machine` is
    what ptxas made of the kernel, if it is at hand; `odd`, which share of an instruction's warps
    takes which way of odd values.
    """
    function, found, flow = kernel.function, kernel.found, kernel.flow
    trips = kernel.trips()
    emulation = kernel.emulation
    around = _around(found, flow, trips) if emulation is None else emulation.around(flow)
    counts = machine_instructions(function, flow, around)
    shares = shares_of(kernel)
    loops = {run.block: run.loop for run in found.blocks}
    predicated = predicated_blocks(function, flow, counts, loops)
    counts = tuple(with_moves(function, flow, counts, predicated))
    issued = issued_shares(found, predicated, [warps for warps, _ in shares])
    meeting = meetings(function, flow)
    by_code = machine_work(kernel, shares, machine)
    tally = _tally(kernel, counts, shares, issued, odd, meeting, by_code.counts if by_code else {})
    taken = [
        (run.block, slots, run.loop) for run, (slots, _) in zip(found.blocks, issued, strict=True)
    ]
    found_paces = paces(
        BlockReader(function, flow, counts),
        *(taken, trips, registers, predicated),
        _machine_loops(kernel, machine),
    )
    if by_code is not None:
        begin = latencies().begin
        found_paces = {
            v: LoopPace(p.clocks + (begin if v is None else 0.0), p.waits)
            for v, p in by_code.paces.items()
        }
    abreast = {v: round(p.abreast(waits.get(v, 1)), 4) for v, p in found_paces.items()}
    parted = _parted(kernel, shares, issued, meeting)
    extra = {
        loop: latencies().parting * parted.get(loop, 0.0) + tally.odd_waits.get(loop, 0.0)
        for loop in found_paces
    }
    precision = max(tally.flop, key=lambda name: tally.flop[name])
    added = tally.odd_added
    return Work(
        tuple(
            Arithmetic(pipe, _number(count), loop)
            for (pipe, loop), count in tally.totals.items()
            if count
        ),
        tally.flop[precision],
        precision,
        loads_in_flight(function, flow, found, abreast),
        _barriers(function, flow, found),
        tuple(
            Pace(_number(round(p.clocks + extra[loop], 2)), loop, _number(abreast[loop]))
            for loop, p in found_paces.items()
        ),
        constants_read(function, flow, found, trips),
        block_work(found, flow, kernel.launch, trips, kernel.counted),
        odd_doubt(tally.totals, added, body_runs(found, trips)) if added else SURE,
    )


def _tally(
    kernel: Analysed,
    counts: Sequence[Mapping[str, float]],
    shares: Sequence[tuple[float, float]],
    issued: Sequence[tuple[float, float]],
    odd: OddShares,
    meeting: Collection[int],
    machine: Mapping[tuple[str, str | None], float],
) -> _Tally:
    """Add up what a warp issues, by the share of warps that run each block and issue it.

    What `machine`, if it has anything, says of it is taken from there.
    """
    function, found, flow = kernel.function, kernel.found, kernel.flow
    begun = dict(machine) or {("other", None): float(START)}
    tally = _Tally(begun, dict.fromkeys(_PRECISIONS.values(), 0.0))
    tables = branch_tables(function, flow)
    varying = varying_constants(function)
    ran = {r.block: warps for r, (warps, _) in zip(found.blocks, shares, strict=True)}
    for run, (warps, threads), (slots, branch) in zip(found.blocks, shares, issued, strict=True):
        if run.block in meeting and not machine:
            tally.add("other", run.loop, MEETING * branch)
        block = flow.blocks[run.block]
        if run.block in tables:
            # where each way begins stands in constant memory
            ways = sum(min(ran.get(way, 0.0), branch) for way in tables[run.block])
            tally.add("constant", run.loop, (1.0 + TABLE_BRANCH) * ways)
        for at in range(block.start, block.stop):
            instruction = function.instructions[at]
            kept = branch if instruction.opcode == "bra" else slots
            products = tensor_counts(instruction) or {}
            for pipe, count in (products if machine else counts[at]).items():
                tally.add(pipe, run.loop, count * kept)
            if at in odd:
                tally.add_odd(instruction, odd[at], run.loop, (slots, kept))
            if kernel.emulation is not None and at in varying and at in kernel.emulation.counts:
                read = kernel.emulation.counts[at]
                tally.add("constant", run.loop, kept * read.data / max(read.requests, 1))
            if is_memory(instruction) and slots > warps and not machine:
                tally.add("masked", run.loop, slots - warps)
            tally.add_flop(instruction, threads)
    return tally


def _parted(
    kernel: Analysed,
    shares: Sequence[tuple[float, float]],
    issued: Sequence[tuple[float, float]],
    meeting: Collection[int],
) -> Mapping[str | None, float]:
    """Return how often lanes part in each loop."""
    blocks, flow = kernel.found.blocks, kernel.flow
    return partings(
        flow,
        [Run(r.block, r.loop, *share) for r, share in zip(blocks, shares, strict=True)],
        frozenset(
            r.block
            for r, (_, branch) in zip(blocks, issued, strict=True)
            if r.block in meeting and branch > 0
        ),
    )


def _machine_loops(
    kernel: Analysed, code: MachineCode
) -> dict[str | None, tuple[MachineLoop, ...]]:
    """Return the loops of the machine code, as each loop's lanes come to new data."""
    if not code:
        return {}
    found, launch = kernel.found, kernel.launch
    steps = lane_steps(kernel.function, found, launch, known_numbers(launch, kernel.parameters))
    warps = math.ceil(math.prod(launch.block) / WARP_SIZE)
    every = {step: machine_loops(code, step, warps) for step in {0, *steps.values()}}
    return {loop.variable: every[steps.get(loop.variable, 0)] for loop in found.loops}


def _around(found: Followed, flow: ControlFlow, trips: Mapping[str, float]) -> dict[int, Around]:
    """Return how often loops whose iterations may be put together are entered and gone around."""
    return {
        flow.loops[loop.index].header: Around(rounds(n) / n, 1.0 / n)
        for loop in found.loops
        if 1 <= (n := trips[loop.variable]) < math.inf
    }


def _barriers(function: Function, flow: ControlFlow, found: Followed) -> tuple[Barrier, ...]:
    """Return how often a block's warps wait for one another, by loop."""
    counts: dict[str | None, int] = {}
    for run in found.blocks:
        block = flow.blocks[run.block]
        for instruction in function.instructions[block.start : block.stop]:
            if instruction.opcode in ("bar", "barrier") and "arrive" not in instruction.modifiers:
                counts[run.loop] = counts.get(run.loop, 0) + 1
    return tuple(Barrier(Number(count), loop) for loop, count in counts.items())


def _number(count: float) -> Number:
    return Number(int(count)) if count == int(count) else Number(float(count))
