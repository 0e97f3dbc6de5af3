"""Machine code of NVIDIA GPUs from compute capability 8.0 on, decoded, and its control flow.

An instruction has 128 bits. Its low half begins with the opcode; its high half holds what ptxas
decided: the clocks until the warp may issue the next, and which of six barriers it waits for, sets
when its result is there, or sets when it has read its operands. Opcodes and fields read from
nvdisasm 13.0 of cubins for sm_90; the fields as in Jia et al., Dissecting the NVIDIA Volta GPU
Architecture via Microbenchmarking (2018), section 2.1.

The table of PTX lines that ptxas writes (-lineinfo) is a program for a small machine with an
address and a line, after DWARF Debugging Information Format, version 2 (1993), section 6.2.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow, graph
from perfmodel.cuda.parse.once import once
from perfmodel.records import record

BYTES: Final = 16
"""Of an instruction."""
BARRIERS: Final = 6
_OPCODE: Final = 0x1FF
"""What does not say where an operand is: register, constant or immediate."""
BRANCH: Final = 0x147
CALL: Final = 0x144
TABLE_BRANCH: Final = 0x149
ENDS: Final = frozenset({0x14D, 0x150})
"""EXIT and RET."""
_LOCAL: Final = frozenset({0x180, 0x183, 0x185, 0x187})
"""LD, LDL, ST and STL: what may go to local memory."""
NOP: Final = 0x118
_ALWAYS: Final = 0x7
_NEVER: Final = 0xF
"""Guards PT and !PT: the latter has what stands before LDGSTS (@!PT LDS RZ, [RZ])."""
_WAITS_FOR_GROUPS: Final = 0x11A
"""DEPBAR.LE: waits until a barrier holds so many groups of copies at most."""
_PLAIN_BRANCH: Final = 0x947
"""BRA to a place that the instruction holds, without .DIV or .U."""
_WIDTHS: Final = (1, 1, 2, 2, 4, 8, 16, 16)
"""Bytes of a thread by what an instruction of memory says of them."""
_INTEGER_ATOMICS: Final = frozenset({0x18A, 0x18B, 0x18C, 0x18D, 0x18E, 0x1A8, 0x1A9})
"""ATOM, ATOM.CAS, ATOMS, ATOMS.CAS, REDG, ATOMG and ATOMG.CAS."""
_FLOAT_ATOMICS: Final = frozenset({0x1A3, 0x1A6})
"""ATOMG and REDG of floating point."""
_INTEGER_WIDTHS: Final = (4, 4, 8, 8, 4, 4, 4, 4)
_FLOAT_WIDTHS: Final = (4, 4, 4, 4, 4, 4, 4, 8)
"""The same of atomics, by what they say of their type: as nvcc 13.0 compiles them."""
_MOST: Final = 64 << 20
_TEXT: Final = ".text."
_LINES: Final = ".nv_debug_line_sass"
"""Of which line of PTX each instruction is made, with ptxas's -lineinfo."""


@record
class MachineInstruction:
    """What an instruction is, and when it and what follows may be issued."""

    opcode: int
    guarded: bool  # whether a predicate decides on it
    stall: int  # clocks until the warp may issue the next
    waits: tuple[int, ...]  # barriers that must be free
    # Barriers that it holds until its result is there, and until it has read its operands.
    result: int | None
    operands: int | None
    target: int | None  # of a branch or a call, the place of where it goes
    written: int = -1  # register of the result; of what has none, any
    # Of what reads or writes memory, the register of the address and the bytes beyond it.
    address: tuple[int, int] = (-1, 0)
    width: int = 4  # of what reads or writes memory, bytes of a thread
    conditional: bool = False  # of a branch, whether the warp may go on behind it
    line: int | None = None  # of the PTX that it is made of, if that is known


MachineCode = tuple[MachineInstruction, ...]


def without_local_memory(code: MachineCode) -> bool:
    """Say whether ptxas is known to have left no local memory: all arrays of it in registers."""
    return bool(code) and all(i.opcode not in _LOCAL for i in code)


def decoded(code: bytes, sm: int = 90) -> MachineCode:
    """Return the instructions of a kernel's machine code for sm_80, 86, 89, 90 ..."""
    pairs = struct.iter_unpack("<QQ", code[: len(code) // BYTES * BYTES])
    return tuple(_instruction(at, low, high, sm) for at, (low, high) in enumerate(pairs))


def _instruction(at: int, low: int, high: int, sm: int) -> MachineInstruction:
    guard = low >> 12 & 0xF
    opcode = low & _OPCODE if guard != _NEVER else NOP
    target = None
    guarded = guard != _ALWAYS
    conditional = guarded
    if opcode == BRANCH:
        conditional = guarded or high >> 23 & 0xF != 7 or low & 0xFFF != _PLAIN_BRANCH
    # BRA.DIV leaves, where a warp has diverged, for code lane after lane: not the usual way.
    diverged = opcode == BRANCH and high >> 27 & 1
    if opcode in (BRANCH, CALL) and not diverged:
        target = at + 1 + _moved_by(low, high, sm) // BYTES
    waits = tuple(b for b in range(BARRIERS) if high >> 52 + b & 1)
    if opcode == _WAITS_FOR_GROUPS and low >> 38 & 0x3F == 0:
        waits = (*waits, low >> 44 & 7)
    held = (high >> 46 & 7, high >> 49 & 7)
    result, operands = (b if b < BARRIERS else None for b in held)
    return MachineInstruction(
        opcode,
        guarded,
        high >> 41 & 15,
        waits,
        result,
        operands,
        target,
        low >> 16 & 0xFF,
        (low >> 24 & 0xFF, (low >> 40 ^ 1 << 23) - (1 << 23)),
        _width(opcode, high >> 9 & 7),
        conditional,
    )


def _width(opcode: int, kind: int) -> int:
    """Return the bytes of a thread that an instruction of memory moves, of the kind it says."""
    if opcode in _INTEGER_ATOMICS:
        return _INTEGER_WIDTHS[kind]
    return _FLOAT_WIDTHS[kind] if opcode in _FLOAT_ATOMICS else _WIDTHS[kind]


def _moved_by(low: int, high: int, sm: int) -> int:
    """Return the bytes that a branch or a call leads away from the next instruction."""
    if sm < 90:
        offset, bits = low >> 32 | (high & 0x3FFFF) << 32, 50
        return offset - (1 << bits) if offset >> bits - 1 else offset
    words = low >> 16 & 0xFF | low >> 34 << 8 | (high & 0x3FFFF) << 38
    return 4 * (words - (1 << 56) if words >> 55 else words)


def _architecture(data: bytes) -> int:
    """Return the SM version of a cubin, as its flags have it: since CUDA 13 in the second byte."""
    flags: int = struct.unpack_from("<I", data, 48)[0]
    return flags >> 8 & 0xFF if data[8] >= 8 else flags & 0xFF


def read_cubin(data: bytes) -> Mapping[str, MachineCode]:
    """Return the machine code of each kernel of a cubin; nothing if it is none."""
    if len(data) > _MOST or data[:6] != b"\x7fELF\x02\x01":
        return {}
    try:
        sections, sm = _sections(data), _architecture(data)
        found = {
            s.name.removeprefix(_TEXT): decoded(s.content(data), sm)
            for s in sections
            if s.name.startswith(_TEXT)
        }
        lines = _lines(data, sections)
    except (struct.error, ValueError, IndexError):
        return {}
    return {name: _with_lines(code, lines.get(_TEXT + name, {})) for name, code in found.items()}


@record
class _Section:
    """Of an ELF file, as its table of sections has it."""

    name: str
    offset: int
    extent: int
    link: int

    def content(self, data: bytes) -> bytes:
        return data[self.offset : self.offset + self.extent]


def _sections(data: bytes) -> list[_Section]:
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    entries = [struct.unpack_from("<IIQQQQI", data, table + size * n) for n in range(count)]
    _, _, _, _, start, length, _ = entries[names]
    labels = data[start : start + length]

    def label(at: int) -> str:
        return labels[at : labels.index(b"\0", at)].decode()

    return [_Section(label(e[0]), e[4], e[5], e[6]) for e in entries]


def _lines(data: bytes, sections: Sequence[_Section]) -> Mapping[str, Mapping[int, int]]:
    """Return the line of PTX of each byte where an instruction begins, by section of code."""
    named = {s.name: s for s in sections}
    if _LINES not in named:
        return {}
    moved: Relocations = {}
    for kind in (".rel", ".rela"):
        table = named.get(kind + _LINES)
        if table is None:
            continue
        symbols = sections[table.link]
        for offset, info, *_ in struct.iter_unpack(
            "<QQ" if kind == ".rel" else "<QQq", table.content(data)
        ):
            (at,) = struct.unpack_from("<H", data, symbols.offset + 24 * (info >> 32) + 6)
            moved[offset] = sections[at].name
    return lines_by_section(named[_LINES].content(data), moved)


def _with_lines(code: MachineCode, lines: Mapping[int, int]) -> MachineCode:
    """Return the code with lines; where none is stated, that of the instruction before."""
    found = []
    line = None
    for at, instruction in enumerate(code):
        line = lines.get(at * BYTES, line)
        found.append(replace(instruction, line=line))
    return tuple(found)


@once
def machine_flow(code: MachineCode) -> ControlFlow:
    """Return the control flow of a kernel's code, up to the branch to itself that ends it.

    A call comes back. A table of branches leads to all blocks that nothing else leads to, but for
    functions; these are not come to.
    """
    end = next(
        (at for at, i in enumerate(code) if i.opcode == BRANCH and i.target == at), len(code)
    )
    starts = {0}
    for at, i in enumerate(code[:end]):
        if i.opcode == BRANCH and i.target is not None:
            starts |= {at + 1, i.target}
        elif i.opcode in ENDS or i.opcode == TABLE_BRANCH:
            starts.add(at + 1)
    ordered = sorted(at for at in starts if at < end)
    number = {at: n for n, at in enumerate(ordered)}
    ranges = list(zip(ordered, [*ordered[1:], end], strict=True))
    following = [_following(code, stop, number, len(ranges)) for _, stop in ranges]
    led_to = {0, *(n for ways in following for n in ways)}
    functions = {number.get(i.target) for i in code[:end] if i.opcode == CALL and i.target}
    others = tuple(n for n in range(len(ranges)) if n not in led_to and n not in functions)
    for n, (_, stop) in enumerate(ranges):
        if code[stop - 1].opcode == TABLE_BRANCH:
            following[n] = others
    return graph("machine code", ranges, following)


def _following(
    code: MachineCode, stop: int, number: dict[int, int], virtual_exit: int
) -> tuple[int, ...]:
    """Return the blocks that may follow one that ends before `stop`."""
    last = code[stop - 1]
    behind = number.get(stop, virtual_exit)
    if last.opcode == BRANCH and last.target is not None:
        target = number.get(last.target, virtual_exit)
        return tuple(dict.fromkeys((target, behind))) if last.conditional else (target,)
    if last.opcode in ENDS:
        return tuple(dict.fromkeys((virtual_exit, behind))) if last.guarded else (virtual_exit,)
    return (virtual_exit,) if last.opcode == TABLE_BRANCH else (behind,)


Relocations = dict[int, str]
"""By place in the table where an address stands: the section of code that it is in."""

_END_SEQUENCE, _SET_ADDRESS = 1, 2
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 8, 9


def lines_by_section(table: bytes, moved: Mapping[int, str]) -> dict[str, dict[int, int]]:
    """Return the line that begins at each address, by section of code.

    `moved`: see `Relocations`. Raises `IndexError` or `struct.error` if the table is cut off.
    """
    found: dict[str, dict[int, int]] = {}
    at = 0
    while at + 4 <= len(table):
        (length,) = struct.unpack_from("<I", table, at)
        _run(_Reader(table, at), at + 4 + length, moved, found)
        at += 4 + length
    return found


class _Reader:
    """Reads a table from where its header begins."""

    def __init__(self, table: bytes, begin: int) -> None:
        self.table = table
        (header,) = struct.unpack_from("<I", table, begin + 6)
        self.step = table[begin + 10]
        (self.line_base,) = struct.unpack_from("<b", table, begin + 12)
        self.line_range, self.first = table[begin + 13], table[begin + 14]
        self.operands = table[begin + 15 : begin + 15 + self.first - 1]
        self.at = begin + 10 + int(header)

    def byte(self) -> int:
        self.at += 1
        return self.table[self.at - 1]

    def number(self, signed: bool = False) -> int:
        """Return a number of 7 bits a byte (LEB128)."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift if signed and byte & 0x40 else 0)

    def extended(self) -> tuple[int, int]:
        """Return which extended opcode comes, and where its operand stands."""
        size = self.number()
        place = self.at + 1
        self.at += size
        return self.table[place - 1], place

    def advance(self, opcode: int) -> int:
        """Return by how much a standard opcode moves the address on."""
        if opcode == _ADVANCE_PC:
            return self.number() * self.step
        if opcode == _CONST_ADD_PC:
            return (255 - self.first) // self.line_range * self.step
        if opcode == _FIXED_ADVANCE_PC:
            (more,) = struct.unpack_from("<H", self.table, self.at)
            self.at += 2
            return int(more)
        for _ in range(self.operands[opcode - 1]):
            self.number()
        return 0


def _run(
    reader: _Reader, end: int, moved: Mapping[int, str], found: dict[str, dict[int, int]]
) -> None:
    """Run the program of one table, up to its end."""
    address, line, section = 0, 1, ""
    while reader.at < end:
        opcode = reader.byte()
        if opcode >= reader.first:
            more, lines = divmod(opcode - reader.first, reader.line_range)
            address += more * reader.step
            line += reader.line_base + lines
        elif opcode == _ADVANCE_LINE:
            line += reader.number(signed=True)
        elif opcode == 0:
            what, place = reader.extended()
            if what == _SET_ADDRESS:
                (address,) = struct.unpack_from("<Q", reader.table, place)
                section = moved.get(place, "")
            elif what == _END_SEQUENCE:
                address, line, section = 0, 1, ""
        else:
            address += reader.advance(opcode)
        if opcode >= reader.first or opcode == _COPY:
            found.setdefault(section, {})[address] = line
