"""What L1 makes of the requests of a launch: the record that its stage hands on to L2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.l1.local_memory import LocalTraffic
from perfmodel.models.reuse.groups import Group
from perfmodel.models.reuse.irregular_unions import Union
from perfmodel.models.reuse.rereads import Reread


@dataclass(frozen=True, slots=True)
class L1:
    """What the accesses of a launch bring into L1, or send past it.

    Attributes
    ----------
    groups : sequence of Group
        Accesses that walk through a buffer with the same strides.
    unions : mapping of int to Union
        What loads at irregular places have in common, by position.
    rereads, reread_misses : sequences of Reread and array
        Groups of loads that read what an earlier loop has read, and the share that L1 no longer has.
    fills : sequence of array
        Sectors that each access asks of L2, by position; those of local memory as though it were
        global: see `local`.
    local : mapping of int to LocalTraffic
        What accesses to local memory ask of the caches, by position.
    """

    groups: Sequence[Group]
    unions: Mapping[int, Union]
    rereads: Sequence[Reread]
    reread_misses: Sequence[Array]
    fills: Sequence[Array]
    local: Mapping[int, LocalTraffic]

    @property
    def asked_sectors(self) -> list[Array]:
        """Sectors that each access asks of L2, by position."""
        return [self.local[i].fills if i in self.local else f for i, f in enumerate(self.fills)]

    @property
    def reread_positions(self) -> frozenset[int]:
        """Positions of the loads that come back to data of an earlier loop."""
        return frozenset(i for reread in self.rereads for i in reread.members)

    def by_access(self, shares: Sequence[Array]) -> list[Array]:
        """Return what shares, one for each reread, are by position of the access; else 1."""
        by_position = dict.fromkeys(range(len(self.fills)), np.ones(1))
        for reread, share in zip(self.rereads, shares, strict=True):
            by_position |= dict.fromkeys(reread.members, share)
        return list(by_position.values())
