"""Buffers whose content decides what threads do: where they branch, and which addresses they form.

Of the others no number matters: the same instructions run and the same sectors move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from perfmodel.cuda.emulate.counts import Count
from perfmodel.cuda.emulate.memory import Region
from perfmodel.cuda.parse.memory_parts import memory_parts, part_key
from perfmodel.cuda.parse.opcodes import registers_of
from perfmodel.cuda.parse.registers import read_registers, written_registers
from perfmodel.cuda.parse.syntax import Address, Function, Instruction

_BRANCHES: Final = frozenset({"bra", "brx", "call", "exit", "ret", "trap"})


def mark_deciding(
    function: Function, counts: Mapping[int, Count], regions: Sequence[Region]
) -> None:
    """Note of each buffer whether its content decides anything; see `deciding_regions`."""
    deciding = deciding_regions(function, counts)
    for number, region in enumerate(regions):
        region.decides = number in deciding


def deciding_regions(function: Function, counts: Mapping[int, Count]) -> frozenset[int]:
    """Return the numbers of the buffers that a branch or an address is computed from.

    Through registers, and through what was stored before in shared or local memory (-1, -2) or in
    another buffer. Which way a value was selected is no branch.
    """
    needed = {r for i in function.instructions for r in _decides(i)}
    regions: set[int] = set()
    before = (-1, -1)
    while before != (len(needed), len(regions)):
        before = len(needed), len(regions)
        for at, instruction in enumerate(function.instructions):
            parts = memory_parts(instruction)
            met = [counts.get(part_key(at, number)) for number in range(len(parts))]
            kinds = [p.kind for p in parts]
            read = {c.region for c, k in zip(met, kinds, strict=True) if c and k != "store"}
            written = {c.region for c, k in zip(met, kinds, strict=True) if c and k != "load"}
            wanted = not needed.isdisjoint(written_registers(instruction))
            if wanted or not regions.isdisjoint(written):
                needed |= read_registers(instruction)
                regions |= read
    return frozenset(regions)


def _decides(instruction: Instruction) -> frozenset[str]:
    """Return the registers by which an instruction decides where to go, or what to move."""
    if instruction.opcode in _BRANCHES:
        return read_registers(instruction)
    if not memory_parts(instruction):
        return frozenset()
    guard = instruction.guard
    found = set() if guard is None else {guard.register.name}
    for operand in instruction.operands:
        if isinstance(operand, Address):
            found.update(registers_of(operand))
    return frozenset(found)
