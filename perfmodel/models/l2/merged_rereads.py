"""Blocks that re-read a neighbour's data: how many re-reads merge with an outstanding request.

When blocks move on to a part of the working set that a nearby block has read before, they hit in L2
and run faster than the block that fetches. After a few passes they catch up with it. From then on
both request the same lines at almost the same time, so the request coalescer between the SMs of a
GPC and L2 merges them (`perfmodel.models.l2.merged_reads`), and where the line misses, both wait
for one DRAM fill.

Blocks need a few re-reads to catch up, more where the set is close to L2's size. Merging falls with
the loads that a block makes per pass, since short passes keep blocks closer together. A grid-wide
barrier after each pass prevents it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l2.private_sets import PartedSet
from perfmodel.models.l2.rotated_sets import NEIGHBOURS
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.warp_requests import Requests

CAUGHT_MISSES = Formula(
    name="re-reads merged with another block's outstanding DRAM fill",
    unit="1",
    text="(1 - 1/alike)*(1 - young)*later/again/(1 + 2.0**min(60, (middle - d/c)/width))",
    symbols={
        "alike": "blocks that read the same data at a time, at most as many as one request "
        "answers [1]",
        "young": "share of these re-reads before blocks have caught up [1]",
        "later": "re-reads but for the first two: catching up takes longer than hitting [1]",
        "again": "times that the launch reads the set again [1]",
        "d": "L2 used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
        "middle": Coefficient("l2.merged_rereads.caught_middle"),
        "width": Coefficient("l2.merged_rereads.caught_width"),
    },
    holds="as 'miss share of re-reads of other blocks' parts', blocks whose data close neighbours "
    "have read",
    source="fitted form, with 're-reads merged with another block's outstanding L2 request'",
)
CAUGHT = Formula(
    name="re-reads merged with another block's outstanding L2 request",
    unit="1",
    text="max(waiting, (1 - 1/alike)*loads_each/(loads_each + kept)"
    "/(1 + (spread*loads_each/again)**2))",
    symbols={
        "waiting": "share of re-reads merged with an outstanding DRAM fill [1]",
        "alike": "blocks that read the same data at a time, at most as many as one request "
        "answers [1]",
        "loads_each": "loads of a block in one pass over the set [1]",
        "again": "times that the launch reads the set again [1]",
        "kept": Coefficient("l2.merged_rereads.loads_kept"),
        "spread": Coefficient("l2.merged_rereads.loads_apart"),
    },
    holds="as 're-reads merged with another block's outstanding DRAM fill'; sets of 0.02 to 2 "
    "times L2",
    source="fitted form; with a grid-wide barrier after each pass no reads merge",
)
BEHIND: Final = Coefficient("l2.merged_rereads.behind")


@mechanism(
    neutral=lambda accesses, loads, one, moves, passes: (np.zeros(1), np.zeros(1)),
    evidence=["l2", "suite"],
)
def caught(
    accesses: GlobalAccesses, loads: Sequence[Requests], one: PartedSet, moves: Array, passes: Array
) -> tuple[Array, Array]:
    """Return the shares of a set's re-reads merged with others', and of those that wait for DRAM.

    Blocks move on by `moves` after each of `passes`; 0: back to their own part.
    """
    device, instance, blocks = accesses.device, accesses.instance, accesses.blocks
    if not device.merged_sms or not device.gpcs:
        return np.zeros(1), np.zeros(1)
    warps = np.ceil(np.asanyarray(instance.threads_per_block, dtype=float) / WARP_SIZE) * blocks
    loads_each = summed(r.requests for r in loads) / (warps * passes)
    distance = moves % device.sm_count
    # The other block of the same SM, or every so many of the blocks that a GPC's SMs have.
    ring = np.maximum(np.minimum(distance, device.sm_count - distance), 1)
    alike = np.where(distance == 0, blocks / device.sm_count, accesses.blocks_on_gpc / ring)
    near = (moves > 0) & (ring <= NEIGHBOURS(device))
    alike = np.where(near, np.clip(alike, 1.0, device.merged_sms), 1.0)
    again = one.again
    later = np.maximum(again - BEHIND(device), 0.0)
    waiting = CAUGHT_MISSES.on(
        device,
        alike=alike,
        young=replace(one, again=np.maximum(later, 1e-9)).young,
        later=later,
        again=again,
        d=one.used,
        c=one.capacity,
    )
    merged = CAUGHT.on(device, waiting=waiting, alike=alike, loads_each=loads_each, again=again)
    return np.asanyarray(merged), np.asanyarray(waiting)
