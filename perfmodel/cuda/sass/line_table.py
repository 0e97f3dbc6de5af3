"""Lines of PTX by address of machine code, from the line table that ptxas writes (-lineinfo).

The table is a program for a small machine with an address and a line, after DWARF Debugging
Information Format, version 2 (1993), section 6.2.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

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
