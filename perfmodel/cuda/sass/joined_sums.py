"""Sums that ptxas makes of several instructions, and what it makes of halves of 64 bits.

Of three operands (IADD3), of a shifted or turned word and another (LEA), and of two shifts of the
same number, which turn it (SHF).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from perfmodel.cuda.parse.syntax import Immediate, Instruction, Register

if TYPE_CHECKING:
    from perfmodel.cuda.sass.taken_in import Made

WIDE: Final = ("s64", "u64", "b64")
WORD: Final = ("s32", "u32", "b32")
SUMS: Final = (*WORD, *WIDE[:2])
_HALF: Final = 32
_LOWER: Final = (1 << 32) - 1
_LONGEST: Final = 64
"""Sums of a chain that are looked at."""


def by_constant(instruction: Instruction) -> bool:
    """Say whether an instruction has a constant among its operands."""
    return any(isinstance(o, Immediate) for o in instruction.operands)


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
    return unsigned and last == Immediate(_HALF)


def scales(made: Made, at: int, places: Sequence[int]) -> bool:
    """Say whether a shift or a product is part of every sum that uses it: each makes its own.

    LEA, or IMAD (machine code of sm_90: rows of neighbours in life_step, corpus-blind).
    """
    instruction = made.function.instructions[at]
    shifts = instruction.opcode == "shl" and by_constant(instruction)
    multiplies = instruction.opcode == "mul" and "lo" in instruction.modifiers
    if not (shifts or multiplies) or instruction.type_name not in WORD:
        return False
    users = [made.function.instructions[place] for place in places]
    return all(
        user.opcode == "add" and user.type_name in WORD and made.loops[place] == made.loops[at]
        for user, place in zip(users, places, strict=True)
    )


def adds_product(made: Made, user: Instruction) -> bool:
    """Say whether an instruction is a sum with a product."""
    makers = (made.maker(o) for o in user.operands[1:])
    return user.opcode == "add" and any(
        m is not None and made.function.instructions[m].opcode == "mul" for m in makers
    )


def is_rotation(instruction: Instruction) -> bool:
    """Say whether an instruction turns a word of 32 bits by a constant."""
    if instruction.opcode != "shf" or len(instruction.operands) != 4:
        return False
    _, low, high, by = instruction.operands
    return low == high and isinstance(by, Immediate)


def rotated(made: Made, at: int) -> int | None:
    """Return by how many bits to the left a sum or a union turns 64 bits; None if it does not.

    It joins what two shifts leave of the same number, as nvcc writes it: two funnel shifts, or
    nothing where the halves change places (machine code of sm_90: SHF.L.W).
    """
    instruction = made.function.instructions[at]
    if instruction.opcode not in ("add", "or", "xor") or instruction.type_name not in WIDE:
        return None
    makers = [made.maker(o) for o in instruction.operands[1:]]
    shifts = [made.function.instructions[m] for m in makers if m is not None]
    if len(shifts) != 2 or {i.opcode for i in shifts} != {"shl", "shr"}:
        return None
    left, right = sorted(shifts, key=lambda i: i.opcode)
    by, back = left.operands[-1], right.operands[-1]
    if left.operands[1] != right.operands[1] or right.type_name == "s64":
        return None
    if not isinstance(by, Immediate) or not isinstance(back, Immediate):
        return None
    return by.value if by.value + back.value == 2 * _HALF else None


def joined_sum(made: Made, at: int) -> int | None:
    """Return the sum that a sum takes in as its third operand, or None.

    Of sums of sums every other one is taken in; one that takes in a product, a shift or a rotation
    has its three operands.
    """
    chain = [at]
    while (below := _summand(made, chain[-1])) is not None and len(chain) < _LONGEST:
        chain.append(below)
    return chain[1] if len(chain) % 2 == 0 else None


def _summand(made: Made, at: int) -> int | None:
    """Return the last sum that a sum alone uses, if the sum has room for it."""
    user = made.function.instructions[at]
    if user.opcode != "add":
        return None
    found = None
    for operand in user.operands[1:]:
        maker = made.maker(operand)
        if maker is None or not isinstance(operand, Register):
            continue
        instruction = made.function.instructions[maker]
        if instruction.opcode in ("shl", "mul") and scales(made, maker, made.users[operand.name]):
            return None
        if len(made.users[operand.name]) != 1 or made.loops[maker] != made.loops[at]:
            continue
        if instruction.opcode in ("mul", "shl", "shr", "neg") or is_rotation(instruction):
            return None
        same = (WORD, SUMS[-2:])[user.type_name in SUMS[-2:]]
        if instruction.opcode == "add" and instruction.type_name in same:
            wide = user.type_name in SUMS[-2:]
            if wide and operand.name in made.addresses:
                return None
            found = maker if found is None else max(found, maker)
    return found
