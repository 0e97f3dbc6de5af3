"""A warp's machine instructions by pipe and loop, from ptxas's own code."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from perfmodel.cuda.kernel.analysed import Analysed, Numbers
from perfmodel.cuda.kernel.counts import body_runs
from perfmodel.cuda.kernel.warp_work import Took, WarpWork, entered_share, loops_of_blocks
from perfmodel.cuda.parse.memory_parts import is_memory
from perfmodel.cuda.sass.frequencies import Issued, Runs, issued
from perfmodel.cuda.sass.machine_code import BRANCH, MachineCode
from perfmodel.cuda.sass.machine_pace import BARRIER, MEETING, body_takes
from perfmodel.cuda.sass.opcodes import latencies, opcodes
from perfmodel.cuda.sass.tensor_work import tensor_clocks, waits_for_products
from perfmodel.hardware.device import WARP_SIZE


def work_by_code(kernel: Analysed, numbers: Numbers, code: MachineCode) -> WarpWork | None:
    """Return what the machine code says, None if it is not at hand or does not show it."""
    if not code:
        return None
    found = kernel.found
    turns = body_runs(found, numbers.trips)
    runs = {
        run.block: share * turns[run.loop]
        for run, (share, _) in zip(found.blocks, numbers.shares, strict=True)
    }
    entries = _entries(kernel, runs, turns)
    parts = issued(code, kernel.function, kernel.flow, Runs(runs, entries))
    if not parts:
        return None
    return WarpWork(
        _counts(kernel, parts, runs, turns),
        _paces(kernel, parts, runs, turns, numbers),
        _branches(kernel, parts),
        _meetings(kernel, parts, turns),
    )


def _counts(
    kernel: Analysed,
    parts: Sequence[Issued],
    runs: Mapping[int, float],
    turns: Mapping[str | None, float],
) -> dict[tuple[str, str | None], float]:
    loops = loops_of_blocks(kernel.found)
    totals: defaultdict[tuple[str, str | None], float] = defaultdict(float)
    guarded: defaultdict[int | None, float] = defaultdict(float)
    known = opcodes().pipe
    for part in parts:
        loop = loops.get(part.block)
        for i in part.code:
            pipe = known.get(i.opcode, "other")
            if pipe == "memory" and i.guarded:
                guarded[i.line] += part.times
            elif pipe not in ("memory", "tensor"):
                totals[pipe, loop] += part.times / turns[loop]
    asked: defaultdict[int | None, float] = defaultdict(float)
    loop_of: dict[int | None, str | None] = {}
    for instruction, block in zip(kernel.function.instructions, kernel.flow.block_of, strict=True):
        if is_memory(instruction):
            asked[instruction.line] += runs.get(block, 0.0)
            loop_of[instruction.line] = loops.get(block)
    for line, loop in loop_of.items():
        more = guarded[line] - asked[line]
        if more > 0:
            totals["masked", loop] += more / turns[loop]
    return dict(totals)


def _paces(
    kernel: Analysed,
    parts: Sequence[Issued],
    runs: Mapping[int, float],
    turns: Mapping[str | None, float],
    numbers: Numbers,
) -> dict[str | None, Took]:
    loops = loops_of_blocks(kernel.found)
    clocks: dict[str | None, float] = dict.fromkeys((None, *loops.values()), 0.0)
    waits = dict(clocks)
    for part, took, waiting in _taken(kernel, parts, numbers.steps):
        clocks[loops.get(part.block)] += took[0] * part.times
        waits[loops.get(part.block)] += took[1] * waiting
    shares = {b: runs[b] / turns[loops[b]] for b in runs}
    found = {}
    for loop, taken in clocks.items():
        members = [b for b, of in loops.items() if of == loop]
        entering = numbers.entering.get(loop or "", 1.0)
        entered = entered_share(kernel, shares, members, entering)
        each = taken / turns[loop] / entered
        each = _with_products(kernel, each, [(b, shares[b] / entered) for b in members])
        each += latencies().begin if loop is None else 0.0
        found[loop] = Took(each, waits[loop] / turns[loop] / entered)
    return found


def _taken(
    kernel: Analysed, parts: Sequence[Issued], steps: Mapping[str | None, int]
) -> Iterator[tuple[Issued, tuple[float, float], float]]:
    """Yield each block of machine code with its clocks and waits, body by body.

    And how often a warp waits there, or for another of its block: at barriers of loops all do.
    """
    loops = loops_of_blocks(kernel.found)
    warps = math.ceil(math.prod(kernel.launch.block) / WARP_SIZE)
    bodies: dict[int | None, list[Issued]] = {}
    for part in parts:
        bodies.setdefault(part.loop, []).append(part)
    for number, inside in bodies.items():
        step = steps.get(loops.get(inside[0].block) or "", 0)
        met = number is not None and any(i.opcode == BARRIER for part in inside for i in part.code)
        most = max(part.times for part in inside)
        takes = body_takes(inside, number is not None, step, warps)
        for part, took in zip(inside, takes, strict=True):
            yield part, took, min(part.times * warps, most) if met else part.times


def _with_products(kernel: Analysed, clocks: float, blocks: Sequence[tuple[int, float]]) -> float:
    """Return the clocks of blocks with those of a warp group's products, which run beside them.

    Where they are waited for, one comes after the other.
    """
    products, waited = 0.0, False
    for block, share in blocks:
        for at in kernel.flow.places([block]):
            instruction = kernel.function.instructions[at]
            if instruction.opcode == "wgmma":
                products += tensor_clocks(instruction) * share
                waited = waited or waits_for_products(instruction)
    return clocks + products if waited else max(clocks, products)


def _branches(kernel: Analysed, parts: Sequence[Issued]) -> frozenset[int]:
    """Return the blocks of PTX whose branch machine code has, too."""
    lines = {i.line for part in parts for i in part.code if i.opcode == BRANCH}
    function, flow = kernel.function, kernel.flow
    return frozenset(
        n for n, b in enumerate(flow.blocks) if function.instructions[b.stop - 1].line in lines
    )


def _meetings(
    kernel: Analysed, parts: Sequence[Issued], turns: Mapping[str | None, float]
) -> dict[str | None, float]:
    loops = loops_of_blocks(kernel.found)
    found: defaultdict[str | None, float] = defaultdict(float)
    for part in parts:
        loop = loops.get(part.block)
        found[loop] += sum(i.opcode == MEETING for i in part.code) * part.times / turns[loop]
    return dict(found)


def _entries(
    kernel: Analysed, runs: Mapping[int, float], known: Mapping[str | None, float]
) -> dict[int, float]:
    """Return how often a warp comes to each loop from outside; `known`: how often bodies run."""
    emulation = kernel.emulation
    followed = {loop.index: loop for loop in kernel.found.loops}
    entries = {}
    for number, loop in enumerate(kernel.flow.loops):
        if emulation is not None:
            entries[number] = emulation.entries(loop) / emulation.sampled_warps
        elif number in followed:
            each = known[followed[number].variable] / known[followed[number].parent]
            entries[number] = runs.get(loop.header, 0.0) / each
    return entries
