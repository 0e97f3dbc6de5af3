"""How many registers a function needs at once, from which values are still wanted where."""

from __future__ import annotations

from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.opcodes import read, written
from perfmodel.cuda.parse.syntax import (
    SIZES,
    FloatImmediate,
    Function,
    Immediate,
    Instruction,
    Register,
    Symbol,
)

MOST_INSTRUCTIONS: Final = 100_000
"""Longest function that is analysed: the sets of live values grow with its square."""


def live_registers(function: Function, flow: ControlFlow) -> int | None:
    """Return the most 32-bit registers that a function's live values fill at once.

    A 64-bit value takes two, a narrower one its own. Predicates have registers of their own, and
    `operands_of_their_own` need none. None for functions over `MOST_INSTRUCTIONS`.
    """
    count = len(function.instructions)
    if count > MOST_INSTRUCTIONS:
        return None
    free = operands_of_their_own(function)
    number: dict[str, int] = {}
    words: list[int] = []
    reads: list[list[int]] = []
    writes: list[list[int]] = []
    for instruction in function.instructions:
        for found, names in ((reads, read(instruction)), (writes, written(instruction))):
            here = []
            for name in names:
                if name not in number:
                    number[name] = len(number)
                    words.append(0 if name in free else register_words(function, name))
                here.append(number[name])
            found.append(here)
    wanted = _wanted_after(function, flow, reads, writes)
    most = 0
    for block, after in zip(flow.blocks, wanted, strict=True):
        live = set(_members(after))
        now = sum(words[r] for r in live)
        most = max(most, now)
        for i in range(block.stop - 1, block.start - 1, -1):
            # What is written and never read still needs a place at its instruction.
            most = max(most, now + sum(words[r] for r in set(writes[i]) - live))
            if function.instructions[i].guard is None:
                for r in writes[i]:
                    if r in live:
                        live.remove(r)
                        now -= words[r]
            for r in reads[i]:
                if r not in live:
                    live.add(r)
                    now += words[r]
            most = max(most, now)
    return most


def operands_of_their_own(function: Function) -> frozenset[str]:
    """Return the registers whose values machine code has as operands, without a register.

    Those are constants, addresses of variables, and parameters, which lie in constant memory:
    written once, by a move or a load of a parameter, or converted from such an address.
    """
    makers: dict[str, list[Instruction]] = {}
    for instruction in function.instructions:
        for name in written(instruction):
            makers.setdefault(name, []).append(instruction)
    found: set[str] = set()
    for name, instructions in makers.items():  # in their order: what is converted comes before
        first, *more = instructions
        if not more and first.guard is None and _is_own(first, found):
            found.add(name)
    return frozenset(found)


def _is_own(maker: Instruction, known: set[str]) -> bool:
    sources = maker.operands[1:]
    if maker.opcode == "ld":
        return "param" in maker.modifiers
    return maker.opcode in ("mov", "cvta") and all(
        isinstance(o, Immediate | FloatImmediate | Symbol)
        or (isinstance(o, Register) and o.name in known)
        for o in sources
    )


def _wanted_after(
    function: Function, flow: ControlFlow, reads: list[list[int]], writes: list[list[int]]
) -> list[int]:
    """Return the registers that are live behind each block, a bit each."""
    count = len(flow.blocks)
    used, made = [0] * count, [0] * count
    for b, block in enumerate(flow.blocks):
        for i in range(block.stop - 1, block.start - 1, -1):
            if function.instructions[i].guard is None:  # a guarded write keeps the old value
                for r in writes[i]:
                    made[b] |= 1 << r
                    used[b] &= ~(1 << r)
            for r in reads[i]:
                used[b] |= 1 << r
    before, after = list(used), [0] * count
    waiting = list(range(count))
    queued = [True] * count
    while waiting:
        b = waiting.pop()
        queued[b] = False
        behind = 0
        for s in flow.blocks[b].successors:
            if s < count:
                behind |= before[s]
        after[b] = behind
        entered = used[b] | (behind & ~made[b])
        if entered != before[b]:
            before[b] = entered
            for p in flow.blocks[b].predecessors:
                if not queued[p]:
                    queued[p] = True
                    waiting.append(p)
    return after


def _members(bits: int) -> list[int]:
    """Return the places of the ones."""
    return [i for i, bit in enumerate(bin(bits)[:1:-1]) if bit == "1"]


def register_words(function: Function, register: str) -> int:
    """Return how many 32-bit registers a register takes."""
    declared = function.declaration(register)
    if declared is None:
        return 1
    if declared.type == "pred":
        return 0
    return -(-SIZES[declared.type] * declared.lanes // 4)
