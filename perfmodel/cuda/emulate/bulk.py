"""Bulk copies of emulated warps, tensor copies among them, and the barriers that wait for them.

What they move is counted, not what it is: shared memory keeps what it held. A tensor copy's box is
in its tensor map, which PTX does not show; but a barrier is told the bytes to wait for, and these
are shared out among the tensor copies that arrive at it.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np

from perfmodel.cuda.emulate.counts import Count, Counter
from perfmodel.cuda.emulate.machine import Active, Getter, Machine, Step, address_of
from perfmodel.cuda.parse.memory_parts import memory_parts
from perfmodel.cuda.parse.syntax import (
    Address,
    Immediate,
    Instruction,
    Register,
    Sink,
    SpecialRegister,
)
from perfmodel.models.requests.coalescing import LINE, SECTOR

ASSUMED_BOX: Final = 16 << 10
"""Bytes of a tensor copy of which nothing tells the size."""

_ADDRESS: Final = np.dtype(np.uint64)
_WORD: Final = np.dtype(np.uint32)


@dataclass(slots=True)
class Arrivals:
    """What barriers wait for: bytes, and copies by instruction; by the barrier's address."""

    # Bytes that barriers are told to wait for, and those of copies whose size is stated.
    expected: dict[int, float] = field(default_factory=dict)
    known: dict[int, float] = field(default_factory=dict)
    # Tensor copies of each instruction.
    copies: dict[int, dict[int, int]] = field(default_factory=dict)
    # Tensor copies from shared memory, which no barrier waits for, by instruction.
    stores: dict[int, int] = field(default_factory=dict)

    def sizes(self) -> tuple[dict[int, float], str]:
        """Return the bytes of a tensor copy by instruction, and what that takes for granted."""
        found: dict[int, list[tuple[float, int]]] = {}
        for barrier, copies in self.copies.items():
            left = self.expected.get(barrier, 0.0) - self.known.get(barrier, 0.0)
            each = left / sum(copies.values())
            for at, count in copies.items():
                if each > 0:
                    found.setdefault(at, []).append((each, count))
        sizes = {at: sum(b * n for b, n in v) / sum(n for _, n in v) for at, v in found.items()}
        every = {at for copies in self.copies.values() for at in copies} | self.stores.keys()
        if not every:
            return {}, ""
        note = "boxes of tensor copies are not in PTX: taken from the bytes that barriers expect"
        missing = every - sizes.keys()
        if missing:
            mean = sum(sizes.values()) / len(sizes) if sizes else float(ASSUMED_BOX)
            what = "the mean of those" if sizes else "nothing shows them: an assumption"
            note += f"; of {len(missing)} instructions {mean:.0f} B ({what})"
            sizes |= dict.fromkeys(missing, mean)
        return sizes, note

    def counted(self, counter: Counter) -> list[str]:
        """Count what tensor copies move, and return in words what that takes for granted."""
        sizes, note = self.sizes()
        for at, size in sizes.items():
            count = counter.counts[at]
            pieces = [count.requests * max(size / g, 1.0) for g in (16, SECTOR, LINE, LINE // 2)]
            count.add_run(count.requests, *pieces)
        return [note] if note else []


def bulk_copy(
    machine: Machine, at: int, instruction: Instruction, counter: Counter, arrivals: Arrivals
) -> Step | None:
    """Return what a bulk copy between global and shared memory counts; None for other copies."""
    parts = memory_parts(instruction)
    if not parts:
        return None
    (part,) = parts
    where = instruction.operands[part.operand]
    if not isinstance(where, Address):
        return None
    places = [o for o in instruction.operands if isinstance(o, Address)]
    arrives = part.kind == "load" and len(places) > 2  # at a barrier, the last of these
    barrier = _place(machine, places[-1]) if arrives else None
    if "tensor" in instruction.modifiers:
        return _tensor_copy(at, barrier, arrivals, counter)
    base = address_of(machine, where)
    sizes = instruction.operands[2:3]
    if not sizes or not isinstance(sizes[0], Immediate | Register | SpecialRegister):
        return None
    size = machine.each(sizes[0], _WORD)

    def run(active: Active) -> None:
        address, moved = machine.memory.runs(base(active), size(active).astype(np.int64))
        counter.report_run(at, address, moved)
        if barrier is not None:
            for key in barrier(active).tolist():
                arrivals.known[key] = arrivals.known.get(key, 0.0) + float(moved.mean())

    return run


def _tensor_copy(at: int, barrier: Getter | None, arrivals: Arrivals, counter: Counter) -> Step:
    def run(active: Active) -> None:
        count = counter.counts.setdefault(at, Count(16))
        count.requests += len(active.lanes)
        if barrier is None:
            arrivals.stores[at] = arrivals.stores.get(at, 0) + len(active.lanes)
            return
        for key in barrier(active).tolist():
            copies = arrivals.copies.setdefault(key, {})
            copies[at] = copies.get(at, 0) + 1

    return run


def barrier_step(machine: Machine, instruction: Instruction, arrivals: Arrivals) -> Step | None:
    """Return what an mbarrier instruction does: what is waited for has come."""
    modifiers, operands = instruction.modifiers, instruction.operands
    if not {"test_wait", "try_wait"}.isdisjoint(modifiers):
        (write,) = machine.setters(operands[0] if operands else Sink())
        return lambda active: write(np.ones((), dtype=bool), active)
    if "expect_tx" not in modifiers:
        return None
    pairs = ((o, count) for o, count in pairwise(operands) if isinstance(o, Address))
    place, count = next(pairs, (None, None))
    if place is None or count is None:
        return None
    barrier, told = _place(machine, place), machine.each(count, _WORD)

    def run(active: Active) -> None:
        for key, value in zip(barrier(active).tolist(), told(active).tolist(), strict=True):
            arrivals.expected[key] = arrivals.expected.get(key, 0.0) + value

    return run


def _place(machine: Machine, address: Address) -> Getter:
    base = machine.each(address.base, _ADDRESS)
    offset = np.uint64(address.offset & 0xFFFFFFFF)
    # Addresses in another block of a cluster have its number above.
    return lambda active: (base(active) + offset) & np.uint64(0xFFFFFF)
