"""Sums of floats that ptxas contracts with a product: rounded once, as the hardware does."""

from __future__ import annotations

from typing import Final

import numpy as np

from perfmodel.cuda.emulate.machine import Active, Machine, Step
from perfmodel.cuda.emulate.values import dtype_of, fused
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.registers import written_registers
from perfmodel.cuda.parse.syntax import Function, Instruction, Register
from perfmodel.cuda.sass.def_use import def_use
from perfmodel.cuda.sass.taken_in import is_taken_in

_KINDS: Final = ("f32", "f64")


def contracted(function: Function, flow: ControlFlow) -> dict[int, Instruction]:
    """Return the products that sums and differences take in, by the place of the sum.

    Those of the same block, whose factors are still there.
    """
    known = def_use(function, flow)
    found = {}
    for at, i in enumerate(function.instructions):
        if i.opcode not in ("add", "sub") or i.type_name not in _KINDS or i.guard is not None:
            continue
        for operand in reversed(i.operands[1:]):
            place = known.maker(operand)
            if place is None or function.instructions[place].opcode != "mul":
                continue
            if flow.block_of[place] != flow.block_of[at] or not is_taken_in(known, place):
                continue
            between = function.instructions[place + 1 : at]
            changed = {r for other in between for r in written_registers(other)}
            product = function.instructions[place]
            if not any(isinstance(o, Register) and o.name in changed for o in product.operands):
                found[at] = product
            break
    return found


def contracted_step(machine: Machine, instruction: Instruction, product: Instruction) -> Step:
    """Return what a sum with the product that it takes in does."""
    dtype = dtype_of(instruction.type_name) or np.dtype(np.float32)
    target, first, second = instruction.operands[:3]
    last = second == product.operands[0]
    factors = [machine.getter(o, dtype) for o in product.operands[1:3]]
    other = machine.getter(first if last else second, dtype)
    subtracts = instruction.opcode == "sub"
    name = target.name if isinstance(target, Register) else ""

    def run(active: Active) -> None:
        a, b, c = (*(get(active) for get in factors), other(active))
        if subtracts and last:
            a = np.negative(a)
        elif subtracts:
            c = np.negative(c)
        machine.write(name, fused(a, b, c), active)

    return run
