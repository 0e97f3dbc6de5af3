"""Fragments of matrices that warps load and store (wmma), as the loads and stores of their lanes.

A warp's lane holds two neighbours of every eighth line: of a fragment's groups of 8 lines by 8
elements, lane i has elements 2 (i mod 4) and the next of line i // 4. The layout is read from
machine code of sm_90 (ptxas 13.0); requests and sectors are those that the profiler counts on an
H200 (tests/cuda/kernel/test_fragments.py). Shared memory holds rows for ldmatrix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.liveness import register_words

_SHAPE: Final = re.compile(r"m(\d+)n(\d+)k(\d+)")
_SIZES: Final = {"f16": 2, "bf16": 2, "f32": 4, "s32": 4}
_GROUP: Final = 8
"""Lines, and elements of a line, of the parts that a fragment is made of."""
_MATRICES: Final = 4
"""Parts that one ldmatrix loads."""
_LANE, _LINE, _PAIR = (ptx.Register(f"%fragment_{name}") for name in ("lane", "line", "pair"))


@dataclass(frozen=True, slots=True)
class _Fragment:
    lines: int
    """Across which the leading dimension is stepped."""
    length: int
    """Elements of a line."""
    size: int
    """[B] of an element."""
    turned: bool
    """Whether a lane's two neighbours are of two lines; pairs of halves are turned in registers."""


def with_fragments(function: ptx.Function) -> ptx.Function:
    """Return a function whose fragments are loaded and stored by plain loads and stores.

    Those of types whose layout is not known stay.
    """
    places = [at for at, i in enumerate(function.instructions) if _fragment(i) is not None]
    if not places:
        return function
    writer = _Writer(function)
    starts: list[int] = []
    writer.start()
    for instruction in function.instructions:
        starts.append(len(writer.made))
        fragment = _fragment(instruction)
        if fragment is None:
            writer.made.append(instruction)
        else:
            writer.take(instruction, fragment)
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
    shape = next((s for m in given if (s := _SHAPE.fullmatch(m))), None)
    if shape is None or given[-1] not in _SIZES or len(instruction.operands) < 2:
        return None
    m, n, k = (int(part) for part in shape.groups())
    which = next((name for name in given if name in ("a", "b", "c", "d")), "")
    height, width = {"a": (m, k), "b": (k, n)}.get(which, (m, n))
    by_row = "row" in given
    lines, length = (height, width) if by_row else (width, height)
    if k != 16 or not isinstance(_held(instruction), ptx.Vector):
        return None
    size = _SIZES[given[-1]]
    return _Fragment(lines, length, size, which in ("c", "d") and not by_row and size == 4)


def _held(instruction: ptx.Instruction) -> ptx.Operand:
    return instruction.operands[0 if "load" in instruction.modifiers else 1]


class _Writer:
    """Writes the instructions of a function, and what becomes of its fragments."""

    def __init__(self, function: ptx.Function) -> None:
        self.function = function
        self.made: list[ptx.Instruction] = []
        self.registers = [ptx.RegisterDeclaration(r.name, "b32") for r in (_LANE, _LINE, _PAIR)]
        self.line = function.line

    def start(self) -> None:
        """Write what all fragments share: each lane's line, and its pair of elements."""
        first = replace(self.function.instructions[0], guard=None)
        self._write(first, "mov.u32", _LANE, ptx.SpecialRegister("%laneid"))
        self._write(first, "shr.u32", _LINE, _LANE, ptx.Immediate(2))
        self._write(first, "and.b32", _PAIR, _LANE, ptx.Immediate(3))
        self._write(first, "shl.b32", _PAIR, _PAIR, ptx.Immediate(1))

    def _write(self, like: ptx.Instruction, name: str, *operands: ptx.Operand) -> None:
        opcode, *modifiers = name.split(".")
        self.made.append(
            replace(like, opcode=opcode, modifiers=tuple(modifiers), operands=operands)
        )

    def _register(self, kind: str) -> ptx.Register:
        name = f"%fragment_{kind}_{len(self.registers)}"
        self.registers.append(ptx.RegisterDeclaration(name, kind))
        return ptx.Register(name)

    def take(self, like: ptx.Instruction, fragment: _Fragment) -> None:
        """Write what becomes of one load or store of a fragment."""
        given, operands = like.modifiers, like.operands
        held = _held(like)
        assert isinstance(held, ptx.Vector)  # `_fragment` has seen to it
        place = operands[1 if "load" in given else 0]
        step = operands[2] if len(operands) > 2 else ptx.Immediate(fragment.length)
        rows = "shared" in given and "load" in given and fragment.size == 2
        if rows and not {"c", "d"} & {*given}:
            self._rows(like, fragment, place, step, held)
        else:
            self._pairs(like, fragment, place, step, held)

    def _pairs(
        self,
        like: ptx.Instruction,
        f: _Fragment,
        place: ptx.Operand,
        step: ptx.Operand,
        held: ptx.Vector,
    ) -> None:
        """Write the loads or stores by which each lane moves its pairs."""
        line, along = (_PAIR, _LINE) if f.turned else (_LINE, _PAIR)
        space = next((m for m in like.modifiers if m in ("global", "shared")), None)
        verb = "ld" if "load" in like.modifiers else "st"
        registers = list(held.elements)
        packed = f.size == 2
        per = 1 if f.turned or packed else 2
        done = 0
        for group in range(0, f.lines, _GROUP):
            for second in range(2 if f.turned else 1):
                base = self._address(like, place, step, line, group + second, along, f.size)
                for part in range(0, f.length, _GROUP):
                    at = ptx.Address(base, part * f.size)
                    taken = [registers[(done + i) % len(registers)] for i in range(per)]
                    done += per
                    value: ptx.Operand = ptx.Vector(tuple(taken)) if per > 1 else taken[0]
                    width = ["v2"] if per > 1 else []
                    name = ".".join(part for part in (verb, space, *width, "b32") if part)
                    self._write(like, name, *((value, at) if verb == "ld" else (at, value)))
        self._copies(like, registers, done, verb)

    def _rows(
        self,
        like: ptx.Instruction,
        f: _Fragment,
        place: ptx.Operand,
        step: ptx.Operand,
        held: ptx.Vector,
    ) -> None:
        """Write the matrix loads of a fragment in shared memory, whose lanes each name a row."""
        registers = list(held.elements)
        parts = f.lines * f.length // _GROUP**2
        at_once = min(parts, _MATRICES)
        line, along = self._register("b32"), self._register("b32")
        deep = _GROUP * (2 if f.lines > _GROUP else 1)
        self._write(like, "and.b32", line, _LANE, ptx.Immediate(deep - 1))
        self._write(like, "shr.u32", along, _LANE, ptx.Immediate(deep.bit_length() - 1))
        self._write(like, "shl.b32", along, along, ptx.Immediate(3))
        base: ptx.Register | None = None
        for done in range(0, parts, at_once):
            lines = done * _GROUP**2 // f.length if f.lines > deep else 0
            across = 0 if f.lines > deep else done * _GROUP // (deep // _GROUP)
            if base is None or lines:
                base = self._address(like, place, step, line, lines, along, f.size)
            taken = tuple(registers[(done + i) % len(registers)] for i in range(at_once))
            name = f"ldmatrix.sync.aligned.m8n8.x{at_once}.shared.b16"
            self._write(like, name, ptx.Vector(taken), ptx.Address(base, across * f.size))
        self._copies(like, registers, parts, "ld")

    def _copies(
        self, like: ptx.Instruction, registers: list[ptx.Operand], done: int, verb: str
    ) -> None:
        """Write the registers that hold nothing of their own: older machines held values twice."""
        if verb == "ld":
            for i, register in enumerate(registers[done:]):
                self._write(like, "mov.b32", register, registers[i % done])

    def _address(
        self,
        like: ptx.Instruction,
        place: ptx.Operand,
        step: ptx.Operand,
        line: ptx.Register,
        more: int,
        along: ptx.Register,
        size: int,
    ) -> ptx.Register:
        """Write the address of an element: of a line and so many more, and along it [B]."""
        base, offset = (place.base, place.offset) if isinstance(place, ptx.Address) else (place, 0)
        wide = isinstance(base, ptx.Register) and register_words(self.function, base.name) == 2
        if more:
            further = self._register("b32")
            self._write(like, "add.s32", further, line, ptx.Immediate(more))
            line = further
        index = self._register("b32")
        self._write(like, "mad.lo.s32", index, line, step, along)
        if not wide:
            bytes_, address = self._register("b32"), self._register("b32")
            start = self._register("b32")
            self._write(like, "mov.u32", start, base)
            self._write(
                like, "mad.lo.s32", bytes_, index, ptx.Immediate(size), ptx.Immediate(offset)
            )
            self._write(like, "add.s32", address, start, bytes_)
            return address
        product, address = self._register("b64"), self._register("b64")
        self._write(like, "mul.wide.s32", product, index, ptx.Immediate(size))
        self._write(like, "add.s64", address, base, product)
        if not offset:
            return address
        moved = self._register("b64")
        self._write(like, "add.s64", moved, address, ptx.Immediate(offset))
        return moved
