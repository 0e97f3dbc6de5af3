"""Registers of 64 bits of which only the lower half is ever used: ptxas makes no upper one.

Counts in 64 bits that end as an address of 32, the bits to shift by, or an index cut to a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from perfmodel.cuda.parse.registers import written_registers
from perfmodel.cuda.parse.syntax import Function
from perfmodel.cuda.sass.logic_cones import LOGIC

_CARRY_UP: Final = LOGIC | {"add", "sub", "mov"}
"""Operations whose lower half needs no upper one."""
_WORDS: Final = frozenset({"u8", "s8", "u16", "s16", "u32", "s32", "b32"})


def lower_halves(function: Function, users: Mapping[str, Sequence[int]]) -> frozenset[str]:
    """Return the registers of 64 bits whose upper half nothing needs.

    Parameters
    ----------
    function : Function
    users : mapping of str to sequence of int
        Instructions that read each register.
    """
    found = {
        register
        for i in function.instructions
        if i.opcode in _CARRY_UP and i.type_name in ("s64", "u64", "b64")
        for register in written_registers(i)
    }
    while True:
        needed = {
            register
            for register in found
            if not users.get(register)
            or not all(_takes_lower(function, at, found) for at in users[register])
        }
        if not needed:
            return frozenset(found)
        found -= needed


def _takes_lower(function: Function, at: int, found: set[str]) -> bool:
    """Say whether an instruction needs only the lower half of what it reads."""
    i = function.instructions[at]
    if i.opcode == "cvt":
        return i.modifiers[-2:-1] != () and i.modifiers[-2] in _WORDS
    if i.opcode not in _CARRY_UP or i.type_name not in ("s64", "u64", "b64"):
        return False
    return all(r in found for r in written_registers(i))
