"""Coarser threads: each does what 2 or 4 of them did, a grid apart, in so many fewer blocks.

All its loads are asked for before the first is used, so more of them are in flight, and fewer
blocks are dispatched. Unlike a vector this needs no words side by side: misaligned, strided and
gathered accesses have it too. This is done to the record of a kernel, so it holds for one from any
source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from perfmodel.expressions import Name, Node, Number, Operation, evaluate, substitute
from perfmodel.kernels import Access, Kernel, expanded
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.wider_threads import ISSUE, MOST_REGISTERS, SETUP, TOGETHER, equal_work

_COPIES: Final = (2, 4)
_ONCE: Final = frozenset({"uniform", "masked"})


@dataclass(frozen=True, slots=True)
class Coarser:
    """A launch whose threads do what several did.

    Attributes
    ----------
    kernel : Kernel
    copies : int
        Threads of now whose work one does.
    blocks : int
        Blocks that are launched then.
    """

    kernel: Kernel
    copies: int
    blocks: int


def coarser_threads(base: Prediction) -> Iterator[Coarser]:
    """Yield the launch with threads that each do what several did, where each works alone."""
    kernel = base.details.instance.kernel
    blocks = base.grid[0]
    if not _alone(kernel) or max(base.grid[1:]) > 1:
        return
    for copies in _COPIES:
        # A GPU with fewer blocks than SMs has less to hide latency behind, not more.
        if blocks >= copies * base.details.device.sm_count:
            yield Coarser(_made(base, copies), copies, -(-blocks // copies))


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


def _made(base: Prediction, copies: int) -> Kernel:
    kernel, known = base.details.instance.kernel, base.details.instance.known
    blocks = -(-base.grid[0] // copies)

    def copied(access: Access, copy: int) -> Access:
        place: Node = Name("blockIdx.x")
        if copy:
            place = Operation("+", (place, Number(copy * blocks)))
        puts: dict[str, Node] = {"blockIdx.x": place, "gridDim.x": Number(base.grid[0])}
        guards = [
            substitute(expanded(kernel, g), puts)
            for g in (kernel.guard, access.guard)
            if g is not None
        ]
        if (copy + 1) * blocks > base.grid[0]:
            guards.append(Operation("<", (place, Number(base.grid[0]))))
        return replace(
            access,
            index=substitute(expanded(kernel, access.index), puts),
            guard=Operation("and", tuple(guards)) if len(guards) > 1 else next(iter(guards), None),
            name=_named(access.name, copy),
            needs=_named(access.needs, copy),
        )

    setup, extra = float(SETUP), 0.0
    arithmetic = []
    for each in kernel.arithmetic:
        count = float(np.max(evaluate(expanded(kernel, each.count), known)))
        once = count if each.pipe in _ONCE else min(count, setup) if each.pipe == "other" else 0.0
        setup -= once if each.pipe == "other" else 0.0
        extra += (count - once) * (copies - 1)
        arithmetic.append(replace(each, count=Number(once + (count - once) * copies)))
    words = sum(
        float(np.max(r.width)) / 4 for r in base.details.requests if r.access.kind == "load"
    )
    registers = Operation("min", (
        Operation("+", (kernel.launch.registers, Number((copies - 1) * round(words)))),
        Number(MOST_REGISTERS),
    ))  # fmt: skip
    flight = kernel.loads_in_flight
    return replace(
        kernel,
        launch=replace(
            kernel.launch, grid=(Number(blocks), *kernel.launch.grid[1:]), registers=registers
        ),
        guard=None,
        accesses=tuple(copied(a, i) for a in kernel.accesses for i in range(copies)),
        arithmetic=tuple(arithmetic),
        paces=tuple(
            replace(p, clocks=Operation("+", (p.clocks, Number(ISSUE * extra))))
            for p in kernel.paces
        ),
        loads_in_flight=None if flight is None else Operation("*", (flight, Number(copies))),
    )


def _named(name: str, copy: int) -> str:
    return f"{name} of {copy + 1}" if name and copy else name
