"""Loops in which threads wait for others: for a lock, for their turn at a word, for a flag.

- A **lock** is taken by a compare-and-swap or an exchange that is tried again, with the same
  operands each time, until the word was free; or by a ticket: an addition, whose old value a loop
  waits for at another word. Either way the word that was waited at is written outside the loop:
  that sets locks apart from flags that others write once.
- A **retry** expects what the try before it returned, so of the lanes that want a word one gets on
  each round: additions, maxima, any update. Lanes leave once they got their turn, or also where
  what they found needs no update.
- Any other loop that reads memory past L1 or by an atomic, goes on by what it reads and writes
  nothing else **waits** for what blocks write that are not emulated. It is left once it was gone
  round a few times. A loop that only adds to counters ends by itself.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perfmodel.cuda.parse.control_flow import ControlFlow, Loop
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import led_to, read_registers, written_registers
from perfmodel.cuda.parse.syntax import Address, Function, Immediate, Instruction, Register

_CHANGES: Final = frozenset({"st", "red", "bar", "barrier", "stmatrix"})
_STRONG: Final = frozenset({"volatile", "acquire", "relaxed", "mmio", "cv"})
_COPIES: Final = frozenset({"mov", "cvt"})
_LONGEST: Final = 64
"""Instructions of a loop that does nothing but wait."""


class RetryLoop(NamedTuple):
    """A loop of compare-and-swap."""

    at: int  # its compare-and-swap, in the function's instructions
    loop: Loop
    always: bool  # whether every lane goes on until its try succeeds: the loop has no other way out


@once
def lock_loops(function: Function, flow: ControlFlow) -> dict[int, Loop]:
    """Return the loops in which threads wait for a lock, by the atomic that takes or numbers it."""
    found = {}
    for loop in flow.loops:
        inside = flow.places(sorted(loop.blocks))
        polls = [at for at in inside if _polls(function.instructions[at])]
        if len(polls) != 1 or not _only_waits(function, inside):
            continue
        freed = (flow.block_of[at] not in loop.blocks for at in _changes(function, polls[0]))
        at = _taking(function, polls[0], inside) if any(freed) else None
        if at is not None:
            found[at] = loop
    return found


@once
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
            if not _swaps(taken):
                continue
            old = {*written_registers(taken)}
            used = any(old & read_registers(function.instructions[i]) for i in inside if i != at)
            if not used and "cas" not in taken.modifiers:
                continue
            frees = [other for other in _changes(function, at) if other in inside]
            if len(frees) == 1 and function.instructions[frees[0]].opcode != "red":
                found[at] = frees[0]
    return found


@once
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


@once
def exits_of_tries(function: Function, flow: ControlFlow) -> dict[int, int]:
    """Return the blocks that leave loops of tries, and what each leads to.

    Of many lanes an emulation runs few: how often all try is up to the models of locks and retries.
    """
    loops = [tried.loop for tried in retry_loops(function, flow) if tried.always]
    loops += lock_loops(function, flow).values()
    return {block: target for loop in loops for block, target in loop.exits}


@once
def wait_exits(function: Function, flow: ControlFlow) -> dict[int, int]:
    """Return where to go from blocks of loops that wait: by block, the block outside its loop."""
    tries = [tried.loop.blocks for tried in retry_loops(function, flow)]
    tries += [loop.blocks for loop in lock_loops(function, flow).values()]
    found: dict[int, int] = {}
    for loop in flow.loops:
        inside = flow.places(loop.blocks)
        tried = any(blocks <= loop.blocks for blocks in tries)
        if not tried and _only_waits(function, inside) and _decided_by_polls(function, inside):
            found |= dict(loop.exits)
    return found


def _polls(i: Instruction) -> bool:
    if i.opcode == "atom":
        return i.space != "shared"
    return i.opcode == "ld" and not _STRONG.isdisjoint(i.modifiers)


def _swaps(i: Instruction) -> bool:
    global_ = i.opcode == "atom" and i.space != "shared"
    return global_ and not {"cas", "exch"}.isdisjoint(i.modifiers)


def _only_waits(function: Function, inside: Sequence[int]) -> bool:
    changes = any(function.instructions[at].opcode in _CHANGES for at in inside)
    return len(inside) <= _LONGEST and not changes


def _changes(function: Function, at: int) -> list[int]:
    """Return what else changes the word that an instruction goes to."""
    places = (o for o in function.instructions[at].operands if isinstance(o, Address))
    place = next(places, None)
    return [
        other
        for other, i in enumerate(function.instructions)
        if i.opcode in ("st", "atom", "red") and other != at and place and place in i.operands
    ]


def _taking(function: Function, poll: int, inside: Sequence[int]) -> int | None:
    """Return the atomic by which threads queue up: the one tried again, or that drew a number."""
    tried = function.instructions[poll]
    loop = [function.instructions[at] for at in inside]
    # Numbers that the text states are moved to registers again and again.
    made = [i for i in loop if i.opcode != "mov" or not isinstance(i.operands[-1], Immediate)]
    written = {name for i in made for name in written_registers(i)}
    if tried.opcode == "atom":
        same = all(not isinstance(o, Register) or o.name not in written for o in tried.operands[2:])
        return poll if same and _swaps(tried) else None
    compared = {
        name
        for i in loop
        if i.opcode == "setp" and read_registers(i) & {*written_registers(tried)}
        for name in read_registers(i)
    } - written
    for at, i in enumerate(function.instructions):
        drawn = i.opcode == "atom" and "add" in i.modifiers and i.space != "shared"
        if drawn and compared & {*written_registers(i)}:
            return at
    return None


def _retried(function: Function, flow: ControlFlow, loop: Loop) -> int | None:
    """Return the compare-and-swap that a loop tries again, if it changes nothing else."""
    inside = flow.places(sorted(loop.blocks))
    instructions = [function.instructions[at] for at in inside]
    changes = [at for at in inside if function.instructions[at].opcode in {"atom", *_CHANGES}]
    tried = function.instructions[changes[0]] if len(changes) == 1 else None
    if tried is None or tried.opcode != "atom" or "cas" not in tried.modifiers or tried.guard:
        return None
    old, place, expected = (*tried.operands, None, None, None)[:3]
    if not isinstance(old, Register) or not isinstance(expected, Register):
        return None
    base = place.base if isinstance(place, Address) else None
    moves = isinstance(base, Register) and any(
        base.name in written_registers(i) for i in instructions
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


def _decided_by_polls(function: Function, inside: Sequence[int]) -> bool:
    """Say whether what a loop polls decides anything in it."""
    loop = [function.instructions[at] for at in inside]
    known = led_to(loop, _polls)
    return any(i.guard is not None and i.guard.register.name in known for i in loop)
