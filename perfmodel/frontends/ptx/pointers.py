"""Which parameters of a kernel are pointers: PTX may mark them, or leave it to their use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from perfmodel.frontends.ptx.opcodes import written
from perfmodel.frontends.ptx.syntax import (
    Address,
    Function,
    Immediate,
    Instruction,
    Register,
    Symbol,
)

_POINTER_BYTES: Final = 8
_ELSEWHERE: Final = frozenset({"shared", "local", "const", "param"})


@dataclass(frozen=True, slots=True)
class _Flow:
    """What an instruction passes from parameters or registers to the register that it writes."""

    target: str
    parameter: int
    """A bit, or 0."""
    same: tuple[str, ...]
    """Registers whose value it passes on as it is, or with a constant added."""
    added: tuple[str, ...]
    """Registers whose value is one of a sum."""


def pointer_parameters(kernel: Function) -> frozenset[str]:
    """Return the names of the parameters that are pointers.

    Those marked ``.ptr``; those whose value, as it is or with a constant added, becomes an address
    in global memory; and, where an access has none of these in its address, those added up in it.

    Parameters
    ----------
    kernel : Function
    """
    wide = [p.name for p in kernel.parameters if p.size == _POINTER_BYTES and p.count is None]
    bits = {name: 1 << i for i, name in enumerate(wide)}
    flows = [f for i in kernel.instructions if (f := _flow(i, bits)) is not None]
    exact = _spread(flows, [f.same for f in flows])
    summed = _spread(flows, [f.added for f in flows])
    bases = [base for instruction in kernel.instructions for base in _bases(instruction)]
    found = sum(bits[p.name] for p in kernel.parameters if p.pointer and p.name in bits)
    for base in bases:
        found |= exact.get(base, 0)
    for base in bases:
        if not summed.get(base, 0) & found:
            found |= summed.get(base, 0)
    return frozenset(name for name, bit in bits.items() if found & bit)


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


def _flow(instruction: Instruction, bits: dict[str, int]) -> _Flow | None:
    """Return what an instruction passes on, or None if nothing that could be an address."""
    target = next(written(instruction), None)
    operands = instruction.operands[1:]
    if target is None:
        return None
    spaces = {m.partition("::")[0] for m in instruction.modifiers}
    if instruction.opcode == "ld" and "param" in spaces:
        base = operands[0].base if operands and isinstance(operands[0], Address) else None
        bit = bits.get(base.name, 0) if isinstance(base, Symbol) else 0
        return _Flow(target, bit, (), ()) if bit else None
    names = tuple(o.name for o in operands if isinstance(o, Register))
    match instruction.opcode:
        case "mov" | "cvta" | "selp":
            return _Flow(target, 0, names, names)
        case "add" | "sub":
            constant = any(isinstance(o, Immediate) for o in operands)
            return _Flow(target, 0, names if constant else (), names)
        case "mad" | "fma":
            addend = tuple(o.name for o in operands[2:3] if isinstance(o, Register))
            return _Flow(target, 0, (), addend)
        case _:
            return None


def _bases(instruction: Instruction) -> list[str]:
    """Return registers that are addresses in global memory: of accesses, or converted to such."""
    if instruction.opcode == "cvta":
        source = instruction.operands[1] if len(instruction.operands) > 1 else None
        to_global = instruction.modifiers[:2] == ("to", "global")
        return [source.name] if to_global and isinstance(source, Register) else []
    if _ELSEWHERE & {m.partition("::")[0] for m in instruction.modifiers}:
        return []
    addresses = [o.base for o in instruction.operands if isinstance(o, Address)]
    return [base.name for base in addresses if isinstance(base, Register)]
