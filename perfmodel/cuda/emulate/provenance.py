"""Provenance: which loads the addresses of others, the ends of loops and branches are made of.

Every definition of a register counts, in whatever order, and what was stored to shared or local
memory counts for every load from there. So an index that goes through a loop, a sum or shared
memory is traced to where it was read; which way a value was selected is no part of it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final, TypeVar

from perfmodel.cuda.emulate.counts import Count
from perfmodel.cuda.emulate.memory import Region
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.memory_parts import memory_parts, part_key
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import read_registers, registers_of, written_registers
from perfmodel.cuda.parse.syntax import SIZES, Address, Function, Instruction
from perfmodel.records import record

Sources = frozenset[int]
"""Places of loads in a function."""

Held = TypeVar("Held", int, str)

ELSEWHERE: Final = "elsewhere"
_NONE: Final[Sources] = frozenset()
_ON_CHIP: Final = "[shared and local memory]"
_BRANCHES: Final = frozenset({"bra", "brx"})


@record(slots=False)
class Provenance:
    """What decides where a function's threads go, and which addresses they form."""

    addresses: Mapping[int, Sources]  # by access in memory, the loads that its address is made of
    # By loop, the loads that the conditions on which it is left are made of.
    exits: Mapping[int, Sources]
    branches: Sources  # loads that other branches are made of

    @property
    def everything(self) -> Sources:
        """All loads that decide anything."""
        return self.branches.union(*self.addresses.values(), *self.exits.values())


@once
def provenance(function: Function, flow: ControlFlow) -> Provenance:
    """Return what decides where a function's threads go, and which addresses they form."""
    held = _held(function, partial(_made, function))
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


@once
def parameters_read(function: Function) -> Mapping[int, frozenset[str]]:
    """Return the parameters that each load's address may be made of, pointers or not.

    With `ELSEWHERE` among them where memory or another function may have made a part of it.
    """
    held = _held(function, _given)
    return {
        at: _of(held, registers_of(operand))
        for at, instruction in enumerate(function.instructions)
        for operand in instruction.operands[1:2]
        if isinstance(operand, Address) and memory_parts(instruction)
    }


def _given(held: Mapping[str, frozenset[str]], at: int, instruction: Instruction) -> frozenset[str]:
    """Return the parameters that what an instruction writes may be made of."""
    if instruction.opcode == "call" or any(p.kind != "store" for p in memory_parts(instruction)):
        wide = instruction.opcode == "call" or SIZES.get(instruction.type_name, 8) >= 8
        return frozenset({ELSEWHERE} if wide else ())  # no pointer is narrower
    places = (o.place for o in instruction.operands if isinstance(o, Address))
    names = frozenset(place[0] for place in places if place is not None)
    return _of(held, read_registers(instruction)) | names


def _held(
    function: Function,
    made_of: Callable[[Mapping[str, frozenset[Held]], int, Instruction], frozenset[Held]],
) -> dict[str, frozenset[Held]]:
    """Return what each register is made of, by what an instruction at a place makes `made_of`."""
    held: dict[str, frozenset[Held]] = {}
    changed = True
    while changed:
        changed = False
        for at, instruction in enumerate(function.instructions):
            made = made_of(held, at, instruction)
            names: tuple[str, ...] = written_registers(instruction)
            if any(p.kind != "load" and p.space != "global" for p in memory_parts(instruction)):
                names = (*names, _ON_CHIP)
            for name in names:
                before = held.get(name, frozenset())
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


def _of(held: Mapping[str, frozenset[Held]], names: Iterable[str]) -> frozenset[Held]:
    return frozenset().union(*(held.get(name, ()) for name in names))


_WAYS: Final = frozenset({"bra", "brx", "call", "exit", "ret", "trap"})


def mark_deciding(
    function: Function, counts: Mapping[int, Count], regions: Sequence[Region]
) -> None:
    """Note of each buffer whether its content decides anything.

    Of the others no number matters: the same instructions run and the same sectors move.
    """
    deciding = _deciding_of(function)(tuple((at, count.region) for at, count in counts.items()))
    for number, region in enumerate(regions):
        region.decides = number in deciding


@once
def _deciding_of(
    function: Function,
) -> Callable[[tuple[tuple[int, int], ...]], frozenset[int]]:
    """Return what gives the regions by where accesses went: launches seldom differ in that."""
    return lru_cache(maxsize=64)(partial(_deciding, function))


def _deciding(function: Function, went: tuple[tuple[int, int], ...]) -> frozenset[int]:
    """Return the numbers of the buffers that a branch or an address is computed from.

    Through registers, and through what was stored before in shared or local memory (-1, -2) or in
    another buffer. Which way a value was selected is no branch.
    """
    region_of = dict(went)
    needed = {r for i in function.instructions for r in _decides(i)}
    regions: set[int] = set()
    before = (-1, -1)
    while before != (len(needed), len(regions)):
        before = len(needed), len(regions)
        for at, instruction in enumerate(function.instructions):
            parts = memory_parts(instruction)
            each = [(region_of.get(part_key(at, n)), p.kind) for n, p in enumerate(parts)]
            read = {r for r, kind in each if r is not None and kind != "store"}
            written = {r for r, kind in each if r is not None and kind != "load"}
            wanted = not needed.isdisjoint(written_registers(instruction))
            if wanted or not regions.isdisjoint(written):
                needed |= read_registers(instruction)
                regions |= read
    return frozenset(regions)


def _decides(instruction: Instruction) -> frozenset[str]:
    """Return the registers by which an instruction decides where to go, or what to move."""
    if instruction.opcode in _WAYS:
        return read_registers(instruction)
    if not memory_parts(instruction):
        return frozenset()
    guard = instruction.guard
    found = set() if guard is None else {guard.register.name}
    for operand in instruction.operands:
        if isinstance(operand, Address):
            found.update(registers_of(operand))
    return frozenset(found)
