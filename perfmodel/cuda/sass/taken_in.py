"""What ptxas leaves out of a kernel because the instructions that use a result take it in.

An address into a load, a product into a sum, a sum into another, a shift into a sum of 64 bits.
Only within one loop: what does not change in a loop is made before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.registers import is_memory, read_registers, written_registers
from perfmodel.cuda.parse.syntax import (
    Address,
    FloatImmediate,
    Function,
    Immediate,
    Instruction,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from perfmodel.cuda.sass.address_registers import address_registers
from perfmodel.cuda.sass.divergence import parting_registers
from perfmodel.cuda.sass.folded_constants import folded
from perfmodel.cuda.sass.joined_sums import (
    SUMS,
    WIDE,
    WORD,
    adds_product,
    by_constant,
    is_rotation,
    joined_sum,
    lower_half,
    rotated,
    scales,
    upper_half,
)
from perfmodel.cuda.sass.logic_cones import LOGIC, merged_logic
from perfmodel.cuda.sass.lower_halves import lower_halves

_HALF: Final = 32
_BYTE: Final = 255
_ANY: Final = -1
_FLOATS: Final = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"})
_ROUNDINGS: Final = frozenset({"rn", "rz", "rm", "rp", "sat"})
_SIGNED: Final = frozenset({"add", "sub", "mul", "fma", "min", "max", "setp"})
"""Instructions on floats that negate their operands, or take their magnitude, for nothing."""
_WIDENED: Final = (("u32", "u16"), ("u32", "u8"), ("u16", "u8"))


@dataclass(frozen=True, slots=True)
class Made:
    """Who makes and uses each register, and what its user takes in.

    Attributes
    ----------
    function : Function
    makers, users : dict of str to list of int
        Instructions that write and read each register.
    loops : tuple of int or None
        Innermost loop of each instruction.
    parting : frozenset of str
        Registers that may differ from lane to lane.
    addresses : frozenset of str
        Registers that hold addresses and nothing else.
    folded : frozenset of int
        Instructions whose operands are all constants: the compiler works them out.
    merged : frozenset of int
        Logic operations that are part of another, see `perfmodel.cuda.sass.logic_cones`.
    lower : frozenset of str
        Registers of 64 bits of which only the lower half is used.
    """

    function: Function
    makers: dict[str, list[int]]
    users: dict[str, list[int]]
    loops: tuple[int | None, ...]
    parting: frozenset[str]
    addresses: frozenset[str] = frozenset()
    folded: frozenset[int] = frozenset()
    merged: frozenset[int] = frozenset()
    lower: frozenset[str] = frozenset()

    def maker(self, operand: object) -> int | None:
        """Return the only instruction that makes an operand, or None."""
        if not isinstance(operand, Register):
            return None
        places = self.makers.get(operand.name, ())
        return places[0] if len(places) == 1 else None

    def taken_in(self, at: int) -> list[Instruction]:
        """Return the instructions that the one at a place takes in."""
        makers = (self.maker(o) for o in self.function.instructions[at].operands[1:])
        return [
            self.function.instructions[m] for m in makers if m is not None and self.is_taken_in(m)
        ]

    def is_taken_in(self, at: int) -> bool:
        """Say whether what uses a result takes the instruction in."""
        return _is_taken_in(self, at)

    def hands_on(self, at: int) -> bool:
        """Say whether a copy in a loop is an instruction: its source lives on with another value.

        Of variables that each take the next one's value every iteration, none is another name of
        the next (machine code of sm_90: a stencil's window, Euclid's algorithm).
        """
        source = _source(self.function.instructions[at])
        if self.loops[at] is None or not isinstance(source, Register):
            return False
        places = self.makers.get(source.name, ())
        return len(places) > 1 and any(self.loops[place] == self.loops[at] for place in places)

    def adds_a_constant(self, at: int) -> bool:
        """Say whether a choice between constants becomes an addition under a predicate.

        It takes an addition and a move, of two operands each (VIADD, IMAD.MOV).
        """
        instruction = self.function.instructions[at]
        if instruction.opcode != "selp" or instruction.type_name not in WORD:
            return False
        targets = written_registers(instruction)
        users = self.users.get(targets[0], ()) if targets else ()
        return (
            all(isinstance(o, Immediate) for o in instruction.operands[1:3])
            and len(users) == 1
            and self.function.instructions[users[0]].opcode == "add"
        )

    def is_narrow_product(self, at: int) -> bool:
        """Say whether a product of 64 bits has factors of 32: one instruction makes it."""
        instruction = self.function.instructions[at]
        wide = instruction.opcode == "mul" and instruction.type_name in WIDE
        return wide and all(_is_narrow(self, o) for o in instruction.operands[1:])

    def halves(self, at: int) -> float:
        """Return the halves of a result of 64 bits of which something is to be made: 1 or 2.

        A shift by 32 or more leaves no upper half, and what has none changes none.
        """
        return 1.0 if _changes_one_half(self, self.function.instructions[at]) else 2.0


def made(function: Function, flow: ControlFlow) -> Made:
    """Return who makes, uses and takes in what."""
    makers: dict[str, list[int]] = {}
    users: dict[str, list[int]] = {}
    for at, instruction in enumerate(function.instructions):
        for register in read_registers(instruction):
            users.setdefault(register, []).append(at)
        for register in written_registers(instruction):
            makers.setdefault(register, []).append(at)
    of_blocks = [flow.innermost(number) for number in range(len(flow.blocks))]
    loops = tuple(of_blocks[number] for number in flow.block_of)
    constant = folded(function, makers)
    parting, addresses = parting_registers(function), address_registers(function)
    merged = merged_logic(function, makers, users, loops)
    lower = lower_halves(function, users)
    return Made(function, makers, users, loops, parting, addresses, constant, merged, lower)


def _source(instruction: Instruction) -> object:
    return instruction.operands[1] if len(instruction.operands) > 1 else None


def _changes_one_half(made: Made, instruction: Instruction) -> bool:
    last = instruction.operands[-1] if instruction.operands else None
    if instruction.opcode in ("shr", "shl"):
        return isinstance(last, Immediate) and last.value >= _HALF
    if instruction.opcode not in LOGIC:
        return False
    return any(_is_narrow(made, o) for o in instruction.operands[1:])


def _is_narrow(made: Made, operand: object) -> bool:
    """Say whether an operand of 64 bits surely has no upper half."""
    if isinstance(operand, Immediate):
        return 0 <= operand.value < 1 << _HALF
    at = made.maker(operand)
    if at is None:
        return False
    maker = made.function.instructions[at]
    if lower_half(maker):
        return True
    if maker.opcode == "shr" and maker.type_name in ("u64", "b64"):
        last = maker.operands[-1]
        return isinstance(last, Immediate) and last.value >= _HALF
    return maker.opcode == "cvt" and maker.modifiers[-2:] == ("u64", "u32")


def _is_taken_in(made: Made, at: int) -> bool:
    instruction = made.function.instructions[at]
    opcode, modifiers = instruction.opcode, instruction.modifiers
    targets = written_registers(instruction)
    kind = instruction.type_name
    if at in made.folded:
        return True
    if opcode == "mov" and len(instruction.operands) > 1:
        source = instruction.operands[1]
        if isinstance(source, SpecialRegister):
            return not made.users.get(targets[0] if targets else "")
        if isinstance(source, Register):
            return not made.hands_on(at)
        return isinstance(source, Immediate | FloatImmediate | Symbol)
    if len(targets) != 1:
        return False
    places = made.users.get(targets[0], [])
    used = [made.function.instructions[u] for u in places]
    if opcode == "cvta" or not used:
        return True
    if opcode == "mul" and kind in _FLOATS:
        return _fused(made, at, places)
    if opcode in ("neg", "abs") and kind in _FLOATS:
        return all(u.opcode in _SIGNED and u.type_name == kind for u in used)
    if opcode == "mul" and "wide" in modifiers and kind.endswith("32"):
        # One multiply-add of 64 bits makes the address.
        return all(u.opcode == "add" and u.type_name in ("s64", "u64") for u in used)
    if opcode == "add" and _only_offset(made, instruction, used, targets[0]):
        return True
    if opcode == "cvt" and modifiers[-2:] == ("s64", "s32"):
        # The sum takes the sign along (LEA.HI.X.SX32).
        return all(u.opcode == "add" and u.type_name in WIDE for u in used)
    if opcode in ("cvt", "and") and _from_byte(made, instruction):
        return True
    if opcode in ("shl", "shr") and len(used) == 1 and rotated(made, places[0]) is not None:
        return True
    if lower_half(instruction) and not any(adds_product(made, u) for u in used):
        return True  # a pair of registers is made for a product to be added to
    if upper_half(instruction) and all(u.modifiers[-2:] == ("u32", "u64") for u in used):
        return True
    if opcode == "cvt" and modifiers[-2:] == ("u16", "u32"):
        # A store takes what it needs of a word; several are packed there.
        return all(u.opcode == "st" for u in used)
    if scales(made, at, places):
        return True
    if opcode == "mul" and "lo" in modifiers and kind in WORD:
        return _beside_upper(made, at)
    if opcode == "add" and any(
        maker is not None and made.adds_a_constant(maker)
        for maker in map(made.maker, instruction.operands[1:])
    ):
        return False
    if len(used) != 1 or made.loops[places[0]] != made.loops[at]:
        return False
    return _by_the_only(made, at, used[0], kind)


def _by_the_only(made: Made, at: int, user: Instruction, kind: str) -> bool:
    """Say whether the one instruction that uses a result takes its maker in."""
    instruction = made.function.instructions[at]
    opcode, modifiers = instruction.opcode, instruction.modifiers
    of = user.type_name
    if opcode in LOGIC and kind == "pred":
        return user.opcode in LOGIC or user.opcode == "bra"
    if at in made.merged:
        return True
    if opcode == "shl" and user.opcode == "add":
        return kind == "b32" or by_constant(instruction)
    if opcode == "mul" and ("lo" in modifiers or kind.endswith("16")):
        return user.opcode in ("add", "sub") and (of == kind or kind.endswith("16"))
    if opcode == "add" and user.opcode == "add" and kind in SUMS:
        place = made.users[written_registers(instruction)[0]][0]
        return joined_sum(made, place) == at  # three operands at once
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
        and _last(made, user, ("add", "sub")) == at
    )


def _fused(made: Made, at: int, places: Iterable[int]) -> bool:
    """Say whether a product of floats is part of every sum that uses it.

    Sums and products that state no rounding are contracted (FFMA, DFMA, HFMA2), the product once
    for each sum; of a sum of two products only one is (machine code of sm_90).
    """
    instruction = made.function.instructions[at]
    if not _ROUNDINGS.isdisjoint(instruction.modifiers):
        return False
    for place in places:
        user = made.function.instructions[place]
        if user.opcode not in ("add", "sub") or user.modifiers != instruction.modifiers:
            return False
        if made.loops[place] != made.loops[at]:
            return False
        if _last(made, user, ("mul",), made.loops[at]) != at:
            return False
    return True


def _beside_upper(made: Made, at: int) -> bool:
    """Say whether the upper half of the same product is asked for: one instruction makes both."""
    factors = _factors(made, at)
    registers = (
        o.name
        for o in made.function.instructions[at].operands[1:]
        if isinstance(o, Register) and _constant(made, o) is None
    )
    return any(
        made.loops[place] == made.loops[at] and _factors(made, place) == factors
        for place in made.users.get(next(registers, ""), ())
        for other in (made.function.instructions[place],)
        if other.opcode == "mul" and "hi" in other.modifiers
    )


def _factors(made: Made, at: int) -> frozenset[object]:
    """Return the factors of a product, constants by their value in 32 bits."""
    return frozenset(
        value if (value := _constant(made, o)) is not None else o
        for o in made.function.instructions[at].operands[1:]
    )


def _constant(made: Made, operand: object) -> int | None:
    """Return the constant that an operand is or that was moved into it, in 32 bits, or None."""
    if isinstance(operand, Immediate):
        return operand.value & 0xFFFFFFFF
    maker = made.maker(operand)
    if maker is None or made.function.instructions[maker].opcode != "mov":
        return None
    source = _source(made.function.instructions[maker])
    return source.value & 0xFFFFFFFF if isinstance(source, Immediate) else None


def _last(
    made: Made, user: Instruction, opcodes: Iterable[str], loop: int | None = _ANY
) -> int | None:
    """Return the maker of an instruction's last operand that some opcodes make (in a loop)."""
    makers = (made.maker(o) for o in reversed(user.operands[1:]))
    return next(
        (
            m
            for m in makers
            if m is not None
            and made.function.instructions[m].opcode in opcodes
            and (loop == _ANY or made.loops[m] == loop)
        ),
        None,
    )


def _from_byte(made: Made, instruction: Instruction) -> bool:
    """Say whether a byte that was loaded is widened, or its upper bits cut: the load does both."""
    if instruction.opcode == "and" and Immediate(_BYTE) not in instruction.operands:
        return False
    kinds = instruction.modifiers[-2:]
    if instruction.opcode == "cvt" and kinds not in _WIDENED and kinds[1:] != ("s8",):
        return False
    at = made.maker(_source(instruction))
    if at is None:
        return False
    maker = made.function.instructions[at]
    signed = kinds[1:] == ("s8",)
    if maker.opcode == "cvt":
        return (instruction.opcode == "and" or signed) and _from_byte(made, maker)
    if not is_memory(maker) or maker.opcode != "ld" or maker.type_name != "u8":
        return False
    # The sign of a byte loaded alone is an instruction; those of several are unpacked with it.
    return not signed or isinstance(maker.operands[0], Vector)


def _only_offset(
    made: Made, instruction: Instruction, used: Iterable[Instruction], target: str
) -> bool:
    """Say whether an addition is just the offset of loads and stores.

    It is of a constant, or of where a variable in shared memory lies, which loads and stores take
    from a uniform register and atomics do not (machine code of sm_90: LDS [R1+UR4]).
    """
    places = [at for o in instruction.operands[1:] if (at := made.maker(o)) is not None]
    makers = [made.function.instructions[at] for at in places]
    based = any(i.opcode == "mov" and isinstance(_source(i), Symbol) for i in makers)
    # A shift that the addition takes in makes an instruction of both (LEA).
    if based and any(
        i.opcode == "shl" and made.is_taken_in(at) for i, at in zip(makers, places, strict=True)
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
