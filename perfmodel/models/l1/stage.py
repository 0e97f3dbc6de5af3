"""L1's stage: from the requests of a launch to the sectors that it asks of L2."""

from __future__ import annotations

import numpy as np

from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.l1_fills import l1_fills
from perfmodel.models.l1.local_memory import is_local, local_traffic
from perfmodel.models.l1.record import L1
from perfmodel.models.reuse.groups import grouped
from perfmodel.models.reuse.irregular_unions import common_fills, irregular_unions
from perfmodel.models.reuse.rereads import rereads, without_rereads


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
