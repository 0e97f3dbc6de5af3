"""Which parameters of a kernel are pointers: PTX may mark them, or leave it to their use."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.memory_parts import memory_parts
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import written_registers

POINTER_BYTES: Final = 8
_MOST_STRUCTURES: Final = 64
_LARGEST: Final = 32764
"""[B] of all parameters of a kernel (PTX ISA from version 8.1 on; 4352 before)."""

Place: TypeAlias = tuple[str, int]
"""A parameter and an offset in it [B]."""


@once
def pointer_parameters(kernel: ptx.Function) -> frozenset[str]:
    """Return the names of the parameters that are pointers.

    Those marked ``.ptr``; those whose value, as it is or with a constant added, becomes an address
    in global memory; and, where an access has none of these in its address, those added up in it.
    """
    wide = [p for p in kernel.parameters if p.size == POINTER_BYTES and p.count is None]
    marked = [(p.name, 0) for p in wide if p.pointer]
    found = _pointers(kernel, [(p.name, 0) for p in wide], marked)
    return frozenset(name for name, _ in found)


def pointer_fields(kernel: ptx.Function) -> dict[str, tuple[int, ...]]:
    """Return where structures passed by value hold pointers [B], as far as their use shows it."""
    structures = [p for p in kernel.parameters if p.count is not None]
    places = [
        (p.name, at)
        for p in structures[:_MOST_STRUCTURES]
        for at in range(0, min(p.size, _LARGEST) - POINTER_BYTES + 1, POINTER_BYTES)
    ]
    found: dict[str, list[int]] = {}
    if places:
        for name, at in sorted(_pointers(kernel, places, [])):
            found.setdefault(name, []).append(at)
    return {name: tuple(offsets) for name, offsets in found.items()}


@once
def parameter_reads(kernel: ptx.Function, parameter: str) -> list[tuple[int, str]]:
    """Return what is read of a parameter: offsets [B] and types, in order, none overlapping."""
    found: dict[int, str] = {}
    for instruction in kernel.instructions:
        where = instruction.operands[1] if len(instruction.operands) > 1 else None
        place = where.place if isinstance(where, ptx.Address) else None
        if instruction.opcode != "ld" or place is None or place[0] != parameter:
            continue
        kind = instruction.modifiers[-1]
        start = place[1]
        for i in range(len(written_registers(instruction))):
            at = start + i * ptx.SIZES.get(kind, 4)
            if ptx.SIZES.get(kind, 4) > ptx.SIZES.get(found.get(at, ""), 0):
                found[at] = kind
    kept: list[tuple[int, str]] = []
    for at in sorted(found):
        if not kept or at >= kept[-1][0] + ptx.SIZES.get(kept[-1][1], 4):
            kept.append((at, found[at]))
    return kept


def _pointers(
    kernel: ptx.Function, places: Sequence[Place], marked: Sequence[Place]
) -> frozenset[Place]:
    """Return which places in parameters hold pointers to global memory."""
    bits = {place: 1 << i for i, place in enumerate(places)}
    held: dict[str, int] = {}
    same: dict[str, list[str]] = {}
    added: dict[str, list[str]] = {}
    for instruction in kernel.instructions:
        _pass_on(instruction, bits, held, same, added)
    exact, summed = _spread(held, same), _spread(held, added)
    bases = [base for instruction in kernel.instructions for base in _bases(instruction)]
    found = sum(bits[place] for place in marked)
    for base in bases:
        found |= exact.get(base, 0)
    for base in bases:
        if not summed.get(base, 0) & found:
            found |= summed.get(base, 0)
    return frozenset(place for place, bit in bits.items() if found & bit)


def _spread(held: Mapping[str, int], users: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the places, a bit each, that reach each register from those that are loaded."""
    reached = dict(held)
    waiting = list(held)
    while waiting:
        bits = reached[name := waiting.pop()]
        for target in users.get(name, ()):
            if bits & ~reached.get(target, 0):
                reached[target] = reached.get(target, 0) | bits
                waiting.append(target)
    return reached


def _pass_on(
    instruction: ptx.Instruction,
    bits: Mapping[Place, int],
    held: dict[str, int],
    same: dict[str, list[str]],
    added: dict[str, list[str]],
) -> None:
    """Note which places an instruction loads, and which registers it passes on.

    As they are or with a constant added (`same`), or as one of a sum (`added`); by what is read.
    """
    targets = written_registers(instruction)
    operands = instruction.operands[1:]
    where = operands[0] if operands else None
    if instruction.opcode == "ld" and instruction.space == "param":
        parameter, start = (isinstance(where, ptx.Address) and where.place) or ("", 0)
        for i, name in enumerate(targets):
            bit = bits.get((parameter, start + i * POINTER_BYTES), 0)
            if bit:
                held[name] = held.get(name, 0) | bit
        return
    names = [o.name for o in operands if isinstance(o, ptx.Register)]
    as_is = instruction.opcode in ("mov", "cvta", "selp")
    if instruction.opcode in ("add", "sub"):
        as_is = any(isinstance(o, ptx.Immediate) for o in operands)
    elif instruction.opcode in ("mad", "fma"):
        names = [o.name for o in operands[2:3] if isinstance(o, ptx.Register)]
    elif not as_is:
        return
    for name in names if targets else ():
        added.setdefault(name, []).append(targets[0])
        if as_is:
            same.setdefault(name, []).append(targets[0])


def _bases(instruction: ptx.Instruction) -> list[str]:
    """Return registers that are addresses in global memory: of accesses, or converted to such."""
    if instruction.opcode == "cvta":
        source = instruction.operands[1] if len(instruction.operands) > 1 else None
        to_global = instruction.modifiers[:2] == ("to", "global")
        return [source.name] if to_global and isinstance(source, ptx.Register) else []
    if instruction.opcode == "call":
        return []
    parts = memory_parts(instruction)
    places = {p.operand for p in parts if p.space in ("global", None)}
    if not parts and instruction.space in ("global", None):
        places = set(range(len(instruction.operands)))  # prefetches and others
    chosen = [o for i, o in enumerate(instruction.operands) if i in places]
    bases = [o.base for o in chosen if isinstance(o, ptx.Address)]
    return [base.name for base in bases if isinstance(base, ptx.Register)]
