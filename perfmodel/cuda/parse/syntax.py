"""What a PTX file says, as frozen records.

Inner blocks ``{ … }`` of a function are flattened: a name (register, variable or label) that is
declared in the n-th inner block carries ``@n`` behind it, so that every name means one thing in
its function. Directives and modifiers are kept without their leading dot.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias

from perfmodel.records import record


@record
class Register:
    """A register that the function declares, such as ``%r1``."""

    name: str


@record
class SpecialRegister:
    """A register of the machine, such as ``%tid.x``, with its component if it has any."""

    name: str


@record
class Component:
    """A part of a register: element ``x`` of a vector register, byte ``b0`` or half ``h1``."""

    register: Register
    part: str


@record
class Immediate:
    """An integer constant, as written: the instruction's type says how many bits count."""

    value: int


@record
class FloatImmediate:
    """A floating-point constant by its bits, so that no NaN loses its payload."""

    bits: int
    width: int  # 32 or 64 [bit]; a decimal constant has 64

    @property
    def value(self) -> float:
        """The number."""
        if self.width == 32:
            return float(struct.unpack("<f", struct.pack("<I", self.bits))[0])
        return float(struct.unpack("<d", struct.pack("<Q", self.bits))[0])


@record
class Symbol:
    """The name of a variable, parameter or function, as an address, plus `offset` [B]."""

    name: str
    offset: int = 0


@record
class Label:
    """A place in the function, or a table of them (see `Function.branch_tables`)."""

    name: str


@record
class Sink:
    """The operand ``_``: a result that nobody wants."""


@record
class Vector:
    """``{a, b, …}``."""

    elements: tuple[Operand, ...]


@record
class Address:
    """``[base + offset]``, with the coordinates of a texture or tensor access if there are any."""

    base: Operand  # a register, a symbol or an immediate; a vector's index comes as `coordinates`
    offset: int = 0  # [B]
    coordinates: tuple[Operand, ...] = ()

    @property
    def place(self) -> tuple[str, int] | None:
        """The symbol that it is in, such as a parameter, and where [B]; None of other bases."""
        if not isinstance(self.base, Symbol):
            return None
        return self.base.name, self.base.offset + self.offset


@record
class Pair:
    """``p|q``: two results."""

    first: Operand
    second: Operand


@record
class Negated:
    """``!p``."""

    operand: Operand


@record
class Arguments:
    """``(a, b)`` of a call."""

    elements: tuple[Operand, ...]


Operand: TypeAlias = (
    Register
    | SpecialRegister
    | Component
    | Immediate
    | FloatImmediate
    | Symbol
    | Label
    | Sink
    | Vector
    | Address
    | Pair
    | Negated
    | Arguments
)


def leaves(operand: Operand | None) -> Iterator[Operand]:
    """Yield the operands that one is made of: registers, symbols, numbers."""
    match operand:
        case Address(base, _, coordinates):
            inside: tuple[Operand, ...] = (base, *coordinates)
        case Vector(elements) | Arguments(elements):
            inside = elements
        case Pair(first, second):
            inside = (first, second)
        case Negated(inner):
            inside = (inner,)
        case Component(register, _):
            inside = (register,)
        case _:
            if operand is not None:
                yield operand
            return
    for part in inside:
        yield from leaves(part)


@record
class Guard:
    """``@p`` or ``@!p`` before an instruction."""

    register: Register
    negated: bool

    @property
    def operand(self) -> Operand:
        """What holds where the instruction is run."""
        return Negated(self.register) if self.negated else self.register


@record
class SourceLine:
    """Where an instruction comes from: ``.loc``; `file` is a number of `Module.files`."""

    file: int
    line: int
    inlined_at: SourceLine | None = None


@record
class Instruction:
    """One instruction: ``@guard opcode.modifiers operands;``."""

    opcode: str  # without modifiers, such as ``ld``
    modifiers: tuple[str, ...]  # in their order, such as ``("global", "nc", "v4", "f32")``
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int  # in the PTX text, from 1
    source: SourceLine | None
    readable: bool = True  # whether the operands could be read; if not, there are none
    # Kept: what is known of instructions is looked up by them, again and again.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        told = (self.opcode, self.modifiers, self.operands, self.guard, self.line, self.readable)
        object.__setattr__(self, "_hash", hash(told))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # Text hashes differ between processes, so an unpickled instruction computes its own.
        made = (self.opcode, self.modifiers, self.operands, self.guard, self.line, self.source)
        return Instruction, (*made, self.readable)

    @property
    def name(self) -> str:
        """Opcode and modifiers as written, such as ``ld.global.nc.v4.f32``."""
        return ".".join((self.opcode, *self.modifiers))

    @property
    def space(self) -> str | None:
        """State space that it names, the first if several: ``shared`` of ``shared::cta``."""
        return _space(self.modifiers)

    @property
    def type_name(self) -> str:
        """Last modifier, such as ``f32``: the type, where there is one; empty without modifiers."""
        return self.modifiers[-1] if self.modifiers else ""


_SPACES: Final = frozenset({"global", "shared", "local", "const", "param"})


@lru_cache(maxsize=1 << 12)
def _space(modifiers: tuple[str, ...]) -> str | None:
    stems = (m.partition("::")[0] for m in modifiers)
    return next((stem for stem in stems if stem in _SPACES), None)


@record
class Parameter:
    """A parameter (or result) of a function."""

    name: str
    type: str  # of an element, such as ``u64`` or ``b8``
    size: int  # [B], of the whole parameter
    alignment: int  # [B]
    count: int | None = None  # elements, if it is an array: a structure passed by value
    pointer: bool = False  # whether it is marked ``.ptr``; a compiler may leave the mark away
    space: str = "param"  # ``param``, or ``reg`` for a register parameter of a ``.func``


@record
class RegisterDeclaration:
    """``.reg .type name;`` or, with a count, the registers name0 … name(count-1)."""

    name: str
    type: str
    count: int | None = None
    lanes: int = 1  # elements of a vector register
    scope: int = 0  # number of the inner block that declares it, 0 for the function itself


@record
class Variable:
    """A variable in memory."""

    name: str
    space: str  # ``global``, ``const``, ``shared``, ``local``, ``param`` (of a call), ``tex``
    type: str  # of an element
    size: int | None  # [B]; None if the launch decides (``extern .shared x[]``)
    alignment: int  # [B]
    shape: tuple[int | None, ...] = ()  # elements by dimension; () for a scalar
    lanes: int = 1
    linkage: str | None = None  # ``extern``, ``visible``, ``weak`` or ``common``
    # Initial values, flattened; a name where the value is an address.
    values: tuple[int | float | str, ...] | None = None


@record(slots=False)
class Function:
    """A kernel (``.entry``) or a device function (``.func``)."""

    name: str
    kernel: bool
    parameters: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    linkage: str | None
    # Such as ``{"maxntid": (256, 1, 1)}``: bounds that the programmer gave.
    directives: Mapping[str, tuple[int, ...]]
    defined: bool  # False for a declaration without a body
    registers: tuple[RegisterDeclaration, ...]
    variables: tuple[Variable, ...]  # declared inside the function
    instructions: tuple[Instruction, ...]
    # Index of the instruction that follows a label; ``len(instructions)`` at the end.
    labels: Mapping[str, int]
    # Labels that ``brx.idx`` may go to, by the table's name.
    branch_tables: Mapping[str, tuple[str, ...]]
    pragmas: tuple[tuple[int, str], ...]  # index of the instruction that follows, and text
    line: int

    @cached_property
    def _types(self) -> dict[tuple[str, int], list[RegisterDeclaration]]:
        found: dict[tuple[str, int], list[RegisterDeclaration]] = {}
        for declared in self.registers:
            found.setdefault((declared.name, declared.scope), []).append(declared)
        return found

    def declaration(self, register: str) -> RegisterDeclaration | None:
        """Return what declares a register, by its name as `Register.name` has it, or None."""
        name, _, scope = register.partition("@")
        number = int(scope) if scope else 0
        for declared in self._types.get((name, number), ()):
            if declared.count is None:
                return declared
        stem = name.rstrip("0123456789")
        while len(stem) < len(name):
            for declared in self._types.get((stem, number), ()):
                if declared.count is not None and int(name[len(stem) :]) < declared.count:
                    return declared
            stem = name[: len(stem) + 1]
        return None

    def register_type(self, register: str) -> str | None:
        """Return the type of a register, such as ``b32`` or ``pred``, or None if undeclared."""
        declared = self.declaration(register)
        return None if declared is None else declared.type


@record(slots=False)
class Module:
    """A PTX file."""

    version: tuple[int, int]  # of the PTX language, such as (8, 7)
    target: str  # such as ``sm_90``
    functions: tuple[Function, ...]
    variables: tuple[Variable, ...]  # declared outside of functions
    files: Mapping[int, str] = field(default_factory=dict)  # source files by number
    folder: str = ""  # of the source that it was compiled from; empty if it came as PTX

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The functions that can be launched, with a body."""
        return tuple(f for f in self.functions if f.kernel and f.defined)


SIZES: Final[Mapping[str, int]] = {
    **{f"{kind}{8 * size}": size for kind in "bus" for size in (1, 2, 4, 8, 16)},
    **{"f16": 2, "f16x2": 4, "bf16": 2, "bf16x2": 4, "tf32": 4, "f32": 4, "f32x2": 8, "f64": 8},
    **{"u16x2": 4, "s16x2": 4, "u8x4": 4, "s8x4": 4, "b4x2": 1, "b6x2": 2, "b6p2x16": 16},
    **{"e4m3": 1, "e5m2": 1, "e4m3x2": 2, "e5m2x2": 2, "ue8m0x2": 2, "pred": 1},
    **{"texref": 8, "samplerref": 8, "surfref": 8},
}
"""Bytes of the types that declarations use (PTX ISA, fundamental and packed types); a predicate
counts as 1, a reference to a texture as its handle."""


def float_immediate(value: float) -> FloatImmediate:
    """Return a constant of 64 bits from a number."""
    return FloatImmediate(struct.unpack("<Q", struct.pack("<d", value))[0], 64)
