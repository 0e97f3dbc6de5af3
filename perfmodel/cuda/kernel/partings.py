"""How often a warp's lanes part at branches, from how many warps and threads run each block.

A branch at which some lanes go one way and some the other has the warp go both, one after the
other, and wait where they meet.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from perfmodel.cuda.parse.control_flow import ControlFlow

_EVEN: Final = 1e-3
"""Part by which shares of warps and of threads may differ, and still be the same."""


class Run(NamedTuple):
    """What runs a block: the share of all warps, and threads in any unit."""

    block: int
    loop: str | None
    warps: float
    threads: float


def partings(
    flow: ControlFlow, runs: Iterable[Run], branches: frozenset[int]
) -> dict[str | None, float]:
    """Return the branches of an iteration at which lanes part, by loop; None is outside of loops.

    `branches` are the blocks that end with one at which lanes may part, and meet again.
    """
    by_block = {run.block: run for run in runs}
    found: dict[str | None, float] = {}
    for number in sorted(branches & by_block.keys()):
        run = by_block[number]
        meeting = flow.post_dominators[number]
        ways = [by_block[s] for s in flow.blocks[number].successors if s in by_block]
        inner = [way for way in ways if way.block != meeting]
        if not inner or run.warps <= 0 or any(way.loop != run.loop for way in inner):
            continue
        if len(flow.blocks[number].successors) > 2:
            # of a table's ways each beyond the first is gone on its own
            found[run.loop] = found.get(run.loop, 0.0) + sum(w.warps for w in ways) - run.warps
            continue
        if len(inner) > 1:
            parted = min(sum(way.warps for way in inner) - run.warps, *(w.warps for w in inner))
        else:
            whole = run.threads * inner[0].warps / run.warps
            parted = inner[0].warps if inner[0].threads < whole * (1 - _EVEN) else 0.0
        if parted > 0:
            found[run.loop] = found.get(run.loop, 0.0) + min(parted, run.warps)
    return found
