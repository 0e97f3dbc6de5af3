"""Pieces of straight code that the emulator runs, each for all lanes that stand there."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.machine import Active, Getter, Machine, Step
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.opcodes import is_block_barrier
from perfmodel.cuda.parse.syntax import Function, Instruction, Register
from perfmodel.cuda.sass.unrolling import COPIES

Made = Callable[[int, Instruction], Step | None]
"""Returns what runs an instruction of a place, or None if nothing is to be done."""


@dataclass(slots=True)
class Segment:
    """Instructions that run without a branch or a barrier: `steps` and what comes after.

    Each step comes with what reads its instruction's guard, None if it has none.
    `copy` numbers those of a loop's iterations that are put together; `joined` is what the barrier
    tells lanes of given blocks of one another's predicates, once all are there.
    """

    block: int
    steps: list[tuple[Step, Getter | None]]
    barrier: bool
    ends: bool
    starts: bool
    copy: int = 0
    joined: Callable[[Active, Array], None] | None = None


def segments(
    function: Function, flow: ControlFlow, together: Container[int], machine: Machine, made: Made
) -> tuple[list[Segment], list[int]]:
    """Return the pieces of straight code, and the first of each basic block.

    Of the blocks `together` several iterations are put together.
    """
    found: list[Segment] = []
    first: list[int] = []
    for number in range(len(flow.blocks)):
        first.append(len(found))
        for copy in range(COPIES if number in together else 1):
            found += _straight(function, flow, number, copy, machine, made)
    return found, first


def join(
    pieces: Sequence[Segment], machine: Machine, waiting: Array, resume: Array, block_of: Array
) -> None:
    """Let lanes that wait at barriers know what those reduce.

    `waiting` says which, `resume` has the piece after each one's barrier.
    """
    for place in np.unique(resume[waiting]):
        joined = pieces[int(place) - 1].joined
        if joined is not None:
            here = np.flatnonzero(waiting & (resume == place))
            joined(machine.some(here), block_of[here])


def differ(waiting: Array, resume: Array, block_of: Array) -> bool:
    """Say whether lanes of a block wait at different barriers; parameters as for `join`."""
    lanes = np.flatnonzero(waiting)
    blocks = block_of[lanes]
    high = np.zeros(int(block_of.max(initial=0)) + 1, dtype=int)
    low = np.full(len(high), np.iinfo(int).max)
    np.minimum.at(low, blocks, resume[lanes])
    np.maximum.at(high, blocks, resume[lanes])
    return bool(np.any((high > 0) & (low < high)))


def _straight(
    function: Function, flow: ControlFlow, number: int, copy: int, machine: Machine, made: Made
) -> list[Segment]:
    """Return the pieces of a basic block, between its barriers."""
    found: list[Segment] = []
    block = flow.blocks[number]
    current = Segment(number, [], False, False, True, copy)
    for at in range(block.start, block.stop):
        instruction = function.instructions[at]
        if is_block_barrier(instruction):
            current.barrier = True
            current.joined = _joined(machine, instruction)
            found.append(current)
            current = Segment(number, [], False, False, False, copy)
            continue
        run = made(at, instruction)
        if run is None:
            continue
        guard = instruction.guard
        held = None if guard is None else machine.getter(guard.operand, np.dtype(bool))
        current.steps.append((run, held))
    current.ends = True
    found.append(current)
    return found


def _joined(machine: Machine, instruction: Instruction) -> Callable[[Active, Array], None] | None:
    """Return what a barrier does that reduces a predicate over its block; None if it does not."""
    modifiers, operands = instruction.modifiers, instruction.operands
    if "red" not in modifiers or not operands or not isinstance(operands[0], Register):
        return None
    read = machine.each(operands[-1], np.dtype(bool))
    (write,) = machine.setters(operands[0])

    def run(active: Active, block: Array) -> None:
        holds = np.bincount(block, read(active))[block]
        if "popc" in modifiers:
            write(holds.astype(np.uint32), active)
        elif "and" in modifiers:
            write(holds == np.bincount(block)[block], active)
        else:
            write(holds > 0, active)

    return run
