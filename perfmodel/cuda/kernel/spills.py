"""Registers that an assembler puts into local memory: PTX has none of these accesses."""

from __future__ import annotations

import math
from dataclasses import replace

from perfmodel.cuda.compile.resources import Resources
from perfmodel.cuda.kernel.accesses import THREAD
from perfmodel.expressions import Number, evaluate
from perfmodel.kernels.access import Access, AccessKind
from perfmodel.kernels.counted import Counted
from perfmodel.kernels.kernel import Buffer, Kernel

_WORD = 4
_BUFFER = "spilled-registers"


def with_spills(kernel: Kernel, resources: Resources) -> Kernel:
    """Return a kernel with the loads and stores of spilled registers, each made once a thread.

    Where they are, in a loop or in a branch, the assembler does not say; nothing is added if it
    does not say how many.
    """
    stored, loaded = resources.spill_store_bytes or 0, resources.spill_load_bytes or 0
    if not stored and not loaded:
        return kernel
    grid, block = (
        math.prod(int(evaluate(side, {})) for side in sides)
        for sides in (kernel.launch.grid, kernel.launch.block)
    )
    held = max(1, min(stored or loaded, resources.local_bytes or stored or loaded) // _WORD)
    kinds: tuple[tuple[AccessKind, int], ...]
    kinds = (("store", stored // _WORD), ("load", loaded // _WORD))
    accesses = tuple(
        Access(
            buffer=_BUFFER,
            kind=kind,
            index=THREAD,
            name=f"{_BUFFER}-{kind}",
            counted=_counted(count * -(-block // 32) * grid, count * grid * block),
        )
        for kind, count in kinds
        if count
    )
    note = (
        f"registers are spilled: {stored} B stored and {loaded} B loaded a thread, taken to be "
        "outside of loops"
    )
    return replace(
        kernel,
        buffers=(
            *kernel.buffers,
            Buffer(_BUFFER, Number(held * grid * block), Number(_WORD), "local"),
        ),
        accesses=(*kernel.accesses, *accesses),
        notes=(*kernel.notes, note),
    )


def _counted(requests: int, words: int) -> Counted:
    """Return requests of whole warps to words that lie one behind the other."""
    return Counted(
        *(requests, words, words, words / 8, requests, 2 * requests, requests, requests),
        sampled=1.0,
    )
