"""Definitions and uses of registers, for the rules of what ptxas makes of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.registers import read_registers, written_registers
from perfmodel.cuda.parse.syntax import Function, Register
from perfmodel.cuda.sass.address_registers import address_registers
from perfmodel.cuda.sass.divergence import parting_registers
from perfmodel.cuda.sass.folded_constants import folded
from perfmodel.cuda.sass.logic_cones import merged_logic
from perfmodel.cuda.sass.lower_halves import lower_halves


@dataclass(frozen=True, slots=True)
class DefUse:
    """Which instructions write and read each register, and what is known of registers.

    Attributes
    ----------
    function : Function
    makers, users : dict of str to list of int
        Instructions that write and read each register.
    loops : tuple of int or None
        Innermost loop of each instruction.
    parting : frozenset of str
        Registers that may differ from lane to lane.
    addresses : frozenset of str
        Registers that hold addresses and nothing else.
    folded : frozenset of int
        Instructions whose operands are all constants: the compiler works them out.
    merged : frozenset of int
        Logic operations that are part of another, see `perfmodel.cuda.sass.logic_cones`.
    lower : frozenset of str
        Registers of 64 bits of which only the lower half is used.
    """

    function: Function
    makers: dict[str, list[int]]
    users: dict[str, list[int]]
    loops: tuple[int | None, ...]
    parting: frozenset[str]
    addresses: frozenset[str] = frozenset()
    folded: frozenset[int] = frozenset()
    merged: frozenset[int] = frozenset()
    lower: frozenset[str] = frozenset()

    def maker(self, operand: object) -> int | None:
        """Return the only instruction that makes an operand, or None."""
        if not isinstance(operand, Register):
            return None
        places = self.makers.get(operand.name, ())
        return places[0] if len(places) == 1 else None


def def_use(function: Function, flow: ControlFlow) -> DefUse:
    """Return which instructions write and read each register."""
    makers: dict[str, list[int]] = {}
    users: dict[str, list[int]] = {}
    for at, instruction in enumerate(function.instructions):
        for register in read_registers(instruction):
            users.setdefault(register, []).append(at)
        for register in written_registers(instruction):
            makers.setdefault(register, []).append(at)
    of_blocks = [flow.innermost(number) for number in range(len(flow.blocks))]
    loops = tuple(of_blocks[number] for number in flow.block_of)
    constant = folded(function, makers)
    parting, addresses = parting_registers(function), address_registers(function)
    merged = merged_logic(function, makers, users, loops)
    lower = lower_halves(function, users)
    return DefUse(function, makers, users, loops, parting, addresses, constant, merged, lower)
