"""Fragments of matrices that warps load and store (wmma), as the loads and stores of their lanes.

A warp's lane holds two neighbours of every eighth line: of a fragment's groups of 8 lines by 8
elements, lane i has elements 2 (i mod 4) and the next of line i // 4. The layout is read from
machine code of sm_90 (ptxas 13.0); requests and sectors are those that the profiler counts on an
H200 (tests/cuda/kernel/test_fragments.py). Shared memory holds rows for ldmatrix.
"""

from dataclasses import replace
from typing import Final

from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.liveness import register_words
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.sass.tensor_work import product_shape
from perfmodel.records import record

_SIZES: Final = {"f16": 2, "bf16": 2, "f32": 4, "s32": 4}
_GROUP: Final = 8
"""Lines, and elements of a line, of the parts that a fragment is made of."""
_MATRICES: Final = 4
"""Parts that one ldmatrix loads."""
_LANE, _LINE, _PAIR = (ptx.Register(f"%fragment_{name}") for name in ("lane", "line", "pair"))


@record
class _Fragment:
    """What a load or store of a fragment moves."""

    made: ptx.Instruction
    lines: int  # across which the leading dimension is stepped
    length: int  # elements of a line
    size: int  # [B] of an element
    # Whether a lane's two neighbours are of two lines; pairs of halves are turned in registers.
    turned: bool

    @property
    def loads(self) -> bool:
        """Whether it is loaded."""
        return "load" in self.made.modifiers

    @property
    def rows(self) -> bool:
        """Whether it comes from shared memory by rows, as matrices do."""
        given = {*self.made.modifiers}
        return (
            self.loads and self.made.space == "shared" and self.size == 2 and not {"c", "d"} & given
        )

    @property
    def held(self) -> tuple[ptx.Operand, ...]:
        """The registers that hold it."""
        held = self.made.operands[0 if self.loads else 1]
        return held.elements if isinstance(held, ptx.Vector) else ()

    def registers(self, first: int, count: int) -> tuple[ptx.Operand, ...]:
        """Return so many of the registers, which begin again behind the last."""
        return tuple(self.held[i % len(self.held)] for i in range(first, first + count))


@once
def with_fragments(function: ptx.Function) -> ptx.Function:
    """Return a function whose fragments are loaded and stored by plain loads and stores.

    Those of types whose layout is not known stay.
    """
    fragments = {at: f for at, i in enumerate(function.instructions) if (f := _fragment(i))}
    if not fragments:
        return function
    writer = _Writer(function)
    starts: list[int] = []
    for at, instruction in enumerate(function.instructions):
        starts.append(len(writer.made))
        if at in fragments:
            writer.take(fragments[at])
        else:
            writer.made.append(instruction)
    starts.append(len(writer.made))
    return replace(
        function,
        instructions=tuple(writer.made),
        labels={name: starts[at] for name, at in function.labels.items()},
        pragmas=tuple((starts[at], text) for at, text in function.pragmas),
        registers=(*function.registers, *writer.registers),
    )


def _fragment(instruction: ptx.Instruction) -> _Fragment | None:
    """Return what a load or store of a fragment moves; None of others, and of unknown layouts."""
    given = instruction.modifiers
    if instruction.opcode != "wmma" or not {"load", "store"} & {*given}:
        return None
    shape = product_shape(instruction)
    if shape is None or given[-1] not in _SIZES or len(instruction.operands) < 2:
        return None
    m, n, k = shape
    which = next((name for name in given if name in ("a", "b", "c", "d")), "")
    height, width = {"a": (m, k), "b": (k, n)}.get(which, (m, n))
    by_row, size = "row" in given, _SIZES[given[-1]]
    lines, length = (height, width) if by_row else (width, height)
    turned = which in ("c", "d") and not by_row and size == 4
    found = _Fragment(instruction, lines, length, size, turned)
    return found if k == 16 and found.held else None


class _Writer:
    """Writes the instructions of a function, and what becomes of its fragments."""

    def __init__(self, function: ptx.Function) -> None:
        self.function = function
        self.made: list[ptx.Instruction] = []
        self.registers = [ptx.RegisterDeclaration(r.name, "b32") for r in (_LANE, _LINE, _PAIR)]
        # What all fragments share: each lane's line, and its pair of elements.
        first = replace(function.instructions[0], guard=None)
        self._write(first, "mov.u32", _LANE, ptx.SpecialRegister("%laneid"))
        self._write(first, "shr.u32", _LINE, _LANE, ptx.Immediate(2))
        self._write(first, "and.b32", _PAIR, _LANE, ptx.Immediate(3))
        self._write(first, "shl.b32", _PAIR, _PAIR, ptx.Immediate(1))

    def _write(self, like: ptx.Instruction, name: str, *operands: ptx.Operand) -> None:
        opcode, *modifiers = name.split(".")
        self.made.append(
            replace(like, opcode=opcode, modifiers=tuple(modifiers), operands=operands)
        )

    def _new(self, like: ptx.Instruction, name: str, *operands: ptx.Operand) -> ptx.Register:
        """Write an instruction whose result goes to a register of its own."""
        kind = "b64" if "wide" in name or name.endswith("64") else "b32"
        register = ptx.Register(f"%fragment_{kind}_{len(self.registers)}")
        self.registers.append(ptx.RegisterDeclaration(register.name, kind))
        self._write(like, name, register, *operands)
        return register

    def take(self, f: _Fragment) -> None:
        """Write what becomes of one load or store of a fragment."""
        done = self._rows(f) if f.rows else self._pairs(f)
        # Registers that hold nothing of their own: older machines held values twice.
        for i, register in enumerate(f.held[done:] if f.loads else ()):
            self._write(f.made, "mov.b32", register, f.held[i % done])

    def _pairs(self, f: _Fragment) -> int:
        """Write the loads or stores by which each lane moves its pairs; return how many."""
        line, along = (_PAIR, _LINE) if f.turned else (_LINE, _PAIR)
        single = f.turned or f.size == 2
        verb, width = "ld" if f.loads else "st", None if single else "v2"
        name = ".".join(part for part in (verb, f.made.space, width, "b32") if part)
        done = 0
        for group in range(0, f.lines, _GROUP):
            for second in range(2 if f.turned else 1):
                base = self._address(f, line, group + second, along)
                for part in range(0, f.length, _GROUP):
                    at = ptx.Address(base, part * f.size)
                    taken = f.registers(done, 1 if single else 2)
                    done += len(taken)
                    value = taken[0] if single else ptx.Vector(taken)
                    self._write(f.made, name, *((value, at) if f.loads else (at, value)))
        return done

    def _rows(self, f: _Fragment) -> int:
        """Write the matrix loads of a fragment in shared memory, whose lanes each name a row."""
        parts = f.lines * f.length // _GROUP**2
        at_once = min(parts, _MATRICES)
        deep = _GROUP * (2 if f.lines > _GROUP else 1)
        line = self._new(f.made, "and.b32", _LANE, ptx.Immediate(deep - 1))
        along = self._new(f.made, "shr.u32", _LANE, ptx.Immediate(deep.bit_length() - 1))
        self._write(f.made, "shl.b32", along, along, ptx.Immediate(3))
        name = f"ldmatrix.sync.aligned.m8n8.x{at_once}.shared.b16"
        base: ptx.Register | None = None
        for done in range(0, parts, at_once):
            lines = done * _GROUP**2 // f.length if f.lines > deep else 0
            across = 0 if f.lines > deep else done * _GROUP // (deep // _GROUP)
            if base is None or lines:
                base = self._address(f, line, lines, along)
            taken = ptx.Vector(f.registers(done, at_once))
            self._write(f.made, name, taken, ptx.Address(base, across * f.size))
        return parts

    def _address(
        self, f: _Fragment, line: ptx.Register, more: int, along: ptx.Register
    ) -> ptx.Register:
        """Write the address of an element: of a line and so many more, and along it [B]."""
        like, operands = f.made, f.made.operands
        place = operands[1 if f.loads else 0]
        step = operands[2] if len(operands) > 2 else ptx.Immediate(f.length)
        base, offset = (place.base, place.offset) if isinstance(place, ptx.Address) else (place, 0)
        if more:
            line = self._new(like, "add.s32", line, ptx.Immediate(more))
        index = self._new(like, "mad.lo.s32", line, step, along)
        size = ptx.Immediate(f.size)
        if not isinstance(base, ptx.Register) or register_words(self.function, base.name) != 2:
            start = self._new(like, "mov.u32", base)
            bytes_ = self._new(like, "mad.lo.s32", index, size, ptx.Immediate(offset))
            return self._new(like, "add.s32", start, bytes_)
        address = self._new(like, "add.s64", base, self._new(like, "mul.wide.s32", index, size))
        return self._new(like, "add.s64", address, ptx.Immediate(offset)) if offset else address
