"""Which parameters of a kernel are pointers: PTX may mark them, or leave it to their use."""

from __future__ import annotations

from typing import Final

from perfmodel.frontends.ptx.syntax import (
    Address,
    Function,
    Immediate,
    Instruction,
    Register,
    Symbol,
)

_SUMS: Final = frozenset({"add", "sub"})
_POINTER_BYTES: Final = 8


def pointer_parameters(kernel: Function) -> frozenset[str]:
    """Return the names of the parameters that are pointers.

    Those marked ``.ptr``; those whose value, as it is or with a constant added, becomes an address
    in global memory; and, where an access has none of these in its address, those added up in it.

    Parameters
    ----------
    kernel : Function
    """
    wide = {p.name for p in kernel.parameters if p.size == _POINTER_BYTES and p.count is None}
    found = {p.name for p in kernel.parameters if p.pointer}
    exact: dict[str, frozenset[str]] = {}
    added: dict[str, frozenset[str]] = {}
    nothing: frozenset[str] = frozenset()
    changed = True
    while changed:
        changed = False
        for instruction in kernel.instructions:
            result = _result(instruction)
            if result is None:
                continue
            same, more = _flows(instruction, wide, exact, added)
            if not same <= exact.get(result, nothing):
                exact[result] = exact.get(result, nothing) | same
                changed = True
            if not more <= added.get(result, nothing):
                added[result] = added.get(result, nothing) | more
                changed = True
    bases = [base for instruction in kernel.instructions for base in _bases(instruction)]
    for base in bases:
        found |= exact.get(base, nothing)
    for base in bases:
        if not added.get(base, nothing) & found:
            found |= added.get(base, nothing)
    return frozenset(found)


def _result(instruction: Instruction) -> str | None:
    first = instruction.operands[0] if instruction.operands else None
    return first.name if isinstance(first, Register) else None


def _flows(
    instruction: Instruction,
    wide: set[str],
    exact: dict[str, frozenset[str]],
    added: dict[str, frozenset[str]],
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the parameters that an instruction passes on as they are, and those in a sum."""
    nothing: frozenset[str] = frozenset()
    operands = instruction.operands[1:]
    if instruction.opcode == "ld" and "param" in (m.split("::")[0] for m in instruction.modifiers):
        source = operands[0] if operands else None
        base = source.base if isinstance(source, Address) else None
        named = isinstance(base, Symbol) and base.name in wide
        only = frozenset({base.name}) if named and isinstance(base, Symbol) else nothing
        return only, only
    registers = [o.name for o in operands if isinstance(o, Register)]
    same = frozenset().union(*(exact.get(r, nothing) for r in registers))
    more = frozenset().union(*(added.get(r, nothing) for r in registers))
    if instruction.opcode in ("mov", "cvta"):
        return same, more
    if instruction.opcode in _SUMS:
        constant = any(isinstance(o, Immediate) for o in operands)
        return (same if constant else nothing), more
    if instruction.opcode in ("mad", "fma") and len(operands) == 3:
        last = operands[2]
        addend = last.name if isinstance(last, Register) else ""
        return nothing, added.get(addend, nothing)
    if instruction.opcode == "selp":
        return same, more
    return nothing, nothing


def _bases(instruction: Instruction) -> list[str]:
    """Return registers that are addresses in global memory: of accesses, or converted to such."""
    if instruction.opcode == "cvta":
        source = instruction.operands[1] if len(instruction.operands) > 1 else None
        to_global = instruction.modifiers[:2] == ("to", "global")
        return [source.name] if to_global and isinstance(source, Register) else []
    spaces = {m.split("::")[0] for m in instruction.modifiers}
    if spaces & {"shared", "local", "const", "param"}:
        return []
    addresses = [o.base for o in instruction.operands if isinstance(o, Address)]
    return [base.name for base in addresses if isinstance(base, Register)]
