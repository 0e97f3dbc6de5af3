"""Constant memory that a kernel reads: bytes that its first blocks have to fetch."""

from __future__ import annotations

from collections.abc import Mapping

from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.registers import read_registers, written_registers
from perfmodel.cuda.parse.syntax import SIZES, Function, Module, Symbol, leaves


def constant_bytes(module: Module, function: Function) -> float:
    """Return the bytes of the variables in constant memory that a function names [B]."""
    operands = (o for i in function.instructions for each in i.operands for o in leaves(each))
    named = {o.name for o in operands if isinstance(o, Symbol)}
    every = (*module.variables, *function.variables)
    return float(sum(v.size or 0 for v in every if v.space == "const" and v.name in named))


def constants_read(
    function: Function, flow: ControlFlow, found: Followed, trips: Mapping[str, float]
) -> float:
    """Return the bytes of constant memory that a warp waits for, were all of them different [B].

    Loads of one block of instructions are on their way together, so one of them counts; words at
    fixed places are operands of instructions, which wait in order.
    """
    read = 0.0
    for run in found.blocks:
        block = flow.blocks[run.block]
        moving = 0.0
        for at in range(block.start, block.stop):
            i = function.instructions[at]
            if i.opcode == "ld" and "const" in i.modifiers:
                width = SIZES.get(i.type_name, 4) * len(written_registers(i))
                if read_registers(i):
                    moving = max(moving, float(width))
                else:
                    read += width
        read += moving * found.iterations(run.loop, trips)
    return read
