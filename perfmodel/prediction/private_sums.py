"""Private sums: additions to a few global words, made in each block's shared memory first.

A block clears its copy of the words, adds to it, and in the end adds each word of it to the global
one. Fewer blocks, each of which does the work of several in turn, have fewer copies to add up.
This is done to the record of a kernel, so it holds for one from any source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from perfmodel.expressions import Name, Node, Number, Operation, evaluate, names, substitute
from perfmodel.kernels import Access, Kernel, expanded
from perfmodel.kernels.kernel import Arithmetic, Barrier, Buffer, Loop, Pace
from perfmodel.prediction.record import Prediction

_WAVES: Final = (1, 2, 4, 8)
"""Blocks an SM of the grids that are tried."""
_SUMMED: Final = ("add", "increment")
_WHOLE: Final = (None, 0, 1, 2)
"""Positions of integers in `DATA_TYPES`."""
_LOOP_WORK: Final = (("int32", 1.6), ("imad", 1.4), ("other", 1.0))
_LOOP_CLOCKS: Final = 31
_MERGE_CLOCKS: Final = 51
_AROUND: Final = 15
_AROUND_CLOCKS: Final = 66
"""Instructions and clocks of a loop that clears or adds up, and of what lies around both: the
machine code of `histogram_shared`, beside that of `histogram_global` (nvcc 13.0 for sm_90,
measurements/source-kernels/h200-sxm/corpus/program/histograms.cu)."""
_SETUP_WORK: Final = 12
_SETUP_CLOCKS: Final = 60
"""Moves and clocks of a thread's start, which a loop around its work does not repeat: a copy takes
87 clocks alone, a turn of one that loops 29 to 33 (streams.cu in the same place)."""


@dataclass(frozen=True, slots=True)
class PrivateSums:
    """A launch with private sums.

    Attributes
    ----------
    kernel : Kernel
    buffer, private : str
        What is added to in the end, and each block's copy.
    length : int
        Words.
    dtype : int or None
        Type of a word, as its position in `DATA_TYPES`.
    blocks : int or None
        Blocks, if there are fewer of them; None: as launched.
    """

    kernel: Kernel
    buffer: str
    private: str
    length: int
    dtype: int | None
    blocks: int | None


def private_sums(base: Prediction) -> Iterator[PrivateSums]:
    """Yield the launch with the words of one buffer summed in blocks first, for each that can be.

    Nobody may ask for the old values, and nothing but additions may touch the buffer, which has to
    fit into a block's shared memory.
    """
    instance, device = base.details.instance, base.details.device
    kernel = instance.kernel
    if kernel.pipeline is not None or kernel.menus:
        return
    taken = float(np.max(evaluate(expanded(kernel, kernel.launch.shared_bytes), instance.known)))
    for buffer in dict.fromkeys(a.buffer for a in kernel.accesses if a.kind == "atomic"):
        own = [a for a in kernel.accesses if a.buffer == buffer]
        length = int(np.max(instance.lengths[buffer]))
        size = length * int(np.max(instance.element_bytes[buffer]))
        if kernel.buffer(buffer).space != "global" or not all(_adds(base, a) for a in own):
            continue
        if taken + size > device.shared_per_block_max:
            continue
        yield _private(base, kernel, buffer, length, None)
        for blocks in (w * device.sm_count for w in _WAVES):
            fewer = _in_turns(base, blocks)
            if fewer is not None:
                yield _private(base, fewer, buffer, length, blocks)


def _adds(base: Prediction, access: Access) -> bool:
    """Say whether an access adds a word and nobody asks what was there."""
    if access.kind != "atomic" or access.operation not in _SUMMED or access.counted is not None:
        return False
    if isinstance(access.returns, bool):
        return not access.returns
    return not np.any(evaluate(access.returns, base.details.instance.known))


def _private(
    base: Prediction, kernel: Kernel, buffer: str, length: int, blocks: int | None
) -> PrivateSums:
    instance = base.details.instance
    shared = _unused(f"{buffer}_block", [b.name for b in kernel.buffers])
    variables = [x.variable for x in kernel.loops] + [name for name, _ in kernel.definitions]
    clear, merge = _unused("clear", variables), _unused("merge", variables)
    element = Number(int(np.max(instance.element_bytes[buffer])))
    threads = int(np.prod(base.block))
    trips = Number(-(-length // threads))
    own = [a for a in kernel.accesses if a.buffer == buffer]

    def word(loop: str) -> tuple[Node, Node]:
        thread = _sum(
            Name("threadIdx.x"),
            _times(Name("threadIdx.y"), Number(base.block[0])),
            _times(Name("threadIdx.z"), Number(base.block[0] * base.block[1])),
        )
        index = _sum(thread, _times(Name(loop), Number(threads)))
        return index, Operation("<", (index, Number(length)))

    first, inside = word(clear)
    last, within = word(merge)
    dtype = own[0].dtype
    kind = None if dtype is None else int(np.max(evaluate(dtype, instance.known)))

    def moved(access: Access) -> Access:
        # Of integers at an address that it knows, the compiler adds up a warp's by itself.
        alike = kind in _WHOLE and not names(expanded(kernel, access.index))
        return replace(access, buffer=shared, aggregated=access.aggregated or alike)

    accesses = (
        Access(shared, "store", first, loop=clear, guard=inside, name=f"clear {shared}"),
        *(moved(a) if a.buffer == buffer else a for a in kernel.accesses),
        Access(shared, "load", last, loop=merge, guard=within, name=f"take {shared}"),
        Access(
            buffer, "atomic", last, loop=merge, guard=within, name=f"add {buffer}",
            dtype=dtype, operation="add",
        ),
    )  # fmt: skip
    work = [Arithmetic("other", Number(_AROUND))]
    work += [Arithmetic(p, Number(n), loop) for loop in (clear, merge) for p, n in _LOOP_WORK]
    work.append(Arithmetic("wide", Number(1), merge))
    paces = tuple(
        replace(p, clocks=_sum(p.clocks, Number(_AROUND_CLOCKS))) if p.loop is None else p
        for p in kernel.paces
    )
    if paces:
        paces += (Pace(Number(_LOOP_CLOCKS), clear), Pace(Number(_MERGE_CLOCKS), merge))
    taken = _sum(kernel.launch.shared_bytes, Number(length * int(element.value)))
    made = replace(
        kernel,
        launch=replace(kernel.launch, shared_bytes=taken),
        buffers=(*kernel.buffers, Buffer(shared, Number(length), element, "shared")),
        loops=(*kernel.loops, Loop(clear, trips), Loop(merge, trips)),
        accesses=accesses,
        arithmetic=(*kernel.arithmetic, *work),
        barriers=(*kernel.barriers, Barrier(Number(2))),
        paces=paces,
    )
    return PrivateSums(made, buffer, shared, length, kind, blocks)


def _in_turns(base: Prediction, blocks: int) -> Kernel | None:
    """Return a launch whose blocks each do the work of several, one after the other.

    None where the grid has several dimensions or hardly more blocks, where blocks wait inside, or
    where blocks differ by what data decides.
    """
    kernel = base.details.instance.kernel
    grid = base.grid[0]
    if max(base.grid[1:]) > 1 or grid < 2 * blocks or kernel.barriers or kernel.unequal is not None:
        return None
    if any(a.counted is not None for a in kernel.accesses):
        return None
    turn = _unused("turn", [x.variable for x in kernel.loops] + [n for n, _ in kernel.definitions])
    place = _sum(Name("blockIdx.x"), _times(Name(turn), Number(blocks)))
    puts: dict[str, Node] = {"blockIdx.x": place, "gridDim.x": Number(grid)}
    there: Node = Operation("<", (place, Number(grid)))

    def put(node: Node) -> Node:
        return substitute(expanded(kernel, node), puts)

    def moved(access: Access) -> Access:
        guards = [put(g) for g in (kernel.guard, access.guard) if g is not None]
        if grid % blocks:
            guards.append(there)
        guard = Operation("and", tuple(guards)) if len(guards) > 1 else next(iter(guards), None)
        return replace(access, index=put(access.index), guard=guard, loop=access.loop or turn)

    arithmetic = []
    share = grid / blocks / -(-grid // blocks)
    setup = float(_SETUP_WORK)
    for each in kernel.arithmetic:
        if each.loop is not None:
            arithmetic.append(each)
            continue
        count = float(np.max(evaluate(expanded(kernel, each.count), base.details.instance.known)))
        once = min(count, setup) if each.pipe == "other" else 0.0
        setup -= once
        arithmetic.append(replace(each, count=Number(once)))
        arithmetic.append(replace(each, count=Number((count - once) * share), loop=turn))
    paces = []
    for pace in kernel.paces:
        if pace.loop is not None:
            paces.append(pace)
            continue
        clocks = float(np.max(evaluate(expanded(kernel, pace.clocks), {})))
        once = min(clocks / 2, _SETUP_CLOCKS)
        paces += [
            replace(pace, clocks=Number(once)),
            replace(pace, clocks=Number(clocks - once), loop=turn),
        ]
    inside = sum(a.kind == "load" and a.loop is None for a in kernel.accesses)
    return replace(
        kernel,
        launch=replace(kernel.launch, grid=(Number(blocks), *kernel.launch.grid[1:])),
        guard=None,
        loops=(
            Loop(turn, Number(-(-grid // blocks))),
            *(replace(x, parent=x.parent or turn) for x in kernel.loops),
        ),
        accesses=tuple(moved(a) for a in kernel.accesses),
        arithmetic=tuple(arithmetic),
        paces=tuple(paces),
        loads_in_flight=kernel.loads_in_flight or Number(max(1, inside)),
    )


def _unused(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _sum(*parts: Node) -> Node:
    kept = [p for p in parts if p != Number(0)]
    found = kept[0] if kept else Number(0)
    for part in kept[1:]:
        found = Operation("+", (found, part))
    return found


def _times(a: Node, b: Node) -> Node:
    return a if b == Number(1) else Operation("*", (a, b))
