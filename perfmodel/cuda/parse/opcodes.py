"""What instructions are for, and which registers they read and write (data: opcodes.toml)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from perfmodel.cuda.parse import syntax as ptx
from perfmodel.packaged import packaged_toml

UNKNOWN: Final = "unknown"

_ROUNDED: Final = frozenset({"div", "sqrt", "rcp", "rem"})
_ODD: Final = frozenset({"rn", "f64", "s64", "u64"})

_FLOATS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("f64",), "float64"),
    **dict.fromkeys(("f32", "f32x2", "tf32"), "float32"),
    **dict.fromkeys(("f16", "f16x2", "bf16", "bf16x2"), "float16"),
}

_COMPUTING: Final = frozenset(
    {"arithmetic", "logic", "special", "compare", "convert", "move", "load", "store", "atomic"}
)


def fewest_operands(opcode: str) -> int:
    """Return how many operands an opcode takes at least; 0 where it may do without."""
    kinds, _, fewest = _tables()
    return fewest.get(opcode, 2) if kinds.get(opcode) in _COMPUTING else 0


@cache
def _tables() -> tuple[dict[str, str], dict[str, str], dict[str, int]]:
    """Return kinds by opcode, uses of first operands by opcode with modifiers, fewest operands."""
    data = packaged_toml(Path(__file__).with_name("opcodes.toml"))
    kinds = {opcode: kind for kind, opcodes in data["kinds"].items() for opcode in opcodes}
    uses = {name: use for use, names in data["results"].items() for name in names}
    fewest = {name: int(count) for count, names in data["operands"].items() for name in names}
    return kinds, uses, fewest


def kind(instruction: ptx.Instruction) -> str:
    """Return what an instruction is for.

    One of the kinds of opcodes.toml; of ``arithmetic``, ``float64``, ``float32``, ``float16`` or
    ``integer``; of a load, store or atomic, with its state space: ``load.global``, where an access
    without one is ``generic``; ``unknown`` for an opcode that is not in the table.
    """
    opcode = instruction.opcode
    found = _tables()[0].get(opcode, UNKNOWN)
    if found == "arithmetic":
        return next((_FLOATS[m] for m in instruction.modifiers if m in _FLOATS), "integer")
    if found in ("load", "store", "atomic"):
        if opcode in ("ldmatrix", "stmatrix"):
            return f"{found}.shared"
        return f"{found}.{instruction.space or 'generic'}"
    return found


def mix(function: ptx.Function) -> dict[str, int]:
    """Return how many instructions of each kind a function has, most frequent first."""
    return dict(Counter(kind(i) for i in function.instructions).most_common())


def unknown(function: ptx.Function) -> dict[str, int]:
    """Return what could not be read: instructions of no known opcode or with odd operands."""
    odd = (i.name for i in function.instructions if not i.readable or kind(i) == UNKNOWN)
    return dict(Counter(odd).most_common())


def warnings(function: ptx.Function) -> tuple[str, ...]:
    """Return a line about what could not be read of a function, or nothing."""
    found = unknown(function)
    if not found:
        return ()
    names = ", ".join(f"{name} ({count})" for name, count in list(found.items())[:5])
    more = f" and {len(found) - 5} others" if len(found) > 5 else ""
    total = sum(found.values())
    return (
        f"{function.name}: {total} instruction{'s' * (total != 1)} of unknown kind, counted and "
        f"otherwise left out: {names}{more}",
    )


@lru_cache(maxsize=1 << 16)
def written_registers(instruction: ptx.Instruction) -> tuple[str, ...]:
    """Return the registers that an instruction writes, in order."""
    return tuple(registers_of(instruction.operands[0])) if _writes_first(instruction) else ()


@lru_cache(maxsize=1 << 16)
def read_registers(instruction: ptx.Instruction) -> frozenset[str]:
    """Return the registers that an instruction reads, its guard's among them."""
    guard = instruction.guard
    found = set() if guard is None else {guard.register.name}
    accumulates = _use(instruction.opcode, instruction.modifiers) == "accumulated"
    only_written = _writes_first(instruction) and not accumulates
    for operand in instruction.operands[1 if only_written else 0 :]:
        found.update(registers_of(operand))
    return frozenset(found)


def _writes_first(instruction: ptx.Instruction) -> bool:
    """Say whether the first operand takes results: of a call, parentheses do."""
    if not instruction.operands or isinstance(instruction.operands[0], ptx.Address):
        return False
    if instruction.opcode == "call":
        return isinstance(instruction.operands[0], ptx.Arguments)
    return _use(instruction.opcode, instruction.modifiers) != "none"


@cache
def _use(opcode: str, modifiers: tuple[str, ...]) -> str:
    """Return how the first operand is used: first (written), none (read) or accumulated."""
    uses = _tables()[1]
    for length in range(len(modifiers), -1, -1):
        use = uses.get(".".join((opcode, *modifiers[:length])))
        if use is not None:
            return use
    return "first"


def led_to(
    instructions: Sequence[ptx.Instruction], starts: Callable[[ptx.Instruction], bool]
) -> frozenset[str]:
    """Return the registers that what some instructions write leads to, in whatever order."""
    found: set[str] = set()
    before = -1
    while len(found) > before:
        before = len(found)
        for i in instructions:
            if starts(i) or not found.isdisjoint(read_registers(i)):
                found.update(written_registers(i))
    return frozenset(found)


def is_block_barrier(instruction: ptx.Instruction) -> bool:
    """Say whether a block's threads wait for one another: no warp's, and none that goes on."""
    barrier = instruction.opcode in ("bar", "barrier")
    return barrier and {"arrive", "warp"}.isdisjoint(instruction.modifiers)


def calls_for_odd_values(instruction: ptx.Instruction) -> bool:
    """Say whether odd values go a way of their own: a call behind a branch, which ends a block."""
    modifiers = {*instruction.modifiers}
    return instruction.opcode in _ROUNDED and bool(_ODD & modifiers) and "approx" not in modifiers


def registers_of(operand: ptx.Operand | None) -> Iterator[str]:
    """Yield the names of the registers in an operand."""
    return (part.name for part in ptx.leaves(operand) if isinstance(part, ptx.Register))
