"""What memory instructions go to: their address operands, one by one.

A copy reads in one place and writes in another; a matrix load takes the addresses of some lanes
only; a bulk copy moves more than a lane's register holds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal

from perfmodel.cuda.parse.syntax import SIZES, Address, Immediate, Instruction
from perfmodel.records import record

Kind = Literal["load", "store", "atomic"]

_SPACES: Final = ("global", "shared", "local", "const", "param")
_WIDEST: Final = 16
"""[B] that a lane moves at once; wider vectors are several instructions of the machine."""
_ROW: Final = 16
"""[B] of a row of the 8 x 8 matrices of 16 bits that ldmatrix and stmatrix move."""


@record
class Part:
    """One place that an instruction goes to."""

    operand: int
    """Which operand is its address."""
    kind: Kind
    space: str | None
    """State space; None is generic: the address decides."""
    width: int
    """Bytes that a lane moves; 0 for bulk copies."""
    lanes: int = 32
    """Lanes of a warp whose addresses count, from the first on."""
    bulk: bool = False
    """Whether one thread has many bytes moved, past L1."""


def part_key(at: int, part: int) -> int:
    """Return a number for a part of an instruction: for its first, that of the instruction."""
    return at + (part << 32)


@lru_cache(maxsize=1 << 16)
def memory_parts(instruction: Instruction) -> tuple[Part, ...]:
    """Return the places in global, shared or local memory that an instruction goes to.

    Empty for what is no memory access, and for parameters and constants.
    """
    opcode, modifiers = instruction.opcode, instruction.modifiers
    count = len(instruction.operands)
    if opcode in ("ld", "ldu", "st", "atom", "red", "multimem"):
        found = _plain(instruction)
    elif opcode in ("ldmatrix", "stmatrix"):
        matrices = next((int(m[1:]) for m in modifiers if m in ("x1", "x2", "x4")), 1)
        loads = opcode == "ldmatrix"
        kind: Kind = "load" if loads else "store"
        found = (Part(int(loads), kind, "shared", _ROW, min(8 * matrices, 32)),)
    elif opcode == "cp" and "async" in modifiers:
        found = _copy(instruction)
    else:
        found = ()
    return tuple(p for p in found if p.operand < count)


def is_memory(instruction: Instruction) -> bool:
    """Say whether an instruction goes to memory: not to parameters or constants."""
    return bool(memory_parts(instruction))


def verb(instruction: Instruction) -> str:
    """Return an instruction's opcode; of ``multimem``, the one that it does the same as."""
    if instruction.opcode != "multimem":
        return instruction.opcode
    given = instruction.modifiers
    return "ld" if "ld_reduce" in given else "red" if "red" in given else "st"


def _plain(instruction: Instruction) -> tuple[Part, ...]:
    opcode, modifiers = verb(instruction), instruction.modifiers
    names = (m.partition("::")[0] for m in modifiers)
    space = next((m for m in names if m in _SPACES), None)
    if space in ("param", "const") or (opcode == "st" and "bulk" in modifiers):
        return ()  # st.bulk clears shared memory, past the load and store units
    lanes = next((int(m[1:]) for m in modifiers if m in ("v2", "v4", "v8")), 1)
    width = min(SIZES.get(instruction.type_name, 4) * lanes, _WIDEST)
    place = int(opcode in ("ld", "ldu", "atom"))
    if opcode in ("atom", "red"):
        # Those without a result that somebody wants may leave it away.
        first = (i for i, o in enumerate(instruction.operands[:2]) if isinstance(o, Address))
        return (Part(next(first, place), "atomic", space, width),)
    return (Part(place, "store" if opcode == "st" else "load", space, width),)


def _copy(instruction: Instruction) -> tuple[Part, ...]:
    """Return the parts of an asynchronous copy: where it reads, then where it writes."""
    modifiers, operands = instruction.modifiers, instruction.operands
    places = [i for i, o in enumerate(operands) if isinstance(o, Address)]
    if "bulk" not in modifiers:
        size = operands[2] if len(operands) > 2 else None
        if len(places) < 2 or not isinstance(size, Immediate) or size.value not in (4, 8, 16):
            return ()  # cp.async.commit_group and the like
        source = Part(1, "load", "global", size.value)
        return (source, Part(0, "store", "shared", size.value))
    names = [m.partition("::")[0] for m in modifiers]
    spaces = [m for m in names if m in ("global", "shared")]
    if len(spaces) < 2 or "prefetch" in modifiers or len(places) < 2:
        return ()
    # Shared memory's side of it goes past the load and store units.
    if spaces[1] == "global":
        return (Part(1, "load", "global", 0, 1, True),)
    if spaces[0] == "global":
        kind: Kind = "atomic" if "reduce" in modifiers else "store"
        return (Part(0, kind, "global", 0, 1, True),)
    return ()
