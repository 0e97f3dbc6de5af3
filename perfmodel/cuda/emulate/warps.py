"""Instructions by which the lanes of a warp tell each other: shuffles, votes, matches."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.machine import LANES, Active, Machine, Step
from perfmodel.cuda.parse.syntax import Instruction
from perfmodel.models.grid.distinct import first_of_equals

Work = Callable[[Active], tuple[Array, ...]]
"""What an instruction gives the lanes that take part, for each of its registers."""

_WORD: Final = np.dtype(np.uint32)
_BOOL: Final = np.dtype(bool)
_REDUCTIONS: Final[dict[str, Any]] = {
    **{"add": np.add, "min": np.minimum, "max": np.maximum},
    **{"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor},
}


def exchange(machine: Machine, instruction: Instruction) -> Step | None:
    """Return what a warp-wide instruction does, or None if that is not followed."""
    work = _work(machine, instruction)
    writes = machine.setters(instruction.operands[0])
    if work is None:
        return None

    def run(active: Active) -> None:
        for write, value in zip(writes, work(active), strict=False):
            write(value, active)

    return run


def _work(machine: Machine, instruction: Instruction) -> Work | None:
    match instruction.opcode:
        case "shfl":
            return _shuffle(machine, instruction)
        case "activemask":
            return lambda active: (_ballot(np.ones(len(active.lanes), bool), active),)
        case "vote":
            return _vote(machine, instruction)
        case "match" if "any" in instruction.modifiers:
            wide = np.dtype(np.uint64) if instruction.type_name.endswith("64") else _WORD
            read = machine.each(instruction.operands[1], wide)
            return lambda active: (_matches(read(active).astype(np.uint64), active),)
        case "redux":
            return _reduce(machine, instruction)
        case "elect":
            return _elected
    return None


def _to_lanes(each: Array, active: Active) -> Array:
    """Return, for each lane, what its warp has."""
    return np.repeat(each, np.diff(active.starts, append=len(active.lanes)))


def _ballot(value: Array, active: Active) -> Array:
    """Return, for each lane, the lanes of its warp for which a condition holds, a bit each."""
    bits = np.where(value, np.int64(1) << (active.lanes & 31), 0)
    return _to_lanes(np.add.reduceat(bits, active.starts).astype(np.uint32), active)


def _elected(active: Active) -> tuple[Array, Array]:
    lane = active.lanes & LANES - 1
    lowest = _to_lanes(lane[active.starts], active)
    return lowest.astype(np.uint32), lane == lowest


def _shuffle(machine: Machine, instruction: Instruction) -> Work | None:
    modes = [m for m in instruction.modifiers if m in ("up", "down", "bfly", "idx")]
    if not modes:
        return None
    value, by, control = (machine.each(o, _WORD) for o in instruction.operands[1:4])

    def work(active: Active) -> tuple[Array, Array]:
        lanes, own = active.lanes, value(active)
        amount = by(active).astype(np.int64) & 31
        clamp = control(active).astype(np.int64)
        lane = lanes & 31
        segment, most = clamp >> 8 & 31, clamp & 31
        high = (lane & segment) | (most & ~segment)
        source = {
            "up": lane - amount,
            "down": lane + amount,
            "bfly": lane ^ amount,
            "idx": (lane & segment) | (amount & ~segment),
        }[modes[0]]
        inside = source >= high if modes[0] == "up" else source <= high
        source = np.where(inside, source, lane) & 31
        everyone = np.zeros(machine.lanes, dtype=np.uint32)
        there = np.zeros(machine.lanes, dtype=bool)
        everyone[lanes], there[lanes] = own, True
        at = (lanes & ~31) + source
        return np.where(there[at], everyone[at], own), inside

    return work


def _vote(machine: Machine, instruction: Instruction) -> Work:
    modifiers = instruction.modifiers
    read = machine.each(instruction.operands[1], _BOOL)

    def work(active: Active) -> tuple[Array]:
        found = _ballot(read(active), active)
        everyone = _ballot(np.ones(len(active.lanes), bool), active)
        if "ballot" in modifiers:
            return (found,)
        if "any" in modifiers:
            return (found != 0,)
        return (found == everyone if "all" in modifiers else (found == everyone) | (found == 0),)

    return work


def _matches(value: Array, active: Active) -> Array:
    # Equal values of a warp are neighbours once sorted by warp and value.
    order = np.lexsort((value, active.lanes >> 5))
    warp, sorted_value = (active.lanes >> 5)[order], value[order]
    new = first_of_equals(warp) | first_of_equals(sorted_value)
    bits = np.add.reduceat(np.int64(1) << (active.lanes & 31)[order], np.flatnonzero(new))
    found = np.empty(len(order), dtype=np.uint32)
    found[order] = bits[np.cumsum(new) - 1].astype(np.uint32)
    return found


def _reduce(machine: Machine, instruction: Instruction) -> Work | None:
    names = [m for m in instruction.modifiers if m in _REDUCTIONS]
    if not names or instruction.type_name[:1] not in "bsu":
        return None
    dtype = np.dtype(np.int32) if instruction.type_name.startswith("s") else _WORD
    read = machine.each(instruction.operands[1], dtype)
    reduce = _REDUCTIONS[names[0]].reduceat
    return lambda active: (_to_lanes(reduce(read(active), active.starts), active),)
