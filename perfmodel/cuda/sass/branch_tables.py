"""Tables of branches: those of PTX, and those that ptxas makes of comparisons in a row."""

from collections.abc import Mapping
from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import written_registers
from perfmodel.cuda.parse.syntax import Function, Immediate, Instruction, Label, Register

LEAST: Final = 3
"""Neighbouring values in a row from which on ptxas makes a table (machine code of sm_90)."""
TABLE_WORDS: Final = 2.1
"""What each way that a warp's lanes go through a table of branches takes of the unit that reads
constant memory, in words of it.

Measured: with 64 warps an SM a branch and its word take 6.4 clocks of it for each of 1 to 8 ways of
2 products, the words alone 2.0 (measurements/dram/h200-sxm/scattered/ways.csv, fit rows).
"""


@once
def branch_tables(function: Function, flow: ControlFlow) -> Mapping[int, tuple[int, ...]]:
    """Return the blocks that each table of branches leads to, by the block that ends with it."""
    found: dict[int, tuple[int, ...]] = {}
    inside: set[int] = set()
    for number, block in enumerate(flow.blocks):
        if function.instructions[block.stop - 1].opcode == "brx":
            found[number] = tuple(block.successors)
        elif number not in inside and _compared(function, flow, number) is not None:
            chain = _chain(function, flow, number)
            inside |= {*chain}
            values = [v for n in chain if (v := _compared(function, flow, n))]
            numbers = sorted(v[1] for v in values)
            if len(chain) >= LEAST and numbers[-1] - numbers[0] == len(chain) - 1:
                found[number] = tuple({*(v[2] for v in values), values[-1][3]})
    return found


def _chain(function: Function, flow: ControlFlow, first: int) -> list[int]:
    """Return the blocks that compare the same register one after the other, and do nothing else."""
    chain = [first]
    while True:
        register, _, _, other = _compared(function, flow, chain[-1]) or ("", 0, 0, 0)
        following = _compared(function, flow, other) if other < len(flow.blocks) else None
        alone = following is not None and flow.blocks[other].stop - flow.blocks[other].start == 2
        if not alone or following is None or following[0] != register or other in chain:
            return chain
        if [*flow.blocks[other].predecessors] != [chain[-1]]:
            return chain
        chain.append(other)


def _compared(
    function: Function, flow: ControlFlow, number: int
) -> tuple[str, int, int, int] | None:
    """Return the register and the number that a block compares for equality at its end.

    With them the block where they are equal, and the other.
    """
    block = flow.blocks[number]
    if block.stop - block.start < 2 or len(block.successors) != 2:
        return None
    setp, last = function.instructions[block.stop - 2 : block.stop]
    if last.opcode != "bra" or last.guard is None or setp.opcode != "setp":
        return None
    if last.guard.register.name not in written_registers(setp) or len(setp.operands) != 3:
        return None
    register, value = setp.operands[1:]
    how = setp.modifiers[0]
    if how not in ("eq", "ne") or not isinstance(register, Register):
        return None
    if not isinstance(value, Immediate):
        return None
    beside = number + 1
    taken = next((s for s in block.successors if s != beside), None)
    if taken is None or beside not in block.successors:
        return None
    equal = (how == "eq") != last.guard.negated
    return (register.name, int(value.value), *((taken, beside) if equal else (beside, taken)))


def ways_of(function: Function, flow: ControlFlow, branch: Instruction) -> tuple[int, ...]:
    """Return the block that each entry of the table of a branch leads to, in their order."""
    table = next((o.name for o in branch.operands if isinstance(o, Label)), "")
    places = (function.labels[label] for label in function.branch_tables.get(table, ()))
    inside = len(function.instructions)
    return tuple(flow.block_of[at] if at < inside else flow.exit for at in places)
