"""How unequal the warps and blocks of a launch are whose work the data decides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unequal:
    """Work of warps and blocks, over that of an average warp or block.

    Attributes
    ----------
    slowest : float
        Of the warp of a block that has most to do, mean over blocks: the block lasts as long.
    longest : float
        The same of the block that lasts longest.
    spread : float
        Standard deviation of what all warps of a block do together.
    """

    slowest: float = 1.0
    longest: float = 1.0
    spread: float = 0.0
