"""Memory instructions: what they move, how, and what kind of atomic they are."""

from __future__ import annotations

from typing import Final

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.memory_parts import memory_parts
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import read_registers, written_registers
from perfmodel.cuda.parse.syntax import SIZES, Function, Immediate, Instruction
from perfmodel.cuda.parse.waiting_loops import held_inside, lock_loops, retry_loops
from perfmodel.kernels.access import AccessKind, AtomicOperation, CacheLevel
from perfmodel.records import record

_BULK: Final = 16
"""[B] that bulk copies are made of."""
_ROWS: Final = frozenset({"ldmatrix", "stmatrix", "cp"})
"""Instructions whose type says nothing of what a lane moves."""
_PAST_L1: Final = frozenset({"cg", "cv", "volatile", "acquire", "relaxed", "mmio"})
_COUNTED: Final = frozenset({"u32", "s32"})
"""Types that shared memory counts in one instruction, read from machine code of sm_90."""
_EMULATED: Final = frozenset({"f16", "bf16"})
"""Types that are added by a loop of compare-and-swap of the word around them (machine code of
sm_90)."""
_LOCKING: Final = frozenset({"cas", "exch", "add"})
_RAISES: Final = frozenset({"min", "max"})
_TYPES: Final = {
    "f32": "float32",
    "f64": "float64",
    "s32": "int32",
    "u32": "uint32",
    "b32": "uint32",
    "u64": "uint64",
    "s64": "uint64",
    "b64": "uint64",
    "f16x2": "half2",
    "bf16x2": "half2",
}


@record
class Moved:
    """What a memory instruction does for a thread."""

    kind: AccessKind
    unit: int
    """Bytes of an element."""
    width: int
    """Bytes that a thread moves at once."""
    cache: CacheLevel = "l1"
    """Nearest cache that may hold a load."""
    dtype: str | None = None
    """Of an atomic's operand, a key of `DATA_TYPES`."""
    operation: AtomicOperation = "add"
    """Of an atomic."""
    returns: bool = False
    """Whether the atomic's old value is used."""
    bulk: bool = False
    """Whether one thread has many bytes moved; `width` is then a piece of them."""


@once
def moved(function: Function, at: int, part: int = 0) -> Moved:
    """Return what the memory instruction at a place of a function does, by its `memory_parts`."""
    instruction = function.instructions[at]
    modifiers = instruction.modifiers
    place = memory_parts(instruction)[part]
    kind = modifiers[-1] if modifiers else "b32"
    if place.bulk:
        return Moved(place.kind, _BULK, _BULK, "l2", bulk=True)
    unit = place.width if instruction.opcode in _ROWS else min(SIZES.get(kind, 4), place.width)
    if place.kind == "atomic":
        return Moved(
            kind="atomic",
            unit=unit,
            width=place.width,
            dtype=_TYPES.get(kind),
            operation=_operation(function, instruction),
            returns=instruction.opcode == "atom" and is_used(function, instruction),
        )
    # cp.async.cg and multimem go past L1.
    past = not _PAST_L1.isdisjoint(modifiers) or instruction.opcode == "multimem"
    return Moved(place.kind, unit, place.width, "l2" if past and place.kind == "load" else "l1")


@once
def counts_lanes(function: Function, instruction: Instruction) -> bool:
    """Say whether an atomic is one that counts lanes, for which nobody queues: ATOMS.POPC.INC.

    It adds a constant 1 in shared memory, and nobody wants the old value.
    """
    modifiers = instruction.modifiers
    return (
        {"shared", "add"} <= {*modifiers}
        and modifiers[-1] in _COUNTED
        and instruction.operands[-1] == Immediate(1)
        and not (instruction.opcode == "atom" and is_used(function, instruction))
    )


def _operation(function: Function, instruction: Instruction) -> AtomicOperation:
    modifiers = instruction.modifiers
    queues = instruction.opcode == "atom" and _LOCKING & {*modifiers} and "shared" not in modifiers
    if queues:
        flow = control_flow(function)
        locks = {*lock_loops(function, flow), *held_inside(function, flow)}
        if any(function.instructions[at] is instruction for at in locks):
            return "lock-loop"
    if "exch" in modifiers:
        return "exchange"
    if "shared" in modifiers and not _RAISES.isdisjoint(modifiers):
        return "raise"
    if "add" in modifiers and modifiers[-1] in _EMULATED:
        return "cas-loop"
    if counts_lanes(function, instruction):
        return "increment"
    if "cas" not in modifiers:
        return "add"
    tried = retry_loops(function, control_flow(function))
    found = [t for t in tried if function.instructions[t.at] is instruction]
    return "cas-loop" if found and found[0].always else "cas"


def is_used(function: Function, instruction: Instruction) -> bool:
    """Say whether somebody reads what an instruction writes."""
    targets = set(written_registers(instruction))
    return any(targets & read_registers(i) for i in function.instructions)
