"""Tiled loops: what threads of a block all read in a loop, loaded once and kept in shared memory.

A block loads a tile of each such array, as many iterations deep as it is wide, waits, works on it
out of shared memory, waits again, and goes on to the next. A product's rows and columns are the
case in point. This is done to the record of a kernel, so it holds for one from any source.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import (
    Name,
    Node,
    Number,
    Operation,
    evaluate,
    exchanged,
    substitute,
    text,
)
from perfmodel.expressions.evaluate import folded
from perfmodel.kernels import Access, Instance, Kernel, bind, expanded
from perfmodel.kernels.kernel import Arithmetic, Barrier, Buffer, Loop, Pace
from perfmodel.prediction.change import Change, changed
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.remaps import Remap, movable, remaps
from perfmodel.prediction.rewrites import (
    both,
    element_of,
    element_type,
    known_values,
    plain_index,
    times,
    total,
)
from perfmodel.records import record

_WIDTH: Final = 32
"""Threads of a row of a block of one dimension: a warp."""
_ADDRESSES: Final = frozenset({"int32", "imad", "wide", "other", "uniform", "masked"})
"""Pipes of a loop's addresses and of its end, of which shared memory and an unrolled loop need few.
"""
_STEP_WORK: Final = 8
_STEP_CLOCKS: Final = 100
_CHAIN: Final = 4
"""Integer instructions of a step, a lone warp's clocks for one without its arithmetic, and clocks
of each dependent operation: the machine code of a product with 32 x 32 tiles (nvcc 13.0, sm_90)."""


@record
class _Tile:
    """A tile of a buffer in shared memory, and what it is called.

    Its columns are contiguous in global memory; `pitch` elements lie between its rows here.
    """

    buffer: str
    name: str
    rows: int
    columns: int
    pitch: int


@record
class _Reads:
    """A loop's reads of a buffer that threads of a block share.

    Elements from one column, row and iteration to the next: `column`, `row` and `step`; one of the
    first two is 0. `origin` is the index of the block's first thread in the first iteration.
    """

    buffer: str
    column: int
    row: int
    step: int
    origin: Node


def tiled_loops(base: Prediction) -> Iterator[Change]:
    """Yield the launch with its loop in tiles, on threads as they are and on remapped ones."""
    instance = base.details.instance
    kernel = instance.kernel
    if not movable(kernel) or kernel.barriers or len(kernel.loops) != 1:
        return
    if any(b.space != "global" for b in kernel.buffers):
        return
    ways: list[Remap | None] = list(remaps(base))
    for remap in ways or [None]:
        width = _WIDTH if base.block[1] == 1 else base.block[1 if remap else 0]
        if remap is not None:
            try:
                instance = bind(remap.kernel, dict(base.params))
            except PerfmodelError:
                continue
        made = _tiled(instance, remap.block if remap else base.block, width)
        if made is not None:
            yield _change(base, *made, remap)


def _change(
    base: Prediction, made: Kernel, tiles: list[_Tile], depth: int, remap: Remap | None
) -> Change:
    by_buffer = sorted(tiles, key=lambda tile: tile.buffer)
    parts = [f"{t.rows} x {t.columns} of {t.buffer!r}" for t in by_buffer]
    return changed(
        base,
        "tiling",
        f"keep tiles in shared memory: a block loads {' and '.join(parts)}, {depth} iterations' "
        "worth, and every thread that shares them reads them there"
        + (" (with .x and .y swapped as in a remap)" if remap else ""),
        cuda=(*(remap.cuda(base) if remap else ()), *_lines(base, made, tiles, depth)),
        kernel=made,
    )


def _lines(base: Prediction, kernel: Kernel, tiles: list[_Tile], depth: int) -> Iterator[str]:
    """Yield the lines of a loop in tiles of shared memory."""
    step = next(x for x in kernel.loops if x.variable == "step")
    use = next(x for x in kernel.loops if x.parent == "step").variable
    for tile in tiles:
        kind = element_type(element_of(base, tile.buffer))
        yield f"__shared__ {kind} {tile.name}[{tile.rows * tile.pitch}];"
    yield (
        f"for (int step = 0; step < {text(step.trips)}; ++step) {{  /* in place of loop {use!r} */"
    )
    loads = [a for a in kernel.accesses if a.loop == "step"]
    for load, store in zip(loads[::2], loads[1::2], strict=True):
        place = plain_index(_tidy(folded(store.index, {})))
        index = plain_index(_tidy(folded(load.index, {}))) or "..."
        yield f"  {store.buffer}[{place}] = {load.buffer}[{index}];"
    yield "  __syncthreads();"
    reads = [a for a in kernel.accesses if a.loop in (use, "quad")]
    said = ", ".join(f"{a.buffer}[{_read(a, use)}]" for a in reads)
    yield "  #pragma unroll"
    yield f"  for (int {use} = 0; {use} < {depth}; ++{use}) {{ /* the sums, of {said} */ }}"
    yield "  __syncthreads();"
    yield "}"


def _read(access: Access, variable: str) -> str:
    """Return where an iteration reads a tile, one element at a time."""
    if access.vector == Number(1):
        return plain_index(access.index)
    quad = Name("quad") * access.vector
    return plain_index(exchanged(access.index, {quad: Name(variable)}))


def _tidy(node: Node) -> Node:
    """Return an index without sums and products with nothing."""
    if not isinstance(node, Operation):
        return node
    parts = tuple(map(_tidy, node.operands))
    nothing = Number(0)
    if node.operator == "*" and nothing in parts:
        return nothing
    if node.operator == "+" and nothing in parts:
        return next((p for p in parts if p != nothing), nothing)
    return Operation(node.operator, parts)


def _tiled(
    instance: Instance, block: tuple[int, int, int], width: int
) -> tuple[Kernel, list[_Tile], int] | None:
    kernel = instance.kernel
    (loop,) = kernel.loops
    height = prod(block) // width
    inside = [a for a in kernel.accesses if a.loop == loop.variable]
    trips = int(np.max(instance.trips[loop.variable]))
    if any(a.kind != "load" or a.guard is not None or a.needs for a in inside) or block[2] > 1:
        return None
    reads = {}
    for buffer in dict.fromkeys(a.buffer for a in inside):
        own = [a for a in inside if a.buffer == buffer]
        found = _reads(instance, own, block, width)
        if found is None:
            return None
        reads[buffer] = found
    if not reads or not all((r.column == 0) != (r.row == 0) for r in reads.values()):
        return None
    together = {sum(a.buffer == b for a in inside) for b in reads}
    depth = max(width, height)
    if len(together) != 1 or width % height or (width * height) > 1024 or depth % 4:
        return None
    (unrolled,) = together
    if trips * unrolled < 2 * depth:
        return None
    return _made(instance, list(reads.values()), width, height, depth, unrolled)


def _reads(
    instance: Instance, own: list[Access], block: tuple[int, int, int], width: int
) -> _Reads | None:
    """Return how a loop reads a buffer; None if by no plain steps of threads and iterations."""
    kernel = instance.kernel
    (loop,) = kernel.loops
    known = known_values(instance) | {f"blockIdx.{axis}": 0 for axis in "xyz"}
    thread = np.arange(prod(block))
    y, x = np.divmod(thread, block[0])
    known |= {"threadIdx.x": x, "threadIdx.y": y, "threadIdx.z": 0}

    def at(access: Access, iteration: int) -> Array:
        index = expanded(kernel, access.index)
        found = np.asarray(evaluate(index, known | {loop.variable: iteration}))
        return np.broadcast_to(found, len(thread))

    first = sorted(own, key=lambda a: int(at(a, 0)[0]))[0]
    places = at(first, 0)
    column, row = int(places[1] - places[0]), int(places[width] - places[0])
    plain = places[0] + column * (thread % width) + row * (thread // width)
    turn = int(at(first, 1)[0] - places[0])
    step, rest = divmod(turn, len(own))
    offsets = sorted(int(at(a, 0)[0] - places[0]) for a in own)
    if rest or offsets != [i * step for i in range(len(own))] or np.any(plain != places):
        return None
    if any(a.vector != Number(1) for a in own) or step <= 0 or min(column, row) < 0:
        return None
    start: Mapping[str, Node] = {
        n: Number(0) for n in (loop.variable, "threadIdx.x", "threadIdx.y", "threadIdx.z")
    }
    return _Reads(first.buffer, column, row, step, substitute(expanded(kernel, first.index), start))


def _made(
    instance: Instance, reads: list[_Reads], width: int, height: int, depth: int, unrolled: int
) -> tuple[Kernel, list[_Tile], int]:
    kernel = instance.kernel
    (loop,) = kernel.loops
    variable, threads = loop.variable, width * height
    thread: Node = Name("threadIdx.x")
    if max(np.max(n) for n in instance.block[1:]) > 1:
        thread = thread + times(Name("threadIdx.y"), width)
    column, row = thread % width, thread // width
    trips = int(np.max(instance.trips[variable])) * unrolled
    steps = -(-trips // depth)
    accesses: list[Access] = []
    after: list[Access] = []
    tiles, buffers, shared = [], [], 0
    for r in reads:
        across, other = (width, r.column) if r.column else (height, r.row)
        lane = column if r.column else row
        along = r.step <= other
        rows, columns = (across, depth) if along else (depth, across)
        # Lanes that walk down a column would all have one bank.
        pitch = columns + (1 if along and r.column else 0)
        tile = _Tile(r.buffer, f"{r.buffer}_tile", rows, columns, pitch)
        tiles.append(tile)
        element = int(np.max(instance.element_bytes[r.buffer]))
        buffers.append(Buffer(tile.name, Number(rows * pitch), Number(element), "shared"))
        shared += rows * pitch * element
        for piece in range(rows * columns // threads):
            number = total(thread, Number(piece * threads))
            down, right = number // columns, number % columns
            in_loop, beside = (right, down) if along else (down, right)
            far = total(in_loop, times(Name("step"), depth))
            index = total(r.origin, times(far, r.step), times(beside, other))
            name = f"{r.buffer} {piece + 1}"
            reach = (steps * depth - 1) * r.step + (across - 1) * other
            guard = _within(instance, r, index, reach)
            accesses.append(Access(r.buffer, "load", index, loop="step", guard=guard, name=name))
            place = total(times(down, pitch), right)
            accesses.append(Access(tile.name, "store", place, loop="step", name=f"keep {name}"))
        quads = along and not r.column
        inner, count = ("quad", 4) if quads else (variable, 1)
        place = (
            total(times(lane, pitch), times(Name(inner), count))
            if along
            else total(times(Name(inner), pitch), lane)
        )
        after.append(
            Access(tile.name, "load", place, Number(count), inner, name=f"use {tile.name}")
        )
    outside = [
        replace(a, guard=both((kernel.guard, a.guard))) for a in kernel.accesses if a.loop is None
    ]
    loops = (
        Loop("step", Number(steps)),
        Loop(variable, Number(depth), "step"),
        Loop("quad", Number(depth // 4), "step"),
    )
    arithmetic, work = _work(instance, unrolled)
    arithmetic.append(Arithmetic("int32", Number(_STEP_WORK), "step"))
    paces = tuple(p for p in kernel.paces if p.loop is None)
    if kernel.paces:
        paces += (Pace(Number(_STEP_CLOCKS + _CHAIN * work * depth), "step"),)
    made = replace(
        kernel,
        launch=replace(
            kernel.launch, shared_bytes=total(kernel.launch.shared_bytes, Number(shared))
        ),
        guard=None,
        buffers=(*kernel.buffers, *buffers),
        loops=loops,
        accesses=(*accesses, *after, *outside),
        arithmetic=tuple(arithmetic),
        barriers=(Barrier(Number(2), "step"),),
        paces=paces,
        loads_in_flight=Number(sum(a.kind == "load" for a in accesses)),
        loads_a_wait=None,
    )
    return made, tiles, depth


def _work(instance: Instance, unrolled: int) -> tuple[list[Arithmetic], float]:
    """Return a thread's work outside of steps, and how many operations an iteration chains."""
    kernel = instance.kernel
    found, chained = [], 0.0
    for each in kernel.arithmetic:
        if each.loop is None:
            found.append(each)
        elif each.pipe not in _ADDRESSES:
            count = float(np.max(evaluate(expanded(kernel, each.count), instance.known)))
            found.append(replace(each, count=Number(count / unrolled)))
            chained += count / unrolled
    return found, chained


def _within(instance: Instance, r: _Reads, index: Node, reach: int) -> Node | None:
    """Return the condition that an index is in its buffer, if the last blocks reach past it."""
    last = {f"blockIdx.{a}": int(np.max(n)) - 1 for a, n in zip("xyz", instance.grid, strict=True)}
    length = int(np.max(instance.lengths[r.buffer]))
    if int(evaluate(r.origin, known_values(instance) | last)) + reach < length:
        return None
    return index < length
