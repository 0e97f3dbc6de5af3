"""Sums of floats that ptxas contracts with a product: rounded once, as the hardware does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from perfmodel.cuda.emulate.machine import Active, Machine, Step
from perfmodel.cuda.emulate.values import dtype_of, fused
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.opcodes import read_registers, written_registers
from perfmodel.cuda.parse.syntax import Function, Instruction, Register

_KINDS: Final = ("f32", "f64")
_ROUNDINGS: Final = frozenset({"rn", "rz", "rm", "rp", "sat"})


def contracted(function: Function, flow: ControlFlow) -> dict[int, Instruction]:
    """Return the products that sums and differences take in, by the place of the sum.

    Sums and products that state no rounding are contracted (FFMA, DFMA), where all users of the
    product are such sums; of a sum of two products only the last is (machine code of sm_90). Only
    within a block, with factors that are still there.
    """
    instructions = function.instructions
    makers, users = _places(function, written_registers), _places(function, read_registers)

    def product(at: int) -> int | None:
        """Return the last operand of a sum that one product of its block makes."""
        for operand in reversed(instructions[at].operands[1:]):
            places = makers.get(operand.name, ()) if isinstance(operand, Register) else ()
            if len(places) == 1 and instructions[places[0]].opcode == "mul":
                return places[0] if flow.block_of[places[0]] == flow.block_of[at] else None
        return None

    found = {}
    for at, i in enumerate(instructions):
        if i.opcode not in ("add", "sub") or i.type_name not in _KINDS or i.guard is not None:
            continue
        place = product(at)
        if place is None:
            continue
        made = instructions[place]
        sums = [u for r in written_registers(made) for u in users.get(r, ())]
        joined = all(_sums_like(instructions[u], made) and product(u) == place for u in sums)
        if joined and _still_there(instructions[place:at]):
            found[at] = made
    return found


def _places(
    function: Function, registers: Callable[[Instruction], Iterable[str]]
) -> dict[str, list[int]]:
    """Return the instructions that have each register."""
    found: dict[str, list[int]] = {}
    for at, i in enumerate(function.instructions):
        for register in registers(i):
            found.setdefault(register, []).append(at)
    return found


def _still_there(instructions: Sequence[Instruction]) -> bool:
    """Say whether nothing that the first of some instructions reads or writes is changed later."""
    made, *others = instructions
    changed = {r for i in others for r in written_registers(i)}
    return changed.isdisjoint({*read_registers(made), *written_registers(made)})


def _sums_like(user: Instruction, product: Instruction) -> bool:
    rounds = not _ROUNDINGS.isdisjoint(product.modifiers)
    return not rounds and user.opcode in ("add", "sub") and user.modifiers == product.modifiers


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
