"""Logic operations that ptxas makes one: any function of three operands (LOP3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from perfmodel.cuda.parse.registers import written_registers
from perfmodel.cuda.parse.syntax import Function, Immediate, Register

LOGIC: Final = frozenset({"and", "or", "xor", "not", "lop3"})
_INPUTS: Final = 3
_TABLE: Final = 4
"""Operands of ``lop3`` without its table: the target and three."""


def merged_logic(
    function: Function,
    makers: Mapping[str, Sequence[int]],
    users: Mapping[str, Sequence[int]],
    loops: Sequence[int | None],
) -> frozenset[int]:
    """Return the logic operations that the only instruction that uses their result takes in.

    From the first on, each takes in what its operands are made of, as long as both together have
    three inputs at most; a complement has one, and a constant is one, of which there may be one but
    in loops, which keep theirs ready. Sums of five bits so are two instructions, and a choice of
    bits of which one is complemented is one (machine code of sm_90).

    Parameters
    ----------
    function : Function
    makers, users : mapping of str to sequence of int
        Instructions that write and read each register.
    loops : sequence of int or None
        Innermost loop of each instruction.
    """
    inputs: dict[int, frozenset[object]] = {}
    taken = set()
    for at, i in enumerate(function.instructions):
        if i.opcode not in LOGIC or i.type_name == "pred":
            continue
        held: frozenset[object] = frozenset(
            o for o in i.operands[1:_TABLE] if isinstance(o, Register | Immediate)
        )
        for operand in i.operands[1:_TABLE]:
            if not isinstance(operand, Register):
                continue
            made, used = makers.get(operand.name, ()), users.get(operand.name, ())
            below = made[0] if len(made) == 1 else None
            if below is None or below not in inputs or len(used) != 1:
                continue
            targets = written_registers(function.instructions[below])
            if loops[below] != loops[at] or len(targets) != 1:
                continue
            joined = held - {operand} | inputs[below]
            constants = sum(isinstance(o, Immediate) for o in joined)
            if len(joined) <= _INPUTS and (constants < 2 or loops[at] is not None):
                held = joined
                taken.add(below)
        inputs[at] = held
    return frozenset(taken)
