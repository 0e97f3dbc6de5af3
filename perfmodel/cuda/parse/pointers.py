"""Which parameters of a kernel are pointers: PTX may mark them, or leave it to their use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.memory_parts import memory_parts
from perfmodel.cuda.parse.opcodes import written

POINTER_BYTES: Final = 8
_MOST_STRUCTURES: Final = 64
_LARGEST: Final = 4096
"""[B] of all parameters of a kernel (PTX ISA before version 8.1)."""
_ELSEWHERE: Final = frozenset({"shared", "local", "const", "param"})


Place: TypeAlias = tuple[str, int]
"""A parameter and an offset in it [B]."""


@dataclass(frozen=True, slots=True)
class _Flow:
    """What an instruction passes from parameters or registers to the register that it writes."""

    target: str
    parameter: int
    """A place in a parameter as a bit, or 0."""
    same: tuple[str, ...]
    """Registers whose value it passes on as it is, or with a constant added."""
    added: tuple[str, ...]
    """Registers whose value is one of a sum."""


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
        for i in range(len(list(written(instruction)))):
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
    flows = [f for i in kernel.instructions for f in _flows(i, bits)]
    exact = _spread(flows, [f.same for f in flows])
    summed = _spread(flows, [f.added for f in flows])
    bases = [base for instruction in kernel.instructions for base in _bases(instruction)]
    found = sum(bits[place] for place in marked)
    for base in bases:
        found |= exact.get(base, 0)
    for base in bases:
        if not summed.get(base, 0) & found:
            found |= summed.get(base, 0)
    return frozenset(place for place, bit in bits.items() if found & bit)


def _spread(flows: Sequence[_Flow], sources: Sequence[tuple[str, ...]]) -> dict[str, int]:
    """Return the parameters, a bit each, that reach each register through such sources."""
    users: dict[str, list[int]] = {}
    for i, names in enumerate(sources):
        for name in names:
            users.setdefault(name, []).append(i)
    reached: dict[str, int] = {}
    waiting = list(range(len(flows)))
    while waiting:
        i = waiting.pop()
        bits = flows[i].parameter
        for name in sources[i]:
            bits |= reached.get(name, 0)
        target = flows[i].target
        if bits & ~reached.get(target, 0):
            reached[target] = reached.get(target, 0) | bits
            waiting += users.get(target, ())
    return reached


def _flows(instruction: ptx.Instruction, bits: dict[Place, int]) -> Iterator[_Flow]:
    """Yield what an instruction passes on that could be an address."""
    targets = list(written(instruction))
    operands = instruction.operands[1:]
    if not targets:
        return
    target = targets[0]
    if instruction.opcode == "ld" and "param" in instruction.stems:
        where = operands[0] if operands else None
        if isinstance(where, ptx.Address) and where.place is not None:
            parameter, start = where.place
            for i, name in enumerate(targets):
                bit = bits.get((parameter, start + i * POINTER_BYTES), 0)
                if bit:
                    yield _Flow(name, bit, (), ())
        return
    names = tuple(o.name for o in operands if isinstance(o, ptx.Register))
    match instruction.opcode:
        case "mov" | "cvta" | "selp":
            yield _Flow(target, 0, names, names)
        case "add" | "sub":
            constant = any(isinstance(o, ptx.Immediate) for o in operands)
            yield _Flow(target, 0, names if constant else (), names)
        case "mad" | "fma":
            addend = tuple(o.name for o in operands[2:3] if isinstance(o, ptx.Register))
            yield _Flow(target, 0, (), addend)


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
    if not parts and not _ELSEWHERE & instruction.stems:
        places = set(range(len(instruction.operands)))  # prefetches and others
    chosen = [o for i, o in enumerate(instruction.operands) if i in places]
    bases = [o.base for o in chosen if isinstance(o, ptx.Address)]
    return [base.name for base in bases if isinstance(base, ptx.Register)]
