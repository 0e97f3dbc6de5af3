"""The CUDA lines of changes to a kernel's own code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Final

from perfmodel.expressions import Name, Node, evaluate, text
from perfmodel.kernels import Access
from perfmodel.prediction.private_sums import PrivateSums
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.wider_threads import Wider

FIRST: Final = Name("first")
"""What the lines call the index of a warp's first lane."""
_LONGEST: Final = 200
"""Letters of an index that a person still reads."""
_OTHER_CALL: Final = re.compile(r"\b(?!min\b|max\b)\w+\(")
"""A function that CUDA has not, such as ceil_div."""
_MOST_LINES: Final = 6
"""Accesses that lines are shown of."""
MOST_STATIC: Final = 48 << 10
"""[B] of shared memory that a block may have without being asked for (CUDA guide, all GPUs)."""
_C_TYPES: Final = ("int", "unsigned", "unsigned long long", "float", "double", "__half2")
"""What CUDA calls the types of `DATA_TYPES`, in their order."""


def index_lines(access: Access, start: Node, dense: Node, others: int = 0) -> tuple[str, ...]:
    """Return an access whose lanes are neighbours; nothing where CUDA cannot say its index.

    Parameters
    ----------
    access : Access
    start, dense : Node
        Lane 0's index; and every lane's, made from it, which is called `FIRST` there.
    others : int
        Accesses to the same buffer that move alike.
    """
    now, first, wanted = (text(n).replace("//", "/") for n in (access.index, start, dense))
    if len(first) > _LONGEST or "**" in first or _OTHER_CALL.search(first):
        return ()
    place = f"{access.buffer}[{wanted}]"
    alike = f", and {others} more alike" if others else ""
    return (
        # Such a comment may be broken between words, as a report of some width does.
        f"/* {access.buffer}[{now}] now{alike}; with the data laid out for it: */",
        f"const auto {FIRST.name} = {first};  /* lane 0's */",
        f"const auto element = {place};" if access.kind == "load" else f"{place} = element;",
    )


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
    for access in moved[:_MOST_LINES]:
        element = element_bytes[access.buffer]
        size = element * int(evaluate(access.vector, {}))
        widest, kind = max(widest, size), _vector_type(element, size)
        index = text(access.index).replace("//", "/")
        if index not in places:
            places[index] = f"at_{len(places) + 1}" if places else "at"
            plain = len(index) <= _LONGEST and "**" not in index and not _OTHER_CALL.search(index)
            lines.append(f"const auto {places[index]} = {index if plain else '...'};")
        place = f"(&{access.buffer}[{places[index]}])"
        name = f"{access.buffer}_{wider.words}"
        lines.append(
            f"const {kind} {name} = *reinterpret_cast<const {kind}*>{place};"
            if access.kind == "load"
            else f"*reinterpret_cast<{kind}*>{place} = {name};  /* what comes of it */"
        )
    if len(moved) > _MOST_LINES:
        lines.append(f"/* and {len(moved) - _MOST_LINES} more alike */")
    lines.append(f"/* pointers must be multiples of {widest} bytes, as those of cudaMalloc are */")
    return tuple(lines)


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
