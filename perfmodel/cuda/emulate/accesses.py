"""Memory instructions of emulated warps: what they read, write, and report to be counted."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate import values
from perfmodel.cuda.emulate.machine import (
    LANES,
    WIDE,
    Active,
    Machine,
    Report,
    Step,
    address_of,
    halves,
)
from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.memory_parts import memory_parts, part_key, source_size, verb
from perfmodel.cuda.parse.opcodes import registers_of
from perfmodel.models.grid.distinct import first_of_equals

_TURNS: Final = 256
"""Lanes at one address that take their turn; those after them find what the last of these left."""


def access(machine: Machine, at: int, instruction: ptx.Instruction, report: Report) -> Step | None:
    """Return what a memory instruction does, or None if it is none that is followed.

    `report` is told every execution that goes to global, shared or local memory.
    """
    opcode = verb(instruction)
    make = _MAKERS.get(opcode)
    if instruction.type_name == WIDE:
        if "cas" in instruction.modifiers:
            return _only_counted(machine, at, instruction, report)
        instruction = _in_halves(instruction)
    if make is None or len(instruction.operands) < 2 or "bulk" in instruction.modifiers:
        return None
    if opcode in ("ld", "ldu") and instruction.space == "param":
        return _parameter(machine, instruction)
    return make(machine, at, instruction, report)


def _in_halves(instruction: ptx.Instruction) -> ptx.Instruction:
    """Return an access of 128 bits as one to two neighbours of 64, which hold the halves."""
    operands = tuple(map(halves, instruction.operands))
    modifiers = (*instruction.modifiers[:-1], "v2", "b64")
    return replace(instruction, modifiers=modifiers, operands=operands)


def _only_counted(
    machine: Machine, at: int, instruction: ptx.Instruction, report: Report
) -> Step | None:
    """Return an access whose result is not emulated, which is noted."""
    parts = memory_parts(instruction)
    if not parts:
        return None
    read = address_of(machine, instruction.operands[parts[0].operand])

    def run(active: Active) -> None:
        machine.unfollowed.add(instruction.name)
        report(at, read(active), active.lanes, parts[0].width)

    return run


def _parameter(machine: Machine, instruction: ptx.Instruction) -> Step | None:
    where = instruction.operands[1]
    dtype = values.type_of(instruction.modifiers)
    place = where.place if isinstance(where, ptx.Address) else None
    if place is None:
        return _load(machine, 0, instruction, None)
    name, start = place
    data = machine.parameters.get(name, b"")
    writes = machine.setters(instruction.operands[0])
    whole = np.dtype(f"u{dtype.itemsize}")
    end = start + len(writes) * whole.itemsize
    found = np.frombuffer(data[start:end].ljust(end - start, b"\0"), dtype=whole)

    def run(active: Active) -> None:
        for write, value in zip(writes, found, strict=True):
            write(value.reshape(()), active)

    return run


def _load(
    machine: Machine, at: int, instruction: ptx.Instruction, report: Report | None
) -> Step | None:
    kind, dtype = values.kind_of(instruction.modifiers), values.type_of(instruction.modifiers)
    read = address_of(machine, instruction.operands[1])
    operand = instruction.operands[0]
    elements = operand.elements if isinstance(operand, ptx.Vector) else (operand,)
    size = dtype.itemsize
    width = min(size * len(elements), 16)
    wanted = [i for i, e in enumerate(elements) if isinstance(e, ptx.Register)]
    writes = machine.setters(operand)

    def run(active: Active) -> None:
        address = read(active)
        if report is not None:
            report(at, address, active.lanes, width)
        if not wanted:
            return
        found = machine.memory.in_a_row(address, active.lanes, size, kind, wanted)
        for i, part in zip(wanted, found, strict=True):
            writes[i](part.view(dtype), active)

    return run


def _store(machine: Machine, at: int, instruction: ptx.Instruction, report: Report) -> Step | None:
    dtype = values.type_of(instruction.modifiers)
    read = address_of(machine, instruction.operands[0])
    source = instruction.operands[1]
    whole = np.dtype(f"u{dtype.itemsize}")
    elements = source.elements if isinstance(source, ptx.Vector) else (source,)
    parts = [machine.each(e, whole) for e in elements]
    size = dtype.itemsize
    width = min(size * len(parts), 16)

    def run(active: Active) -> None:
        address = read(active)
        report(at, address, active.lanes, width)
        for i, part in enumerate(parts):
            place = address + np.uint64(i * size) if i else address
            machine.memory.store(place, active.lanes, size, part(active))

    return run


def _copy(machine: Machine, at: int, instruction: ptx.Instruction, report: Report) -> Step | None:
    operands = instruction.operands
    if not memory_parts(instruction):
        return None  # cp.async.commit_group and the like
    to, source = (address_of(machine, o) for o in operands[:2])
    width = memory_parts(instruction)[0].width
    size = source_size(instruction) or ptx.Immediate(width)
    ignores = machine.function.register_type(next(registers_of(size), "")) == "pred"
    read = machine.each(size, np.dtype(bool if ignores else np.uint32))

    def run(active: Active) -> None:
        start, end = source(active), to(active)
        # The bytes beyond those that are read are 0.
        given = np.where(read(active), 0, width) if ignores else read(active).astype(np.int64)
        some = given > 0
        report(at, start[some], active.lanes[some], width)
        report(part_key(at, 1), end, active.lanes, width)
        for part in range(0, width, 4):
            found = machine.memory.load(start + np.uint64(part), active.lanes, 4, "b32")
            found = np.where(given > part, found, 0).astype(np.uint32)
            machine.memory.store(end + np.uint64(part), active.lanes, 4, found)

    return run


def _matrix(machine: Machine, at: int, instruction: ptx.Instruction, report: Report) -> Step | None:
    """Return what ldmatrix or stmatrix does: lane i holds 4 bytes of row i // 4 of each matrix.

    Transposed ones and those of 8-bit numbers are counted alike; what they load is not followed.
    """
    (part,) = memory_parts(instruction)
    loads = instruction.opcode == "ldmatrix"
    read = address_of(machine, instruction.operands[part.operand])
    held = instruction.operands[0 if loads else 1]
    elements = held.elements if isinstance(held, ptx.Vector) else (held,)
    known = "m8n8" in instruction.modifiers and "trans" not in instruction.modifiers
    word = np.dtype(np.uint32)
    gets = [] if loads else [machine.each(e, word) for e in elements]
    writes = machine.setters(held)

    def places(active: Active, matrix: int) -> Array:
        """Return the address of each lane's 4 bytes of a matrix."""
        every = np.zeros(machine.lanes, dtype=np.uint64)
        every[active.lanes] = read(active)
        lane = active.lanes & LANES - 1
        row = (active.lanes & ~(LANES - 1)) + 8 * matrix + lane // 4
        return every[row] + (4 * (lane % 4)).astype(np.uint64)

    def run(active: Active) -> None:
        gives = (active.lanes & LANES - 1) < part.lanes
        report(at, read(active)[gives], active.lanes[gives], part.width)
        for matrix, write in enumerate(writes[: part.lanes // 8]):
            place = places(active, matrix) if known else None
            if loads:
                found = np.zeros((), dtype=word)
                if place is not None:
                    found = machine.memory.load(place, active.lanes, 4, "b32")
                write(found, active)
            elif place is not None:
                machine.memory.store(place, active.lanes, 4, gets[matrix](active))

    return run


def _atomic(machine: Machine, at: int, instruction: ptx.Instruction, report: Report) -> Step | None:
    """Return an atomic, or one on neighbouring elements, each of which changes on its own."""
    modifiers, operands = instruction.modifiers, instruction.operands
    returns = instruction.opcode == "atom"
    where, *given = operands[1:] if returns else operands
    vector = given[0].elements if given and isinstance(given[0], ptx.Vector) else None
    parts = memory_parts(instruction)
    if not parts:
        return None
    width = parts[0].width
    size = max(width // max(len(vector), 1), 2) if vector else ptx.SIZES.get(modifiers[-1], 4)
    dtype = values.type_of(modifiers)
    if dtype.itemsize != size:
        # Pairs of halves: their sum is not followed.
        dtype = np.dtype(f"u{size}") if vector else np.dtype(np.uint32)
    width = width if vector else dtype.itemsize
    read = address_of(machine, where)
    elements = [(e,) for e in vector] if vector else [tuple(given[:2])]
    gets = [[machine.each(o, dtype) for o in element] for element in elements]
    nothing = ptx.Vector((ptx.Sink(),) * len(gets))
    writes = machine.setters(operands[0] if returns else nothing)
    change = _change(modifiers, dtype)

    def run(active: Active) -> None:
        address = read(active)
        report(at, address, active.lanes, width)
        for i, (write, element) in enumerate(zip(writes, gets, strict=False)):
            values_of = [get(active) for get in element]
            if not values_of:
                return
            place = address + np.uint64(i * size) if i else address
            old = None
            if at in machine.tickets:
                old = _draw(machine, place, active.lanes, values_of[0])
            if old is None:
                old = _take_turns(machine, place, active.lanes, values_of, modifiers, change)
            write(old, active)

    return run


def _change(modifiers: tuple[str, ...], dtype: np.dtype[Any]) -> Callable[..., Array]:
    """Return what an atomic makes of the old value and its operands."""
    one, zero = dtype.type(1), dtype.type(0)
    made: dict[str, Callable[..., Array]] = {
        "add": lambda old, a, *_: old + a,
        "min": lambda old, a, *_: np.minimum(old, a),
        "max": lambda old, a, *_: np.maximum(old, a),
        "and": lambda old, a, *_: old & a,
        "or": lambda old, a, *_: old | a,
        "xor": lambda old, a, *_: old ^ a,
        "exch": lambda old, a, *_: a,
        "inc": lambda old, a, *_: np.where(old >= a, zero, old + one),
        "dec": lambda old, a, *_: np.where((old == zero) | (old > a), a, old - one),
        "cas": lambda old, a, b=None, *_: np.where(old == a, b if b is not None else a, old),
    }
    return next((made[m] for m in modifiers if m in made), made["add"])


def _take_turns(
    machine: Machine,
    address: Array,
    lanes: Array,
    given: list[Array],
    modifiers: tuple[str, ...],
    change: Callable[..., Array],
) -> Array:
    """Change memory lane by lane where several go to one address; return the old values."""
    dtype = given[0].dtype
    size = dtype.itemsize
    kind = f"{'f' if dtype.kind == 'f' else 'u'}{8 * size}"
    # Shared addresses are alike in all blocks, but other places.
    owner = np.where(address < np.uint64(1 << 32), machine.memory.block_of[lanes], 0)
    order = np.lexsort((address, owner))
    places = address[order]
    new = first_of_equals(places) | first_of_equals(owner[order])
    starts = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    first_lanes = lanes[order][starts]
    held = machine.memory.load(places[starts], first_lanes, size, kind).view(dtype)
    given = [g[order] for g in given]
    rank = np.arange(len(order)) - starts[group]
    most = int(rank.max(initial=0)) + 1
    if "add" in modifiers and most > 4:
        sums = np.cumsum(given[0])
        before = sums - given[0]
        old = held[group] + (before - before[starts][group])
        held = held + np.add.reduceat(given[0], starts)
    else:
        held = held.copy()
        old = np.empty(len(order), dtype=dtype)
        for turn in range(min(most, _TURNS)):
            now = np.flatnonzero(rank == turn)
            old[now] = held[group[now]]
            held[group[now]] = change(old[now], *(g[now] for g in given))
        late = rank >= _TURNS
        old[late] = held[group[late]]
    whole = np.dtype(f"u{size}")
    machine.memory.store(places[starts], first_lanes, size, held.astype(dtype).view(whole))
    found = np.empty(len(order), dtype=dtype)
    found[order] = old
    return found


def ticket_draws(function: ptx.Function, flow: ControlFlow) -> frozenset[int]:
    """Return the additions in loops whose old values are used: tickets, if all are to one word.

    Few blocks of the launch are run, but all of them draw, until all the work is given out. So each
    ticket that a sampled block draws stands for as many as there are blocks for it.
    """
    looped = {at for loop in flow.loops for at in flow.places(loop.blocks)}
    return frozenset(
        at
        for at, i in enumerate(function.instructions)
        if at in looped
        and i.opcode == "atom"
        and "add" in i.modifiers
        and i.modifiers[-1][:1] in "us"
        and i.space != "shared"
    )


def _draw(machine: Machine, address: Array, lanes: Array, given: Array) -> Array | None:
    """Return the old values of lanes that add to one counter, and raise it for all blocks.

    None where lanes do not all add to one word, or all blocks are run.
    """
    if machine.others <= 1 or not np.all(address == address[0]):
        return None
    size, where = given.dtype.itemsize, int(address[0])
    word = machine.memory.load(address[:1], lanes[:1], size, f"u{8 * size}")
    held = int(word[0])
    exact = machine.drawn.get(where, float(held))
    if int(exact) != held:
        exact = float(held)  # somebody else has set it
    sums = np.cumsum(given.astype(np.float64)) * machine.others
    machine.drawn[where] = exact + float(sums[-1])
    after = np.array([int(machine.drawn[where])]).astype(word.dtype)
    machine.memory.store(address[:1], lanes[:1], size, after)
    before = exact + sums - given.astype(np.float64) * machine.others
    return np.asarray(np.floor(before).astype(np.int64).astype(given.dtype))


_MAKERS: Final[Mapping[str, Callable[..., Step | None]]] = {
    **{"ld": _load, "ldu": _load, "st": _store, "atom": _atomic, "red": _atomic},
    **{"cp": _copy, "ldmatrix": _matrix, "stmatrix": _matrix},
}
