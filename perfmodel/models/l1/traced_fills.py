"""L1 misses of traced loads, and of tables that all blocks of an SM read at random places.

Where a load's addresses come from running the kernel's code, the trace gives the miss ratio as a
function of cache size. An SM's L1 is shared by its resident blocks, so the ratio is read at each
block's part of L1. A buffer that fits L1 is fetched once per SM.

Loads from one table at random places share it: a line that one block of an SM has fetched serves
the other blocks and the other loads of the same table. Their misses are therefore those of one load
with the sum of their requests (`measurements/l1`, reuse).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfmodel.arrays import Array, largest, summed
from perfmodel.kernels.instance import Instance
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.l1_tables import table_fills
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.placement import buffer_bytes, reached_bytes
from perfmodel.models.reuse.reuse_windows import resident_share, reuse_knee


def traced_fills(accesses: GlobalAccesses, r: Requests) -> Array:
    """Return the sectors that a load whose addresses were followed brings into L1."""
    assert r.access.counted is not None
    misses = zip(*r.access.counted.misses, strict=True)
    lines, shares = (np.asanyarray(column, dtype=float) for column in misses)
    own = np.maximum(accesses.l1_size / (LINE * accesses.blocks_on_sm), 1.0)
    found = r.sectors * np.interp(np.log2(own), np.log2(lines), shares)
    # A buffer that L1 holds comes once to each SM.
    size = buffer_bytes(accesses.instance, r)
    once = np.minimum(found, accesses.sms * size / SECTOR)
    resident = resident_share(size, accesses.l1_size, reuse_knee(accesses.device))
    return np.asanyarray(resident * once + (1 - resident) * found)


@mechanism(neutral=lambda accesses, fills: list(fills), evidence=["l1"])
def drawn_fills(accesses: GlobalAccesses, fills: Sequence[Array]) -> list[Array]:
    """Return the sectors that loads bring into L1, with those of tables that all blocks draw from.

    Blocks of an SM find what each other has drawn, and all loads of a table draw from it together
    (measurements/l1, reuse: tables and lists). `fills` are what each brings by itself otherwise.
    """
    instance, requests, device = accesses.instance, accesses.requests, accesses.device
    tables: dict[str, list[int]] = {}
    for i, r in enumerate(requests):
        cached = r.access.kind == "load" and r.access.cache == "l1"
        if cached and _table_bytes(instance, r) is not None:
            tables.setdefault(r.access.buffer, []).append(i)
    found = list(fills)
    for members in tables.values():
        first = requests[members[0]]
        if len(members) == 1 and first.access.counted is None:
            continue
        sizes = [size for i in members if (size := _table_bytes(instance, requests[i])) is not None]
        table = np.minimum(buffer_bytes(instance, first), largest(*sizes))
        sectors = summed(requests[i].sectors for i in members)
        lines = summed(requests[i].lines for i in members)
        every = replace(first, sectors=sectors, lines=lines, random=True)
        loads = (i for i in accesses.of("load") if i not in members)
        others = summed(fills[i] for i in loads) * SECTOR
        brought = table_fills(every, table, table, accesses.sms, others, accesses.l1_size, device)
        share = brought / np.maximum(sectors, 1e-9)
        for i in members:
            found[i] = np.minimum(fills[i], requests[i].sectors * share)
    return found


def _table_bytes(instance: Instance, r: Requests) -> Array | None:
    """Return the bytes of the table that a load draws from at random, or None if it does not."""
    counted = r.access.counted
    if counted is not None:
        return np.full(1, counted.drawn * LINE) if counted.drawn else None
    everywhere = r.random and r.strides is None and r.places is None
    return reached_bytes(instance, r) if everywhere else None


def drawn_table_fills(accesses: GlobalAccesses, r: Requests, others: Array) -> Array:
    """Return the sectors that a load at irregular or random places brings into all L1s.

    What blocks draw from that share an SM is a table by itself, and then what the next ones do. The
    other loads bring `others` bytes.
    """
    whole, sms, capacity = buffer_bytes(accesses.instance, r), accesses.sms, accesses.l1_size
    device = accesses.device
    if r.places is None:
        reached = reached_bytes(accesses.instance, r)
        return table_fills(r, whole, reached, sms, others, capacity, device)
    per_sm = accesses.blocks / sms
    live, reached = (
        np.minimum(whole, r.places.of(n, sms))
        for n in (np.minimum(accesses.blocks_on_sm, per_sm), per_sm)
    )
    waves = np.maximum(reached / live, 1.0)
    one = replace(r, sectors=r.sectors / waves, lines=r.lines / waves)
    return waves * table_fills(one, live, live, sms, others / waves, capacity, device)
