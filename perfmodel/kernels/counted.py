"""What an access asks for, where somebody has counted it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What an access asks for in the whole launch, where no index and guard say it.

    Somebody has run a sample of the launch's blocks and counted.

    Attributes
    ----------
    requests, lanes : float
        Warp requests, and the lanes that take part, summed over them.
    different : float
        Of these lanes, one for each address of a request: lanes that ask for the same count once.
    sectors, lines, pairs : float
        Distinct sectors, lines and 64 B halves of lines of each request, summed.
    data_wavefronts, tag_wavefronts : float
        Clocks in L1's two stages, summed.
    sampled : float
        Share of the launch that was counted.
    addresses : array of shape (requests, 32), or None
        Byte addresses of some requests' lanes, from the start of the buffer; -1 is no lane.
    run : float
        Bytes from the index on that each request moves in one piece, if it is a bulk copy; `lanes`
        then counts these by the width of the access.
    misses : tuple of (int, float)
        Lines of L1 that a block has, and the share of the sectors that are not there then.
    once : tuple of two float
        Share of the sectors that their block asks for the first time, and pieces of 64 B that it
        asks for the first time, for each sector.
    drawn : float
        Lines of the table from which all blocks read at random places; 0 where they do not.
    apart : bool
        Whether each block goes through a dense part of its own.
    jumping : bool
        Whether its requests follow no order.
    alike : float
        Of neighbouring blocks, how many ask for the same sectors at a time.
    met : float
        Requests of a block that wait for new sectors, for each that asks for one: warps that come
        to a sector together all wait.
    """

    requests: float
    lanes: float
    different: float
    sectors: float
    lines: float
    pairs: float
    data_wavefronts: float
    tag_wavefronts: float
    sampled: float
    addresses: Any = None
    run: float = 0.0
    misses: tuple[tuple[int, float], ...] = ()
    once: tuple[float, float] = (1.0, 1.0)
    drawn: float = 0.0
    apart: bool = False
    jumping: bool = False
    alike: float = 1.0
    met: float = 1.0
