"""Reads of one buffer by several loads: data that one fetched from DRAM and another hits in L2.

A buffer that several loads traverse (for example as a body's own data and as everybody's data in an
N-body kernel) would be counted once per load. While L2 holds the buffer no byte is read from DRAM
twice, so the sum of the first reads is limited to the buffer's size, or to the largest single
traversal. The saving is scaled by the share of the launch's data that stays resident.

The formula assumes that the loads cover the buffer together, and counts too little traffic where
they touch mostly different parts of it.
"""

from collections.abc import Collection, Sequence

import numpy as np

from perfmodel.arrays import Array, largest, summed
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.mechanism import mechanism
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import resident_share, reuse_knee

BROUGHT_ONCE = Formula(
    name="DRAM reads saved between traversals of one buffer",
    unit="B",
    text="resident*max(0, first - buffer)",
    symbols={
        "resident": "share of the launch's data that L2 holds [1]",
        "first": "first-time DRAM reads of the traversals, each counted separately [B]",
        "buffer": "bytes of the buffer, or of the largest traversal if that is more [B]",
    },
    holds="buffers that the traversals cover together; less is saved where they hardly overlap",
    source="derived: no byte is fetched twice while L2 holds it; measured for bodies that are "
    "read as a thread's own and by all others: 268,032 and 84,736 bytes of buffers of 262,144 and "
    "80,000 (measurements/source-kernels, corpus)",
)


@mechanism(
    neutral=lambda accesses, dram_reads, touched, known: list(dram_reads),
    evidence=["source-kernels"],
)
def brought_once(
    accesses: GlobalAccesses,
    dram_reads: Sequence[Array],
    touched: Sequence[Array],
    known: Collection[int],
) -> list[Array]:
    """Return the bytes that each access reads from DRAM, where loads of a buffer spare each other.

    Of loads that come back to data, at the positions `known`, that is known already.
    """
    requests, found = accesses.requests, list(dram_reads)
    loads = accesses.by_buffer(
        i
        for i in accesses.of("load")
        if i not in known and not requests[i].random and requests[i].period is None
    )
    sizes = {r.access.buffer: buffer_bytes(accesses.instance, r) for r in requests}
    knee = reuse_knee(accesses.device)
    resident = resident_share(summed(sizes.values()), accesses.l2_size, knee)
    for buffer, members in loads.items():
        every = summed(found[i] for i in members)
        alone = [np.minimum(found[i], touched[i]) for i in members]
        # A walk by itself brings what it does, atoms around its ends too.
        least = largest(sizes[buffer], *alone)
        spared = BROUGHT_ONCE(resident=resident, first=summed(alone), buffer=least)
        part = np.clip(1 - spared / np.maximum(every, 1e-9), 0.0, 1.0)
        found = [n * part if i in members else n for i, n in enumerate(found)]
    return found


def changed_once(
    accesses: GlobalAccesses, dram_reads: Sequence[Array], changing: Collection[int]
) -> dict[int, Array]:
    """Return the share left of what atomics read from DRAM, where others of their buffer spare it.

    A loop's atomics that were unrolled, or a search before a swap: while L2 holds the buffer, it
    comes once for all of them.
    """
    requests, knee = accesses.requests, reuse_knee(accesses.device)
    found: dict[int, Array] = {}
    for buffer, members in accesses.by_buffer(changing).items():
        loads = [i for i in accesses.of("load") if requests[i].access.buffer == buffer]
        atomic = summed(dram_reads[i] for i in members)
        size = buffer_bytes(accesses.instance, requests[members[0]])
        resident = resident_share(size, accesses.l2_size, knee)
        loaded = summed(dram_reads[i] for i in loads)
        least = largest(size, *(dram_reads[i] for i in (*members, *loads)))
        spared = BROUGHT_ONCE(resident=resident, first=atomic + loaded, buffer=least)
        spared = np.minimum(spared, atomic)
        found |= dict.fromkeys(members, 1 - spared / np.maximum(atomic, 1e-9))
    return found
