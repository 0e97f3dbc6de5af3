"""How unequal the warps and blocks of a launch are whose work the data decides."""

from __future__ import annotations

from perfmodel.records import record


@record
class Unequal:
    """Work of warps and blocks, over that of an average warp or block."""

    # Of the warp of a block that has most to do, mean over blocks: the block lasts as long.
    slowest: float = 1.0
    longest: float = 1.0  # the same of the block that lasts longest
    spread: float = 0.0  # standard deviation of what all warps of a block do together
