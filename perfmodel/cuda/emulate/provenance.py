"""Provenance: which loads the addresses of others, the ends of loops and branches are made of.

Every definition of a register counts, in whatever order, and what was stored to shared or local
memory counts for every load from there. So an index that goes through a loop, a sum or shared
memory is traced to where it was read; which way a value was selected is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.memory_parts import memory_parts
from perfmodel.cuda.parse.opcodes import registers_of
from perfmodel.cuda.parse.registers import read_registers, written_registers
from perfmodel.cuda.parse.syntax import Address, Function, Instruction

Sources = frozenset[int]
"""Places of loads in a function."""

_NONE: Final[Sources] = frozenset()
_ON_CHIP: Final = "[shared and local memory]"
_BRANCHES: Final = frozenset({"bra", "brx"})


@dataclass(frozen=True)
class Provenance:
    """What decides where a function's threads go, and which addresses they form."""

    addresses: Mapping[int, Sources]
    """By access in memory, the loads that its address is made of."""
    exits: Mapping[int, Sources]
    """By loop, the loads that the conditions on which it is left are made of."""
    branches: Sources
    """Loads that other branches are made of."""

    @property
    def everything(self) -> Sources:
        """All loads that decide anything."""
        return self.branches.union(*self.addresses.values(), *self.exits.values())


def provenance(function: Function, flow: ControlFlow) -> Provenance:
    """Return what decides where a function's threads go, and which addresses they form."""
    held = _held(function)
    addresses: dict[int, Sources] = {}
    for at, instruction in enumerate(function.instructions):
        for part in memory_parts(instruction):
            operand = instruction.operands[part.operand]
            if isinstance(operand, Address):
                found = _of(held, registers_of(operand))
                addresses[at] = addresses.get(at, _NONE) | found
    exits: dict[int, Sources] = {}
    leaving: set[int] = set()
    for number, loop in enumerate(flow.loops):
        exits[number] = _NONE
        for block, _ in loop.exits:
            last = flow.blocks[block].stop - 1
            leaving.add(last)
            exits[number] |= _guarded(held, function.instructions[last])
    others = (
        _guarded(held, i) | (_of(held, read_registers(i)) if i.opcode == "brx" else _NONE)
        for at, i in enumerate(function.instructions)
        if at not in leaving and (i.opcode in _BRANCHES or (i.guard and memory_parts(i)))
    )
    return Provenance(addresses, exits, _NONE.union(*others))


def _held(function: Function) -> dict[str, Sources]:
    """Return the loads that each register is made of."""
    held: dict[str, Sources] = {}
    changed = True
    while changed:
        changed = False
        for at, instruction in enumerate(function.instructions):
            made = _made(function, held, at, instruction)
            names: tuple[str, ...] = written_registers(instruction)
            if any(p.kind != "load" and p.space != "global" for p in memory_parts(instruction)):
                names = (*names, _ON_CHIP)
            for name in names:
                before = held.get(name, _NONE)
                if not made <= before:
                    held[name] = before | made
                    changed = True
    return held


def _made(
    function: Function, held: Mapping[str, Sources], at: int, instruction: Instruction
) -> Sources:
    """Return the loads that what an instruction writes is made of."""
    parts = memory_parts(instruction)
    reads = [p for p in parts if p.kind != "store"]
    if reads:
        own = frozenset({at}) if any(p.space in (None, "global") for p in reads) else _NONE
        near = any(p.space != "global" for p in reads)
        return own | (held.get(_ON_CHIP, _NONE) if near else _NONE)
    names = read_registers(instruction)
    if parts:  # a store: what it keeps, not where
        where = (o for o in instruction.operands if isinstance(o, Address))
        names = names.difference(*(registers_of(o) for o in where))
    if instruction.opcode == "selp":
        names = frozenset(n for n in names if function.register_type(n) != "pred")
    return _of(held, names)


def _guarded(held: Mapping[str, Sources], instruction: Instruction) -> Sources:
    guard = instruction.guard
    return _NONE if guard is None else held.get(guard.register.name, _NONE)


def _of(held: Mapping[str, Sources], names: Iterable[str]) -> Sources:
    found: Sources = _NONE
    for name in names:
        found |= held.get(name, _NONE)
    return found
