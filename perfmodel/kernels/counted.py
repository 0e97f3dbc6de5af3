"""What an access asks for where somebody has counted it, and how unequal warps and blocks are."""

from typing import Any

from perfmodel.records import record


@record(eq=False)
class Counted:
    """What an access asks for in the whole launch, where no index and guard say it.

    Somebody has run a sample of the launch's blocks and counted.
    """

    # Warp requests, and the lanes that take part, summed over them.
    requests: float
    lanes: float
    # Of these lanes, one for each address of a request: lanes that ask for the same count once.
    different: float
    # Distinct sectors, lines and 64 B halves of lines of each request, summed.
    sectors: float
    lines: float
    pairs: float
    # Clocks in L1's two stages, summed.
    data_wavefronts: float
    tag_wavefronts: float
    sampled: float  # share of the launch that was counted
    # Byte addresses of some requests' lanes, from the start of the buffer; -1 is no lane; array of
    # shape (requests, 32), or None
    addresses: Any = None
    # Bytes from the index on that each request moves in one piece, if it is a bulk copy; `lanes`
    # then counts these by the width of the access.
    run: float = 0.0
    # Lines of L1 that a block has, and the share of the sectors that are not there then.
    misses: tuple[tuple[int, float], ...] = ()
    # Share of the sectors that their block asks for the first time, and pieces of 64 B that it asks
    # for the first time, for each sector.
    once: tuple[float, float] = (1.0, 1.0)
    # Lines of the table from which all blocks read at random places; 0 where they do not.
    drawn: float = 0.0
    apart: bool = False  # whether each block goes through a dense part of its own
    jumping: bool = False  # whether its requests follow no order
    alike: float = 1.0  # of neighbouring blocks, how many ask for the same sectors at a time
    # Requests of a block that wait for new sectors, for each that asks for one: warps that come to
    # a sector together all wait.
    met: float = 1.0


@record
class Unequal:
    """Work of warps and blocks, over that of an average warp or block."""

    # Of the warp of a block that has most to do, mean over blocks: the block lasts as long.
    slowest: float = 1.0
    longest: float = 1.0  # the same of the block that lasts longest
    spread: float = 0.0  # standard deviation of what all warps of a block do together
