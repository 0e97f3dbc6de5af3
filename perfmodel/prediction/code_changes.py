"""Changes of a kernel's own code, made to its record, so that they hold for any source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfmodel.expressions import Name, Node, Number, Operation, substitute
from perfmodel.kernels import Access, Kernel, expanded
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.prediction.bank_layouts import conflict, layouts
from perfmodel.prediction.change import Change, changed
from perfmodel.prediction.coarser_threads import coarser_threads
from perfmodel.prediction.code_lines import (
    coarser_lines,
    index_lines,
    remap_lines,
    sums_lines,
    tiled_lines,
    wider_lines,
)
from perfmodel.prediction.private_sums import private_sums
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.remaps import WASTE, remaps
from perfmodel.prediction.tiled_loops import Tile, tiled_loops
from perfmodel.prediction.wider_threads import wider_threads
from perfmodel.traffic import AccessTraffic


def coalescing(base: Prediction) -> Iterator[Change]:
    """Yield the uncoalesced accesses of each buffer as they would be with neighbouring lanes.

    An unrolled loop accesses a buffer in many places: moving one of them would not help.
    """
    kernel = base.details.instance.kernel
    far: dict[tuple[str, str], list[tuple[Access, AccessTraffic, int]]] = defaultdict(list)
    for access, found, request in zip(
        (a for a in kernel.accesses if kernel.buffer(a.buffer).space != "shared"),
        base.details.traffic.accesses,
        base.details.requests,
        strict=True,
    ):
        sectors, wanted = float(np.max(found.sectors)), float(np.max(found.wanted_bytes))
        if access.kind == "atomic" or request.strides is None or not wanted:
            continue
        if sectors * SECTOR <= WASTE * max(wanted, SECTOR * float(np.max(found.requests))):
            continue
        element = float(np.max(base.details.instance.element_bytes[access.buffer]))
        apart = round(float(np.max(request.strides.get("lane.x", 0.0))) / element)
        far[access.buffer, access.kind].append((access, found, apart))
    for (buffer, kind), group in far.items():
        dense = {
            id(access): replace(access, index=_neighbours(access, kernel, apart))
            for access, _, apart in group
        }
        accesses = tuple(dense.get(id(a), a) for a in kernel.accesses)
        wanted = sum(float(np.max(found.wanted_bytes)) for _, found, _ in group)
        share = sum(float(np.max(found.sectors)) for _, found, _ in group) * SECTOR / wanted
        yield changed(
            base,
            "coalescing",
            f"lay {buffer!r} out so that lanes of a warp {kind} neighbouring elements ({share:.1f} "
            "times the wanted bytes now): at best",
            cuda=index_lines(group[0][0], group[0][2], len(group) - 1),
            kernel=replace(kernel, accesses=accesses),
        )


def _neighbours(access: Access, kernel: Kernel, apart: int) -> Node:
    """Return an index whose lanes are neighbours.

    Elements between those of two lanes, `apart`, are other accesses' or iterations': each of them
    gets a row of neighbours in the same place.
    """
    lane = Operation("%", (Name("threadIdx.x"), Number(32)))
    start = substitute(
        expanded(kernel, access.index),
        {"threadIdx.x": Operation("-", (Name("threadIdx.x"), lane))},
    )
    first = start
    if apart > 1:
        between = Operation("%", (start, Number(apart)))
        first = Operation("+", (start, Operation("*", (Number(31), between))))
    across = lane if access.vector == Number(1) else Operation("*", (lane, access.vector))
    return Operation("+", (first, across))


def banks(base: Prediction) -> Iterator[Change]:
    """Yield the launch with the rows of conflicting shared arrays padded, or swizzled."""
    instance = base.details.instance
    for layout, kernel in layouts(base):
        name = layout.buffer
        length, element = (
            int(np.max(instance.lengths[name])),
            int(np.max(instance.element_bytes[name])),
        )
        worst = max(conflict(r) for r in base.details.on_chip if r.access.buffer == name)
        how = (
            f"leave {layout.pad} element{'s' * (layout.pad > 1)} out after each row of {layout.row}"
            if layout.pad
            else f"XOR the column with the row's number, in rows of {layout.row}"
        )
        yield changed(
            base,
            "padding" if layout.pad else "swizzle",
            f"lay shared {name!r} out so that lanes spread over the banks ({worst:.1f} times the "
            f"clocks of its data now): {how}",
            cuda=layout.cuda(length, element),
            kernel=kernel,
        )


def remapped(base: Prediction) -> Iterator[Change]:
    """Yield the launch with its work given to other threads, so that lanes touch neighbours."""
    for found in remaps(base):
        yield changed(
            base,
            "remap",
            found.what,
            cuda=remap_lines(found, base),
            kernel=found.kernel,
        )


def tiled(base: Prediction) -> Iterator[Change]:
    """Yield the launch with what threads of a block share in a loop kept in shared memory."""
    for found in tiled_loops(base):
        both = " and ".join(
            f"{t.rows} x {t.columns} of {t.buffer!r}" for t in sorted(found.tiles, key=_buffer)
        )
        yield changed(
            base,
            "tiling",
            f"keep tiles in shared memory: a block loads {both}, {found.depth} iterations' worth, "
            "and every thread that shares them reads them there"
            + (" (with .x and .y swapped as in a remap)" if found.remap else ""),
            cuda=tiled_lines(found, base),
            kernel=found.kernel,
        )


def _buffer(tile: Tile) -> str:
    return tile.buffer


def wider(base: Prediction) -> Iterator[Change]:
    """Yield the launch with threads that move several neighbouring words each."""
    instance = base.details.instance
    elements = {name: int(np.max(size)) for name, size in instance.element_bytes.items()}
    for found in wider_threads(base):
        narrow = ", ".join(dict.fromkeys(repr(a.buffer) for a in found.now))
        fewer = (
            f"a {_part(found.words)} of the blocks"
            if found.loop is None
            else f"a {_part(found.words)} of the iterations of loop {found.loop!r}"
        )
        grid = (-(-base.grid[0] // (found.words if found.loop is None else 1)), *base.grid[1:])
        yield changed(
            base,
            "vector width",
            f"let each thread move {found.words} neighbouring words of {narrow} at once, in "
            f"{fewer}",
            cuda=wider_lines(found, grid, elements),
            kernel=found.kernel,
        )


def coarser(base: Prediction) -> Iterator[Change]:
    """Yield the launch with threads that do what several did, a grid apart."""
    for found in coarser_threads(base):
        yield changed(
            base,
            "coarsening",
            f"let each thread do what {found.copies} do (grid-stride), all loads before the first "
            f"use, in a {_part(found.copies)} of the blocks",
            cuda=coarser_lines(found, base),
            kernel=found.kernel,
        )


def _part(count: int) -> str:
    return {2: "half", 4: "quarter"}.get(count, f"1/{count}")


def sums_in_blocks(base: Prediction) -> Iterator[Change]:
    """Yield the launch with global additions made in each block's shared memory first."""
    for found in private_sums(base):
        fewer = "" if found.blocks is None else f" of {found.blocks} blocks"
        yield changed(
            base,
            "privatisation",
            f"add to {found.buffer!r} ({found.length} words) in shared memory{fewer}, then one "
            "global atomic a word and block",
            cuda=sums_lines(found, base),
            kernel=found.kernel,
        )
