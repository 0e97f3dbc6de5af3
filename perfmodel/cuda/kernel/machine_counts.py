"""A warp's machine instructions by pipe and loop, from ptxas's own code."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfmodel.cuda.addresses.lane_steps import lane_steps

from perfmodel.cuda.kernel.analysed import Analysed, known_numbers
from perfmodel.cuda.kernel.counts import body_runs
from perfmodel.cuda.parse.registers import is_memory
from perfmodel.cuda.sass.frequencies import Issued, Runs, issued
from perfmodel.cuda.sass.machine_code import MachineCode
from perfmodel.cuda.sass.loop_pace import entered_share
from perfmodel.cuda.sass.machine_pace import Took, body_takes
from perfmodel.cuda.sass.opcodes import pipes
from perfmodel.hardware.device import WARP_SIZE


@dataclass(frozen=True, slots=True)
class MachineWork:
    """What ptxas's code of a kernel says of a warp's work.

    Attributes
    ----------
    counts : mapping of (str, str or None) to float
        Instructions of a turn of each loop, by pipe: without products on tensor cores, and of
        accesses to memory only the "masked".
    paces : mapping of str or None to Took
        Of a turn of each loop.
    """

    counts: Mapping[tuple[str, str | None], float]
    paces: Mapping[str | None, Took]


def machine_work(
    kernel: Analysed, shares: Sequence[tuple[float, float]], code: MachineCode
) -> MachineWork | None:
    """Return what the machine code says, None if it is not at hand or does not show it.

    Parameters
    ----------
    kernel : Analysed
    shares : sequence of (float, float)
        Of the kernel's blocks, see `shares_of`.
    code : MachineCode
    """
    if not code:
        return None
    found = kernel.found
    turns = body_runs(found, kernel.trips())
    runs = {
        run.block: share * turns[run.loop]
        for run, (share, _) in zip(found.blocks, shares, strict=True)
    }
    parts = issued(code, kernel.function, kernel.flow, Runs(runs, _entries(kernel, runs)))
    if not parts:
        return None
    return MachineWork(_counts(kernel, parts, runs, turns), _paces(kernel, parts, runs, turns))


def _counts(
    kernel: Analysed,
    parts: Sequence[Issued],
    runs: Mapping[int, float],
    turns: Mapping[str | None, float],
) -> dict[tuple[str, str | None], float]:
    loops = {run.block: run.loop for run in kernel.found.blocks}
    totals: Counter[tuple[str, str | None]] = Counter()
    guarded: Counter[int | None] = Counter()
    known = pipes()
    for part in parts:
        loop = loops.get(part.block)
        for i in part.code:
            pipe = known.get(i.opcode, "other")
            if pipe == "memory" and i.guarded:
                guarded[i.line] += part.times
            elif pipe not in ("memory", "tensor"):
                totals[pipe, loop] += part.times / turns[loop]
    for at, instruction in enumerate(kernel.function.instructions):
        block = kernel.flow.block_of[at]
        more = guarded.get(instruction.line, 0.0) - runs.get(block, 0.0)
        if is_memory(instruction) and more > 0:
            totals["masked", loops.get(block)] += more / turns[loops.get(block)]
    return dict(totals)


def _paces(
    kernel: Analysed,
    parts: Sequence[Issued],
    runs: Mapping[int, float],
    turns: Mapping[str | None, float],
) -> dict[str | None, Took]:
    loops = {run.block: run.loop for run in kernel.found.blocks}
    launch = kernel.launch
    steps = lane_steps(
        kernel.function, kernel.found, launch, known_numbers(launch, kernel.parameters)
    )
    warps = math.ceil(math.prod(launch.block) / WARP_SIZE)
    clocks: dict[str | None, float] = dict.fromkeys((None, *loops.values()), 0.0)
    waits = dict(clocks)
    bodies: dict[int | None, list[Issued]] = {}
    for part in parts:
        if part.times > 0:
            bodies.setdefault(part.loop, []).append(part)
    shares = {b: runs[b] / turns[loops[b]] for b in runs}
    for loop, inside in bodies.items():
        step = steps.get(loops.get(inside[0].block) or "", 0)
        for part, took in zip(
            inside, body_takes(inside, loop is not None, step, warps), strict=True
        ):
            of = loops.get(part.block)
            clocks[of] += took.clocks * part.times
            waits[of] += took.waits * part.times
    found = {}
    for loop in clocks:
        members = [(b, shares[b]) for b, of in loops.items() if of == loop]
        entered = entered_share(kernel.function, kernel.flow, shares, members) if members else 1.0
        each = turns[loop] * entered
        found[loop] = Took(clocks[loop] / each, waits[loop] / each)
    return found


def _entries(kernel: Analysed, runs: Mapping[int, float]) -> dict[int, float]:
    """Return how often a warp comes to each loop from outside."""
    emulation, trips = kernel.emulation, kernel.trips()
    known = body_runs(kernel.found, trips)
    variables = {loop.index: loop.variable for loop in kernel.found.loops}
    entries = {}
    for number, loop in enumerate(kernel.flow.loops):
        if emulation is not None:
            come = sum(
                warps
                for (source, target), warps in emulation.edges.items()
                if target == loop.header and source not in loop.blocks
            )
            entries[number] = come / emulation.sampled_warps
        elif number in variables:
            around = next(x.parent for x in kernel.found.loops if x.index == number)
            each = known[variables[number]] / known[around]
            entries[number] = runs.get(loop.header, 0.0) / each
    return entries
