"""Live values: registers that blocks still read, and how many a function needs at once."""

from typing import Final

from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.opcodes import read_registers, written_registers
from perfmodel.cuda.parse.syntax import Function


def alive_registers(function: Function, flow: ControlFlow) -> list[frozenset[str]]:
    """Return the registers that each block, or one after it, reads before they are written."""
    uses: list[set[str]] = []
    defines: list[set[str]] = []
    for block in flow.blocks:
        used: set[str] = set()
        made: set[str] = set()
        for at in range(block.start, block.stop):
            instruction = function.instructions[at]
            used |= read_registers(instruction) - made
            if instruction.guard is None:  # a guarded write keeps the old value
                made |= set(written_registers(instruction))
        uses.append(used)
        defines.append(made)
    alive = [set(part) for part in uses]
    waiting = set(range(len(flow.blocks)))
    while waiting:
        at = waiting.pop()
        after: set[str] = set()
        for target in flow.blocks[at].successors:
            if target < len(flow.blocks):
                after |= alive[target]
        now = uses[at] | (after - defines[at])
        if now != alive[at]:
            alive[at] = now
            waiting.update(flow.blocks[at].predecessors)
    return [frozenset(part) for part in alive]


MOST_INSTRUCTIONS: Final = 100_000
"""Longest function that is analysed: the sets of live values grow with its square."""


def live_registers(function: ptx.Function, flow: ControlFlow) -> int | None:
    """Return the most 32-bit registers that a function's live values fill at once.

    A 64-bit value takes two, a narrower one its own. Predicates have registers of their own, and
    `operands_of_their_own` need none. None for functions over `MOST_INSTRUCTIONS`.
    """
    if len(function.instructions) > MOST_INSTRUCTIONS:
        return None
    free = operands_of_their_own(function)
    words: dict[str, int] = {}
    for name in {
        n for i in function.instructions for n in (*read_registers(i), *written_registers(i))
    }:
        words[name] = 0 if name in free else register_words(function, name)
    alive = alive_registers(function, flow)
    most = 0
    for block in flow.blocks:
        live = set().union(*(alive[s] for s in block.successors if s < len(flow.blocks)))
        held = sum(words[name] for name in live)
        for instruction in reversed(function.instructions[block.start : block.stop]):
            made = {*written_registers(instruction)}
            # What is written and never read still needs a place at its instruction.
            most = max(most, held + sum(words[name] for name in made - live))
            ended = set() if instruction.guard else made & live
            live -= ended
            begun = {*read_registers(instruction)} - live
            live |= begun
            held += sum(words[name] for name in begun) - sum(words[name] for name in ended)
        most = max(most, held)
    return most


def operands_of_their_own(function: ptx.Function) -> frozenset[str]:
    """Return the registers whose values machine code has as operands, without a register.

    Those are constants, addresses of variables, and parameters, which lie in constant memory:
    written once, by a move or a load of a parameter, or converted from such an address.
    """
    makers: dict[str, list[ptx.Instruction]] = {}
    for instruction in function.instructions:
        for name in written_registers(instruction):
            makers.setdefault(name, []).append(instruction)
    found: set[str] = set()
    for name, instructions in makers.items():  # in their order: what is converted comes before
        first, *more = instructions
        if not more and first.guard is None and _is_own(first, found):
            found.add(name)
    return frozenset(found)


def _is_own(maker: ptx.Instruction, known: set[str]) -> bool:
    sources = maker.operands[1:]
    if maker.opcode == "ld":
        return maker.space == "param"
    return maker.opcode in ("mov", "cvta") and all(
        isinstance(o, ptx.Immediate | ptx.FloatImmediate | ptx.Symbol)
        or (isinstance(o, ptx.Register) and o.name in known)
        for o in sources
    )


def register_words(function: ptx.Function, register: str) -> int:
    """Return how many 32-bit registers a register takes."""
    declared = function.declaration(register)
    if declared is None:
        return 1
    if declared.type == "pred":
        return 0
    return -(-ptx.SIZES[declared.type] * declared.lanes // 4)
