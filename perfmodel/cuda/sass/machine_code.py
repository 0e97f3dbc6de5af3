"""Machine code of NVIDIA GPUs from compute capability 8.0 on: when ptxas lets each be issued.

An instruction has 128 bits. Its low half begins with the opcode; its high half holds what ptxas
decided: the clocks until the warp may issue the next, and which of six barriers it waits for, sets
when its result is there, or sets when it has read its operands. Opcodes and fields read from
nvdisasm 13.0 of cubins for sm_90; the fields as in Jia et al., Dissecting the NVIDIA Volta GPU
Architecture via Microbenchmarking (2018), section 2.1.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

BYTES: Final = 16
"""Of an instruction."""
BARRIERS: Final = 6
_OPCODE: Final = 0x1FF
"""What does not say where an operand is: register, constant or immediate."""
_BRANCH: Final = 0x147
_WIDTHS: Final = (1, 1, 2, 2, 4, 8, 16, 16)
"""Bytes of a thread by what an instruction of memory says of them."""
_MOST: Final = 64 << 20
_TEXT: Final = b".text."


@dataclass(frozen=True, slots=True)
class MachineInstruction:
    """What an instruction is, and when it and what follows may be issued.

    Attributes
    ----------
    opcode : int
    guarded : bool
        Whether a predicate decides on it.
    stall : int
        Clocks until the warp may issue the next.
    waits : tuple of int
        Barriers that must be free.
    result, operands : int or None
        Barriers that it holds until its result is there, and until it has read its operands.
    target : int or None
        Of a branch, the place of where it goes.
    written : int
        Register of the result; of what has none, any.
    address : tuple of int
        Of what reads or writes memory, the register of the address and the bytes beyond it.
    width : int
        Of what reads or writes memory, bytes of a thread.
    """

    opcode: int
    guarded: bool
    stall: int
    waits: tuple[int, ...]
    result: int | None
    operands: int | None
    target: int | None
    written: int = -1
    address: tuple[int, int] = (-1, 0)
    width: int = 4


MachineCode = tuple[MachineInstruction, ...]


def decoded(code: bytes) -> MachineCode:
    """Return the instructions of a kernel's machine code."""
    pairs = struct.iter_unpack("<QQ", code[: len(code) // BYTES * BYTES])
    return tuple(_instruction(at, low, high) for at, (low, high) in enumerate(pairs))


def _instruction(at: int, low: int, high: int) -> MachineInstruction:
    opcode = low & _OPCODE
    target = None
    if opcode == _BRANCH:
        # In words of 4 bytes, from the next instruction on.
        words = low >> 16 & 0xFF | low >> 34 << 8 | (high & 0x3FFFF) << 38
        words -= 1 << 56 if words >> 55 else 0
        target = at + 1 + words * 4 // BYTES
    held = (high >> 46 & 7, high >> 49 & 7)
    result, operands = (b if b < BARRIERS else None for b in held)
    return MachineInstruction(
        opcode,
        low >> 12 & 0xF != 7,
        high >> 41 & 15,
        tuple(b for b in range(BARRIERS) if high >> 52 + b & 1),
        result,
        operands,
        target,
        low >> 16 & 0xFF,
        (low >> 24 & 0xFF, (low >> 40 ^ 1 << 23) - (1 << 23)),
        _WIDTHS[high >> 9 & 7],
    )


def read_cubin(data: bytes) -> Mapping[str, MachineCode]:
    """Return the machine code of each kernel of a cubin; nothing if it is none."""
    if len(data) > _MOST or data[:6] != b"\x7fELF\x02\x01":
        return {}
    try:
        (table,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        sections = [struct.unpack_from("<IIQQQQ", data, table + size * n) for n in range(count)]
        _, _, _, _, start, length = sections[names]
        labels = data[start : start + length]
        found = {}
        for name, _, _, _, offset, extent in sections:
            label = labels[name : labels.index(b"\0", name)]
            if label.startswith(_TEXT):
                kernel = label.removeprefix(_TEXT).decode()
                found[kernel] = decoded(data[offset : offset + extent])
    except (struct.error, ValueError, IndexError):
        return {}
    return found
