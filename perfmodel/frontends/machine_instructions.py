"""From PTX to machine instructions: a model of what ptxas makes of a kernel.

PTX is not machine code. Most instructions become one; some become nothing, because what uses them
takes them in (an address into a load, a shift into an addition, a conversion into a product); a few
become many. The table of the latter is data, the rules of the former are here. The error is
measured on compiled kernels, see the tests.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from perfmodel.frontends.ptx.syntax import (
    Address,
    FloatImmediate,
    Function,
    Immediate,
    Instruction,
    Register,
    SpecialRegister,
    Symbol,
)
from perfmodel.frontends.symbolic_registers import is_memory, read_registers, written_registers

TABLE: Final = Path(__file__).with_suffix(".toml")

_LOGIC: Final = frozenset({"and", "or", "xor", "not", "lop3"})
_INTEGER: Final = frozenset({"add", "sub", "min", "max", "shl", "shr", "abs", "neg", "bfe", "bfi"})


@dataclass(frozen=True, slots=True)
class _Rule:
    opcode: str
    modifiers: frozenset[str]
    pipe: str
    count: float


@lru_cache(maxsize=1)
def _rules() -> dict[str, tuple[_Rule, ...]]:
    with TABLE.open("rb") as stream:
        entries = tomllib.load(stream)["instruction"]
    found: dict[str, list[_Rule]] = {}
    for e in entries:
        rule = _Rule(e["opcode"], frozenset(e.get("modifiers", ())), e["pipe"], float(e["count"]))
        found.setdefault(rule.opcode, []).append(rule)
    return {opcode: tuple(rules) for opcode, rules in found.items()}


def machine_instructions(function: Function) -> tuple[tuple[str, float], ...]:
    """Return pipe and count of each instruction; memory accesses count elsewhere, as nothing.

    Parameters
    ----------
    function : Function

    Returns
    -------
    tuple of (str, float)
        A key of `PIPES`, and machine instructions on it.
    """
    users = _users(function)
    return tuple(
        ("other", 0.0) if is_memory(i) or _folded(function, at, users) else _counted(i)
        for at, i in enumerate(function.instructions)
    )


def _counted(instruction: Instruction) -> tuple[str, float]:
    given = frozenset(instruction.modifiers)
    for rule in _rules().get(instruction.opcode, ()):
        if rule.modifiers <= given:
            return rule.pipe, rule.count
    kind = instruction.modifiers[-1] if instruction.modifiers else ""
    if instruction.opcode in _LOGIC | _INTEGER | {"setp", "selp", "set", "prmt", "shf"}:
        if kind == "f32" and instruction.opcode in ("min", "max", "abs", "neg"):
            return "int32", 1.0
        return "int32", 2.0 if kind.endswith("64") and instruction.opcode in _INTEGER else 1.0
    return "other", 1.0


def _users(function: Function) -> dict[str, list[int]]:
    """Return the instructions that read each register."""
    users: dict[str, list[int]] = {}
    for at, instruction in enumerate(function.instructions):
        for register in read_registers(instruction):
            users.setdefault(register, []).append(at)
    return users


def _folded(function: Function, at: int, users: dict[str, list[int]]) -> bool:
    """Say whether what uses a result takes the instruction in."""
    instruction = function.instructions[at]
    opcode, modifiers = instruction.opcode, instruction.modifiers
    targets = written_registers(instruction)
    kind = modifiers[-1] if modifiers else ""
    if opcode == "mov":
        source = instruction.operands[1]
        if isinstance(source, SpecialRegister):
            return source.name.startswith(("%ntid", "%nctaid"))
        return isinstance(source, Register | Immediate | FloatImmediate | Symbol)
    if len(targets) != 1:
        return False
    used = [function.instructions[u] for u in users.get(targets[0], ())]
    if opcode in ("cvta",) or not used:
        return True
    if opcode == "mul" and "wide" in modifiers:
        # One multiply-add of 64 bits makes the address.
        return all(u.opcode == "add" and u.modifiers[-1] in ("s64", "u64") for u in used)
    if opcode == "add" and kind.endswith("64"):
        return _only_offset(instruction, used, targets[0])
    if opcode == "add" and kind.endswith("32") and _only_offset(instruction, used, targets[0]):
        return True
    if len(used) != 1:
        return False
    user = used[0]
    if opcode in _LOGIC and (kind == "pred" or user.opcode in _LOGIC):
        return user.opcode in _LOGIC or user.opcode == "bra"
    if opcode == "shl" and kind == "b32" and user.opcode == "add":
        return True
    if opcode == "mul" and "lo" in modifiers and user.opcode in ("add", "sub"):
        return user.modifiers[-1] == kind
    if opcode == "add" and kind.endswith("32") and user.opcode == "add":
        return user.modifiers[-1].endswith("32")  # three operands at once
    if opcode == "neg" and kind[:1] == "f":
        return True
    return opcode == "cvt" and modifiers[-2:] == ("s64", "s32") and user.opcode in ("shl", "mul")


def _only_offset(instruction: Instruction, used: Iterable[Instruction], target: str) -> bool:
    """Say whether an addition of a constant is just the offset of loads and stores."""
    if not any(isinstance(o, Immediate) for o in instruction.operands):
        return False
    return all(
        is_memory(u)
        and any(isinstance(o, Address) and o.base == Register(target) for o in u.operands)
        for u in used
    )
