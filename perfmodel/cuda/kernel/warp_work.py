"""What a warp issues in each loop of a kernel, and how long it takes alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.syntax import Function
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.records import record

_ALL: Final = 0.95
"""Share of the warps that run a block from which on it counts as run by all."""
_SOME: Final = 1 / 32
"""Share of the warps that run a block from which on some warp of each block of threads does."""
_BARRIERS: Final = ("bar", "barrier")


class Took(NamedTuple):
    """What a lone warp takes for some instructions."""

    clocks: float
    """Without waits for global memory."""
    waits: float
    """For loads from global memory, one after the other."""


@record
class WarpWork:
    """A warp's work, of a turn of each loop and of what is in none (None)."""

    counts: Mapping[tuple[str, str | None], float]
    """Instructions by pipe: without products on tensor cores, and of accesses to memory only the
    "masked"."""
    paces: Mapping[str | None, Took]
    branches: frozenset[int]
    """Blocks of PTX whose branch is left one."""
    meetings: Mapping[str | None, float]
    """Places where a warp's lanes reconverge that are among the paces, each as long as a branch."""
    origin: str = ""
    """What to say of where this is from, if it is not machine code."""
    doubt: Doubt = SURE
    """How far the time may be off by how this is counted."""


def entered_share(
    function: Function,
    flow: ControlFlow,
    shares: Mapping[int, float],
    inside: Iterable[int],
    entering: float = 1.0,
) -> float:
    """Return the share of a block's warps that go into a loop, which the block lasts for.

    Few turns of many warps are no few warps: what counts is who comes to the loop. Conditions may
    say it (`entering`). Else the others wait for these at a barrier, if more warps run one; where
    no more do, the others are of other blocks, or of other turns. `shares`: of the warps that run
    each block; `inside`: blocks of the loop.
    """
    if entering < _ALL:
        return entering
    numbers = {*inside}
    found = next((loop for loop in flow.loops if loop.header in numbers), None)
    if found is None:
        return 1.0
    before = [b for b in flow.blocks[found.header].predecessors if b not in found.blocks]
    entered = max((shares[b] for b in before if b in shares), default=1.0)
    if entered <= 0.0:
        return 1.0
    meeting = [s for b, s in shares.items() if s > _ALL * entered and _meets(function, flow, b)]
    part = entered / min(meeting, default=entered)
    return part if _SOME <= part < _ALL else 1.0


def _meets(function: Function, flow: ControlFlow, block: int) -> bool:
    """Say whether a block's warps wait for one another."""
    return any(function.instructions[at].opcode in _BARRIERS for at in flow.places([block]))


def loops_of_blocks(found: Followed) -> dict[int, str | None]:
    """Return the innermost loop of each block that runs."""
    return {run.block: run.loop for run in found.blocks}
