"""Loops in which threads wait for what others write: flags, tickets, locks of other blocks.

Which block runs when is not emulated, so nobody may ever write it. Such a loop reads memory past
L1 or by an atomic, goes on by what it reads, writes nothing else, and is left once it was gone
round a few times. A loop that only adds to counters ends by itself. Loops that try a
compare-and-swap again with what they found are no such: each round lets somebody go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.lock_loops import lock_loops
from perfmodel.cuda.parse.opcodes import read, written
from perfmodel.cuda.parse.retry_loops import retry_loops
from perfmodel.cuda.parse.syntax import Function, Instruction, SpecialRegister

PATIENCE: Final = 4
"""Rounds after which a wait is taken to be over."""

_LONGEST: Final = 64
"""Instructions of a loop that does nothing but wait."""
_STRONG: Final = frozenset({"volatile", "acquire", "relaxed", "mmio", "cv"})
_CHANGES: Final = frozenset({"st", "red", "bar", "barrier", "stmatrix"})


def wait_exits(function: Function, flow: ControlFlow) -> dict[int, int]:
    """Return where to go from blocks of loops that wait: by block, the block outside its loop."""
    found: dict[int, int] = {}
    tries = [tried.loop.blocks for tried in retry_loops(function, flow)]
    tries += [loop.blocks for loop in lock_loops(function, flow).values()]
    for loop in flow.loops:
        if any(blocks <= loop.blocks for blocks in tries):
            continue
        inside = [function.instructions[at] for at in flow.places(loop.blocks)]
        if any(i.opcode in _CHANGES for i in inside) or not _decided_by_polls(inside):
            continue
        if len(inside) > _LONGEST:
            continue
        for block, target in loop.exits:
            found[block] = target
    return found


def waited_for(function: Function) -> str:
    """Return in words what threads wait for, and that it is left out."""
    together = any(
        isinstance(o, SpecialRegister) and o.name == "%envreg1"
        for i in function.instructions
        for o in i.operands
    )
    if together:
        return "grid.sync(): how long blocks wait for all others is not modelled"
    return "threads wait in a loop for what others write: how long is not modelled"


def _decided_by_polls(inside: Sequence[Instruction]) -> bool:
    """Say whether what a loop polls decides anything in it."""
    known: set[str] = set()
    before = -1
    while len(known) > before:
        before = len(known)
        for i in inside:
            if _polls(i) or not known.isdisjoint(read(i)):
                known.update(written(i))
    return any(i.guard is not None and i.guard.register.name in known for i in inside)


def _polls(instruction: Instruction) -> bool:
    if instruction.opcode == "atom":
        return "shared" not in instruction.modifiers
    return instruction.opcode == "ld" and not _STRONG.isdisjoint(instruction.modifiers)
