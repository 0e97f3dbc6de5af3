"""From PTX to machine instructions: a model of what ptxas makes of a kernel.

PTX is not machine code. Most instructions become one; some become nothing, because what uses them
takes them in (an address into a load, a shift into an addition, a conversion into a product); a few
become many. The table of the latter is data, the rules of the former are here. The error is
measured on compiled kernels: `tests/measurements` holds it against the profiler's counts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.liveness import register_words
from perfmodel.cuda.parse.registers import is_memory, written_registers
from perfmodel.cuda.parse.syntax import (
    FloatImmediate,
    Function,
    Immediate,
    Instruction,
    Register,
    Vector,
)
from perfmodel.cuda.sass.divergence import aggregated, shared_bases
from perfmodel.cuda.sass.joined_sums import is_rotation, rotated
from perfmodel.cuda.sass.logic_cones import LOGIC
from perfmodel.cuda.sass.pipe_balance import EITHER, balanced
from perfmodel.cuda.sass.taken_in import Made, made
from perfmodel.cuda.sass.tensor_work import tensor_counts
from perfmodel.cuda.sass.unrolling import (
    CHECKS,
    CHECKS_PARTING,
    COPIES,
    UNROLLED,
    Around,
    Counted,
    counter,
    shared_by_iterations,
    unrolls,
)

TABLE: Final = Path(__file__).with_suffix(".toml")

RECIPROCAL: Final = MappingProxyType(
    {"conversion": 2.0, "sfu": 1.0, "imad": 2.0, "wide": 1.0, EITHER: 3.0}
)
"""Part of a division of 32 bits that makes the reciprocal: once for all that divide by the same."""
START: Final = 2
"""Instructions of every kernel besides: the stack pointer, and the descriptor of global memory."""

Counts = Mapping[str, float]

_HALF: Final = 32
_NOTHING: Final[Counts] = MappingProxyType({})
_NO_LOOPS: Final[Mapping[int, Around]] = MappingProxyType({})
_SHIFTS: Final = frozenset({"shr"})
_INTEGER: Final = frozenset({"add", "sub", "min", "max", "shl", "shr", "abs", "neg", "bfe", "bfi"})
_OTHERS: Final = frozenset({"setp", "selp", "set", "prmt", "shf"})


@dataclass(frozen=True, slots=True)
class _Rule:
    modifiers: frozenset[str]
    counts: Counts


@lru_cache(maxsize=2)
def _rules(table: str = "instruction") -> dict[str, tuple[_Rule, ...]]:
    with TABLE.open("rb") as stream:
        entries = tomllib.load(stream)[table]
    found: dict[str, list[_Rule]] = {}
    for e in entries:
        rule = _Rule(frozenset(e.get("modifiers", ())), MappingProxyType(dict(e["counts"])))
        found.setdefault(e["opcode"], []).append(rule)
    return {opcode: tuple(rules) for opcode, rules in found.items()}


def machine_instructions(
    function: Function, flow: ControlFlow, around: Mapping[int, Around] = _NO_LOOPS
) -> tuple[Counts, ...]:
    """Return what each instruction becomes, by pipe; memory accesses count elsewhere, as nothing.

    Parameters
    ----------
    function : Function
    flow : ControlFlow
    around : mapping of int to Around
        How often loops of one block are entered and branched around; others go round often.

    Returns
    -------
    tuple of mapping of str to float
        Machine instructions by key of `PIPES`.
    """
    known = made(function, flow)
    counts = _one_by_one(known)
    copies = [1.0] * len(counts)
    together = _together(function, flow, counts)
    for number, how in together.items():
        inside = range(flow.blocks[number].start, flow.blocks[number].stop)
        copies[inside.start : inside.stop] = [float(COPIES)] * len(inside)
        often = around.get(number, Around())
        for at in shared_by_iterations(function, inside):
            counts[at] = {pipe: n * often.rounds for pipe, n in counts[at].items()}
        last = inside.stop - 1
        checks = CHECKS + CHECKS_PARTING * (how.predicate in known.parting)
        checks *= often.entries
        counts[last] = {**counts[last], "other": counts[last].get("other", 0.0) + checks}
    for at in _divided_before(function, known.makers):
        counts[at] = {
            pipe: max(n - RECIPROCAL.get(pipe, 0.0), 0.0) for pipe, n in counts[at].items()
        }
    for pipe, more in (
        ("other", shared_bases(function, flow)),
        ("other", aggregated(function)),
        ("uniform", _long_constants(function, flow, together)),
    ):
        for at, count in more.items():
            counts[at] = {**counts[at], pipe: counts[at].get(pipe, 0.0) + count}
    return tuple(balanced(counts, copies, _beside(function)))


def _one_by_one(known: Made) -> list[Counts]:
    return [
        packed(i) if is_memory(i) else _NOTHING if known.is_taken_in(at) else _counted(at, known)
        for at, i in enumerate(known.function.instructions)
    ]


def packed(instruction: Instruction) -> Counts:
    """Return what takes a loaded word apart into bytes, or puts stored bytes or halves together.

    A permutation each; a word that is stored needs one less (machine code of sm_90).
    """
    unit = instruction.type_name
    vector = next((o for o in instruction.operands if isinstance(o, Vector)), None)
    if vector is None or unit not in ("u8", "s8", "b8", "u16", "s16", "b16"):
        return _NOTHING
    count = float(len(vector.elements))
    if instruction.opcode == "st":
        words = count / (4 if unit.endswith("8") else 2)
        return {"int32": count - max(words, 1.0)}
    return {"int32": count} if instruction.opcode == "ld" and unit.endswith("8") else _NOTHING


def unrolled_loops(function: Function, flow: ControlFlow) -> dict[int, Counted]:
    """Return the blocks that are loops whose iterations are put together, and what they count."""
    return _together(function, flow, _one_by_one(made(function, flow)))


def _together(
    function: Function, flow: ControlFlow, counts: Sequence[Counts]
) -> dict[int, Counted]:
    found = {}
    for number, block in enumerate(flow.blocks):
        how = counter(function, range(block.start, block.stop), block.stop - 1)
        if how is not None and unrolls(function, flow, number, counts):
            found[number] = how
    return found


def _beside(function: Function) -> list[Counts]:
    """Return what the kernel's code holds for odd values, behind calls: of each kind, once."""
    found: dict[tuple[str, frozenset[str]], Counts] = {}
    for instruction in function.instructions:
        given = frozenset(instruction.modifiers)
        for rule in _rules("beside").get(instruction.opcode, ()):
            if rule.modifiers <= given:
                found[instruction.opcode, rule.modifiers] = rule.counts
    return list(found.values())


def _long_constants(
    function: Function, flow: ControlFlow, together: Collection[int]
) -> dict[int, float]:
    """Return the moves that constants of 64 bits take: of more than their upper half, two each.

    The upper half is part of the instruction; whole ones are moved into registers, once a block and
    once for iterations put together (machine code of sm_90, nvcc 13.0: sines of doubles).
    """
    found: dict[int, float] = {}
    for number, block in enumerate(flow.blocks):
        known: set[int] = set()
        moves = 2.0 / UNROLLED if number in together else 2.0
        for at in range(block.start, block.stop):
            instruction = function.instructions[at]
            if instruction.type_name != "f64":
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
        if i.opcode not in ("div", "rem") or i.type_name not in ("s32", "u32"):
            continue
        by = i.operands[2] if len(i.operands) > 2 else None
        if not isinstance(by, Register) or len(makers.get(by.name, ())) != 1:
            continue
        key = (i.type_name, by.name)
        if key in known:
            found.append(at)
        known.add(key)
    return found


def _counted(at: int, known: Made) -> Counts:
    instruction = known.function.instructions[at]
    turned = rotated(known, at)
    if turned is not None:
        return {"int32": 2.0} if turned != _HALF else _NOTHING
    if "lo" in instruction.modifiers and known.is_narrow_product(at):
        return {"wide": 1.0}
    special = (
        _sum(at, known) if instruction.opcode in ("add", "sub") else tensor_counts(instruction)
    )
    if special is not None:
        return special
    kind = instruction.type_name
    by_register = not isinstance(instruction.operands[-1], Immediate) if instruction.operands else 0
    if instruction.opcode == "mov" and len(instruction.operands) > 1 and known.hands_on(at):
        return {EITHER: float(register_words(known.function, written_registers(instruction)[0]))}
    if instruction.opcode == "selp" and known.adds_a_constant(at):
        return {EITHER: 1.0}
    if instruction.opcode == "shl" and by_register:
        return {"int32": 2.0 if kind.endswith("64") else 1.0}
    if instruction.opcode in LOGIC | _SHIFTS and kind.endswith("64"):
        return {"int32": known.halves(at)}
    if instruction.opcode == "cvt" and instruction.modifiers[-2:] == ("f32", "u16"):
        maker = known.maker(instruction.operands[1] if len(instruction.operands) > 1 else None)
        loaded = maker is not None and is_memory(known.function.instructions[maker])
        return {"int32": 1.0} if loaded else {"conversion": 1.0}
    if instruction.opcode in ("bfe", "bfi") and kind.endswith("32"):
        return {"int32": _field(instruction)}
    given = frozenset(instruction.modifiers)
    for rule in _rules().get(instruction.opcode, ()):
        if rule.modifiers <= given:
            return rule.counts
    if instruction.opcode in LOGIC | _INTEGER | _OTHERS:
        floats = kind[:1] == "f" and instruction.opcode != "selp"
        return {"int32": 2.0 if kind.endswith("64") and not floats else 1.0}
    return {"other": 1.0}


def _field(instruction: Instruction) -> float:
    """Return the instructions that take a field of bits out of a word of 32 bits or put one in.

    Read from machine code of sm_90: whole bytes are one permutation, fields at stated bits a shift
    and a mask; of fields at bits in registers the registers are cut to bytes first.
    """
    place, width = (None, None, *instruction.operands)[-2:]
    if not isinstance(place, Immediate) or not isinstance(width, Immediate):
        return 5.0 if instruction.opcode == "bfe" else 6.0
    signed = instruction.type_name == "s32"
    whole = place.value % 8 == 0 and width.value in (8, 16) and not signed
    return 1.0 if whole or (instruction.opcode == "bfe" and place.value == 0) else 2.0


def _is_constant(known: Made, operand: object) -> bool:
    """Say whether a register holds a number: it is part of the instruction that reads it."""
    maker = known.maker(operand)
    if maker is None:
        return False
    made_by = known.function.instructions[maker]
    return made_by.opcode == "mov" and isinstance(made_by.operands[-1], Immediate)


def _sum(at: int, known: Made) -> Counts | None:
    """Return what a sum becomes that takes in a product or another sum, or a sum of 64 bits.

    Three operands, only the integer pipe adds; of 64 bits, a uniform register is no operand of the
    multipliers. A product of 64 bits takes the sum of the lower half in.
    """
    instruction = known.function.instructions[at]
    kind = instruction.type_name
    if kind not in ("s32", "u32", "s64", "u64"):
        return None
    taken = [i for i in known.taken_in(at) if i.opcode != "mov"]
    products = [i for i in taken if i.opcode == "mul"]
    if products:
        whole = kind.endswith("64") and "lo" in products[0].modifiers
        makers = (known.maker(o) for o in instruction.operands[1:])
        if whole and any(m is not None and known.is_narrow_product(m) for m in makers):
            return {"wide": 1.0}
        if whole:
            return {"imad": 2.0, "wide": 1.0, EITHER: 1.0}
        return {"imad": 1.0} if "lo" in products[0].modifiers else {"wide": 1.0}
    if kind.endswith("32"):
        three = any(i.opcode in ("add", "sub") or is_rotation(i) for i in taken)
        return {"int32": 1.0} if three else None
    if all(r in known.lower for r in written_registers(instruction)):
        return {"int32" if taken else EITHER: 1.0}
    operands = (o for o in instruction.operands[1:] if not _is_constant(known, o))
    registers = [o for o in operands if isinstance(o, Register)]
    uniform = any(o.name not in known.parting for o in registers)
    return {"int32": 2.0} if uniform or taken else None
