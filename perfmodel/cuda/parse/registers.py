"""Registers that instructions read and write, and those that are alive where a block begins."""

from __future__ import annotations

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.memory_parts import is_memory
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


__all__ = ["alive_registers", "is_memory", "read_registers", "written_registers"]
