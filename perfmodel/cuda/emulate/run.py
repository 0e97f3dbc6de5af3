"""Emulation: sampled blocks of a PTX kernel, all their lanes at once, in bounded time and memory.

How many lanes, and for how long; what runs them is `perfmodel.cuda.emulate.lock_step`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from math import prod
from types import MappingProxyType
from typing import Final

import numpy as np

from perfmodel.cuda.emulate.layout import EmulatedLaunch
from perfmodel.cuda.emulate.lock_step import LockStep, Progress
from perfmodel.cuda.emulate.machine import LANES
from perfmodel.cuda.emulate.raised import raised_before
from perfmodel.cuda.emulate.result import Emulation, NoEndError
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.retry_loops import retry_loops
from perfmodel.cuda.parse.syntax import Function, Module
from perfmodel.cuda.sass.unrolling import Counted

SAMPLED_LANES: Final = 1 << 14
"""Lanes that are emulated at a time; whole blocks, at least one."""
MOST_STEPS: Final = 400_000
"""Blocks of instructions that are run, each for all lanes that stand there."""
MOST_SECONDS: Final = 12.0
"""Time of an emulation as its work says it [s]; a third for all lanes, then the rest for fewer."""
CLAIMING_LANES: Final = 1 << 17
"""Threads of a launch up to which all are emulated where they claim places of a table."""
FEWER: Final = 16
"""Lanes over those that have to do where loops are long."""


def emulate(
    module: Module,
    function: Function,
    launch: EmulatedLaunch,
    *,
    lanes: int = SAMPLED_LANES,
    most_seconds: float = MOST_SECONDS,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
    patient: bool = True,
    assume: bool = False,
    together: Mapping[int, Counted] = MappingProxyType({}),
) -> Emulation:
    """Run sampled blocks of a kernel.

    Parameters
    ----------
    module, function
        The PTX and the kernel in it.
    launch : EmulatedLaunch
    lanes : int
        Threads to run, about: whole blocks, spread over the grid.
    most_seconds : float
        Time after which it gives up [s], told by its work: how many blocks are run must not
        depend on how busy the machine is.
    most_steps : int
        Executions of a piece of straight code after which it gives up.
    progress : callable, optional
    patient : bool
        Whether to try with fewer lanes where all take too long, and to let the iterations so far
        stand for those to come where these are known.
    assume : bool
        Whether to do so, as often again, where nothing tells when a loop ends.
    together : mapping of int to Counted
        Loops whose iterations are put together, by their block.

    Raises
    ------
    NoEndError
        If it does not end in that time.
    """
    every = prod(launch.grid) * prod(launch.block)
    # Only all of them fill a table as it gets; of more, `raised_before` has what others find there.
    if lanes == SAMPLED_LANES < every <= CLAIMING_LANES and _claims_places(function):
        lanes = every
    with np.errstate(all="ignore"):
        # Where loops are long, a few blocks have to do.
        for some, part in ((lanes, 1 / 3), (max(LANES, lanes // FEWER), 2 / 3)):
            runner = LockStep(module, function, launch, some, together)
            try:
                last = some < lanes
                runner.run(
                    part * most_seconds, most_steps, progress, last=last, assume=assume and last
                )
            except NoEndError as error:
                if last or not patient or not (error.slow or assume):
                    raise
                continue
            break
        scale = runner.sample.blocks / len(runner.sample.numbers)
        threads = runner.sample.blocks * runner.sample.padded
        buffers = list(launch.buffers.values())
        late = raised_before(function, runner.counter.counts, buffers, scale, threads)
        if late is not None:
            again = LockStep(module, function, launch, some, together)
            first = again.sample.block_of < round(late.first * len(again.sample.numbers))
            with suppress(NoEndError):  # then what came first has to do
                again.run(most_seconds, most_steps, progress, some=first, last=False)
                late.put()
                again.run(most_seconds, most_steps, progress, some=~first, last=False)
                again.told.append(late.told)
                runner = again
    return runner.result()


def _claims_places(function: Function) -> bool:
    """Say whether lanes that find a place taken go on to another: keys put into a hash table."""
    flow = control_flow(function)
    tried = {at for t in retry_loops(function, flow) for at in flow.places(t.loop.blocks)}
    looped = {at for loop in flow.loops for at in flow.places(loop.blocks)}
    return any(
        i.opcode == "atom" and "cas" in i.modifiers and at in looped and at not in tried
        for at, i in enumerate(function.instructions)
    )


__all__ = ["MOST_SECONDS", "Emulation", "NoEndError", "Progress", "emulate"]
