"""Memory instructions: what they move, how and where; their address operands, one by one.

A copy reads in one place and writes in another; a matrix load takes the addresses of some lanes
only; a bulk copy moves more than a lane's register holds.
"""

from functools import lru_cache
from typing import Final, Literal

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import read_registers, written_registers
from perfmodel.cuda.parse.syntax import SIZES, Address, Function, Immediate, Instruction, Operand
from perfmodel.cuda.parse.waiting_loops import held_inside, lock_loops, retry_loops
from perfmodel.kernels.access import AccessKind, AtomicOperation, CacheLevel
from perfmodel.records import record

Kind = Literal["load", "store", "atomic"]

_WIDEST: Final = 16
"""[B] that a lane moves at once; wider vectors are several instructions of the machine."""
_ROW: Final = 16
"""[B] of a row of the 8 x 8 matrices of 16 bits that ldmatrix and stmatrix move."""


@record
class Part:
    """One place that an instruction goes to."""

    operand: int  # which operand is its address
    kind: Kind
    space: str | None  # state space; None is generic: the address decides
    width: int  # bytes that a lane moves; 0 for bulk copies
    lanes: int = 32  # lanes of a warp whose addresses count, from the first on
    bulk: bool = False  # whether one thread has many bytes moved, past L1


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
    space = instruction.space
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


def source_size(copy: Instruction) -> Operand | None:
    """Return what says how many bytes a ``cp.async`` reads, or that it ignores its source."""
    hinted = "L2::cache_hint" in copy.modifiers  # then a policy of the cache comes last
    return next(iter(copy.operands[3 : len(copy.operands) - hinted]), None)


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
    **{"f32": "float32", "f64": "float64", "s32": "int32"},
    **dict.fromkeys(("u32", "b32"), "uint32"),
    **dict.fromkeys(("u64", "s64", "b64"), "uint64"),
    **dict.fromkeys(("f16x2", "bf16x2"), "half2"),
}


@record
class Moved:
    """What a memory instruction does for a thread."""

    kind: AccessKind
    unit: int  # bytes of an element
    width: int  # bytes that a thread moves at once
    cache: CacheLevel = "l1"  # nearest cache that may hold a load
    dtype: str | None = None  # of an atomic's operand, a key of `DATA_TYPES`
    operation: AtomicOperation = "add"  # of an atomic
    returns: bool = False  # whether the atomic's old value is used
    bulk: bool = False  # whether one thread has many bytes moved; `width` is then a piece of them


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
        instruction.space == "shared"
        and "shared::cluster" not in modifiers  # another block's words: ATOM
        and "add" in modifiers
        and modifiers[-1] in _COUNTED
        and instruction.operands[-1] == Immediate(1)
        and not (instruction.opcode == "atom" and is_used(function, instruction))
    )


def _operation(function: Function, instruction: Instruction) -> AtomicOperation:
    modifiers, shared = instruction.modifiers, instruction.space == "shared"
    if instruction.opcode == "atom" and _LOCKING & {*modifiers} and not shared:
        flow = control_flow(function)
        locks = {*lock_loops(function, flow), *held_inside(function, flow)}
        if any(function.instructions[at] is instruction for at in locks):
            return "lock-loop"
    if "exch" in modifiers:
        return "exchange"
    if shared and not _RAISES.isdisjoint(modifiers):
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
