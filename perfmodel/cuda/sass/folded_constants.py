"""Instructions whose operands are all constants: ptxas works them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from perfmodel.cuda.parse.registers import read_registers, written_registers
from perfmodel.cuda.parse.syntax import Address, Function, SpecialRegister, Symbol

_FOLDED: Final = frozenset(
    {"mov", "cvt", "add", "sub", "mul", "mad", "fma", "neg", "and", "or", "xor", "not"}
    | {"shl", "shr"}
)


def folded(function: Function, makers: Mapping[str, Sequence[int]]) -> frozenset[int]:
    """Return the instructions whose operands are all constants."""
    constant: set[str] = set()
    found = set()
    for at, i in enumerate(function.instructions):
        targets = written_registers(i)
        if i.guard is not None or len(targets) != 1 or len(makers[targets[0]]) != 1:
            continue
        if i.opcode not in _FOLDED or not set(read_registers(i)) <= constant:
            continue
        if any(isinstance(o, SpecialRegister | Symbol | Address) for o in i.operands):
            continue
        constant.add(targets[0])
        found.add(at)
    return frozenset(found)
