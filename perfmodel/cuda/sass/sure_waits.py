"""How often code waits for loads however ptxas sorts it: what no load moves across.

A load waits for its address, for the branch that leads to it, and for what came before it where
that stays before it: the way of odd values behind a call, the first shuffle where ptxas cannot know
that all lanes are there, and for data that somebody may write stores, atomics and barriers. Behind
a branch that may part a warp's lanes, and that is left a branch, it waits for all that was waited
for before: the edges of a tile, each loaded by other lanes, come one after the other (machine code
of a stencil of doubles, nvcc 13.0).
"""

from collections.abc import Iterable, Iterator
from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.memory_parts import is_memory
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import calls_for_odd_values, read_registers, written_registers
from perfmodel.cuda.parse.syntax import Function
from perfmodel.cuda.sass.divergence import branches_before, lanes_part_at, parting_registers

_BARRIERS: Final = ("bar", "barrier")
_ON_CHIP: Final = {"shared", "local"}


def sure_waits(function: Function, flow: ControlFlow, blocks: Iterable[tuple[int, float]]) -> float:
    """Return the waits for loads from global memory, one after the other, that no order spares.

    `blocks`: of one loop, or of what is outside of loops, in the order of the text, each with the
    share of warps that run it.
    """
    return max((after for _, _, after in _in_turn(function, flow, blocks)), default=0.0)


@once
def waits_within(function: Function, flow: ControlFlow) -> dict[int, float]:
    """Return, of each load from global memory, how many of its block are sure to be waited for.

    Before it is made: those that wait for as many leave in a row, and others come in between.
    """
    return {
        at: begin
        for number in range(len(flow.blocks))
        for at, begin, _ in _in_turn(function, flow, [(number, 1.0)])
    }


def _in_turn(
    function: Function, flow: ControlFlow, blocks: Iterable[tuple[int, float]]
) -> Iterator[tuple[int, float, float]]:
    """Yield accesses of global memory with the waits before and after each."""
    depends = branches_before(flow)
    parting = parting_registers(function)
    used = {r for i in function.instructions for r in read_registers(i)}
    level: dict[str, float] = {}  # the waits before a value is there
    chosen: dict[int, float] = {}  # and before a block's branch is taken
    every = written = shared = 0.0  # and before what follows anything, stores, barriers
    reached = 0.0
    for number, share in blocks:
        wait = min(share, 1.0)
        before = depends.get(number, frozenset())
        split = not any(lanes_part_at(function, flow, b, parting) for b in before)
        if not split:
            every = max(every, reached)
        decided = max((chosen.get(b, 0.0) for b in before), default=0.0)
        for at in flow.places([number]):
            i = function.instructions[at]
            needed = max((level.get(r, 0.0) for r in read_registers(i)), default=0.0)
            begin = max(every, decided, needed)
            if i.opcode == "shfl" and not split:
                # Its own operand may come behind the branch.
                every, split = reached, True
            reached = max(reached, begin)
            made = written_registers(i)
            if i.opcode in _BARRIERS:
                written = shared = max(written, shared)
            elif calls_for_odd_values(i):
                every = reached
            elif i.opcode in ("bra", "brx"):
                chosen[number] = begin
            elif is_memory(i) and i.space in _ON_CHIP:
                shared = begin = max(begin, shared)
            elif is_memory(i):
                begin = begin if "nc" in i.modifiers else max(begin, written)
                if i.opcode not in ("ld", "ldu"):
                    written = begin
                waited = begin + (wait if used & {*made} else 0.0)
                yield at, begin, waited
                begin = waited
            level |= dict.fromkeys(made, begin)
