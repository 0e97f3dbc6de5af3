"""Requests: what one access asks of L1 in a launch, counted or by formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.access import Access
from perfmodel.models.grid.affine import Variable
from perfmodel.models.requests.bank_turns import BankTurns
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.contention import Sharing
from perfmodel.models.requests.drawn_places import Places
from perfmodel.models.requests.sampled_places import StoredPlaces


@dataclass(frozen=True, slots=True)
class Requests:
    """What one access asks for in the whole launch.

    What is only counted is None for a closed form.

    Attributes
    ----------
    access : Access
    width : int
        Bytes that a lane moves at once.
    requests, sectors, lines, active_lanes : array
        Warp requests; the distinct sectors and lines, and the lanes that take part, summed over them.
    data_wavefronts, tag_wavefronts : array
        Clocks in L1's two stages, summed over requests.
    strides : mapping of str to array, or None
        Bytes that a step of each variable moves the address; None where the index is not affine.
    offset : array
        Address at the origin of all variables [B].
    variables : tuple of Variable
    shares, warp_shares : mapping of str to array
        Share of each variable's range that the guards let through; the same with warps whole that
        they let through in part.
    sampled : float or None
        Share of the launch that was counted.
    period, start : array or None
        Bytes after which the addresses start again, where the index is ``affine % period``, and the
        first address of that period [B]; strides and offset are those before the modulo.
    random : bool
        Whether the index is random: rows of a table that other data chooses.
    sharing : Sharing or None
        How the lanes of an atomic share addresses.
    banks : BankTurns or None
        How the lanes of a shared atomic meet in banks, if that was counted.
    stored : StoredPlaces or None
        Where the sectors of a store concentrate, if that was counted.
    different, pairs, pages : array or None
        Distinct elements of `width` bytes, 64 B halves of lines, and pages, summed over requests.
    step : array or None
        The largest power of two that divides every address, a line at most [B].
    in_blocks : array of three rows, or None
        Distinct sectors, 64 B halves and lines of a block's warps together, summed over block
        executions.
    seams : array of three rows, or None
        Shares of these that the next block along x touches as well, at random places.
    filled : array or None
        Share of their sectors that neighbouring blocks fill, before they touch `STORED_LINES`.
    places : Places or None
        Where random places lie, if each block draws from a part of its own.
    pitch : array or None
        Bytes from one random place to the next, if none is drawn twice.
    """

    access: Access
    width: int
    requests: Array
    sectors: Array
    lines: Array
    active_lanes: Array
    data_wavefronts: Array
    tag_wavefronts: Array
    strides: Mapping[str, Array] | None
    offset: Array
    variables: tuple[Variable, ...]
    shares: Mapping[str, Array]
    sampled: float | None = None
    period: Array | None = None
    start: Array | None = None
    random: bool = False
    sharing: Sharing | None = None
    banks: BankTurns | None = None
    stored: StoredPlaces | None = None
    different: Array | None = None
    pairs: Array | None = None
    step: Array | None = None
    pages: Array | None = None
    in_blocks: Array | None = None
    seams: Array | None = None
    filled: Array | None = None
    places: Places | None = None
    pitch: Array | None = None
    warp_shares: Mapping[str, Array] = field(default_factory=dict)

    @property
    def executions(self) -> Array:
        """Warp executions of the access, were there no guards."""
        every = threads = np.ones(1)
        for v in self.variables:
            if v.is_thread:
                threads = threads * v.extent
            else:
                every = every * (1.0 if v.in_lane else v.extent)
        return np.asanyarray(every * np.ceil(threads / WARP_SIZE))

    @property
    def wanted_bytes(self) -> Array:
        """Bytes that the lanes asked for."""
        return self.active_lanes * self.width


def no_requests(access: Access, width: int, variables: tuple[Variable, ...]) -> Requests:
    """Return the requests of an access that no thread takes part in."""
    none = np.zeros(1)
    return Requests(
        *(access, width, none, none, none, none, none, none, None, none, variables), shares={}
    )


_SUMS: Final = (
    *("requests", "sectors", "lines", "active_lanes", "data_wavefronts", "tag_wavefronts"),
    *("different", "pairs", "pages", "in_blocks"),
)
"""Attributes that are summed over the requests of a launch."""


def scaled(r: Requests, times: Array) -> Requests:
    """Return requests with everything that is summed over the launch so many times."""
    sums = {name: getattr(r, name) for name in _SUMS}
    return replace(r, **{name: n * times for name, n in sums.items() if n is not None})


def past_l1(requests: Sequence[Requests], members: Sequence[int], asked: Array) -> list[Requests]:
    """Return requests with what L1 had of the followed loads of a buffer left out.

    Places that L1 has are not drawn from L2. Other random loads are drawn as they are. `members`
    are the positions of the buffer's accesses, `asked` the bytes that its loads ask of L2.
    """
    found = list(requests)
    loads = [i for i in members if requests[i].access.kind == "load"]
    counts = [requests[i].access.counted for i in loads]
    if not all(c is not None and c.misses for c in counts):
        return found
    every = sum((requests[i].sectors * SECTOR for i in loads), np.zeros(1))
    part = np.minimum(1.0, asked / np.maximum(every, 1e-9))
    for i in loads:
        r = requests[i]
        pairs = None if r.pairs is None else r.pairs * part
        found[i] = replace(r, sectors=r.sectors * part, lines=r.lines * part, pairs=pairs)
    return found
