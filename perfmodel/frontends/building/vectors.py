"""Loads from shared memory that ptxas makes one: neighbouring words with a known alignment.

``ld.shared.f32`` at p, p + 4, p + 8 and p + 12 become one load of 16 bytes where p is a multiple of
16. Global loads stay as they are, for nobody knows how a pointer is aligned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from perfmodel.frontends.building.accesses import Placed
from perfmodel.frontends.ptx.control_flow import ControlFlow
from perfmodel.frontends.ptx.syntax import Function

_WIDEST: Final = 16
_ENDS: Final = frozenset({"bar", "barrier", "membar", "fence", "call"})


def joined_loads(
    function: Function, flow: ControlFlow, placed: Sequence[Placed], shared: frozenset[str]
) -> list[Placed]:
    """Return accesses with neighbouring shared loads as one.

    Parameters
    ----------
    function : Function
    flow : ControlFlow
    placed : sequence of Placed
        In the order of the program.
    shared : frozenset of str
        Bases in shared memory.
    """
    stretch = _stretches(function, flow)
    groups: dict[Any, list[int]] = {}
    for i, p in enumerate(placed):
        if p.base in shared and p.moved.kind == "load" and not p.counted and p.offset is not None:
            rest = frozenset((k, v) for k, v in p.offset.terms.items() if k)
            at = stretch[p.access.at]
            key = (at, p.base, p.access.guard, p.access.loop, p.moved.width, rest)
            groups.setdefault(key, []).append(i)
    found: list[Placed | None] = [*placed]
    for members in groups.values():
        _join(members, placed, found)
    return [p for p in found if p is not None]


def _join(members: list[int], placed: Sequence[Placed], found: list[Placed | None]) -> None:
    """Put neighbours among the loads of one group together, the widest first."""
    first = placed[members[0]]
    assert first.offset is not None
    width = first.moved.width
    aligned = math.gcd(_WIDEST, *(v for k, v in first.offset.terms.items() if k))
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
            if start % whole or any(part not in by_offset for part in parts):
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


def _stretches(function: Function, flow: ControlFlow) -> list[int]:
    """Return a number for each instruction: loads of equal numbers can be put together."""
    found = []
    number = 0
    starts = {block.start for block in flow.blocks}
    for at, instruction in enumerate(function.instructions):
        stores = instruction.opcode in ("st", "atom", "red") and "global" not in (
            instruction.modifiers
        )
        if at in starts or stores or instruction.opcode in _ENDS:
            number += 1
        found.append(number)
    return found
