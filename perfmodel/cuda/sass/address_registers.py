"""Registers that hold addresses and nothing else: ptxas makes them as they are needed."""

from __future__ import annotations

from typing import Final

from perfmodel.cuda.parse.registers import is_memory, read_registers, written_registers
from perfmodel.cuda.parse.syntax import Function, Instruction, Register, Vector

_ADDRESSING: Final = frozenset({"add", "sub", "mul", "mad", "shl", "cvt", "cvta", "mov"})


def address_registers(function: Function) -> frozenset[str]:
    """Return registers that lead to addresses only: ptxas makes them as they are needed."""
    # Where a register is read for an address, the registers that must then be addresses too.
    leads: dict[str, list[frozenset[str] | None]] = {}
    for instruction in function.instructions:
        for register in read_registers(instruction):
            leads.setdefault(register, []).append(_leads(register, instruction))
    # What a load brings has its place while it is waited for.
    loaded = {r for i in function.instructions if is_memory(i) for r in written_registers(i)}
    found = {r for r in set(leads) - loaded if None not in leads[r]}
    changed = True
    while changed:
        kept = {r for r in found if all(made is not None and made <= found for made in leads[r])}
        changed = kept != found
        found = kept
    return frozenset(found)


def _leads(register: str, user: Instruction) -> frozenset[str] | None:
    """Return which registers must be addresses for an instruction to use a register for one alone.

    None if it uses the register otherwise.
    """
    if user.guard is not None and user.guard.register.name == register:
        return None
    if is_memory(user):
        others = (o.elements if isinstance(o, Vector) else (o,) for o in user.operands)
        other = any(o == Register(register) for elements in others for o in elements)
        return None if other else frozenset()
    targets = written_registers(user)
    return frozenset(targets) if user.opcode in _ADDRESSING and targets else None
