"""Where lanes of a warp may part and how often they do, and where one acts for all of them.

A branch at which some lanes go one way and some the other has the warp go both, one after the
other, and wait where they reconverge.
"""

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Final, NamedTuple

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.memory_parts import counts_lanes, is_memory, is_used
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import led_to, read_registers
from perfmodel.cuda.parse.syntax import Address, Function, Instruction, Register, SpecialRegister

_REDUCED: Final = frozenset({"min", "max", "and", "or", "xor"})
_WORDS: Final = frozenset({"u32", "s32", "b32"})
_LANES: Final = ("%tid", "%laneid", "%lanemask")
_ENDS: Final = ("ret", "exit")


@once
def parting_registers(function: Function) -> frozenset[str]:
    """Return the registers that may differ from lane to lane."""
    return led_to(function.instructions, _starts)


def _starts(instruction: Instruction) -> bool:
    if is_memory(instruction) or instruction.opcode == "elect":
        return True
    return instruction.opcode in ("mov", "cvt") and any(
        isinstance(o, SpecialRegister) and o.name.startswith(_LANES) for o in instruction.operands
    )


@once
def meetings(function: Function, flow: ControlFlow) -> frozenset[int]:
    """Return the blocks whose branch lanes may diverge at, to reconverge later in the kernel."""
    parting = parting_registers(function)
    found = set()
    for number, block in enumerate(flow.blocks):
        last = function.instructions[block.stop - 1]
        forward = all(number < target < len(flow.blocks) for target in block.successors)
        if last.opcode == "brx" and forward and read_registers(last) & parting:
            found.add(number)  # a table of ways
            continue
        if last.opcode != "bra" or last.guard is None or len(block.successors) != 2:
            continue
        if not forward or last.guard.register.name not in parting:
            continue
        starts = [function.instructions[flow.blocks[t].start] for t in block.successors]
        if not any(start.opcode in _ENDS for start in starts):
            found.add(number)
    return frozenset(found)


@once
def branches_before(flow: ControlFlow) -> dict[int, frozenset[int]]:
    """Return the blocks whose branches decide whether each block is run."""
    found: dict[int, set[int]] = {}
    for number, block in enumerate(flow.blocks):
        ways = [w for w in block.successors if w < len(flow.blocks)]
        if len(ways) < 2:
            continue
        meeting = flow.post_dominators[number]
        left, inside = ways, set[int]()
        while left:
            way = left.pop()
            if way != meeting and way not in inside and way < len(flow.blocks):
                inside.add(way)
                left.extend(flow.blocks[way].successors)
        for way in inside:
            found.setdefault(way, set()).add(number)
    return {way: frozenset(numbers) for way, numbers in found.items()}


def lanes_part_at(
    function: Function, flow: ControlFlow, number: int, parting: frozenset[str]
) -> bool:
    """Say whether a block's branch may part a warp's lanes, but for those that end there."""
    block = flow.blocks[number]
    starts = (flow.blocks[w].start for w in block.successors if w < len(flow.blocks))
    if any(function.instructions[at].opcode in _ENDS for at in starts):
        return False
    return bool(read_registers(function.instructions[block.stop - 1]) & parting)


@once
def varying_constants(function: Function) -> frozenset[int]:
    """Return the loads from constant memory whose address may differ from lane to lane."""
    parting = parting_registers(function)
    return frozenset(
        at
        for at, i in enumerate(function.instructions)
        if i.opcode == "ld"
        and "const" in i.modifiers
        and any(isinstance(o, Address) and _parts(o.base, parting) for o in i.operands)
    )


@once
def aggregated(function: Function) -> frozenset[int]:
    """Return the atomics by which a warp's lanes change one address together.

    Of atomics whose address no lane has for itself, as far as the code says, ptxas leaves one for
    each warp: additions of 32 bits, those of 64 bits to global memory where all lanes add the same,
    and minima, maxima and logic of 32 bits without an answer (machine code of sm_90, nvcc 13.0). No
    exchanges, compare-and-swaps, increments with a limit, or additions of floats.
    """
    parting = parting_registers(function)
    found = set()
    for at, i in enumerate(function.instructions):
        if not i.operands or i.opcode not in ("atom", "red") or counts_lanes(function, i):
            continue
        where = next((o for o in i.operands if isinstance(o, Address)), None)
        if where is None or _parts(where.base, parting):
            continue
        returns = i.opcode == "atom" and is_used(function, i)
        words = i.type_name in _WORDS
        if "add" in i.modifiers:
            long = i.type_name in ("u64", "s64") and i.space != "shared"
            joined = words or (long and not _parts(i.operands[-1], parting))
        else:
            joined = bool(_REDUCED & {*i.modifiers}) and words and not returns
        if joined:
            found.add(at)
    return frozenset(found)


def _parts(operand: object, parting: frozenset[str]) -> bool:
    return isinstance(operand, Register) and operand.name in parting


_EVEN: Final = 1e-3
"""Part by which shares of warps and of threads may differ, and still be the same."""


class Run(NamedTuple):
    """What runs a block: the share of all warps, and threads in any unit."""

    block: int
    loop: str | None
    warps: float
    threads: float


def partings(
    flow: ControlFlow, runs: Iterable[Run], branches: frozenset[int]
) -> dict[str | None, float]:
    """Return the branches of an iteration at which lanes part, by loop; None is outside of loops.

    `branches` are the blocks that end with one at which lanes may diverge, and reconverge.
    """
    by_block = {run.block: run for run in runs}
    found: dict[str | None, float] = {}
    for number in sorted(branches & by_block.keys()):
        run = by_block[number]
        meeting = flow.post_dominators[number]
        ways = [by_block[s] for s in flow.blocks[number].successors if s in by_block]
        inner = [way for way in ways if way.block != meeting]
        if not inner or run.warps <= 0 or any(way.loop != run.loop for way in inner):
            continue
        if len(flow.blocks[number].successors) > 2:
            # of a table's ways each beyond the first is gone on its own
            every = reduce(add, (w.warps for w in ways), 0.0)
            found[run.loop] = found.get(run.loop, 0.0) + every - run.warps
            continue
        if len(inner) > 1:
            both = reduce(add, (way.warps for way in inner), 0.0)
            parted = min(both - run.warps, *(w.warps for w in inner))
        else:
            whole = run.threads * inner[0].warps / run.warps
            parted = inner[0].warps if inner[0].threads < whole * (1 - _EVEN) else 0.0
        if parted > 0:
            found[run.loop] = found.get(run.loop, 0.0) + min(parted, run.warps)
    return found
