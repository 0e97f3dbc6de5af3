"""Matrix loads and stores of emulated warps: rows of 16 bytes of which lanes hold four each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.cuda.emulate.machine import LANES, Active, Machine, Report, Step, address_of
from perfmodel.cuda.parse.memory_parts import memory_parts
from perfmodel.cuda.parse.syntax import Instruction, Vector

Array = npt.NDArray[Any]


def matrix_access(
    machine: Machine, at: int, instruction: Instruction, report: Report
) -> Step | None:
    """Return what ldmatrix or stmatrix does: lane i holds 4 bytes of row i // 4 of each matrix.

    Transposed ones and those of 8-bit numbers are counted alike; what they load is not followed.
    """
    (part,) = memory_parts(instruction)
    loads = instruction.opcode == "ldmatrix"
    read = address_of(machine, instruction.operands[part.operand])
    held = instruction.operands[0 if loads else 1]
    elements = held.elements if isinstance(held, Vector) else (held,)
    known = "m8n8" in instruction.modifiers and "trans" not in instruction.modifiers
    word = np.dtype(np.uint32)
    values = [] if loads else [machine.each(e, word) for e in elements]
    writes = machine.setters(held)

    def places(active: Active, matrix: int) -> Array:
        """Return the address of each lane's 4 bytes of a matrix."""
        every = np.zeros(machine.lanes, dtype=np.uint64)
        every[active.lanes] = read(active)
        lane = active.lanes & LANES - 1
        row = (active.lanes & ~(LANES - 1)) + 8 * matrix + lane // 4
        return every[row] + (4 * (lane % 4)).astype(np.uint64)

    def run(active: Active) -> None:
        gives = (active.lanes & LANES - 1) < part.lanes
        report(at, read(active)[gives], active.lanes[gives], part.width)
        for matrix, write in enumerate(writes[: part.lanes // 8]):
            place = places(active, matrix) if known else None
            if loads:
                found = np.zeros((), dtype=word)
                if place is not None:
                    found = machine.memory.load(place, active.lanes, 4, "b32")
                write(found, active)
            elif place is not None:
                machine.memory.store(place, active.lanes, 4, values[matrix](active))

    return run
