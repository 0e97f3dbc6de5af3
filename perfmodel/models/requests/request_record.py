"""Requests: what one access asks of L1 in a launch, counted or by formulas."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.access import Access
from perfmodel.models.grid.affine import Variable
from perfmodel.models.requests.bank_conflicts import BankConflicts
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.contention import AddressSharing
from perfmodel.models.requests.random_places import Drawn, DrawnWalk, Places
from perfmodel.models.requests.sampled_places import StoredPlaces
from perfmodel.records import record


@record
class Requests:
    """What one access asks for in the whole launch; None where a closed form does not tell."""

    access: Access
    width: int  # bytes that a lane moves at once
    requests: Array  # of warps; what follows is summed over them
    sectors: Array  # distinct
    lines: Array  # distinct
    active_lanes: Array  # that take part
    data_wavefronts: Array  # clocks in L1's two stages
    tag_wavefronts: Array
    variables: tuple[Variable, ...]
    # Bytes that a step of each variable moves the address; None where the index is not affine.
    strides: Mapping[str, Array] | None = None
    offset: Array = field(default_factory=partial(np.zeros, 1))  # address at the origin of all [B]
    # Share of each variable's range that the guards let through; the same with warps whole that
    # they let through in part.
    shares: Mapping[str, Array] = field(default_factory=dict)
    warp_shares: Mapping[str, Array] = field(default_factory=dict)
    bounded: Mapping[str, Array] = field(default_factory=dict)  # where they keep it from some
    sampled: float | None = None  # share of the launch that was counted
    # Bytes after which the addresses start again, where the index is ``affine % period``, and the
    # first address of that period [B]; strides and offset are those before the modulo.
    period: Array | None = None
    start: Array | None = None
    random: bool = False  # whether the index is random: rows of a table that other data chooses
    sharing: AddressSharing | None = None  # how the lanes of an atomic share addresses
    banks: BankConflicts | None = None  # how those of a shared atomic meet in banks
    stored: StoredPlaces | None = None  # where the sectors of a store concentrate
    different: Array | None = None  # distinct elements of `width` bytes, summed over requests
    pairs: Array | None = None  # distinct 64 B halves of lines, summed over requests
    step: Array | None = None  # largest power of two that divides every address, to a line [B]
    pages: Array | None = None  # distinct, summed over requests
    # Distinct sectors, 64 B halves and lines of a block's warps together, summed over executions
    # of blocks, and shares of these that the next block along x touches too, at random places.
    distinct_per_block: Array | None = None
    next_block_share: Array | None = None
    walk: DrawnWalk | None = None  # from the places that lanes draw, one each
    # share of its sectors, halves and lines that lanes come to, and are not at already, on walks
    walked: Array | None = None
    filled: Array | None = None  # share of their sectors that neighbouring blocks store in time
    places: Places | None = None  # where random places lie, if each block has a part of its own
    # part of the buffer that random places lie in, if all blocks draw from the same
    drawn: Drawn | None = None
    pitch: Array | None = None  # bytes from one random place to the next, if none is drawn twice

    @property
    def address_sharing(self) -> AddressSharing:
        """How the lanes share addresses, of an atomic of which that is known."""
        assert self.sharing is not None
        return self.sharing

    @property
    def lanes(self) -> tuple[tuple[Variable, Array], ...]:
        """What tells the lanes of a warp apart, and how many values of it a warp has.

        A warp of an irregular block has its lanes along x first, then along y and z.
        """
        found, left = [], np.asanyarray(WARP_SIZE)
        for v in self.variables:
            if v.in_lane:
                found.append((v, v.extent))
            elif v.is_thread:
                found.append((v, np.minimum(v.extent, left)))
                left = -(-left // v.extent)
        return tuple(found)

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

    @property
    def useful_bytes(self) -> Array:
        """Distinct bytes that the lanes of each request ask for, summed over requests [B].

        Lanes at the same element, as in a broadcast or in atomics to one address, count once.
        """
        if self.different is not None:
            return np.asanyarray(self.different * self.width)
        if self.sharing is not None:
            return np.asanyarray(self.requests * self.sharing.conflicts.addresses * self.width)
        share = 1.0 if self.strides is None else self._distinct_share(self.strides)
        return np.asanyarray(self.wanted_bytes * share)

    def _distinct_share(self, strides: Mapping[str, Array]) -> float:
        """Return the distinct bytes of a full warp over the bytes of its lanes.

        Of the first configuration. Warps that guards cut have at least this share.
        """
        places = np.zeros(1, dtype=np.int64)
        for v, count in self.lanes:
            steps = np.arange(int(np.ravel(count)[0])) * int(np.ravel(strides[v.name])[0])
            places = np.add.outer(places, steps).ravel()
        # From each element up to the next: all of it, unless the next one starts before its end.
        reached = np.minimum(np.diff(np.sort(places)), self.width).sum() + self.width
        return float(reached / (len(places) * self.width))


def no_requests(access: Access, width: int, variables: tuple[Variable, ...]) -> Requests:
    """Return the requests of an access that no thread takes part in."""
    none = np.zeros(1)
    return Requests(access, width, none, none, none, none, none, none, variables)


_SUMS: Final = (
    *("requests", "sectors", "lines", "active_lanes", "data_wavefronts", "tag_wavefronts"),
    *("different", "pairs", "pages", "distinct_per_block"),
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
    every = summed(requests[i].sectors * SECTOR for i in loads)
    part = np.minimum(1.0, asked / np.maximum(every, 1e-9))
    for i in loads:
        r = requests[i]
        pairs = None if r.pairs is None else r.pairs * part
        found[i] = replace(r, sectors=r.sectors * part, lines=r.lines * part, pairs=pairs)
    return found
