"""Accesses that go to several buffers: pointers out of a list in a structure, or one of two."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from perfmodel.cuda.addresses.launch import Base
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.kernel.accesses import Placed


def with_joined_buffers(
    placed: Sequence[Placed],
    emulation: Emulation,
    bases: dict[str, Base],
    data: Container[str],
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
