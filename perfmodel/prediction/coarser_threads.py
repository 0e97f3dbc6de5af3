"""Coarser threads: each does what 2 or 4 of them did, a grid apart, in so many fewer blocks.

All its loads are asked for before the first is used, so more of them are in flight, and fewer
blocks are dispatched. Unlike a vector this needs no words side by side: misaligned, strided and
gathered accesses have it too. This is done to the record of a kernel, so it holds for one from any
source.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.expressions import Name, Node, Number
from perfmodel.kernels import Access, Kernel
from perfmodel.prediction.change import Change, changed
from perfmodel.prediction.cuda_lines import launch_lines
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.rewrites import (
    ISSUE,
    SETUP,
    TOGETHER,
    count_of,
    equal_work,
    fraction,
    kernel_of,
    more_registers,
    moved,
)

_COPIES: Final = (2, 4)
_ONCE: Final = frozenset({"uniform", "masked"})


def coarser_threads(base: Prediction) -> Iterator[Change]:
    """Yield the launch with threads that each do what several did, where each works alone."""
    kernel, grid = kernel_of(base), base.grid[0]
    if not _alone(kernel) or max(base.grid[1:]) > 1:
        return
    for copies in _COPIES:
        # A GPU with fewer blocks than SMs has less to hide latency behind, not more.
        if grid < copies * base.details.device.sm_count:
            continue
        blocks = -(-grid // copies)
        yield changed(
            base,
            "coarsening",
            f"let each thread do what {copies} do (grid-stride), all loads before the first use, "
            f"in a {fraction(copies)} of the blocks",
            cuda=(
                *launch_lines(kernel.name, (blocks, 1, 1), base.block),
                f"constexpr int many = {copies}, step = {blocks * base.block[0]};  "
                "/* threads of the grid now */",
                "/* with an array of `many` for each value that a thread loads: */",
                "#pragma unroll",
                "for (int j = 0; j < many; ++j) { /* loads, with threadIdx.x + blockIdx.x * "
                "blockDim.x + j * step for the thread's number */ }",
                "#pragma unroll",
                "for (int j = 0; j < many; ++j) { /* what comes of them, and stores */ }",
            ),
            kernel=_made(base, copies, blocks),
        )


def _alone(kernel: Kernel) -> bool:
    """Say whether each thread does its own piece of work, once."""
    if kernel.pipeline is not None or kernel.menus or not equal_work(kernel.unequal):
        return False
    if kernel.loops or kernel.barriers or kernel.block_work:
        return False
    if any(a.pipe in TOGETHER for a in kernel.arithmetic):
        return False
    return all(b.space == "global" for b in kernel.buffers) and all(
        a.kind != "atomic" and a.counted is None and not a.copied for a in kernel.accesses
    )


def _made(base: Prediction, copies: int, blocks: int) -> Kernel:
    kernel, grid = kernel_of(base), base.grid[0]

    def copied(access: Access, copy: int) -> Access:
        place: Node = Name("blockIdx.x")
        if copy:
            place = place + copy * blocks
        puts: dict[str, Node] = {"blockIdx.x": place, "gridDim.x": Number(grid)}
        there = place < grid if (copy + 1) * blocks > grid else None
        names = {"name": _named(access.name, copy), "needs": _named(access.needs, copy)}
        return moved(kernel, access, puts, there, **names)

    setup, extra = float(SETUP), 0.0
    arithmetic = []
    for each in kernel.arithmetic:
        count = count_of(base, each.count)
        once = count if each.pipe in _ONCE else min(count, setup) if each.pipe == "other" else 0.0
        setup -= once if each.pipe == "other" else 0.0
        extra += (count - once) * (copies - 1)
        arithmetic.append(replace(each, count=Number(once + (count - once) * copies)))
    loads = (r for r in base.details.requests if r.access.kind == "load")
    words = sum(float(np.max(r.width)) / 4 for r in loads)
    flight = kernel.loads_in_flight
    return replace(
        kernel,
        launch=replace(
            kernel.launch,
            grid=(Number(blocks), *kernel.launch.grid[1:]),
            registers=more_registers(kernel, (copies - 1) * round(words)),
        ),
        guard=None,
        accesses=tuple(copied(a, i) for a in kernel.accesses for i in range(copies)),
        arithmetic=tuple(arithmetic),
        paces=tuple(replace(p, clocks=p.clocks + Number(ISSUE * extra)) for p in kernel.paces),
        loads_in_flight=None if flight is None else flight * copies,
    )


def _named(name: str, copy: int) -> str:
    return f"{name} of {copy + 1}" if name and copy else name
