"""A warp's machine instructions by pipe and loop, from ptxas's own code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from perfmodel.cuda.kernel.analysed import Analysed
from perfmodel.cuda.kernel.counts import body_runs
from perfmodel.cuda.parse.registers import is_memory
from perfmodel.cuda.sass.frequencies import Runs, issued
from perfmodel.cuda.sass.machine_code import MachineCode
from perfmodel.cuda.sass.opcodes import pipes


def machine_counts(
    kernel: Analysed, shares: Sequence[tuple[float, float]], code: MachineCode
) -> dict[tuple[str, str | None], float]:
    """Return the instructions of a turn of each loop by pipe; nothing if the code is not at hand.

    Products on tensor cores are left out, and accesses to memory but for "masked".

    Parameters
    ----------
    kernel : Analysed
    shares : sequence of (float, float)
        Of the kernel's blocks, see `shares_of`.
    code : MachineCode
    """
    if not code:
        return {}
    found = kernel.found
    turns = body_runs(found, kernel.trips())
    loops = {run.block: run.loop for run in found.blocks}
    runs = {
        run.block: share * turns[run.loop]
        for run, (share, _) in zip(found.blocks, shares, strict=True)
    }
    totals: Counter[tuple[str, str | None]] = Counter()
    guarded: Counter[int | None] = Counter()
    known = pipes()
    for part in issued(code, kernel.function, kernel.flow, Runs(runs, _entries(kernel, runs))):
        loop = loops.get(part.block)
        times = part.times / turns[loop]
        for i in part.code:
            pipe = known.get(i.opcode, "other")
            if pipe == "memory" and i.guarded:
                guarded[i.line] += part.times
            elif pipe not in ("memory", "tensor"):
                totals[pipe, loop] += times
    if not totals:
        return {}
    for at, i in enumerate(kernel.function.instructions):
        block = kernel.flow.block_of[at]
        more = guarded.get(i.line, 0.0) - runs.get(block, 0.0)
        if is_memory(i) and more > 0:
            totals["masked", loops.get(block)] += more / turns[loops.get(block)]
    return dict(totals)


def _entries(kernel: Analysed, runs: dict[int, float]) -> dict[int, float]:
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
