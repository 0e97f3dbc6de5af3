"""Locks in sources: words that a thread takes, holds while it does little, and gives back.

A spin lock is taken by a compare-and-swap or an exchange that is tried again, with the same
operands each time, until the word was free; a ticket lock by an addition, whose old value a loop
waits for at another word. Either way the word that was waited at is written outside the loop: that
sets locks apart from flags that others write once.
"""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.cuda.parse.control_flow import ControlFlow, Loop
from perfmodel.cuda.parse.registers import read_registers, written_registers
from perfmodel.cuda.parse.retry_loops import retry_loops
from perfmodel.cuda.parse.syntax import Address, Function, Immediate, Instruction, Register

_CHANGES = frozenset({"st", "red", "bar", "barrier", "stmatrix"})
_STRONG = frozenset({"volatile", "acquire", "relaxed", "mmio"})
_LONGEST = 64
"""Instructions of a loop that does nothing but wait."""


def lock_loops(function: Function, flow: ControlFlow) -> dict[int, Loop]:
    """Return the loops in which threads wait for a lock, by the atomic that takes or numbers it."""
    found = {}
    for loop in flow.loops:
        inside = flow.places(sorted(loop.blocks))
        instructions = [function.instructions[at] for at in inside]
        if len(inside) > _LONGEST or any(i.opcode in _CHANGES for i in instructions):
            continue
        polls = [at for at in inside if _polls(function.instructions[at])]
        if len(polls) != 1 or not _freed(function, polls[0], loop, flow):
            continue
        at = _taking(function, polls[0], instructions)
        if at is not None:
            found[at] = loop
    return found


def exits_of_tries(function: Function, flow: ControlFlow) -> dict[int, int]:
    """Return the blocks that leave loops of tries, and what each leads to.

    Of many lanes an emulation runs few: how often all try is up to the models of locks and retries.
    """
    loops = [tried.loop for tried in retry_loops(function, flow) if tried.always]
    loops += lock_loops(function, flow).values()
    return {block: target for loop in loops for block, target in loop.exits}


def held_inside(function: Function, flow: ControlFlow) -> dict[int, int]:
    """Return the atomics of loops that hold a lock inside, each with what frees it.

    ``while (!done) if (atomicCAS(lock, 0, 1) == 0) { ...; atomicExch(lock, 0); done = true; }``, or
    with an exchange whose old value decides: lanes of a warp take such a lock in turn.
    """
    found = {}
    for loop in flow.loops:
        inside = flow.places(sorted(loop.blocks))
        for at in inside:
            taken = function.instructions[at]
            if not _takes(function, at, inside):
                continue
            place = next((o for o in taken.operands if isinstance(o, Address)), None)
            frees = [
                other
                for other in inside
                if other != at
                and function.instructions[other].opcode in ("st", "atom")
                and place in function.instructions[other].operands
            ]
            if len(frees) == 1 and "shared" not in taken.modifiers:
                found[at] = frees[0]
    return found


def _takes(function: Function, at: int, inside: Sequence[int]) -> bool:
    """Say whether an instruction of a loop may take a lock: a swap whose old value decides."""
    taken = function.instructions[at]
    if taken.opcode != "atom" or {"cas", "exch"}.isdisjoint(taken.modifiers):
        return False
    old = {*written_registers(taken)}
    read = any(old & {*read_registers(function.instructions[i])} for i in inside if i != at)
    return read or "cas" in taken.modifiers


def _polls(i: Instruction) -> bool:
    return i.opcode == "atom" or (i.opcode == "ld" and not _STRONG.isdisjoint(i.modifiers))


def _taking(function: Function, poll: int, loop: Sequence[Instruction]) -> int | None:
    """Return the atomic by which threads queue up: the one tried again, or that drew a number."""
    tried = function.instructions[poll]
    # Numbers that the text states are moved to registers again and again.
    stated = [i.opcode == "mov" and isinstance(i.operands[-1], Immediate) for i in loop]
    made = [i for i, number in zip(loop, stated, strict=True) if not number]
    written = {name for i in made for name in written_registers(i)}
    if tried.opcode == "atom":
        same = all(not isinstance(o, Register) or o.name not in written for o in tried.operands[2:])
        swaps = not {"cas", "exch"}.isdisjoint(tried.modifiers) and "shared" not in tried.modifiers
        return poll if same and swaps else None
    compared = {
        name
        for i in loop
        if i.opcode == "setp" and read_registers(i) & {*written_registers(tried)}
        for name in read_registers(i)
    } - written
    for at, i in enumerate(function.instructions):
        drawn = i.opcode == "atom" and "add" in i.modifiers and "shared" not in i.modifiers
        if drawn and compared & {*written_registers(i)}:
            return at
    return None


def _freed(function: Function, poll: int, loop: Loop, flow: ControlFlow) -> bool:
    """Say whether the word that is waited at is written outside the loop."""
    places = (o for o in function.instructions[poll].operands if isinstance(o, Address))
    place = next(places, None)
    return place is not None and any(
        place in i.operands
        for at, i in enumerate(function.instructions)
        if i.opcode in ("st", "atom", "red") and flow.block_of[at] not in loop.blocks
    )
