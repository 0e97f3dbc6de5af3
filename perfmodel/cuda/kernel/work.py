"""A kernel's instructions: on pipes and as FLOP, loads in flight, constant memory that is read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import reduce
from operator import add
from typing import Any, Final

from perfmodel.cuda.addresses.lane_steps import lane_steps
from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.emulate.odd_values import (
    OddShares,
    odd_added,
    odd_clocks,
    odd_counts,
    odd_doubt,
)
from perfmodel.cuda.kernel.analysed import Analysed, Numbers, shares_of
from perfmodel.cuda.kernel.block_work import ALL_ALIKE, BlockWork, block_work
from perfmodel.cuda.kernel.counts import body_runs
from perfmodel.cuda.kernel.warp_work import WarpWork, work_by_code, work_by_rules
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.memory_parts import is_memory
from perfmodel.cuda.parse.noted import Repeated
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import is_block_barrier, read_registers, written_registers
from perfmodel.cuda.parse.syntax import SIZES, Function, Instruction, Module, Symbol, leaves
from perfmodel.cuda.sass.branch_tables import TABLE_WORDS, branch_tables
from perfmodel.cuda.sass.divergence import Run, meetings, partings, varying_constants
from perfmodel.cuda.sass.machine_code import MachineCode
from perfmodel.cuda.sass.opcodes import latencies
from perfmodel.cuda.sass.tensor_work import tensor_counts, tensor_flop
from perfmodel.expressions import Number
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.kernels.kernel import Arithmetic, Barrier, Pace
from perfmodel.records import record

_FLOP: Final = {"fma": 2, "mad": 2, "add": 1, "sub": 1, "mul": 1, "div": 1, "sqrt": 1}
_PRECISIONS: Final = {"f32": "fp32", "f64": "fp64"}


@record
class Work:
    """A kernel's instructions that are no memory accesses."""

    arithmetic: tuple[Arithmetic, ...]
    flop: float  # of the launch
    precision: str  # ceiling that most of them belong to
    # Loads that a thread issues before it waits for the first, in the loop that loads most.
    in_flight: int | None
    barriers: tuple[Barrier, ...] = ()  # those at which all warps of a block wait
    paces: tuple[Pace, ...] = ()  # of each loop, and of what runs once
    constants: float = 0.0  # bytes of constant memory that a warp reads, at most
    by_block: BlockWork = ALL_ALIKE  # what each block does of it, by conditions
    origin: str = ""  # what to say of how instructions are counted, where it is not in machine code
    doubt: Doubt = SURE  # if odd values come as often as they do by chance
    counted: Doubt = SURE  # how far the time may be off by how instructions are counted


@record
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
        warps: float,
    ) -> None:
        """Count the ways that odd values take, of an instruction that so many warps issue."""
        waited = odd_clocks(instruction, shares) * warps
        self.odd_waits[loop] = self.odd_waits.get(loop, 0.0) + waited
        before, more = self.odd_added.get(loop, (0.0, 0.0)), odd_added(instruction, shares)
        self.odd_added[loop] = (before[0] + more[0] * warps, before[1] + more[1] * warps)
        for pipe, count in odd_counts(instruction, shares).items():
            self.add(pipe, loop, count * warps)

    def add_flop(self, instruction: Instruction, threads: float) -> None:
        """Count the FLOP of an instruction that so many threads run."""
        kind = instruction.type_name
        if kind in _PRECISIONS and instruction.opcode in _FLOP:
            self.flop[_PRECISIONS[kind]] += _FLOP[instruction.opcode] * threads
        ceiling, of_thread = tensor_flop(instruction)
        if of_thread:
            self.flop[ceiling] = self.flop.get(ceiling, 0.0) + of_thread * threads


def work_of(
    kernel: Analysed,
    waits: Mapping[str | None, int],
    machine: MachineCode,
    odd: OddShares,
) -> Work:
    """Return the work of a kernel's blocks, each for the warps that run it.

    `waits` says how many loads of each loop wait for one another by their addresses; `machine` is
    what ptxas made of the kernel, if it is at hand; `odd`, which share of an instruction's warps
    takes which way of odd values.
    """
    function, found, flow = kernel.function, kernel.found, kernel.flow
    trips, shares = kernel.trips(), shares_of(kernel)
    steps = lane_steps(function, found, kernel.launch, kernel.known()) if machine else {}
    by_block = block_work(found, flow, kernel.launch, trips, kernel.counted)
    told: list[tuple[WarpWork, Doubt]] = []

    def done(values: Sequence[Any]) -> tuple[Any, ...]:
        each = iter(values)
        of_blocks = [(next(each), next(each)) for _ in shares]
        of_loops = {name: next(each) for name in trips}
        entering = {name: next(each) for name in by_block.entering}
        numbers = Numbers(of_blocks, of_loops, steps, entering)
        made, of_warp, doubt = _made(kernel, numbers, waits, machine, odd)
        told.append((of_warp, doubt))
        return made

    values = [number for share in shares for number in share]
    values += [*trips.values(), *by_block.entering.values()]
    alone = kernel.emulation is None and not odd
    again = kernel.kept.setdefault("work", Repeated()) if alone else Repeated()
    key = tuple(steps.items()), tuple(waits.items()), tuple(by_block.entering)
    totals, flop, precision, in_flight, paces, constants = again.result(key, values, done)
    if told:  # first of the launch's plain numbers, then of those that are noted
        kernel.kept["origin"] = told[0][0].origin, told[0][0].doubt
    origin, counted = kernel.kept["origin"]
    return Work(
        tuple(Arithmetic(pipe, _number(count), loop) for pipe, loop, count in totals if count),
        flop,
        precision,
        in_flight,
        _barriers(function, flow, found),
        tuple(Pace(_number(clocks), loop, _number(abreast)) for loop, clocks, abreast in paces),
        constants,
        by_block,
        origin,
        told[0][1] if odd else SURE,
        counted,
    )


def _made(
    kernel: Analysed,
    numbers: Numbers,
    waits: Mapping[str | None, int],
    machine: MachineCode,
    odd: OddShares,
) -> tuple[tuple[Any, ...], WarpWork, Doubt]:
    """Return the numbers of a kernel's work, what they were made of, and the doubt of odd values.

    Counts by pipe and loop, FLOP, their precision, loads in flight, clocks by loop and how many
    loads are abreast, and bytes of constants.
    """
    function, found, flow = kernel.function, kernel.found, kernel.flow
    trips, shares = numbers.trips, numbers.shares
    of_warp = work_by_code(kernel, numbers, machine) or work_by_rules(kernel, numbers)
    tally = _tally(kernel, of_warp.counts, shares, odd)
    abreast = {
        loop: round(waits.get(loop, 1) / took.waits, 4) if took.waits > 0 else 1.0
        for loop, took in of_warp.paces.items()
    }
    parted = _parted(kernel, shares, of_warp.branches)
    extra = {
        loop: _parting(parted.get(loop, 0.0), of_warp.meetings.get(loop, 0.0))
        + tally.odd_waits.get(loop, 0.0)
        for loop in of_warp.paces
    }
    precision = max(tally.flop, key=lambda name: tally.flop[name])
    added = tally.odd_added
    made = (
        tuple((pipe, loop, count) for (pipe, loop), count in tally.totals.items()),
        tally.flop[precision],
        precision,
        loads_in_flight(function, flow, found, abreast),
        tuple((p, round(t.clocks + extra[p], 2), abreast[p]) for p, t in of_warp.paces.items()),
        constants_read(function, flow, found, trips),
    )
    doubt = odd_doubt(tally.totals, added, body_runs(found, trips)) if added else SURE
    return made, of_warp, doubt


def _tally(
    kernel: Analysed,
    counts: Mapping[tuple[str, str | None], float],
    shares: Sequence[tuple[float, float]],
    odd: OddShares,
) -> _Tally:
    """Add what PTX alone says to what a warp issues, by the share of warps that run each block."""
    function, found, flow = kernel.function, kernel.found, kernel.flow
    tally = _Tally(dict(counts), dict.fromkeys(_PRECISIONS.values(), 0.0))
    tables = branch_tables(function, flow)
    varying = varying_constants(function)
    ran = {r.block: warps for r, (warps, _) in zip(found.blocks, shares, strict=True)}
    for run, (warps, threads) in zip(found.blocks, shares, strict=True):
        if run.block in tables:
            # where each way begins stands in constant memory
            ways = reduce(add, (min(ran.get(way, 0.0), warps) for way in tables[run.block]), 0.0)
            tally.add("constant", run.loop, (1.0 + TABLE_WORDS) * ways)
        for at in flow.places([run.block]):
            instruction = function.instructions[at]
            for pipe, count in (tensor_counts(instruction) or {}).items():
                tally.add(pipe, run.loop, count * warps)
            if at in odd:
                tally.add_odd(instruction, odd[at], run.loop, warps)
            if kernel.emulation is not None and at in varying and at in kernel.emulation.counts:
                read = kernel.emulation.counts[at]
                tally.add("constant", run.loop, warps * read.data / max(read.requests, 1))
            tally.add_flop(instruction, threads)
    return tally


def _parting(parted: float, meetings: float) -> float:
    """Return the clocks of branches at which lanes part, beyond those of where they meet."""
    return latencies().parting * parted - latencies().branch * min(parted, meetings)


def _parted(
    kernel: Analysed, shares: Sequence[tuple[float, float]], branches: Collection[int]
) -> Mapping[str | None, float]:
    """Return how often lanes part in each loop."""
    runs = [
        Run(r.block, r.loop, *share) for r, share in zip(kernel.found.blocks, shares, strict=True)
    ]
    meeting = meetings(kernel.function, kernel.flow)
    parting = frozenset(r.block for r in runs if r.block in meeting and r.block in branches)
    return partings(kernel.flow, runs, parting)


def _barriers(function: Function, flow: ControlFlow, found: Followed) -> tuple[Barrier, ...]:
    """Return how often a block's warps wait for one another, by loop."""
    counts: dict[str | None, int] = {}
    for run in found.blocks:
        block = flow.blocks[run.block]
        for instruction in function.instructions[block.start : block.stop]:
            if is_block_barrier(instruction):
                counts[run.loop] = counts.get(run.loop, 0) + 1
    return tuple(Barrier(Number(count), loop) for loop, count in counts.items())


def _number(count: float) -> Number:
    return Number(int(count)) if count == int(count) else Number(float(count))


_MOST: Final = 16


def loads_in_flight(
    function: Function, flow: ControlFlow, found: Followed, abreast: Mapping[str | None, float]
) -> int | None:
    """Return the loads that a thread of the loop with most loads issues before it waits."""
    most, of = 0, None
    for run in found.blocks:
        block = flow.blocks[run.block]
        together = 0 if run.loop is None else _independent(function, block.start, block.stop)
        if together > most:
            most, of = together, run.loop
    return max(min(round(most * abreast[of]), _MOST), 1) if most else None


@once
def _independent(function: Function, start: int, stop: int) -> int:
    """Return the global loads of a block that no other load's value leads to, before a barrier."""
    waiting: set[str] = set()
    count = best = 0
    for at in range(start, stop):
        instruction = function.instructions[at]
        reads = read_registers(instruction)
        if instruction.opcode in ("bar", "barrier"):
            best, count, waiting = max(best, count), 0, set()
            continue
        targets = written_registers(instruction)
        if instruction.opcode == "ld" and is_memory(instruction):
            if instruction.space in ("shared", "local"):
                continue
            if reads & waiting:
                best, count, waiting = max(best, count), 0, set()
            count += 1
            waiting |= set(targets)
        elif reads & waiting:
            waiting |= set(targets)
    return max(best, count)


@once
def constant_bytes(module: Module, function: Function) -> float:
    """Return the bytes of the variables in constant memory that a function names [B]."""
    operands = (o for i in function.instructions for each in i.operands for o in leaves(each))
    named = {o.name for o in operands if isinstance(o, Symbol)}
    every = (*module.variables, *function.variables)
    return float(sum(v.size or 0 for v in every if v.space == "const" and v.name in named))


def constants_read(
    function: Function, flow: ControlFlow, found: Followed, trips: Mapping[str, float]
) -> float:
    """Return the bytes of constant memory that a warp waits for, were all of them different [B].

    Loads of one block of instructions are on their way together, so one of them counts; words at
    fixed places are operands of instructions, which wait in order.
    """
    read = 0.0
    for run in found.blocks:
        block = flow.blocks[run.block]
        moving = 0.0
        for at in range(block.start, block.stop):
            i = function.instructions[at]
            if i.opcode == "ld" and "const" in i.modifiers:
                width = SIZES.get(i.type_name, 4) * len(written_registers(i))
                if read_registers(i):
                    moving = max(moving, float(width))
                else:
                    read += width
        read += moving * found.iterations(run.loop, trips)
    return read
