"""Which blocks ptxas makes predicated instead of branching around them.

The limits are of blocks behind one condition, grown by an instruction at a time until they were
branched around, alone and in loops (machine code of sm_90, nvcc 13.0): products, words, loads and
stores of shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.liveness import register_words
from perfmodel.cuda.parse.opcodes import calls_for_odd_values
from perfmodel.cuda.parse.registers import is_memory, written_registers
from perfmodel.cuda.parse.syntax import Function, Instruction, Register
from perfmodel.cuda.sass.divergence import parting_registers

MOST: Final = 9.0
"""Machine instructions of a block, as modelled, up to which it becomes predicated: 8 of those
grown, and of four blocks of 9 in a row three."""
MOST_UNIFORM: Final = 7.0
"""The same where all lanes go one way: two fewer (6 of those grown). Blocks with loads from global
memory are not shortened so: ptxas takes those of up to 20 (21 it does not), which beyond 9 is left
out, for their loads then leave together and would be waited for one after the other here."""
_STAYS: Final = frozenset({"bar", "barrier", "call", "ret", "exit", "atom"})
"""What is left by an exit is not come back to; calls and barriers need whole warps."""
_SCALED: Final = frozenset({"rsqrt", "sqrt", "ex2", "lg2", "rcp", "div"})
_NESTED: Final = 2.0
"""Instructions that a predicate under another costs, of small values that are scaled first: a
choice, and a predicate made of two, where a branch needs neither (machine code of a rsqrt)."""


def predicated_blocks(
    function: Function,
    flow: ControlFlow,
    counts: Sequence[Mapping[str, float]],
    loops: Mapping[int, str | None],
) -> dict[int, int]:
    """Return the blocks that become predicated, and the block before each.

    Parameters
    ----------
    function : Function
    flow : ControlFlow
    counts : sequence of mapping of str to float
        Machine instructions of each instruction, by pipe.
    loops : mapping of int to str or None
        Innermost loop of each block that runs.
    """
    parting = parting_registers(function)
    found = {}
    for number in loops:
        before = _before(function, flow, number)
        if before is None or loops.get(before, "") != loops[number]:
            continue
        block = flow.blocks[number]
        inside = function.instructions[block.start : block.stop]
        guard = function.instructions[flow.blocks[before].stop - 1].guard
        uniform = guard is not None and guard.register.name not in parting
        most = MOST_UNIFORM if uniform and not any(map(_loads, inside)) else MOST
        made = sum(
            1.0 if is_memory(i) else sum(c.values()) + _nested(i)
            for i, c in zip(inside, counts[block.start : block.stop], strict=True)
        )
        if made <= most:
            found[number] = before
    return found


def with_moves(
    function: Function,
    flow: ControlFlow,
    counts: Sequence[Mapping[str, float]],
    predicated: Iterable[int],
) -> list[Mapping[str, float]]:
    """Return the machine instructions with those that copy registers under a predicate.

    Elsewhere a copy is another name of the same register. Where lanes keep what they had, it is an
    instruction for each word (machine code of a list kept in order: 4 of 4 copies a place).

    Parameters
    ----------
    function : Function
    flow : ControlFlow
    counts : sequence of mapping of str to float
        Machine instructions of each instruction, by pipe.
    predicated : iterable of int
        Blocks that become predicated.
    """
    found = list(counts)
    for number in predicated:
        for at in range(flow.blocks[number].start, flow.blocks[number].stop):
            i = function.instructions[at]
            copies = i.opcode == "mov" and isinstance(i.operands[-1], Register)
            if copies and not found[at]:
                words = sum(register_words(function, r) for r in written_registers(i))
                found[at] = {"imad": float(words)} if words else {}
    return found


def _before(function: Function, flow: ControlFlow, number: int) -> int | None:
    """Return the block whose branch skips a block that may become predicated, or None."""
    block = flow.blocks[number]
    if len(block.predecessors) != 1 or len(block.successors) != 1:
        return None
    before = block.predecessors[0]
    targets = flow.blocks[before].successors
    if len(targets) != 2 or block.successors[0] not in targets:
        return None
    inside = function.instructions[block.start : block.stop]
    # A call for odd values stays behind its branch, too.
    if any(i.opcode in _STAYS or calls_for_odd_values(i) for i in inside):
        return None
    after = block.successors[0]
    if after >= len(flow.blocks) or function.instructions[flow.blocks[after].start].opcode in (
        "ret",
        "exit",
    ):
        return None
    return before


def _loads(instruction: Instruction) -> bool:
    others = {"shared", "const", "param", "local"}
    return instruction.opcode == "ld" and not others & {*instruction.modifiers}


def _nested(instruction: Instruction) -> float:
    modifiers = instruction.modifiers
    scaled = instruction.opcode in _SCALED and "approx" in modifiers and "ftz" not in modifiers
    return _NESTED if scaled and modifiers[-1] == "f32" else 0.0
