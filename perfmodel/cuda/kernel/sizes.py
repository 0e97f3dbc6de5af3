"""Sizes of the buffers of a PTX function: as given, or as far as its accesses reach."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.instructions import Interpreter
from perfmodel.cuda.addresses.launch import Base
from perfmodel.cuda.emulate.counts import Count
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.kernel.accesses import Placed
from perfmodel.cuda.kernel.parts import data_factors, range_under
from perfmodel.records import record

_ANYWHERE: Final = 1 << 30
"""Bytes from which on a place that data decides is taken to have no bound of its own."""


_REACHED: Final = (
    ("global", "buffers are", "--arg NAME=BYTES states them"),
    ("shared", "dynamic shared memory is", "--shared BYTES states them"),
)
"""What to say of memory that ends where accesses do, by its space."""


@record
class Sizes:
    """Sizes of buffers, by the name of what they begin at."""

    lengths: Mapping[str, int]  # elements of each
    notes: Sequence[str]  # what was taken for granted, in words
    assumed: bool  # whether the size of a buffer had to be assumed


def elements_of(placed: Sequence[Placed], bases: Mapping[str, Base]) -> dict[str, int]:
    """Return the bytes of an element of each buffer: the least that an access moves."""
    found: dict[str, int] = {}
    for p in placed:
        known = () if p.offset is None else p.offset.terms.values()
        size = math.gcd(p.moved.unit, *known)
        size = 4 if bases[p.base].space == "local" else size & -size
        found[p.base] = min(found.get(p.base, 16), size)
    return found


def lengths_of(
    placed: Sequence[Placed],
    elements: Mapping[str, int],
    bases: Mapping[str, Base],
    threads: int,
    follower: Interpreter,
    emulation: Emulation | None,
) -> Sizes:
    """Return how many elements each buffer has: as given, or as far as accesses reach.

    `elements` has the bytes of one of each; `threads` are those of the launch.
    """
    found: dict[str, int] = {}
    notes: list[str] = []
    reached: dict[str, list[str]] = {}
    unknown: list[str] = []
    for base, size in elements.items():
        known = bases[base].size
        if bases[base].space == "local":
            known = -(-(known or size) // size) * size * threads  # whole words of each
        if known is not None:
            on_chip = bases[base].space != "global"
            of_base = [] if on_chip else [p for p in placed if p.base == base]
            within = _drawn_within(of_base, follower)
            found[base] = -(-min(known, within or known) // size)
            continue
        reach = _reach([p for p in placed if p.base == base], follower, emulation)
        if reach is None:
            unknown.append(base)
            continue
        found[base] = -(-reach // size)
        text = f"{bases[base].name} {found[base] * size}"
        reached.setdefault(bases[base].space, []).append(text)
    for base in unknown:
        others = (n * elements[b] for b, n in found.items() if bases[b].space == "global")
        taken = max([threads * elements[base], *others])
        found[base] = taken // elements[base]
        name = bases[base].name
        notes.append(
            f"the size of {name} is unknown, and data decides where it is accessed: taken as "
            f"{taken} B, like the largest of the others; state it, as in --arg {name}=64MiB"
        )
    notes += [
        f"{what} taken to have the bytes that accesses reach: {', '.join(reached[space])}; {how}"
        for space, what, how in _REACHED
        if space in reached
    ]
    return Sizes(found, notes, bool(unknown))


def _reach(
    placed: Sequence[Placed], follower: Interpreter, emulation: Emulation | None
) -> int | None:
    """Return the bytes from a buffer's start to the last that one of its accesses reaches.

    None where data alone decides that.
    """
    reach = 0
    unknown = False
    for p in placed:
        if p.counted and emulation is not None:
            count = emulation.counts.get(p.access.key)
            if count is not None and count.region >= 0:
                reach = max(reach, emulation.regions[count.region].reach, 1)
            elif count is not None and p.access.coordinates:
                reach = max(reach, _boxes(p, count, follower.algebra, emulation))
            continue
        assert p.offset is not None
        high = range_under(p.offset, p.access.guard, follower.algebra).high
        if data_factors(p.offset, follower.data) and high >= _ANYWHERE:
            unknown = True
            continue
        reach = max(reach, high + p.moved.width)
    if unknown and not reach:
        return None
    return reach


def _drawn_within(placed: Sequence[Placed], follower: Interpreter) -> int | None:
    """Return the bytes that accesses at random places reach, if numbers that are read say it.

    Of a table of which only the first rows are ever drawn, the rest is as if it were not there.
    """
    drawn = False
    if not follower.data:
        return None
    for p in placed:
        if p.counted or p.offset is None:
            return None
        if data_factors(p.offset, follower.data):
            drawn = True
            if range_under(p.offset, p.access.guard, follower.algebra).high >= _ANYWHERE:
                return None
    return _reach(placed, follower, None) if drawn else None


def _boxes(p: Placed, count: Count, algebra: Algebra, emulation: Emulation) -> int:
    """Return the bytes that a tensor copy's boxes reach: all apart if nothing tells."""
    box = -(-count.width * count.lanes // max(count.requests, 1))
    if p.offset is None:
        return round(box * count.requests * emulation.scale)
    return algebra.range(p.offset).high + box
