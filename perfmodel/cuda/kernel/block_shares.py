"""Which share of a launch's warps runs each block of a kernel, and issues its instructions."""

from __future__ import annotations

import math

import numpy as np

from perfmodel.cuda.addresses.conditions import TRUE
from perfmodel.cuda.addresses.sums import written
from perfmodel.cuda.emulate.run import Emulation
from perfmodel.cuda.kernel.analysed import Analysed, known_numbers
from perfmodel.cuda.kernel.parts import renamed
from perfmodel.expressions import Node, Number, evaluate
from perfmodel.kernels.access import Access
from perfmodel.kernels.instance import Instance, bind
from perfmodel.kernels.kernel import (
    Buffer,
    Kernel,
    Launch,
    Loop,
)
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.warp_requests import ActivityCache, access_requests


def shares_of(kernel: Analysed) -> list[tuple[float, float]]:
    """Return the share of all warps that run each block, and the threads of the launch that do."""
    return _followed(kernel) if kernel.emulation is None else _emulated(kernel, kernel.emulation)


def _emulated(kernel: Analysed, emulation: Emulation) -> list[tuple[float, float]]:
    """Return the shares and threads, from the blocks that were emulated."""
    found, launch = kernel.found, kernel.launch
    known = known_numbers(launch, kernel.parameters)
    trips = {
        loop.variable: int(np.max(evaluate(loop.trips or Number(1), known))) for loop in found.loops
    }
    warps = -(-math.prod(launch.block) // 32) * emulation.sampled
    shares = []
    for run in found.blocks:
        times = found.iterations(run.loop, trips)
        shares.append(
            (
                float(emulation.warps[run.block]) / (warps * times),
                float(emulation.threads[run.block]) * emulation.scale,
            )
        )
    return shares


def _followed(analysed: Analysed) -> list[tuple[float, float]]:
    """Return the shares and threads by the conditions of the blocks."""
    found, launch, parts = analysed.found, analysed.launch, analysed.parts
    sizes = (launch.grid, launch.block)
    grid, block = (tuple(Number(n) for n in size) for size in sizes)
    kernel = Kernel(
        name="blocks",
        summary="",
        parameters=analysed.parameters,
        launch=Launch(grid, block),  # type: ignore[arg-type]
        buffers=(Buffer("at", Number(1)),),
        accesses=tuple(
            Access(
                "at",
                "load",
                Number(0),
                loop=run.loop,
                guard=None if run.guard == TRUE else renamed(run.guard, parts),
                name=str(i),
            )
            for i, run in enumerate(found.blocks)
        ),
        definitions=tuple((name.name, written(part)) for name, part in parts),
        loops=tuple(
            Loop(loop.variable, renamed(loop.trips or Number(1), parts), loop.parent)
            for loop in found.loops
        ),
    )
    instance = bind(kernel, {})
    shape = block_shape(launch.block)
    known: ActivityCache = {}
    cache: dict[tuple[Node, str | None], tuple[float, float]] = {}
    shares = []
    for i, run in enumerate(found.blocks):
        key = (run.guard, run.loop)
        if key not in cache:
            cache[key] = _share(instance, i, shape, known)
        shares.append(cache[key])
    return shares


def _share(
    instance: Instance, position: int, shape: object, known: ActivityCache
) -> tuple[float, float]:
    requests = access_requests(instance, position, shape, known)  # type: ignore[arg-type]
    kernel = instance.kernel
    times = math.prod(
        int(instance.trips[loop.variable])
        for loop in kernel.loop_nest(kernel.accesses[position].loop)
    )
    warps = -(-int(instance.threads_per_block) // 32) * int(instance.blocks)
    every = max(1, warps * times)
    return float(np.max(requests.requests)) / every, float(np.max(requests.active_lanes))
