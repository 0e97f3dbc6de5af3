"""Copies to shared memory that a block does not wait for at once: it works on others first."""

from __future__ import annotations

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.syntax import Function, Immediate, Instruction


def copies_ahead(function: Function) -> frozenset[int]:
    """Return where the asynchronous copies are of loops that leave some of them under way.

    ``cp.async.wait_group N`` goes on while the last N groups are not there yet: with none but 0 in
    a loop its copies are waited for like loads.
    """
    if not any(_leaves_some(i) for i in function.instructions):
        return frozenset()
    flow = control_flow(function)
    found: set[int] = set()
    for loop in flow.loops:
        inside = flow.places(loop.blocks)
        if any(_leaves_some(function.instructions[at]) for at in inside):
            found |= {at for at in inside if _copies(function.instructions[at])}
    return frozenset(found)


def _copies(i: Instruction) -> bool:
    return i.opcode == "cp" and "global" in i.modifiers


def _leaves_some(i: Instruction) -> bool:
    if i.opcode != "cp" or "wait_group" not in i.modifiers:
        return False
    return any(isinstance(o, Immediate) and o.value > 0 for o in i.operands)
