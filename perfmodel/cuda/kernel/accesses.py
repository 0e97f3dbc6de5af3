"""Accesses made from PTX: where they go, shared guards, names, and who waits for whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from perfmodel.cuda.addresses.conditions import TRUE, all_of, conjuncts
from perfmodel.cuda.addresses.records import MemoryAccess, is_data
from perfmodel.cuda.addresses.sums import Sum
from perfmodel.cuda.parse.memory_instructions import Moved
from perfmodel.cuda.parse.syntax import Function
from perfmodel.expressions import Node, Number, names, parse
from perfmodel.kernels.access import DATA_TYPES, Access
from perfmodel.records import record

THREAD: Final = parse(
    "(blockIdx.x + gridDim.x*(blockIdx.y + gridDim.y*blockIdx.z))"
    "*(blockDim.x*blockDim.y*blockDim.z)"
    " + (threadIdx.x + blockDim.x*(threadIdx.y + blockDim.y*threadIdx.z))"
)
"""Number of a thread in the launch."""
_UNORDERED: Final = frozenset({"nc", "shared", "local"})
"""What no store through another pointer to global memory writes."""


@record
class Placed:
    """An access with what it moves, and where, as far as that is known."""

    access: MemoryAccess
    base: str
    """What its address starts at; empty if nothing shows it."""
    offset: Sum | None
    """From there [B]."""
    moved: Moved
    counted: bool
    """Whether data decides where it goes or who makes it, so that it was counted."""


def known_part(guard: Node) -> Node:
    """Return the part of a condition that no data decides."""
    return all_of(part for part in conjuncts(guard) if not is_data(part))


def data_type(m: Moved, size: int) -> Node | None:
    """Return the type of an atomic's operand, as kernels state it."""
    if m.kind != "atomic" or m.dtype is None or DATA_TYPES[m.dtype] % size:
        return None
    return Number(list(DATA_TYPES).index(m.dtype))


def three_numbers(sizes: tuple[int, int, int]) -> tuple[Node, Node, Node]:
    """Return grid or block as kernels state them."""
    x, y, z = (Number(size) for size in sizes)
    return x, y, z


def factored(accesses: list[Access], loops: Collection[str]) -> tuple[Node | None, list[Access]]:
    """Return the conditions that all accesses share as the kernel's guard, and the rest apart."""
    parts = [conjuncts(TRUE if a.guard is None else a.guard) for a in accesses]
    if not parts:
        return None, accesses
    shared = [
        p for p in parts[0] if all(p in other for other in parts[1:]) and names(p).isdisjoint(loops)
    ]
    if not shared:
        return None, accesses
    found = []
    for access, own in zip(accesses, parts, strict=True):
        guard = all_of(p for p in own if p not in shared)
        found.append(replace(access, guard=None if guard == TRUE else guard))
    return all_of(shared), found


def named_accesses(accesses: Sequence[Access]) -> list[Access]:
    """Return accesses called by their buffer, numbered from 2 on."""
    counts: dict[str, int] = {}
    found = []
    for access in accesses:
        counts[access.buffer] = counts.get(access.buffer, 0) + 1
        number = counts[access.buffer]
        name = access.buffer if number == 1 else f"{access.buffer}-{number}"
        found.append(replace(access, name=name))
    return found


def chained(
    accesses: Sequence[Access],
    placed: Sequence[Placed],
    function: Function,
    shared: Collection[str],
) -> list[Access]:
    """Say which load an access waits for: the last one of its loop that its index comes from.

    Outside of loops also the last that an earlier store through another pointer waits for, which
    may write what the load reads: ptxas keeps their order, and warps issue in order. An atomic that
    returns waits for what it adds, and for loads before a barrier, where warps hand on what they
    read; buffers called `shared` are none of these. In loops the paces have it
    (`perfmodel.cuda.kernel.code_work`).
    """
    by_instruction = {p.access.at: a for p, a in zip(placed, accesses, strict=True)}
    held: dict[str, frozenset[int]] = {}
    found = []
    for access, p in zip(accesses, placed, strict=True):
        sources = p.access.sources
        modifiers = function.instructions[p.access.at].modifiers
        if access.loop is None and _UNORDERED.isdisjoint(modifiers):
            if access.kind == "load":
                sources = sources.union(*(s for base, s in held.items() if base != p.base))
            elif access.kind == "store":
                held[p.base] = held.get(p.base, frozenset()) | p.access.stored
            elif access.returns:
                sources = sources | p.access.stored | _before_barrier(function, p.access.at)
        needs = [
            by_instruction[at]
            for at in sorted(sources)
            if at in by_instruction and at < p.access.at
        ]
        same = [n for n in needs if n.loop == access.loop and n.kind == "load"]
        if access.kind == "atomic":  # what it hands on comes through shared memory
            same = [n for n in same if n.buffer not in shared]
        found.append(replace(access, needs=same[-1].name) if same else access)
    return found


def _before_barrier(function: Function, at: int) -> frozenset[int]:
    """Return the instructions before the last barrier that stands before an instruction."""
    behind = function.instructions[:at]
    last = max((n for n, i in enumerate(behind) if i.opcode in ("bar", "barrier")), default=0)
    return frozenset(range(last))


def rounds_of_loads(accesses: Sequence[Access], shared: Collection[str]) -> dict[str | None, int]:
    """Return how many loads of each loop wait for one another, by the addresses that they make.

    As many batches a turn as the model of latency has where nothing else makes a warp wait: those
    from shared memory, buffers called `shared`, are none of them.
    """
    depths: dict[str, int] = {}
    found: dict[str | None, set[int]] = {}
    for access in accesses:
        if access.buffer in shared:
            continue
        depths[access.name] = depths[access.needs] + 1 if access.needs in depths else 0
        if (access.kind == "load" or access.returns) and access.cache != "shared":
            found.setdefault(access.loop, set()).add(depths[access.name])
    return {loop: len(levels) for loop, levels in found.items()}
