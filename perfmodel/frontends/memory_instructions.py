"""Memory instructions: what they move, how, and what kind of atomic they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from perfmodel.frontends.ptx.syntax import SIZES, Function, Instruction
from perfmodel.frontends.symbolic_registers import read_registers, written_registers
from perfmodel.kernels.kernel import AccessKind, AtomicOperation, CacheLevel

_PAST_L1: Final = frozenset({"cg", "cv", "volatile", "acquire", "relaxed", "mmio"})
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


@dataclass(frozen=True, slots=True)
class Moved:
    """What a memory instruction does for a thread.

    Attributes
    ----------
    kind : {"load", "store", "atomic"}
    unit : int
        Bytes of an element.
    width : int
        Bytes that a thread moves at once.
    cache : {"l1", "l2"}
        Nearest cache that may hold a load.
    dtype : str or None
        Of an atomic's operand, a key of `DATA_TYPES`.
    operation : str
        Of an atomic.
    returns : bool
        Whether the atomic's old value is used.
    """

    kind: AccessKind
    unit: int
    width: int
    cache: CacheLevel = "l1"
    dtype: str | None = None
    operation: AtomicOperation = "add"
    returns: bool = False


def moved(function: Function, at: int) -> Moved:
    """Return what the memory instruction at a place of a function does."""
    instruction = function.instructions[at]
    modifiers = instruction.modifiers
    kind = modifiers[-1] if modifiers else "b32"
    unit = SIZES.get(kind, 4)
    lanes = next((int(m[1:]) for m in modifiers if m in ("v2", "v4", "v8")), 1)
    if instruction.opcode in ("atom", "red"):
        return Moved(
            kind="atomic",
            unit=unit,
            width=unit,
            dtype=_TYPES.get(kind),
            operation=_operation(modifiers),
            returns=instruction.opcode == "atom" and _is_used(function, instruction),
        )
    load = instruction.opcode != "st"
    past = load and not _PAST_L1.isdisjoint(modifiers)
    # A thread moves 16 bytes at most; wider vectors are several instructions of the machine.
    width = min(unit * lanes, 16)
    return Moved("load" if load else "store", unit, width, "l2" if past else "l1")


def _operation(modifiers: tuple[str, ...]) -> AtomicOperation:
    if "exch" in modifiers:
        return "exchange"
    return "cas" if "cas" in modifiers else "add"


def _is_used(function: Function, instruction: Instruction) -> bool:
    targets = set(written_registers(instruction))
    return any(targets & read_registers(i) for i in function.instructions)
