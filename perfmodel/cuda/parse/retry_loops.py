"""Loops of compare-and-swap that try again with what they found: additions, maxima, any update.

A try expects what the try before it returned. So of the lanes that want a word one gets on each
round: nobody waits for what others write, unlike at a lock, whose free value the text states. Lanes
leave once they got their turn, or also where what they found needs no update.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.cuda.parse.control_flow import ControlFlow, Loop
from perfmodel.cuda.parse.registers import read_registers, written_registers
from perfmodel.cuda.parse.syntax import Address, Function, Instruction, Register

_CHANGES = frozenset({"atom", "st", "red", "bar", "barrier", "stmatrix"})
_COPIES = frozenset({"mov", "cvt"})


class RetryLoop(NamedTuple):
    """A loop of compare-and-swap."""

    at: int
    """Its compare-and-swap, in the function's instructions."""
    loop: Loop
    always: bool
    """Whether every lane goes on until its try succeeds: the loop has no other way out."""


def retry_loops(function: Function, flow: ControlFlow) -> tuple[RetryLoop, ...]:
    """Return the loops of a function that try compare-and-swaps again with what they found."""
    parents = {loop.parent for loop in flow.loops}
    found = []
    for number, loop in enumerate(flow.loops):
        at = _retried(function, flow, loop) if number not in parents else None
        if at is not None:
            # The only way out is the branch that ends the block of the try.
            always = [block for block, _ in loop.exits] == [flow.block_of[at]]
            found.append(RetryLoop(at, loop, always))
    return tuple(found)


def _retried(function: Function, flow: ControlFlow, loop: Loop) -> int | None:
    """Return the compare-and-swap that a loop tries again, if it changes nothing else."""
    inside = flow.places(sorted(loop.blocks))
    instructions = [function.instructions[at] for at in inside]
    changes = [at for at in inside if function.instructions[at].opcode in _CHANGES]
    if len(changes) != 1:
        return None
    tried = function.instructions[changes[0]]
    if tried.opcode != "atom" or "cas" not in tried.modifiers:
        return None
    if len(tried.operands) < 3 or tried.guard is not None:
        return None
    old, place, expected = tried.operands[:3]
    if not isinstance(old, Register) or not isinstance(expected, Register):
        return None
    base = place.base if isinstance(place, Address) else None
    moves = any(
        isinstance(base, Register) and base.name in written_registers(i) for i in instructions
    )
    return None if moves or not _copied(old.name, expected.name, instructions) else changes[0]


def _copied(source: str, target: str, instructions: Sequence[Instruction]) -> bool:
    """Say whether all that a loop writes to a register is a copy of another."""
    seen: set[str] = set()
    while target != source:
        writers = [i for i in instructions if target in written_registers(i)]
        if len(writers) != 1 or writers[0].opcode not in _COPIES or target in seen:
            return False
        read = read_registers(writers[0])
        if len(read) != 1:
            return False
        seen.add(target)
        (target,) = read
    return True
