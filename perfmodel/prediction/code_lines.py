"""The CUDA lines of changes to a kernel's own code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Final

import numpy as np

from perfmodel.expressions import Name, Node, Number, Operation, evaluate, text
from perfmodel.expressions.fold import folded
from perfmodel.kernels import Access
from perfmodel.prediction.coarser_threads import Coarser
from perfmodel.prediction.cuda_lines import launch_lines
from perfmodel.prediction.private_sums import PrivateSums
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.remaps import Remap
from perfmodel.prediction.tiled_loops import Tiled
from perfmodel.prediction.wider_threads import Wider

_LONGEST: Final = 200
"""Letters of an index that a person still reads."""
_OTHER_CALL: Final = re.compile(r"\b(?!min\b|max\b)\w+\(")
"""A function that CUDA has not, such as ceil_div."""
_MOST_LINES: Final = 6
"""Accesses that lines are shown of."""
MOST_STATIC: Final = 48 << 10
"""[B] of shared memory that a block may have without being asked for (CUDA guide, all GPUs)."""
_ELEMENTS: Final = {1: "char", 2: "half", 4: "float", 8: "double"}
"""Types of elements of so many bytes, for arrays in shared memory."""
_C_TYPES: Final = ("int", "unsigned", "unsigned long long", "float", "double", "__half2")
"""What CUDA calls the types of `DATA_TYPES`, in their order."""


def index_lines(access: Access, row: int, others: int = 0) -> tuple[str, ...]:
    """Return an access to data whose rows lie column by column, 32 at a time, a warp's together.

    Nothing where no rows are told apart.

    Parameters
    ----------
    access : Access
    row : int
        Elements from one lane's to the next's.
    others : int
        Accesses to the same buffer that move alike.
    """
    if row < 2 or not isinstance(access.vector, Number):
        return ()
    index = plain_index(access.index)
    alike = f", and {others} more alike" if others else ""
    vector = int(access.vector.value)
    place = (
        f"{access.buffer}[now / {32 * row} * {32 * row} + now % {row} * 32 + now / {row} % 32"
        f"{f' * {vector}' if vector > 1 else ''}]"
    )
    known = f"const auto now = {index};" if index else "/* now: its index as it is */"
    return (
        # Such a comment may be broken between words, as a report of some width does.
        f"/* 32 rows of {row} elements at a time, stored column by column; {access.buffer}[now] "
        f"until then{alike}: */",
        known,
        f"const auto element = {place};" if access.kind == "load" else f"{place} = element;",
    )


def plain_index(node: Node) -> str:
    """Return an index as CUDA says it; empty where it cannot, or nobody could read it."""
    found = text(node).replace("//", "/")
    if len(found) > _LONGEST or "**" in found or _OTHER_CALL.search(found):
        return ""
    return found


def remap_lines(remap: Remap, base: Prediction) -> tuple[str, ...]:
    """Return the launch and the definitions of a remap: what stands in place of what."""
    kernel = base.details.instance.kernel
    named = () if kernel.translated else kernel.definitions
    own = {node: name for name, node in named}
    lines = list(launch_lines(kernel.name, remap.grid, remap.block))
    for now, then in remap.puts:
        there = text(then).replace("//", "/")
        was = text(now).replace("//", "/")
        name = own.get(now, "")
        lines.append(
            f"const int {name} = {there};  /* was {was} */"
            if name
            else f"/* in place of {was}: */ {there};"
        )
    return tuple(lines)


def tiled_lines(tiled: Tiled, base: Prediction) -> tuple[str, ...]:
    """Return the lines of a loop in tiles of shared memory."""
    kernel, instance = tiled.kernel, base.details.instance
    step = next(x for x in kernel.loops if x.variable == "step")
    use = next(x for x in kernel.loops if x.parent == "step")
    lines = [] if tiled.remap is None else list(remap_lines(tiled.remap, base))
    for tile in tiled.tiles:
        kind = _ELEMENTS.get(int(np.max(instance.element_bytes[tile.buffer])), "float4")
        lines.append(f"__shared__ {kind} {tile.name}[{tile.rows * tile.pitch}];")
    lines.append(
        f"for (int step = 0; step < {text(step.trips)}; ++step) {{  /* in place of loop "
        f"{use.variable!r} */"
    )
    loads = [a for a in kernel.accesses if a.loop == "step"]
    for load, store in zip(loads[::2], loads[1::2], strict=True):
        place = plain_index(_tidy(folded(store.index, {})))
        index = plain_index(_tidy(folded(load.index, {}))) or "..."
        lines.append(f"  {store.buffer}[{place}] = {load.buffer}[{index}];")
    lines.append("  __syncthreads();")
    reads = [a for a in kernel.accesses if a.loop in (use.variable, "quad")]
    said = ", ".join(f"{a.buffer}[{_read(a, use.variable)}]" for a in reads)
    lines += [
        "  #pragma unroll",
        f"  for (int {use.variable} = 0; {use.variable} < {tiled.depth}; ++{use.variable}) "
        f"{{ /* the sums, of {said} */ }}",
        "  __syncthreads();",
        "}",
    ]
    return tuple(lines)


def _read(access: Access, variable: str) -> str:
    """Return where an iteration reads a tile, one element at a time."""
    if access.vector == Number(1):
        return plain_index(access.index)
    quad = Operation("*", (Name("quad"), access.vector))
    return plain_index(_put(access.index, quad, Name(variable)))


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


def _put(node: Node, part: Node, other: Node) -> Node:
    if node == part:
        return other
    if not isinstance(node, Operation):
        return node
    return Operation(node.operator, tuple(_put(n, part, other) for n in node.operands))


def wider_lines(
    wider: Wider, grid: tuple[int, ...], element_bytes: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the lines that move several words a thread.

    Parameters
    ----------
    wider : Wider
    grid : tuple of int
        Blocks that are launched then.
    element_bytes : mapping of str to int
        Of each buffer.
    """
    fewer = f"launch {grid[0]} blocks in x" if wider.loop is None else f"loop {wider.loop!r}"
    turns = "" if wider.loop is None else f" takes one turn in {wider.words}"
    lines = [f"/* a thread does {wider.words} words side by side; {fewer}{turns} */"]
    places: dict[str, str] = {}
    widest = 0
    moved = list({(a.kind, a.buffer, text(a.index)): a for a in wider.after}.values())
    for access in sorted(moved[:_MOST_LINES], key=lambda a: a.kind != "load"):
        element = element_bytes[access.buffer]
        size = element * int(evaluate(access.vector, {}))
        widest, kind = max(widest, size), _vector_type(element, size)
        index = text(access.index).replace("//", "/")
        if index not in places:
            places[index] = f"at_{len(places) + 1}" if places else "at"
            lines.append(f"const auto {places[index]} = {plain_index(access.index) or '...'};")
        place = f"(&{access.buffer}[{places[index]}])"
        name = f"{access.buffer}_{wider.words}"
        lines.append(
            f"const {kind} {name} = *reinterpret_cast<const {kind}*>{place};"
            if access.kind == "load"
            else f"*reinterpret_cast<{kind}*>{place} = {name};  /* what comes of it */"
        )
    if len(moved) > _MOST_LINES:
        lines.append(f"/* and {len(moved) - _MOST_LINES} more alike */")
    # Accesses know how long an element is, not what it means.
    lines.append("/* types by size: int4 for float4 of integers; a uint holds half2, bfloat162 */")
    lines.append(f"/* pointers must be multiples of {widest} bytes, as those of cudaMalloc are */")
    return tuple(lines)


def coarser_lines(coarser: Coarser, base: Prediction) -> tuple[str, ...]:
    """Return the launch of coarser threads, and the loops over what each of them does."""
    copies, blocks = coarser.copies, coarser.blocks
    threads = base.block[0]
    return (
        *launch_lines(base.details.instance.kernel.name, (blocks, 1, 1), base.block),
        f"constexpr int many = {copies}, step = {blocks * threads};  /* threads of the grid now */",
        "/* with an array of `many` for each value that a thread loads: */",
        "#pragma unroll",
        "for (int j = 0; j < many; ++j) { /* loads, with threadIdx.x + blockIdx.x * blockDim.x + "
        "j * step for the thread's number */ }",
        "#pragma unroll",
        "for (int j = 0; j < many; ++j) { /* what comes of them, and stores */ }",
    )


def _vector_type(element: int, size: int) -> str:
    named = {4: "float", 8: "double"} if size > 4 else {1: "uchar", 2: "ushort"}
    if element in named:
        return f"{named[element]}{size // element}"
    return {2: "ushort", 4: "uint"}.get(size, f"uint{size // 4}")


def sums_lines(sums: PrivateSums, base: Prediction) -> tuple[str, ...]:
    """Return the lines that add in shared memory, and in the end once a word and block."""
    name, threads = sums.private, prod(base.block)
    kind = _C_TYPES[sums.dtype] if sums.dtype is not None else "int"
    thread = "threadIdx.x"
    if base.block[1] > 1 or base.block[2] > 1:
        thread += f" + {base.block[0]} * threadIdx.y"
    if base.block[2] > 1:
        thread += f" + {base.block[0] * base.block[1]} * threadIdx.z"
    size = sums.length * {"double": 8, "unsigned long long": 8}.get(kind, 4)
    dynamic = size > MOST_STATIC
    words = f"for (int b = {thread}; b < {sums.length}; b += {threads})"
    own = (
        f"extern __shared__ {kind} {name}[];  /* {size} bytes, after cudaFuncSetAttribute("
        "kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ...) */"
        if dynamic
        else f"__shared__ {kind} {name}[{sums.length}];"
    )
    lines = [
        own,
        f"{words} {name}[b] = 0;",
        "__syncthreads();  /* all threads, also those past the end */",
    ]
    if sums.blocks is not None:
        lines += [
            f"/* launch {sums.blocks} blocks, not {base.grid[0]}; around what they do: */",
            f"for (int block = blockIdx.x; block < {base.grid[0]}; block += gridDim.x)",
        ]
    return (
        *lines,
        f"/* in place of each atomicAdd(&{sums.buffer}[...], ...): atomicAdd(&{name}[...], ...) */",
        "__syncthreads();",
        f"{words} atomicAdd(&{sums.buffer}[b], {name}[b]);",
    )
