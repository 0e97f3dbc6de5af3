"""Emulation: sampled blocks of a PTX kernel, all their lanes at once, in bounded time and memory.

How many lanes, and for how long; what runs them is `perfmodel.cuda.emulate.lock_step`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType
from typing import Final

import numpy as np

from perfmodel.cuda.emulate.budget import WORK
from perfmodel.cuda.emulate.launch import EmulatedLaunch
from perfmodel.cuda.emulate.lock_step import LockStep, Progress, Turns
from perfmodel.cuda.emulate.machine import LANES
from perfmodel.cuda.emulate.raised import Raised, raised_before
from perfmodel.cuda.emulate.result import Emulation, NoEndError
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.syntax import Function, Module
from perfmodel.cuda.parse.waiting_loops import retry_loops
from perfmodel.cuda.sass.unrolling import CountedLoop
from perfmodel.records import record

CLAIMING_LANES: Final = 1 << 17
"""Threads of a launch up to which all are emulated where they claim places of a table."""
FEWER: Final = 16
"""Lanes over those that have to do where loops are long."""


@record(slots=False)
class Effort:
    """How much is emulated, and when it is given up."""

    lanes: int = 1 << 14
    """Threads that are run, about: whole blocks, spread over the grid; at least one."""
    seconds: float = 12.0
    """Time, told by the work [s]: how many blocks are run must not depend on how busy the machine
    is. A third is for all lanes, the rest for fewer."""
    steps: int = 400_000
    """Pieces of straight code that are run, each for all lanes that stand there."""
    patient: bool = True
    """Whether to try with fewer lanes where all take too long, and to let the iterations so far
    stand for those to come where these are known."""
    assume: bool = False
    """Whether to do so, as often again, where nothing tells when a loop ends."""
    closely: bool = True
    """Whether it is worked out what requests ask for, or only to which buffers they go."""


USUAL: Final = Effort()


def emulate(
    module: Module,
    function: Function,
    launch: EmulatedLaunch,
    effort: Effort = USUAL,
    progress: Progress | None = None,
    together: Mapping[int, CountedLoop] = MappingProxyType({}),
    turns: Turns = MappingProxyType({}),
) -> Emulation:
    """Run sampled blocks of a kernel.

    Iterations of the loops `together`, by their block, are put together. `turns` say how often
    threads run each block, as far as that is known before and if none are put together. Raises
    `NoEndError` if it does not end with this effort.
    """
    lanes, every = effort.lanes, prod(launch.grid) * prod(launch.block)
    # Only all of them fill a table as it gets; of more, `raised_before` has what others find there.
    if lanes == Effort.lanes < every <= CLAIMING_LANES and _claims_places(function):
        lanes = every
    with np.errstate(all="ignore"):
        # Where loops are long, a few blocks have to do.
        for some, part in ((lanes, 1 / 3), (max(LANES, lanes // FEWER), 2 / 3)):
            runner = LockStep(module, function, launch, some, together, closely=effort.closely)
            last = some < lanes
            too_long = runner.least_work(turns) > part * effort.seconds * WORK
            if too_long and effort.patient and not last:
                continue  # it would be given up after a third of the time
            try:
                budget = (part * effort.seconds, effort.steps, progress)
                runner.run(*budget, last=last, assume=effort.assume and last)
            except NoEndError as error:
                if last or not effort.patient or not (error.slow or effort.assume):
                    raise
                continue
            break
        scale = runner.sample.blocks / len(runner.sample.numbers)
        threads = runner.sample.blocks * runner.sample.padded
        buffers = list(launch.buffers.values())
        late = raised_before(function, runner.counter.counts, buffers, scale, threads)
        if late is not None:
            again = LockStep(module, function, launch, some, together, closely=effort.closely)
            if _ran_in_turn(again, late, effort, progress):
                runner = again
    return runner.result()


def _ran_in_turn(runner: LockStep, late: Raised, effort: Effort, progress: Progress | None) -> bool:
    """Run the blocks that start together, then the others; say whether both came to an end."""
    first = runner.sample.block_of < round(late.first * len(runner.sample.numbers))
    budget = (effort.seconds, effort.steps, progress)
    try:
        runner.run(*budget, some=first, last=False)
        late.put()
        runner.run(*budget, some=~first, last=False)
    except NoEndError:
        return False
    runner.told.append(late.told)
    return True


def _claims_places(function: Function) -> bool:
    """Say whether lanes that find a place taken go on to another: keys put into a hash table."""
    flow = control_flow(function)
    tried = {at for t in retry_loops(function, flow) for at in flow.places(t.loop.blocks)}
    looped = {at for loop in flow.loops for at in flow.places(loop.blocks)}
    return any(
        i.opcode == "atom" and "cas" in i.modifiers and at in looped and at not in tried
        for at, i in enumerate(function.instructions)
    )
