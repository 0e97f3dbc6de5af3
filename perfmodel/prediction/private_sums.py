"""Private sums: additions to a few global words, made in each block's shared memory first.

A block clears its copy of the words, adds to it, and in the end adds each word of it to the global
one. Fewer blocks, each of which does the work of several in turn, have fewer copies to add up.
This is done to the record of a kernel, so it holds for one from any source.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Final

import numpy as np

from perfmodel.expressions import Name, Node, Number, evaluate, names
from perfmodel.kernels import Access, Kernel, expanded
from perfmodel.kernels.kernel import Arithmetic, Barrier, Buffer, Loop, Pace
from perfmodel.prediction.change import Change, changed
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.rewrites import (
    SETUP,
    count_of,
    element_of,
    kernel_of,
    moved,
    times,
    total,
    unused,
)

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
_SETUP_CLOCKS: Final = 60
"""Clocks of a thread's start, which a loop around its work does not repeat: a copy takes 87 clocks
alone, a turn of one that loops 29 to 33 (streams.cu in the same place)."""


MOST_STATIC: Final = 48 << 10
"""[B] of shared memory that a block may have without being asked for (CUDA guide, all GPUs)."""
_C_TYPES: Final = ("int", "unsigned", "unsigned long long", "float", "double", "__half2")
"""What CUDA calls the types of `DATA_TYPES`, in their order."""


def private_sums(base: Prediction) -> Iterator[Change]:
    """Yield the launch with the words of one buffer summed in blocks first, for each that can be.

    Nobody may ask for the old values, and nothing but additions may touch the buffer, which has to
    fit into a block's shared memory.
    """
    instance, device = base.details.instance, base.details.device
    kernel = instance.kernel
    if kernel.pipeline is not None or kernel.menus:
        return
    taken = count_of(base, kernel.launch.shared_bytes)
    for buffer in dict.fromkeys(a.buffer for a in kernel.accesses if a.kind == "atomic"):
        own = [a for a in kernel.accesses if a.buffer == buffer]
        length = int(np.max(instance.lengths[buffer]))
        size = length * element_of(base, buffer)
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
) -> Change:
    shared = unused(f"{buffer}_block", kernel)
    clear, merge = unused("clear", kernel), unused("merge", kernel)
    element = element_of(base, buffer)
    threads = prod(base.block)
    trips = Number(-(-length // threads))
    own = [a for a in kernel.accesses if a.buffer == buffer]

    def word(loop: str) -> tuple[Node, Node]:
        index = total(
            Name("threadIdx.x"),
            times(Name("threadIdx.y"), base.block[0]),
            times(Name("threadIdx.z"), base.block[0] * base.block[1]),
            times(Name(loop), threads),
        )
        return index, index < length

    first, inside = word(clear)
    last, within = word(merge)
    dtype = own[0].dtype
    kind = None if dtype is None else int(np.max(evaluate(dtype, base.details.instance.known)))

    def shared_one(access: Access) -> Access:
        # Of integers at an address that it knows, the compiler adds up a warp's by itself.
        alike = kind in _WHOLE and not names(expanded(kernel, access.index))
        return replace(access, buffer=shared, aggregated=access.aggregated or alike)

    accesses = (
        Access(shared, "store", first, loop=clear, guard=inside, name=f"clear {shared}"),
        *(shared_one(a) if a.buffer == buffer else a for a in kernel.accesses),
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
        replace(p, clocks=total(p.clocks, Number(_AROUND_CLOCKS))) if p.loop is None else p
        for p in kernel.paces
    )
    if paces:
        paces += (Pace(Number(_LOOP_CLOCKS), clear), Pace(Number(_MERGE_CLOCKS), merge))
    taken = total(kernel.launch.shared_bytes, Number(length * element))
    made = replace(
        kernel,
        launch=replace(kernel.launch, shared_bytes=taken),
        buffers=(*kernel.buffers, Buffer(shared, Number(length), Number(element), "shared")),
        loops=(*kernel.loops, Loop(clear, trips), Loop(merge, trips)),
        accesses=accesses,
        arithmetic=(*kernel.arithmetic, *work),
        barriers=(*kernel.barriers, Barrier(Number(2))),
        paces=paces,
    )
    fewer = "" if blocks is None else f" of {blocks} blocks"
    return changed(
        base,
        "privatisation",
        f"add to {buffer!r} ({length} words) in shared memory{fewer}, then one global atomic a "
        "word and block",
        cuda=_lines(
            base, (buffer, shared), length, "int" if kind is None else _C_TYPES[kind], blocks
        ),
        kernel=made,
    )


def _lines(
    base: Prediction, names: tuple[str, str], length: int, kind: str, blocks: int | None
) -> tuple[str, ...]:
    """Return the lines that add in a block's own copy, and in the end once a word and block."""
    buffer, own = names
    x, y, z = base.block
    thread = "threadIdx.x"
    if max(y, z) > 1:
        thread += f" + {x} * threadIdx.y"
    if z > 1:
        thread += f" + {x * y} * threadIdx.z"
    size = length * {"double": 8, "unsigned long long": 8}.get(kind, 4)
    words = f"for (int b = {thread}; b < {length}; b += {prod(base.block)})"
    turns: tuple[str, ...] = ()
    if blocks is not None:
        turns = (
            f"/* launch {blocks} blocks, not {base.grid[0]}; around what they do: */",
            f"for (int block = blockIdx.x; block < {base.grid[0]}; block += gridDim.x)",
        )
    return (
        f"extern __shared__ {kind} {own}[];  /* {size} bytes, after cudaFuncSetAttribute("
        "kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ...) */"
        if size > MOST_STATIC
        else f"__shared__ {kind} {own}[{length}];",
        f"{words} {own}[b] = 0;",
        "__syncthreads();  /* all threads, also those past the end */",
        *turns,
        f"/* in place of each atomicAdd(&{buffer}[...], ...): atomicAdd(&{own}[...], ...) */",
        "__syncthreads();",
        f"{words} atomicAdd(&{buffer}[b], {own}[b]);",
    )


def _in_turns(base: Prediction, blocks: int) -> Kernel | None:
    """Return a launch whose blocks each do the work of several, one after the other.

    None where the grid has several dimensions or hardly more blocks, where blocks wait inside, or
    where blocks differ by what data decides.
    """
    kernel = kernel_of(base)
    grid = base.grid[0]
    if max(base.grid[1:]) > 1 or grid < 2 * blocks or kernel.barriers or kernel.unequal is not None:
        return None
    if any(a.counted is not None for a in kernel.accesses):
        return None
    turn = unused("turn", kernel)
    place = total(Name("blockIdx.x"), times(Name(turn), blocks))
    puts: dict[str, Node] = {"blockIdx.x": place, "gridDim.x": Number(grid)}
    there = place < grid if grid % blocks else None
    arithmetic = []
    share = grid / blocks / -(-grid // blocks)
    setup = float(SETUP)
    for each in kernel.arithmetic:
        if each.loop is not None:
            arithmetic.append(each)
            continue
        count = count_of(base, each.count)
        once = min(count, setup) if each.pipe == "other" else 0.0
        setup -= once
        arithmetic.append(replace(each, count=Number(once)))
        arithmetic.append(replace(each, count=Number((count - once) * share), loop=turn))
    paces = []
    for pace in kernel.paces:
        if pace.loop is not None:
            paces.append(pace)
            continue
        clocks = count_of(base, pace.clocks)
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
        accesses=tuple(moved(kernel, a, puts, there, loop=a.loop or turn) for a in kernel.accesses),
        arithmetic=tuple(arithmetic),
        paces=tuple(paces),
        loads_in_flight=kernel.loads_in_flight or Number(max(1, inside)),
    )
