"""What ptxas leaves out of a kernel because the instructions that use a result take it in.

An address into a load, a product into a sum, a sum into another, a shift into a sum of 64 bits.
Only within one loop: what does not change in a loop is made before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from perfmodel.cuda.parse.registers import is_memory, written_registers
from perfmodel.cuda.parse.syntax import (
    Address,
    FloatImmediate,
    Immediate,
    Instruction,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from perfmodel.cuda.sass.def_use import DefUse
from perfmodel.cuda.sass.halves import WIDE, lower_half, upper_half
from perfmodel.cuda.sass.joined_sums import (
    SUMS,
    WORD,
    adds_product,
    by_constant,
    is_rotation,
    joined_sum,
    rotated,
    scales,
)
from perfmodel.cuda.sass.logic_cones import LOGIC

_BYTE: Final = 255
_ANY: Final = -1
_FLOATS: Final = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"})
_ROUNDINGS: Final = frozenset({"rn", "rz", "rm", "rp", "sat"})
_SIGNED: Final = frozenset({"add", "sub", "mul", "fma", "min", "max", "setp"})
"""Instructions on floats that negate their operands, or take their magnitude, for nothing."""
_WIDENED: Final = (("u32", "u16"), ("u32", "u8"), ("u16", "u8"))


def taken_in(known: DefUse, at: int) -> list[Instruction]:
    """Return the instructions that the one at a place takes in."""
    makers = (known.maker(o) for o in known.function.instructions[at].operands[1:])
    return [
        known.function.instructions[m] for m in makers if m is not None and is_taken_in(known, m)
    ]


def hands_on(known: DefUse, at: int) -> bool:
    """Say whether a copy in a loop is an instruction: its source lives on with another value.

    Of variables that each take the next one's value every iteration, none is another name of
    the next (machine code of sm_90: a stencil's window, Euclid's algorithm).
    """
    source = _source(known.function.instructions[at])
    if known.loops[at] is None or not isinstance(source, Register):
        return False
    places = known.makers.get(source.name, ())
    return len(places) > 1 and any(known.loops[place] == known.loops[at] for place in places)


def adds_a_constant(known: DefUse, at: int) -> bool:
    """Say whether a choice between constants becomes an addition under a predicate.

    It takes an addition and a move, of two operands each (VIADD, IMAD.MOV).
    """
    instruction = known.function.instructions[at]
    if instruction.opcode != "selp" or instruction.type_name not in WORD:
        return False
    targets = written_registers(instruction)
    users = known.users.get(targets[0], ()) if targets else ()
    return (
        all(isinstance(o, Immediate) for o in instruction.operands[1:3])
        and len(users) == 1
        and known.function.instructions[users[0]].opcode == "add"
    )


def _source(instruction: Instruction) -> object:
    return instruction.operands[1] if len(instruction.operands) > 1 else None


def is_taken_in(known: DefUse, at: int) -> bool:
    """Say whether what uses a result takes the instruction in."""
    instruction = known.function.instructions[at]
    opcode, modifiers = instruction.opcode, instruction.modifiers
    targets = written_registers(instruction)
    kind = instruction.type_name
    if at in known.folded:
        return True
    if opcode == "mov" and len(instruction.operands) > 1:
        source = instruction.operands[1]
        if isinstance(source, SpecialRegister):
            return not known.users.get(targets[0] if targets else "")
        if isinstance(source, Register):
            return not hands_on(known, at)
        return isinstance(source, Immediate | FloatImmediate | Symbol)
    if len(targets) != 1:
        return False
    places = known.users.get(targets[0], [])
    used = [known.function.instructions[u] for u in places]
    if opcode == "cvta" or not used:
        return True
    if opcode == "mul" and kind in _FLOATS:
        return _fused(known, at, places)
    if opcode in ("neg", "abs") and kind in _FLOATS:
        return all(u.opcode in _SIGNED and u.type_name == kind for u in used)
    if opcode == "mul" and "wide" in modifiers and kind.endswith("32"):
        # One multiply-add of 64 bits makes the address.
        return all(u.opcode == "add" and u.type_name in ("s64", "u64") for u in used)
    if opcode == "add" and _only_offset(known, instruction, used, targets[0]):
        return True
    if opcode == "cvt" and modifiers[-2:] == ("s64", "s32"):
        # The sum takes the sign along (LEA.HI.X.SX32).
        return all(u.opcode == "add" and u.type_name in WIDE for u in used)
    if opcode in ("cvt", "and") and _from_byte(known, instruction):
        return True
    if opcode in ("shl", "shr") and len(used) == 1 and rotated(known, places[0]) is not None:
        return True
    if lower_half(instruction) and not any(adds_product(known, u) for u in used):
        return True  # a pair of registers is made for a product to be added to
    if upper_half(instruction) and all(u.modifiers[-2:] == ("u32", "u64") for u in used):
        return True
    if opcode == "cvt" and modifiers[-2:] == ("u16", "u32"):
        # A store takes what it needs of a word; several are packed there.
        return all(u.opcode == "st" for u in used)
    if scales(known, at, places):
        return True
    if opcode == "mul" and "lo" in modifiers and kind in WORD:
        return _beside_upper(known, at)
    if opcode == "add" and any(
        maker is not None and adds_a_constant(known, maker)
        for maker in map(known.maker, instruction.operands[1:])
    ):
        return False
    if len(used) != 1 or known.loops[places[0]] != known.loops[at]:
        return False
    return _by_the_only(known, at, used[0], kind)


def _by_the_only(known: DefUse, at: int, user: Instruction, kind: str) -> bool:
    """Say whether the one instruction that uses a result takes its maker in."""
    instruction = known.function.instructions[at]
    opcode, modifiers = instruction.opcode, instruction.modifiers
    of = user.type_name
    if opcode in LOGIC and kind == "pred":
        return user.opcode in LOGIC or user.opcode == "bra"
    if at in known.merged:
        return True
    if opcode == "shl" and user.opcode == "add":
        return kind == "b32" or by_constant(instruction)
    if opcode == "mul" and ("lo" in modifiers or kind.endswith("16")):
        return user.opcode in ("add", "sub") and (of == kind or kind.endswith("16"))
    if opcode == "add" and user.opcode == "add" and kind in SUMS:
        place = known.users[written_registers(instruction)[0]][0]
        return joined_sum(known, place) == at  # three operands at once
    if is_rotation(instruction) and user.opcode == "add" and of in WORD:
        return True  # LEA.HI
    if opcode == "neg" and kind in WORD:
        return user.opcode == "add" and of in WORD
    # An extremum takes one sum in (VIADDMNMX).
    return (
        opcode in ("add", "sub")
        and kind in WORD
        and user.opcode in ("min", "max")
        and of in WORD
        and _last(known, user, ("add", "sub")) == at
    )


def _fused(known: DefUse, at: int, places: Iterable[int]) -> bool:
    """Say whether a product of floats is part of every sum that uses it.

    Sums and products that state no rounding are contracted (FFMA, DFMA, HFMA2), the product once
    for each sum; of a sum of two products only one is (machine code of sm_90).
    """
    instruction = known.function.instructions[at]
    if not _ROUNDINGS.isdisjoint(instruction.modifiers):
        return False
    for place in places:
        user = known.function.instructions[place]
        if user.opcode not in ("add", "sub") or user.modifiers != instruction.modifiers:
            return False
        if known.loops[place] != known.loops[at]:
            return False
        if _last(known, user, ("mul",), known.loops[at]) != at:
            return False
    return True


def _beside_upper(known: DefUse, at: int) -> bool:
    """Say whether the upper half of the same product is asked for: one instruction makes both."""
    factors = _factors(known, at)
    registers = (
        o.name
        for o in known.function.instructions[at].operands[1:]
        if isinstance(o, Register) and _constant(known, o) is None
    )
    return any(
        known.loops[place] == known.loops[at] and _factors(known, place) == factors
        for place in known.users.get(next(registers, ""), ())
        for other in (known.function.instructions[place],)
        if other.opcode == "mul" and "hi" in other.modifiers
    )


def _factors(known: DefUse, at: int) -> frozenset[object]:
    """Return the factors of a product, constants by their value in 32 bits."""
    return frozenset(
        value if (value := _constant(known, o)) is not None else o
        for o in known.function.instructions[at].operands[1:]
    )


def _constant(known: DefUse, operand: object) -> int | None:
    """Return the constant that an operand is or that was moved into it, in 32 bits, or None."""
    if isinstance(operand, Immediate):
        return operand.value & 0xFFFFFFFF
    maker = known.maker(operand)
    if maker is None or known.function.instructions[maker].opcode != "mov":
        return None
    source = _source(known.function.instructions[maker])
    return source.value & 0xFFFFFFFF if isinstance(source, Immediate) else None


def _last(
    known: DefUse, user: Instruction, opcodes: Iterable[str], loop: int | None = _ANY
) -> int | None:
    """Return the maker of an instruction's last operand that some opcodes make (in a loop)."""
    makers = (known.maker(o) for o in reversed(user.operands[1:]))
    return next(
        (
            m
            for m in makers
            if m is not None
            and known.function.instructions[m].opcode in opcodes
            and (loop == _ANY or known.loops[m] == loop)
        ),
        None,
    )


def _from_byte(known: DefUse, instruction: Instruction) -> bool:
    """Say whether a byte that was loaded is widened, or its upper bits cut: the load does both."""
    if instruction.opcode == "and" and Immediate(_BYTE) not in instruction.operands:
        return False
    kinds = instruction.modifiers[-2:]
    if instruction.opcode == "cvt" and kinds not in _WIDENED and kinds[1:] != ("s8",):
        return False
    at = known.maker(_source(instruction))
    if at is None:
        return False
    maker = known.function.instructions[at]
    signed = kinds[1:] == ("s8",)
    if maker.opcode == "cvt":
        return (instruction.opcode == "and" or signed) and _from_byte(known, maker)
    if not is_memory(maker) or maker.opcode != "ld" or maker.type_name != "u8":
        return False
    # The sign of a byte loaded alone is an instruction; those of several are unpacked with it.
    return not signed or isinstance(maker.operands[0], Vector)


def _only_offset(
    known: DefUse, instruction: Instruction, used: Iterable[Instruction], target: str
) -> bool:
    """Say whether an addition is just the offset of loads and stores.

    It is of a constant, or of where a variable in shared memory lies, which loads and stores take
    from a uniform register and atomics do not (machine code of sm_90: LDS [R1+UR4]).
    """
    places = [at for o in instruction.operands[1:] if (at := known.maker(o)) is not None]
    makers = [known.function.instructions[at] for at in places]
    based = any(i.opcode == "mov" and isinstance(_source(i), Symbol) for i in makers)
    # A shift that the addition takes in makes an instruction of both (LEA).
    if based and any(
        i.opcode == "shl" and is_taken_in(known, at) for i, at in zip(makers, places, strict=True)
    ):
        return False
    if not based and not by_constant(instruction):
        return False
    return all(
        is_memory(u)
        and any(isinstance(o, Address) and o.base == Register(target) for o in u.operands)
        and (not based or (u.opcode in ("ld", "st") and "shared" in u.modifiers))
        for u in used
    )
