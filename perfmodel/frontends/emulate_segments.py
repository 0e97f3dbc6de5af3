"""Pieces of straight code that the emulator runs, each for all lanes that stand there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.frontends.emulate_machine import Active, Machine
from perfmodel.frontends.ptx.control_flow import ControlFlow
from perfmodel.frontends.ptx.syntax import Function, Instruction

Array = npt.NDArray[Any]
Step = Callable[[Active], None]


@dataclass(slots=True)
class Segment:
    """Instructions that run without a branch or a barrier: `steps` and what comes after.

    `copy` numbers those of a loop's iterations that are put together.
    """

    block: int
    steps: list[Step]
    barrier: bool
    ends: bool
    starts: bool
    copy: int = 0
    guards: list[Any] = field(default_factory=list)


def straight(
    function: Function,
    flow: ControlFlow,
    number: int,
    copy: int,
    made: Callable[[int, Instruction], Step | None],
    machine: Machine,
) -> list[Segment]:
    """Return the pieces of a basic block, between its barriers.

    Parameters
    ----------
    function : Function
    flow : ControlFlow
    number : int
        Of the block.
    copy : int
    made : callable
        Returns what runs an instruction, or None if nothing is to be done.
    machine : Machine
        Reads the predicates.
    """
    segments: list[Segment] = []
    block = flow.blocks[number]
    current = Segment(number, [], False, False, True, copy)
    for at in range(block.start, block.stop):
        instruction = function.instructions[at]
        if instruction.opcode in ("bar", "barrier") and "arrive" not in instruction.modifiers:
            if "warp" in instruction.modifiers:
                continue
            current.barrier = True
            segments.append(current)
            current = Segment(number, [], False, False, False, copy)
            continue
        if instruction.opcode in ("ret", "exit", "bra", "brx", "trap"):
            continue
        run = made(at, instruction)
        if run is None:
            continue
        guard = instruction.guard
        getter = None
        if guard is not None:
            read = machine.getter(guard.register, np.dtype(bool))
            getter = _negated(read) if guard.negated else read
        current.steps.append(run)
        current.guards.append(getter)
    current.ends = True
    segments.append(current)
    return segments


def _negated(read: Callable[[Active], Array]) -> Callable[[Active], Array]:
    return lambda active: ~read(active)
