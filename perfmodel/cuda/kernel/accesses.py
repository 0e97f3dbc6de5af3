"""Accesses made from PTX: where they go, shared guards, names, and who waits for whom.

What ptxas makes one access is joined: ``ld.shared.f32`` at p, p + 4, p + 8 and p + 12 become one
load of 16 bytes where p is a multiple of 16. Of a global pointer nobody knows the alignment, unless
a wider access of the same basic block shows it: ``st.global.v4.f32`` at p + 16 makes four
``st.global.f32`` from p on one store (machine code of ptxas 13.0 for sm_90, loads and stores; not
where others of memory are in between, nor across a branch). Bytes are never joined, halves to
eight bytes at most; of halves not what is loaded to be extended to 32 bits, as LDS.U16 does.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from perfmodel.cuda.addresses.conditions import TRUE, all_of, conjuncts
from perfmodel.cuda.addresses.records import MemoryAccess, is_data
from perfmodel.cuda.addresses.sums import Sum
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.memory_parts import Moved
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import is_block_barrier, read_registers, written_registers
from perfmodel.cuda.parse.syntax import Function, Instruction
from perfmodel.expressions import Name, Node, Number, names, parse
from perfmodel.kernels.access import DATA_TYPES, Access
from perfmodel.records import record

_BLOCK: Final = "(blockIdx.x + gridDim.x*(blockIdx.y + gridDim.y*blockIdx.z))"
THREAD: Final = parse(
    f"{_BLOCK}*(blockDim.x*blockDim.y*blockDim.z)"
    " + (threadIdx.x + blockDim.x*(threadIdx.y + blockDim.y*threadIdx.z))"
)
"""Number of a thread in the launch."""


@record
class Placed:
    """An access with what it moves, and where, as far as that is known."""

    access: MemoryAccess
    base: str  # what its address starts at; empty if nothing shows it
    offset: Sum | None  # from there [B]
    moved: Moved
    counted: bool  # whether data decides where it goes or who makes it, so that it was counted


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
    (`perfmodel.cuda.kernel.warp_work`).
    """
    by_instruction = {p.access.at: a for p, a in zip(placed, accesses, strict=True)}
    held: dict[str, frozenset[int]] = {}
    found = []
    for access, p in zip(accesses, placed, strict=True):
        sources = p.access.sources
        made = function.instructions[p.access.at]
        # What no store through another pointer to global memory writes.
        unordered = "nc" in made.modifiers or made.space in ("shared", "local")
        if access.loop is None and not unordered:
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
    last = max((n for n, i in enumerate(behind) if is_block_barrier(i)), default=0)
    return frozenset(range(last))


def place_of(index: Node, space: str, length: int, grid: Sequence[int]) -> Node:
    """Return what identifies the place of an access: shared memory is private to a block."""
    if space != "shared":
        return index
    block = parse(_BLOCK) if math.prod(grid[1:]) > 1 else Name("blockIdx.x")
    return index + block * length


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


_WIDEST: Final = 16
_WHOLES: Final[Mapping[int, tuple[int, ...]]] = {2: (8, 4), 4: (16, 8), 8: (16,)}
"""Bytes of what accesses of so many bytes are joined to."""
_WORDS: Final = frozenset({"u32", "s32", "u64", "s64"})
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
        if (p.base in shared and p.moved.kind == "store") or _is_extended(function, p):
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
    for whole in _WHOLES.get(width, ()):
        count = whole // width
        if aligned % whole:
            continue
        for start in sorted(by_offset):
            parts = [start + width * i for i in range(count)]
            if (start - begin) % whole or any(part not in by_offset for part in parts):
                continue
            places = [by_offset.pop(part) for part in parts]
            for i in places:
                found[i] = None
            base, earliest = placed[places[0]], min(places)
            found[earliest] = replace(
                base,
                access=replace(base.access, at=placed[earliest].access.at),
                moved=replace(base.moved, width=whole),
            )


def _is_extended(function: Function, p: Placed) -> bool:
    """Say whether an access loads a half that becomes a word: ptxas lets the load extend it."""
    if p.moved.kind != "load" or p.moved.width != 2:
        return False
    loaded = written_registers(function.instructions[p.access.at])
    return any(
        r in _extended(function) or (function.register_type(r) or "").endswith(("32", "64"))
        for r in loaded
    )


@once
def _extended(function: Function) -> frozenset[str]:
    """Return the registers of 16 bits that are extended to words."""
    return frozenset(
        register
        for i in function.instructions
        if i.opcode == "cvt" and (_WORDS & {*i.modifiers[:-1]} or i.modifiers[-1:] == ("bf16",))
        for register in read_registers(i)
    )


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
    space = instruction.space
    if kind == "shared":
        return instruction.opcode in ("st", "atom", "red") and space != "global"
    others = ("st", "atom", "red") if kind == "load" else ("ld", "atom", "red")
    ordered = space not in ("shared", "param") and "nc" not in instruction.modifiers
    return instruction.opcode in others and ordered
