"""Registers that hold addresses and nothing else: ptxas makes them as they are needed."""

from __future__ import annotations

from typing import Final

from perfmodel.frontends.ptx.syntax import Function, Instruction, Register, Vector
from perfmodel.frontends.symbolic_registers import is_memory, read_registers, written_registers

_ADDRESSING: Final = frozenset({"add", "sub", "mul", "mad", "shl", "cvt", "cvta", "mov"})


def address_registers(function: Function) -> frozenset[str]:
    """Return registers that lead to addresses only: ptxas makes them as they are needed."""
    readers: dict[str, list[Instruction]] = {}
    for instruction in function.instructions:
        for register in read_registers(instruction):
            readers.setdefault(register, []).append(instruction)
    # What a load brings has its place while it is waited for.
    loaded = {r for i in function.instructions if is_memory(i) for r in written_registers(i)}
    found = set(readers) - loaded
    changed = True
    while changed:
        kept = {r for r in found if all(_leads(r, i, found) for i in readers[r])}
        changed = kept != found
        found = kept
    return frozenset(found)


def _leads(register: str, user: Instruction, found: set[str]) -> bool:
    """Say whether an instruction uses a register for an address alone."""
    if user.guard is not None and user.guard.register.name == register:
        return False
    if is_memory(user):
        others = (o.elements if isinstance(o, Vector) else (o,) for o in user.operands)
        return all(o != Register(register) for elements in others for o in elements)
    targets = written_registers(user)
    return user.opcode in _ADDRESSING and bool(targets) and set(targets) <= found
