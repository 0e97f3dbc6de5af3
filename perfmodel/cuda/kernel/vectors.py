"""Loads and stores that ptxas makes one: neighbouring words with a known alignment.

``ld.shared.f32`` at p, p + 4, p + 8 and p + 12 become one load of 16 bytes where p is a multiple of
16. Of a global pointer nobody knows the alignment, unless a wider access of the same basic block
shows it: ``st.global.v4.f32`` at p + 16 makes four ``st.global.f32`` from p on one store (machine
code of ptxas 13.0 for sm_90, loads and stores; not where others of memory are in between,
nor across a branch).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from perfmodel.cuda.kernel.accesses import Placed
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.syntax import Function, Instruction

_WIDEST: Final = 16
_ENDS: Final = frozenset({"bar", "barrier", "membar", "fence", "call"})


def joined_accesses(
    function: Function, flow: ControlFlow, placed: Sequence[Placed], shared: frozenset[str]
) -> list[Placed]:
    """Return accesses with neighbouring ones of known alignment as one.

    They are in the order of the program; the bases `shared` are in shared memory.
    """
    stretches = {kind: _stretches(function, flow, kind) for kind in ("shared", "load", "store")}
    groups: dict[Any, list[int]] = {}
    widest: dict[Any, Placed] = {}
    for i, p in enumerate(placed):
        if p.counted or p.offset is None or p.moved.bulk or p.moved.kind == "atomic":
            continue
        if p.base in shared and p.moved.kind == "store":
            continue
        rest = frozenset((k, v) for k, v in p.offset.terms.items() if k)
        place = (flow.block_of[p.access.at], p.base, p.access.guard, p.access.loop, rest)
        if place not in widest or p.moved.width > widest[place].moved.width:
            widest[place] = p
        stretch = stretches["shared" if p.base in shared else p.moved.kind][p.access.at]
        key = (place, stretch, p.moved.kind, p.moved.width, p.moved.cache)
        groups.setdefault(key, []).append(i)
    found: list[Placed | None] = [*placed]
    for (place, *_), members in groups.items():
        first = placed[members[0]]
        assert first.offset is not None
        shown = widest[place]
        if first.base in shared:
            terms = first.offset.terms
            aligned, begin = math.gcd(_WIDEST, *(v for k, v in terms.items() if k)), 0
        elif shown.moved.width > first.moved.width and shown.offset is not None:
            aligned, begin = shown.moved.width, shown.offset.offset
        else:
            continue
        _join(members, placed, found, aligned, begin)
    return [p for p in found if p is not None]


def _join(
    members: list[int],
    placed: Sequence[Placed],
    found: list[Placed | None],
    aligned: int,
    begin: int,
) -> None:
    """Put neighbours among the accesses of one group together, the widest first.

    Offset `begin` is at a multiple of `aligned` [B].
    """
    width = placed[members[0]].moved.width
    by_offset: dict[int, int] = {}
    for i in members:
        offset = placed[i].offset
        assert offset is not None
        by_offset.setdefault(offset.offset, i)
    for whole in (16, 8):
        count = whole // width
        if count < 2 or aligned % whole:
            continue
        for start in sorted(by_offset):
            parts = [start + width * i for i in range(count)]
            if (start - begin) % whole or any(part not in by_offset for part in parts):
                continue
            places = [by_offset.pop(part) for part in parts]
            earliest = min(places)
            base = placed[by_offset.get(start, places[0])]
            found[earliest] = replace(
                base,
                access=replace(base.access, at=placed[earliest].access.at),
                moved=replace(base.moved, width=whole),
            )
            for i in places:
                if i != earliest:
                    found[i] = None


@once
def _stretches(function: Function, flow: ControlFlow, kind: str) -> list[int]:
    """Return a number for each instruction: accesses of equal numbers can be put together.

    `kind` is that of the accesses: "shared" for loads from shared memory, else "load" or "store".
    """
    found = []
    number = 0
    starts = {block.start for block in flow.blocks}
    for at, instruction in enumerate(function.instructions):
        if at in starts or instruction.opcode in _ENDS or _parts(instruction, kind):
            number += 1
        found.append(number)
    return found


def _parts(instruction: Instruction, kind: str) -> bool:
    """Say whether an instruction keeps accesses of a kind before and behind it apart."""
    modifiers = instruction.modifiers
    if kind == "shared":
        return instruction.opcode in ("st", "atom", "red") and "global" not in modifiers
    others = ("st", "atom", "red") if kind == "load" else ("ld", "atom", "red")
    return instruction.opcode in others and not {"shared", "nc", "param"} & {*modifiers}
