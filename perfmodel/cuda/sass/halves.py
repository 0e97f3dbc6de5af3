"""Integers of 64 bits of which one half is known or not asked for: ptxas makes the other alone."""

from __future__ import annotations

from typing import Final

from perfmodel.cuda.parse.syntax import Immediate, Instruction
from perfmodel.cuda.sass.def_use import DefUse
from perfmodel.cuda.sass.logic_cones import LOGIC

WIDE: Final = ("s64", "u64", "b64")
HALF: Final = 32
"""[bit]"""
_LOWER: Final = (1 << HALF) - 1


def lower_half(instruction: Instruction) -> bool:
    """Say whether an instruction leaves the lower half of 64 bits, which is a register."""
    return (
        instruction.opcode == "and"
        and instruction.type_name == "b64"
        and Immediate(_LOWER) in instruction.operands
    )


def upper_half(instruction: Instruction) -> bool:
    """Say whether an instruction leaves the upper half of 64 bits alone, which is a register."""
    last = instruction.operands[-1] if instruction.operands else None
    unsigned = instruction.opcode == "shr" and instruction.type_name in ("u64", "b64")
    return unsigned and last == Immediate(HALF)


def is_narrow_product(known: DefUse, at: int) -> bool:
    """Say whether a product of 64 bits has factors of 32: one instruction makes it."""
    instruction = known.function.instructions[at]
    wide = instruction.opcode == "mul" and instruction.type_name in WIDE
    return wide and all(_is_narrow(known, o) for o in instruction.operands[1:])


def halves(known: DefUse, at: int) -> float:
    """Return the halves of a result of 64 bits of which something is to be made: 1 or 2.

    A shift by 32 or more leaves no upper half, and what has none changes none.
    """
    return 1.0 if _changes_one_half(known, known.function.instructions[at]) else 2.0


def _changes_one_half(known: DefUse, instruction: Instruction) -> bool:
    last = instruction.operands[-1] if instruction.operands else None
    if instruction.opcode in ("shr", "shl"):
        return isinstance(last, Immediate) and last.value >= HALF
    if instruction.opcode not in LOGIC:
        return False
    return any(_is_narrow(known, o) for o in instruction.operands[1:])


def _is_narrow(known: DefUse, operand: object) -> bool:
    """Say whether an operand of 64 bits surely has no upper half."""
    if isinstance(operand, Immediate):
        return 0 <= operand.value < 1 << HALF
    at = known.maker(operand)
    if at is None:
        return False
    maker = known.function.instructions[at]
    if lower_half(maker):
        return True
    if maker.opcode == "shr" and maker.type_name in ("u64", "b64"):
        last = maker.operands[-1]
        return isinstance(last, Immediate) and last.value >= HALF
    return maker.opcode == "cvt" and maker.modifiers[-2:] == ("u64", "u32")
