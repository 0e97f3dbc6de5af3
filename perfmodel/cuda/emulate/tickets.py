"""Tickets: numbers that lanes draw from a counter, in a loop, until all the work is given out.

Few blocks of the launch are run, but all of them draw. So each ticket that a sampled block draws
stands for as many as there are blocks for it: the counter goes on by all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.cuda.emulate.machine import Machine
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.syntax import Function

Array = npt.NDArray[Any]


def ticket_draws(function: Function, flow: ControlFlow) -> frozenset[int]:
    """Return the additions in loops whose old values are used: tickets, if all are to one word."""
    looped = {at for loop in flow.loops for at in flow.places(loop.blocks)}
    return frozenset(
        at
        for at, i in enumerate(function.instructions)
        if at in looped
        and i.opcode == "atom"
        and "add" in i.modifiers
        and i.modifiers[-1][:1] in "us"
        and "shared" not in i.modifiers
    )


def draw(machine: Machine, address: Array, lanes: Array, given: Array) -> Array | None:
    """Return the old values of lanes that add to one counter, and raise it for all blocks.

    None where lanes do not all add to one word, or all blocks are run.
    """
    if machine.others <= 1 or not np.all(address == address[0]):
        return None
    size, where = given.dtype.itemsize, int(address[0])
    word = machine.memory.load(address[:1], lanes[:1], size, f"u{8 * size}")
    held = int(word[0])
    exact = machine.drawn.get(where, float(held))
    if int(exact) != held:
        exact = float(held)  # somebody else has set it
    sums = np.cumsum(given.astype(np.float64)) * machine.others
    machine.drawn[where] = exact + float(sums[-1])
    after = np.array([int(machine.drawn[where])]).astype(word.dtype)
    machine.memory.store(address[:1], lanes[:1], size, after)
    before = exact + sums - given.astype(np.float64) * machine.others
    return np.asarray(np.floor(before).astype(np.int64).astype(given.dtype))
