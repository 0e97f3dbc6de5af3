"""From PTX to machine instructions: a model of what ptxas makes of a kernel.

PTX is not machine code. Most instructions become one; some become nothing, because what uses them
takes them in (an address into a load, a shift into an addition, a conversion into a product); a few
become many. The table of the latter is data, the rules of the former are here. The error is
measured on compiled kernels: `tests/measurements` holds it against the profiler's counts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from perfmodel.frontends.divergence import aggregated, shared_bases
from perfmodel.frontends.ptx.control_flow import ControlFlow
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
from perfmodel.frontends.tensor_work import tensor_counts

TABLE: Final = Path(__file__).with_suffix(".toml")

UNROLLED: Final = 4
"""Iterations that ptxas puts together of a loop whose body is one block and whose counter steps by
a constant; read from machine code of sm_90 (nvcc 13.0)."""
MOST_UNROLLED: Final = 48
"""PTX instructions of a body up to which ptxas does; bodies of 7 to 33 were put together, those of
65 and more were not (the same)."""
RECIPROCAL: Final = MappingProxyType({"conversion": 2.0, "sfu": 1.0, "imad": 3.0, "int32": 3.0})
"""Part of a division of 32 bits that makes the reciprocal: once for all that divide by the same."""
START: Final = 2
"""Instructions of every kernel besides: the stack pointer, and the descriptor of global memory."""

Counts = Mapping[str, float]

_NOTHING: Final[Counts] = MappingProxyType({})
_LOGIC: Final = frozenset({"and", "or", "xor", "not", "lop3"})
_INTEGER: Final = frozenset({"add", "sub", "min", "max", "shl", "shr", "abs", "neg", "bfe", "bfi"})
_OTHERS: Final = frozenset({"setp", "selp", "set", "prmt", "shf"})
_STOPS: Final = frozenset({"bar", "barrier", "call", "atom", "red"})
_ROUNDED: Final = frozenset({"div", "sqrt", "rcp", "rem"})
_ODD: Final = frozenset({"rn", "f64", "s64", "u64"})


@dataclass(frozen=True, slots=True)
class _Rule:
    modifiers: frozenset[str]
    counts: Counts


@lru_cache(maxsize=1)
def _rules() -> dict[str, tuple[_Rule, ...]]:
    with TABLE.open("rb") as stream:
        entries = tomllib.load(stream)["instruction"]
    found: dict[str, list[_Rule]] = {}
    for e in entries:
        rule = _Rule(frozenset(e.get("modifiers", ())), MappingProxyType(dict(e["counts"])))
        found.setdefault(e["opcode"], []).append(rule)
    return {opcode: tuple(rules) for opcode, rules in found.items()}


def machine_instructions(function: Function, flow: ControlFlow) -> tuple[Counts, ...]:
    """Return what each instruction becomes, by pipe; memory accesses count elsewhere, as nothing.

    Parameters
    ----------
    function : Function
    flow : ControlFlow

    Returns
    -------
    tuple of mapping of str to float
        Machine instructions by key of `PIPES`.
    """
    users = _users(function)
    makers = _makers(function)
    counts = [
        _NOTHING
        if is_memory(i) or _folded(function, at, users)
        else _counted(i, function, makers, users)
        for at, i in enumerate(function.instructions)
    ]
    for number in range(len(flow.blocks)):
        for at in _shared_by_iterations(function, flow, number):
            counts[at] = {pipe: n / UNROLLED for pipe, n in counts[at].items()}
    for at in _divided_before(function, makers):
        counts[at] = {
            pipe: max(n - RECIPROCAL.get(pipe, 0.0), 0.0) for pipe, n in counts[at].items()
        }
    for more in (
        shared_bases(function, flow),
        aggregated(function),
        _long_constants(function, flow),
    ):
        for at, count in more.items():
            counts[at] = {**counts[at], "other": counts[at].get("other", 0.0) + count}
    return tuple(counts)


def _long_constants(function: Function, flow: ControlFlow) -> dict[int, float]:
    """Return the moves that constants of 64 bits take: of more than their upper half, two each.

    The upper half is part of the instruction; whole ones are moved into registers, once a block and
    once for iterations put together (machine code of sm_90, nvcc 13.0: sines of doubles).
    """
    found: dict[int, float] = {}
    for number, block in enumerate(flow.blocks):
        known: set[int] = set()
        moves = 2.0 / UNROLLED if unrolls(function, flow, number) else 2.0
        for at in range(block.start, block.stop):
            instruction = function.instructions[at]
            if instruction.modifiers[-1:] != ("f64",):
                continue
            for o in instruction.operands:
                if not isinstance(o, FloatImmediate) or o.bits in known:
                    continue
                if o.bits & 0xFFFFFFFF:
                    known.add(o.bits)
                    found[at] = found.get(at, 0.0) + moves
    return found


def _divided_before(function: Function, makers: dict[str, list[int]]) -> list[int]:
    """Return the divisions of 32 bits by what an earlier one has divided by."""
    known: set[tuple[str, str]] = set()
    found = []
    for at, i in enumerate(function.instructions):
        if i.opcode not in ("div", "rem") or i.modifiers[-1:] not in (("s32",), ("u32",)):
            continue
        by = i.operands[2] if len(i.operands) > 2 else None
        if not isinstance(by, Register) or len(makers.get(by.name, ())) != 1:
            continue
        key = (i.modifiers[-1], by.name)
        if key in known:
            found.append(at)
        known.add(key)
    return found


def calls_for_odd_values(instruction: Instruction) -> bool:
    """Say whether odd values go a way of their own: a call behind a branch, which ends a block."""
    modifiers = {*instruction.modifiers}
    return instruction.opcode in _ROUNDED and bool(_ODD & modifiers) and "approx" not in modifiers


def unrolls(function: Function, flow: ControlFlow, number: int) -> bool:
    """Say whether ptxas puts iterations of a block that is a loop of its own together."""
    block = flow.blocks[number]
    if number not in block.successors:
        return False
    inside = range(block.start, block.stop)
    if len(inside) > MOST_UNROLLED:
        return False
    if any(at in inside and "nounroll" in text for at, text in function.pragmas):
        return False
    if any(
        function.instructions[at].opcode in _STOPS
        or calls_for_odd_values(function.instructions[at])
        for at in inside
    ):
        return False
    return _counter(function, inside) is not None


def _counter(function: Function, inside: range) -> str | None:
    """Return the register that a loop counts in by a constant, if it ends by comparing that."""
    steps = _steps(function, inside)
    last = function.instructions[inside.stop - 1]
    if last.guard is None:
        return None
    for at in reversed(inside):
        instruction = function.instructions[at]
        if instruction.opcode == "setp" and last.guard.register.name in written_registers(
            instruction
        ):
            compared = {o.name for o in instruction.operands[1:3] if isinstance(o, Register)}
            return next((r for r in sorted(compared) if r in steps), None)
    return None


def _steps(function: Function, inside: range) -> set[str]:
    """Return the registers of a loop that change by a constant and by nothing else."""
    changes: dict[str, int] = {}
    found: set[str] = set()
    for at in inside:
        instruction = function.instructions[at]
        for register in written_registers(instruction):
            changes[register] = changes.get(register, 0) + 1
        if instruction.opcode not in ("add", "sub") or not instruction.operands:
            continue
        first, *rest = instruction.operands
        constant = any(isinstance(o, Immediate) for o in rest)
        if isinstance(first, Register) and first in rest and constant:
            found.add(first.name)
    return {register for register in found if changes[register] == 1}


def _shared_by_iterations(function: Function, flow: ControlFlow, number: int) -> list[int]:
    """Return the instructions of a loop that iterations which are put together do once for all.

    Counters that step by a constant, what is added to or compared with them, and the branch: in
    copies of the body constants become offsets.
    """
    if not unrolls(function, flow, number):
        return []
    block = flow.blocks[number]
    inside = range(block.start, block.stop)
    known = _steps(function, inside)
    made = {r for at in inside for r in written_registers(function.instructions[at])}
    found = []
    for at in inside:
        instruction = function.instructions[at]
        if instruction.opcode == "bra":
            found.append(at)
            continue
        if instruction.opcode not in ("add", "sub", "setp", "cvt", "mov"):
            continue
        reads = {r for r in read_registers(instruction) if r in made}
        if reads and reads <= known:
            found.append(at)
            known |= set(written_registers(instruction))
    return found


def _counted(
    instruction: Instruction,
    function: Function,
    makers: dict[str, list[int]],
    users: dict[str, list[int]],
) -> Counts:
    if instruction.opcode == "add" and _adds_product(instruction, function, makers, users):
        return {"imad": 1.0}
    if _shifts_left(instruction):
        return {"imad": 1.0}
    tensor = tensor_counts(instruction)
    if tensor is not None:
        return tensor
    given = frozenset(instruction.modifiers)
    for rule in _rules().get(instruction.opcode, ()):
        if rule.modifiers <= given:
            return rule.counts
    kind = instruction.modifiers[-1] if instruction.modifiers else ""
    if instruction.opcode in _LOGIC | _INTEGER | _OTHERS:
        wide = kind.endswith("64") and kind[:1] != "f"
        return {"int32": 2.0 if wide else 1.0}
    return {"other": 1.0}


def _adds_product(
    instruction: Instruction,
    function: Function,
    makers: dict[str, list[int]],
    users: dict[str, list[int]],
) -> bool:
    """Say whether an addition of 64 bits is the end of a multiply-add."""
    if instruction.modifiers[-1:] not in (("s64",), ("u64",)):
        return False
    for operand in instruction.operands[1:]:
        if isinstance(operand, Register):
            for at in makers.get(operand.name, ()):
                maker = function.instructions[at]
                if maker.opcode == "mul" and "wide" in maker.modifiers:
                    return True
    return False


def _shifts_left(instruction: Instruction) -> bool:
    """Say whether an instruction multiplies 32 bits by a power of two.

    The multiplier takes it (IMAD.SHL): 146 of 232 in the machine code of 103 kernels (sm_90, ptxas
    13.0), and all of them where the integer pipe has most to do, as in generators of random bits.
    """
    return (
        instruction.opcode == "shl"
        and instruction.modifiers[-1:] == ("b32",)
        and isinstance(instruction.operands[-1], Immediate)
    )


def _users(function: Function) -> dict[str, list[int]]:
    """Return the instructions that read each register."""
    users: dict[str, list[int]] = {}
    for at, instruction in enumerate(function.instructions):
        for register in read_registers(instruction):
            users.setdefault(register, []).append(at)
    return users


def _makers(function: Function) -> dict[str, list[int]]:
    """Return the instructions that write each register."""
    makers: dict[str, list[int]] = {}
    for at, instruction in enumerate(function.instructions):
        for register in written_registers(instruction):
            makers.setdefault(register, []).append(at)
    return makers


def _folded(function: Function, at: int, users: dict[str, list[int]]) -> bool:
    """Say whether what uses a result takes the instruction in."""
    instruction = function.instructions[at]
    opcode, modifiers = instruction.opcode, instruction.modifiers
    targets = written_registers(instruction)
    kind = modifiers[-1] if modifiers else ""
    if opcode == "mov" and len(instruction.operands) > 1:
        source = instruction.operands[1]
        if isinstance(source, SpecialRegister):
            return not users.get(targets[0] if targets else "")
        return isinstance(source, Register | Immediate | FloatImmediate | Symbol)
    if len(targets) != 1:
        return False
    used = [function.instructions[u] for u in users.get(targets[0], ())]
    if opcode == "cvta" or not used:
        return True
    if opcode == "mul" and "wide" in modifiers:
        # One multiply-add of 64 bits makes the address.
        return all(u.opcode == "add" and u.modifiers[-1] in ("s64", "u64") for u in used)
    if opcode == "add" and _only_offset(instruction, used, targets[0]):
        return True
    if len(used) != 1:
        return False
    return _taken_in(instruction, used[0], kind)


def _taken_in(instruction: Instruction, user: Instruction, kind: str) -> bool:
    """Say whether the one instruction that uses a result takes its maker in."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in _LOGIC and (kind == "pred" or user.opcode in _LOGIC):
        return user.opcode in _LOGIC or user.opcode == "bra"
    if opcode == "shl" and kind == "b32" and user.opcode == "add":
        return True
    if opcode == "mul" and "lo" in modifiers and user.opcode in ("add", "sub"):
        return user.modifiers[-1] == kind
    if opcode == "add" and kind.endswith("32") and kind[:1] != "f" and user.opcode == "add":
        return user.modifiers[-1] in ("s32", "u32", "b32")  # three operands at once
    if opcode in ("neg", "abs") and kind[:1] == "f":
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
