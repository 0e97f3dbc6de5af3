"""What is left of a long loop: its iterations so far stand for those to come.

An emulation whose work is used up within a loop that counts by a number knows how many
iterations are left. They are taken to do what those so far did; how much the later of these
differed from the earlier says how far that can be trusted.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.machine import LANES, Machine
from perfmodel.cuda.emulate.values import dtype_of
from perfmodel.cuda.parse.control_flow import ControlFlow, Loop
from perfmodel.cuda.parse.syntax import Function
from perfmodel.cuda.sass.unrolling import CountedLoop, counter
from perfmodel.records import record

ASSUMED: Final = 2.0
"""Iterations of a loop that has not ended, nobody knows when, over those so far: as many again."""
_FEWEST: Final = 4
"""Iterations of a warp that may stand for the others."""
_MOST: Final = 1 << 24
"""Iterations left that anybody would wait for; more is a loop that is not understood."""


@record
class Rest:
    """A loop that is left before its end."""

    loop: Loop
    target: int  # block after it
    lanes: Array  # lanes that leave it
    factor: float  # what each of its counts is to be multiplied by
    register: str  # its counter, and `value` what it holds at the end
    value: Array
    whole: bool  # whether all these lanes are between two iterations
    turns: Array  # iterations that each warp has left


def rest(
    function: Function, flow: ControlFlow, machine: Machine, where: Array, warps: Array
) -> Rest | None:
    """Return the outermost loop in which lanes are, if it counts and has gone round often enough.

    `where` has the block that each lane stands in, -1 for those that are done; `warps`, how many
    ran each block.
    """
    for loop in flow.loops:
        inside = np.flatnonzero(np.isin(where, list(loop.blocks)))
        if loop.parent is not None or not len(inside):
            continue
        found = _counter(function, flow, loop)
        if found is None:
            continue
        counted, target = found
        active = machine.some(inside)
        kind = dtype_of(counted.kind) or np.dtype(np.int64)
        value = machine.read(counted.register, kind, active)
        bound = np.broadcast_to(machine.getter(counted.bound, kind)(active), value.shape)
        whole = bool(np.all(where[inside] == loop.header))
        times: Array | int = 1
        if counted.times is not None:
            read = machine.getter(counted.times, kind)(active)
            times = np.maximum(np.broadcast_to(read, value.shape).astype(np.int64), 1)
        left = counted.turns(value, bound, times) - (0 if whole else 1)
        most = np.zeros(machine.lanes // LANES, dtype=np.int64)
        np.maximum.at(most, inside // LANES, left)
        done = int(warps[loop.header])
        if int(left.max()) < _MOST and done >= _FEWEST * np.count_nonzero(most):
            # Of an iteration that is not done yet, half is taken to be.
            begun = 0.0 if whole else np.count_nonzero(most) / 2
            factor = (done + float(most.sum())) / (done - begun)
            after = value + left * times * counted.step
            return Rest(loop, target, inside, factor, counted.register, after, whole, most)
    return None


def assumed_end(
    flow: ControlFlow, where: Array, edges: Mapping[tuple[int, int], int], turns: Array
) -> Rest | None:
    """Return the outermost loop in which lanes are, to be left though nothing tells when it ends.

    Lanes leave where most did that went along `edges`, from one block to another.
    """
    for loop in flow.loops:
        inside = np.flatnonzero(np.isin(where, list(loop.blocks)))
        if loop.parent is None and len(inside) and loop.exits:
            _, target = max(loop.exits, key=lambda way: edges.get(way, 0))
            none = np.zeros(len(inside), dtype=np.int64)
            return Rest(loop, target, inside, ASSUMED, "", none, True, turns)
    return None


def _counter(function: Function, flow: ControlFlow, loop: Loop) -> tuple[CountedLoop, int] | None:
    """Return what a loop counts in, and the block after it."""
    inside = flow.places(sorted(loop.blocks))
    for number in sorted(loop.blocks):
        block = flow.blocks[number]
        leaving = [target for target in block.successors if target not in loop.blocks]
        if len(block.successors) != 2 or len(leaving) != 1:
            continue
        back = block.successors[0] in loop.blocks
        found = counter(function, inside, block.stop - 1, back, any_step=True)
        if found is not None:
            return found, leaving[0]
    return None


def told(
    found: Rest, function: Function, flow: ControlFlow, history: Sequence[tuple[float, Array]]
) -> str:
    """Return what was done, and how far the iterations differed."""
    line = function.instructions[flow.blocks[found.loop.header].start].line
    if not found.register:
        return (
            f"the loop at PTX line {line} had not ended when it was left: it is taken to run "
            "as many iterations again, and the time may be many times off"
        )
    more = drift(history, found.loop.header)
    return (
        f"of the loop at PTX line {line}, 1 of {found.factor:.3g} iterations were emulated, and "
        f"the others taken to be like them: of those, the second half did {abs(more):.0%} "
        f"{'more' if more > 0 else 'less'} than the first"
    )


def drift(history: Sequence[tuple[float, Array]], header: int) -> float:
    """Return by how much more work an iteration made in the second half than in the first.

    `history` has the work, and the warps that had run each block, from time to time.
    """
    turns = np.array([w[header] for _, w in history], dtype=float)
    work = np.array([spent for spent, _ in history])
    inside = np.flatnonzero(turns > 0)
    if len(inside) < 3:
        return 0.0
    first, last = inside[0], inside[-1]
    half = int(np.searchsorted(turns, (turns[first] + turns[last]) / 2))
    early = (work[half] - work[first]) / max(turns[half] - turns[first], 1.0)
    late = (work[last] - work[half]) / max(turns[last] - turns[half], 1.0)
    return float(late / early - 1.0) if early > 0 else 0.0
