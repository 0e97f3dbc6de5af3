"""L1's stage: from the requests of a launch to the sectors that it asks of L2."""

from collections.abc import Mapping, Sequence

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.l1_fills import l1_fills
from perfmodel.models.l1.local_memory import LocalTraffic, is_local, local_traffic
from perfmodel.models.reuse.groups import Group, grouped
from perfmodel.models.reuse.irregular_unions import Union, common_fills, irregular_unions
from perfmodel.models.reuse.rereads import Reread, rereads, without_rereads
from perfmodel.records import record


@record
class L1:
    """What the accesses of a launch bring into L1, or send past it."""

    groups: Sequence[Group]  # accesses that walk through a buffer with the same strides
    unions: Mapping[int, Union]  # what loads at irregular places have in common, by position
    rereads: Sequence[Reread]  # groups of loads that read what an earlier loop has read
    reread_misses: Sequence[Array]  # share of each of these that L1 no longer has
    # Sectors that each access asks of L2, by position; those of local memory as though it were
    # global: see `local`.
    fills: Sequence[Array]
    local: Mapping[int, LocalTraffic]  # what accesses to local memory ask, by position

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


def l1_stage(accesses: GlobalAccesses) -> L1:
    """Return what the accesses of all configurations bring into L1, or send past it."""
    instance, requests = accesses.instance, accesses.requests
    groups = grouped(requests)
    unions = irregular_unions(accesses)
    fills = l1_fills(accesses, groups, unions)
    again = rereads(instance, requests, groups)
    missed = [
        g.missing_l1(accesses.blocks_on_sm, accesses.l1_size, accesses.device)
        if requests[g.members[0]].access.cache == "l1"
        else np.ones(1)
        for g in again
    ]
    return L1(
        groups=groups,
        unions=unions,
        rereads=again,
        reread_misses=missed,
        # What a block has of a buffer in common is told after its rereads, or they count twice.
        fills=common_fills(accesses, without_rereads(again, fills, missed)),
        local={
            i: local_traffic(accesses, r) for i, r in enumerate(requests) if is_local(instance, r)
        },
    )
