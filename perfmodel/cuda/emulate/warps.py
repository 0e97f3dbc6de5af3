"""Instructions by which the lanes of a warp tell each other: shuffles, votes, matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.cuda.emulate.machine import LANES, Active, Machine, Step
from perfmodel.cuda.parse.syntax import Instruction, Pair, Register

Array = npt.NDArray[Any]

_WORD: Final = np.dtype(np.uint32)
_BOOL: Final = np.dtype(bool)
_MODES: Final = ("up", "down", "bfly", "idx")


def exchange(machine: Machine, instruction: Instruction) -> Step | None:
    """Return what a warp-wide instruction does, or None if that is not followed."""
    opcode, modifiers, operands = instruction.opcode, instruction.modifiers, instruction.operands
    first = operands[0]
    parts = (first.first, first.second) if isinstance(first, Pair) else (first,)
    names = [p.name if isinstance(p, Register) else None for p in parts]
    if opcode == "shfl":
        return _shuffle(machine, instruction, names)
    if opcode == "activemask":
        return _results(
            machine, names, lambda active: (ballot(np.ones(len(active.lanes), bool), active),)
        )
    if opcode == "vote":
        return _vote(machine, modifiers, operands, names)
    if opcode == "match" and "any" in modifiers:
        wide = np.dtype(np.uint64) if modifiers[-1].endswith("64") else _WORD
        read = machine.getter(operands[1], wide)
        return _results(machine, names, lambda active: (_matches(read(active), active),))
    if opcode == "redux":
        return _reduce(machine, modifiers, operands, names)
    if opcode == "elect":

        def elected(active: Active) -> tuple[Array, Array]:
            lane = active.lanes & 31
            lowest = _lowest(active)
            return lowest.astype(np.uint32), lane == lowest

        return _results(machine, names, elected)
    return None


def ballot(value: Array, active: Active) -> Array:
    """Return, for each lane, the lanes of its warp for which a condition holds, a bit each."""
    value = np.broadcast_to(value, (len(active.lanes),))
    warp = active.lanes >> 5
    bits = np.where(value, np.int64(1) << (active.lanes & 31), 0)
    totals = np.zeros(int(warp[-1]) + 1 if len(warp) else 0, dtype=np.int64)
    np.add.at(totals, warp, bits)
    return np.asarray(totals[warp].astype(np.uint32))


def _results(
    machine: Machine, names: list[str | None], work: Callable[[Active], tuple[Array, ...]]
) -> Step:
    def run(active: Active) -> None:
        for name, value in zip(names, work(active), strict=False):
            if name is not None:
                machine.write(name, value, active)

    return run


def _shuffle(machine: Machine, instruction: Instruction, names: list[str | None]) -> Step | None:
    mode = next((m for m in instruction.modifiers if m in _MODES), None)
    if mode is None:
        return None
    value, by, control = (machine.getter(o, _WORD) for o in instruction.operands[1:4])

    def work(active: Active) -> tuple[Array, Array]:
        lanes = active.lanes
        size = len(lanes)
        own = np.broadcast_to(value(active), (size,))
        amount = np.broadcast_to(by(active), (size,)).astype(np.int64) & 31
        clamp = np.broadcast_to(control(active), (size,)).astype(np.int64)
        lane = lanes & 31
        segment, most = clamp >> 8 & 31, clamp & 31
        high = (lane & segment) | (most & ~segment)
        low = lane & segment
        if mode == "up":
            source = lane - amount
            inside = source >= high
        elif mode == "down":
            source = lane + amount
            inside = source <= high
        elif mode == "bfly":
            source = lane ^ amount
            inside = source <= high
        else:
            source = low | (amount & ~segment)
            inside = source <= high
        source = np.where(inside, source, lane) & 31
        everyone = np.zeros(machine.lanes, dtype=np.uint32)
        there = np.zeros(machine.lanes, dtype=bool)
        everyone[lanes], there[lanes] = own, True
        at = (lanes & ~31) + source
        return np.where(there[at], everyone[at], own), inside

    return _results(machine, names, work)


def _vote(
    machine: Machine, modifiers: tuple[str, ...], operands: Any, names: list[str | None]
) -> Step | None:
    read = machine.getter(operands[1], _BOOL)

    def work(active: Active) -> tuple[Array]:
        value = np.broadcast_to(read(active), (len(active.lanes),))
        found = ballot(value, active)
        if "ballot" in modifiers:
            return (found,)
        everyone = ballot(np.ones(len(active.lanes), bool), active)
        if "any" in modifiers:
            return (found != 0,)
        if "all" in modifiers:
            return (found == everyone,)
        return ((found == everyone) | (found == 0),)

    return _results(machine, names, work)


def _matches(value: Array, active: Active) -> Array:
    value = np.broadcast_to(value, (len(active.lanes),)).astype(np.uint64)
    # Equal values of a warp are neighbours once sorted by warp and value.
    order = np.lexsort((value, active.lanes >> 5))
    warp, sorted_value = (active.lanes >> 5)[order], value[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (warp[1:] != warp[:-1]) | (sorted_value[1:] != sorted_value[:-1])
    group = np.cumsum(new) - 1
    bits = np.zeros(int(group[-1]) + 1 if len(group) else 0, dtype=np.int64)
    np.add.at(bits, group, np.int64(1) << (active.lanes & 31)[order])
    found = np.empty(len(order), dtype=np.uint32)
    found[order] = bits[group].astype(np.uint32)
    return found


def _reduce(
    machine: Machine, modifiers: tuple[str, ...], operands: Any, names: list[str | None]
) -> Step | None:
    functions: dict[str, Any] = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    name = next((m for m in modifiers if m in functions), None)
    if name is None or modifiers[-1][:1] not in "bsu":
        return None
    dtype = np.dtype(np.int32) if modifiers[-1].startswith("s") else _WORD
    read = machine.getter(operands[1], dtype)

    def work(active: Active) -> tuple[Array]:
        value = np.broadcast_to(read(active), (len(active.lanes),))
        warp = active.lanes >> 5
        starts = np.flatnonzero(np.append(True, warp[1:] != warp[:-1]))
        found = functions[name].reduceat(value, starts)
        return (np.repeat(found, np.diff(np.append(starts, len(warp)))),)

    return _results(machine, names, work)


def _lowest(active: Active) -> Array:
    warp = active.lanes >> 5
    starts = np.flatnonzero(np.append(True, warp[1:] != warp[:-1]))
    return np.repeat((active.lanes & LANES - 1)[starts], np.diff(np.append(starts, len(warp))))
