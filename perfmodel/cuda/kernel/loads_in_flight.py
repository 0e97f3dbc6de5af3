"""Loads in flight: how many a thread issues before it waits for the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.registers import is_memory, read_registers, written_registers
from perfmodel.cuda.parse.syntax import Function

_MOST: Final = 16


def loads_in_flight(
    function: Function, flow: ControlFlow, found: Followed, abreast: Mapping[str | None, float]
) -> int | None:
    """Return the loads that a thread of the loop with most loads issues before it waits."""
    most: tuple[int, int] | None = None
    for run in found.blocks:
        if run.loop is None:
            continue
        block = flow.blocks[run.block]
        together = _independent(function, block.start, block.stop)
        if together == 0:
            continue
        at_once = min(round(together * abreast[run.loop]), _MOST)
        if most is None or together > most[0]:
            most = (together, max(at_once, 1))
    return None if most is None else most[1]


def _independent(function: Function, start: int, stop: int) -> int:
    """Return the global loads of a block that no other load's value leads to, before a barrier."""
    waiting: set[str] = set()
    count = best = 0
    for at in range(start, stop):
        instruction = function.instructions[at]
        reads = read_registers(instruction)
        if instruction.opcode in ("bar", "barrier"):
            best, count, waiting = max(best, count), 0, set()
            continue
        targets = written_registers(instruction)
        if instruction.opcode == "ld" and is_memory(instruction):
            if "shared" in instruction.modifiers:
                continue
            if reads & waiting:
                best, count, waiting = max(best, count), 0, set()
            count += 1
            waiting |= set(targets)
        elif reads & waiting:
            waiting |= set(targets)
    return max(best, count)
