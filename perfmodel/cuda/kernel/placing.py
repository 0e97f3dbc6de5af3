"""Which buffer each access of a PTX kernel goes to, and at which offset."""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.instructions import Interpreter
from perfmodel.cuda.addresses.launch import Base, KernelLaunch
from perfmodel.cuda.addresses.records import ALIGNED, BASE, Datum, Followed, MemoryAccess, is_data
from perfmodel.cuda.addresses.sums import Sum, constant, single
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.kernel.accesses import Placed
from perfmodel.cuda.kernel.parts import data_factors
from perfmodel.cuda.launch.content import TYPES
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.memory_parts import Moved, moved
from perfmodel.cuda.parse.syntax import Function
from perfmodel.expressions import Name

_ORDERED: Final = frozenset({"zeros", "index", "cumulative"})
"""Recipes of content that is at no random places."""
_WORD: Final = 4
"""[B] by which local memory is laid out."""


def placed_accesses(
    function: Function,
    found: Followed,
    bound: KernelLaunch,
    follower: Interpreter,
    bases: dict[str, Base],
) -> list[Placed]:
    """Return a kernel's accesses with their buffers and offsets, as far as following shows them."""
    placed = [_placed(function, access, bases, found, follower) for access in found.accesses]
    stated = {
        p.access.at
        for p in placed
        if p.base and _in_order(bound.buffers.get(bases[p.base].parameter or ""))
    }
    return [_by_content(p, stated, follower) for p in placed]


def placed_as_emulated(
    placed: Sequence[Placed], emulation: Emulation, bases: dict[str, Base], follower: Interpreter
) -> list[Placed]:
    """Return accesses with the buffers and boxes that emulation saw where following shows none."""
    boxed = [_with_box(p, emulation) for p in placed]
    based = [_with_base(p, emulation, bases) for p in boxed]
    return _with_joined_buffers(based, emulation, bases, follower.data)


def _placed(
    function: Function,
    access: MemoryAccess,
    bases: dict[str, Base],
    found: Followed,
    follower: Interpreter,
) -> Placed:
    """Return an access with its buffer and offset, as far as they are known."""
    what = moved(function, access.at, access.part)
    if what.bulk and access.coordinates:
        return _tensor_copy(access, what, bases, follower)
    unknown = {loop.variable for loop in found.loops if loop.trips is None}
    counted = what.bulk or is_data(access.guard) or not unknown.isdisjoint(found.nest(access.loop))
    nowhere = Placed(access, "", None, what, counted=True)
    if access.address is None:
        return nowhere
    factors = (factor for each in access.address.terms for factor in each)
    base = next((f for f in factors if isinstance(f, Name) and f.name in bases), None)
    if base is None:
        return nowhere
    start = single(base)
    if bases[base.name].parameter is not None:
        start = start * ALIGNED
    if any(access.address.terms.get(k) != v for k, v in start.terms.items()):
        return nowhere
    offset = access.address - start
    if any(name in bases for name in offset.names):
        return nowhere
    made = [follower.data[name] for name in offset.names if name in follower.data]
    # A number that is computed in a way that is not followed is no random one.
    computed = any(not datum.sources or datum.computed for datum in made)
    counted = counted or computed or len(made) > 1
    return Placed(access, base.name, offset, what, counted)


def _in_order(buffer: Buffer | None) -> bool:
    """Say whether a buffer's content is stated, and not as random numbers."""
    return buffer is not None and (buffer.npy is not None or buffer.fill in _ORDERED)


def _by_content(p: Placed, stated: set[int], follower: Interpreter) -> Placed:
    """Return an access counted by emulation if what it is placed by is stated content."""
    names = () if p.offset is None else p.offset.names
    read = {at for name in names if name in follower.data for at in follower.data[name].sources}
    return replace(p, counted=True) if read & stated else p


def narrow(
    placed: Sequence[Placed], bound: KernelLaunch, bases: dict[str, Base], follower: Interpreter
) -> None:
    """Make known what is read from random integers below a number, if nobody changes them."""
    changed = {p.base for p in placed if p.moved.kind != "load"}
    for p in placed:
        buffer = bound.buffers.get(bases[p.base].parameter or "") if p.base else None
        below = None if buffer is None or p.base in changed else buffer.below_all
        if below is None or buffer is None or TYPES[buffer.dtype or "u8"].itemsize != p.moved.unit:
            continue
        for name, datum in [*follower.data.items()]:
            if datum.instruction == p.access.at and 0 < below <= datum.high:
                shuffled = buffer.fill == "permutation"
                found = replace(datum, low=0, high=below - 1, shuffled=shuffled)
                follower.data[name] = found
                follower.algebra.add_variable(name, 0, below - 1)


def word_accesses(p: Placed, bases: dict[str, Base]) -> list[Placed]:
    """Return an access as the hardware makes it: in local memory, one for each word of a lane."""
    count = p.moved.width // _WORD
    if not p.base or bases[p.base].space != "local" or count < 2 or p.counted or p.offset is None:
        return [p]
    moved_word = replace(p.moved, unit=_WORD, width=_WORD)
    return [replace(p, offset=p.offset + _WORD * i, moved=moved_word) for i in range(count)]


def _with_base(p: Placed, emulation: Emulation, bases: dict[str, Base]) -> Placed:
    """Return an access with the buffer that the emulation saw it go to; none if it never ran."""
    if p.base:
        return p
    count = emulation.counts.get(p.access.key)
    if count is None or count.region == -3 or count.region >= len(emulation.regions):
        return p  # it goes to no buffer that is known: a pointer read from unknown content
    if count.region < 0:
        space = "shared" if count.region == -1 else "local"
        base = next((name for name, b in bases.items() if b.space == space), "")
    else:
        wanted = emulation.regions[count.region].name
        base = next((name for name, b in bases.items() if wanted in (b.name, b.parameter)), "")
    return Placed(p.access, base, None, p.moved, True)


def _with_joined_buffers(
    placed: Sequence[Placed], emulation: Emulation, bases: dict[str, Base], data: Container[str]
) -> list[Placed]:
    """Return accesses, those that the emulation saw in several buffers in one as large as all.

    An access of a kernel belongs to one buffer. One that goes through a list of pointers reads as
    many bytes as all of them have, and so do the others that go to any of these where data decides.

    Bases that stand for several are put in; `data` has the names of numbers that data decides.
    """
    numbers = {region.name: i for i, region in enumerate(emulation.regions)}
    of_base = {
        numbers[name]: key
        for key, base in bases.items()
        if base.space == "global"
        for name in (base.name, base.parameter)
        if name in numbers
    }
    groups = _groups(emulation, of_base, bases)
    found = []
    for p in placed:
        count = emulation.counts.get(p.access.key)
        joined = None
        anywhere = p.offset is None or any(name in data for name in p.offset.names)
        if count is not None and p.counted and anywhere:
            joined = next((name for group, name in groups if count.regions & group), None)
        found.append(p if joined is None else replace(p, base=joined, offset=None))
    return found


def _groups(
    emulation: Emulation, of_base: Mapping[int, str], bases: dict[str, Base]
) -> list[tuple[frozenset[int], str]]:
    """Return which regions are taken as one, with the name of the base that stands for them."""
    groups: list[frozenset[int]] = []
    for count in emulation.counts.values():
        reached = count.regions & of_base.keys()
        if len(reached) < 2:
            continue
        group = frozenset(reached | _between(reached, of_base, bases))
        apart = [other for other in groups if not other & group]
        group = group.union(*(other for other in groups if other & group))
        groups = [*apart, group]
    found = []
    for group in groups:
        first = bases[of_base[min(group)]]
        sizes = [bases[of_base[i]].size for i in group]
        known = [size for size in sizes if size is not None]
        size = sum(known) if len(known) == len(sizes) else None
        name = f"{of_base[min(group)]}_and_others"
        bases[name] = replace(first, name=f"{first.name}-and-others", size=size)
        found.append((group, name))
    return found


def _between(
    reached: frozenset[int] | set[int], of_base: Mapping[int, str], bases: Mapping[str, Base]
) -> set[int]:
    """Return the pointers of one structure between those reached: a sample does not meet all."""
    inside = range(min(reached), max(reached) + 1)
    owners = {(bases[of_base[i]].parameter or "").partition("+") for i in reached}
    owner = {(name, mark) for name, mark, _ in owners}
    if len(owner) != 1 or not next(iter(owner))[1]:
        return set()
    return {i for i in inside if i in of_base}


_MOST_BOXES: Final = 1 << 26
_PIECE: Final = 16
"""[B] that the size of a box is a multiple of (CUDA driver API, cuTensorMapEncodeTiled)."""


def _tensor_copy(
    access: MemoryAccess, what: Moved, bases: dict[str, Base], follower: Interpreter
) -> Placed:
    """Return a tensor copy with a base of its own; its offset counts boxes until `_with_box`.

    How boxes lie in memory is in the tensor map, which the host makes. So they are taken to lie one
    behind the other, one for each set of coordinates: the same bytes are moved, and the same box
    comes again where it does.
    """
    names = () if access.address is None else sorted(access.address.names)
    start = next((n.removeprefix(BASE) for n in names if n.startswith(BASE)), f"at_{access.at}")
    name = f"{BASE}tensor__{start}"
    if name not in bases:
        bases[name] = Base(f"tensor-{start.rpartition('_param_')[2]}", "global", None)
    offset = _box_number(access.coordinates, follower.algebra, follower.data)
    return Placed(access, name, offset, what, counted=True)


def _with_box(p: Placed, emulation: Emulation) -> Placed:
    """Return a tensor copy with its offset in bytes; any other access as it is."""
    count = emulation.counts.get(p.access.key)
    if not p.access.coordinates or p.offset is None or count is None or not count.requests:
        return p
    box = -(-count.width * count.lanes // count.requests // _PIECE) * _PIECE
    return replace(p, offset=p.offset * max(box, _PIECE))


def _box_number(
    coordinates: Sequence[Sum], algebra: Algebra, data: Mapping[str, Datum]
) -> Sum | None:
    """Return a number for each set of coordinates; None where data or too many boxes decide."""
    found, boxes = constant(0), 1
    for coordinate in coordinates:
        if data_factors(coordinate, data):
            return None
        step = math.gcd(*coordinate.terms.values()) or 1
        part = Sum({factors: count // step for factors, count in coordinate.terms.items()})
        reach = algebra.range(part)
        if reach.low < 0:
            return None
        found = found + part * boxes
        boxes *= reach.high + 1
        if boxes > _MOST_BOXES:
            return None
    return found
