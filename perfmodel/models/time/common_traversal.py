"""Loops in which many blocks traverse the same data together: each step waits for DRAM.

The first block to request a line misses and waits for DRAM. Others that request it meanwhile wait
for the same fill. A block that runs ahead misses every line, and the others hit and catch up, so
all blocks traverse the data at the pace of one chain of DRAM latencies, however few bytes DRAM
moves. With many readers the earliest request of a line comes a little sooner, which shortens each
wait slightly.

The time of all resources is extended by what the first wave's traversal takes beyond them; later
waves hit. Warm launches wait in the same way for the lines that L2 has lost.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.latency.batch import MOST_SPREAD, Batch
from perfmodel.models.latency.chain import Chain
from perfmodel.models.latency.leading_blocks import DRAM_PAGE, active_iterations, extents_at_work
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.footprint import Extent, footprint
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import grouped
from perfmodel.models.reuse.placement import buffer_bytes, reached_bytes
from perfmodel.models.time.resources import Resources

FIRST_OF_MANY: Final = Coefficient("time.common_traversal.first_of_many")
SOONEST: Final = Coefficient("time.common_traversal.soonest")
_PLACES: Final = ("threadIdx", "blockIdx")
TRAVERSAL_TIME = Formula(
    name="time of a common traversal",
    unit="s",
    text="own + waits*near"
    " + cold*(dram - new + max(spread*log2(lines) - first*log2(sms), -soonest))",
    symbols={
        "own": "a warp's instructions, and its loads' wavefronts beyond one each, where these are "
        "not in the latencies [s]",
        "waits": "waits of a warp for its loads [1]",
        "near": "latency of waits that hit in L2 or L1 [s]",
        "new": "the same of waits that reach a new sector, as those for new lines do [s]",
        "cold": "waits for lines that come from DRAM [1]",
        "dram": "latency of a DRAM read [s]",
        "spread": "additional latency of the slower of two DRAM reads [s]",
        "lines": "lines that a warp waits for together [1]",
        "first": "time by which the first of two readers has a line sooner [s]",
        "sms": "SMs that read the same lines [1]",
        "soonest": "largest time by which a line can arrive sooner than for a single reader [s]",
    },
    holds="blocks that start together",
    source="derived: all wait for the first request; within 7% for single warps and blocks of 1 "
    "to 32 warps (measurements/l2, walks/products.csv)",
)
WITH_TRAVERSAL = Formula(
    name="time of all resources, with the common traversal",
    unit="s",
    text="together + max(0, walk - first)",
    symbols={
        "together": "time of all resources together [s]",
        "walk": "traversal time of the first wave of blocks, and what its other loops wait for, "
        "without its first wait [s]",
        "first": "time of all resources for that wave [s]",
    },
    holds="later waves hit what the first has read",
    source="measured: blocks whose work takes less than their waits take as long as these; two "
    "per SM whose work takes as long 2 to 9% longer (measurements/l2, walks/products.csv)",
)


@mechanism(neutral=lambda *_: None, evidence=["l2"])
def walk(execution: Execution, chain: Chain) -> Array | None:
    """Return the time of the walk that takes longest, with the waits of all other loops [s].

    None where no loop walks.
    """
    if execution.kernel.dependent:
        return None
    found: list[Array] = []
    for batch in chain.batches:
        if batch.loop is None or batch.ahead or batch.depth:
            continue
        walking = [
            i
            for i, r in enumerate(execution.requests)
            if r.access.kind == "load" and r.access.loop == batch.loop and _walks(r)
        ]
        if not walking:
            continue
        several = _cold_of_several(execution, batch)
        waiting = (b for b in chain.batches if b.loop not in (None, batch.loop) and not b.ahead)
        others = summed(b.waited * b.latency for b in waiting)
        found += [_walk_time(execution, i, chain, batch, several) + others for i in walking]
    return largest(*found) if found else None


def _walks(r: Requests) -> bool:
    return r.strides is not None and r.period is None


def _walk_time(
    execution: Execution, position: int, chain: Chain, batch: Batch, several: Array | None
) -> Array:
    """Return the time of the walk of one load [s]; for `several` see `_cold_of_several`."""
    r, access = execution.requests[position], execution.traffic.accesses[position]
    assert r.strides is not None
    together = _waited_together(execution, batch)
    cold, lines = _cold_waits(execution, position, batch, together)
    if several is not None:
        cold = np.where(together < 1, np.maximum(cold, several), cold)
    near, new = _near_latencies(batch, together)
    asked = np.asanyarray(access.l1_fill_sectors * SECTOR / np.maximum(access.dram_bytes, 1.0))
    # Lanes side by side wait for one line; loads one after the other are each a line of their own.
    far = np.minimum(
        footprint(extents_at_work(r, lanes=True), r.width, DRAM_PAGE), MOST_SPREAD(execution.device)
    )
    apart = np.minimum(np.maximum(together, far), lines)
    # Where clocks are known, those of L1's passes are in the latencies.
    passes = np.zeros(1) if chain.known else _l1_passes(execution, batch)
    return TRAVERSAL_TIME(
        own=np.asanyarray((chain.in_loops + passes) / chain.clock),
        waits=np.asanyarray(execution.instance.turns(batch.loop) / together),
        near=near,
        new=new,
        cold=cold,
        dram=np.asanyarray(batch.latencies.dram),
        spread=batch.latencies.spread,
        lines=np.maximum(apart, 1.0),
        sms=np.clip(asked, 1.0, execution.device.sm_count),
        first=FIRST_OF_MANY(execution.device),
        soonest=SOONEST(execution.device),
    )


def _waited_together(execution: Execution, batch: Batch) -> Array:
    """Return the iterations whose loads a warp waits for together."""
    instance = execution.instance
    if instance.kernel.loads_a_wait is None:
        return batch.unroll
    every = execution.requests
    loads = sum(o.access.kind == "load" and o.access.loop == batch.loop for o in every)
    stated = np.asanyarray(instance.number(instance.kernel.loads_a_wait), dtype=float) / loads
    return np.asanyarray(np.minimum(np.maximum(stated, 1.0), instance.turns(batch.loop)))


def _cold_waits(
    execution: Execution, position: int, batch: Batch, together: Array
) -> tuple[Array, Array]:
    """Return the waits of a warp for lines that come from DRAM, and the lines of one wait."""
    instance = execution.instance
    r, access = execution.requests[position], execution.traffic.accesses[position]
    assert r.strides is not None
    times, lanes = instance.turns(batch.loop), extents_at_work(r, lanes=True)
    nest = instance.kernel.loop_nest(batch.loop)
    every = [
        Extent(r.strides[v.variable], active_iterations(instance, r, v.variable)) for v in nest
    ]
    turn = [Extent(r.strides[batch.loop], together)] if batch.loop else []
    atom = int(execution.device.dram_access_size)
    lines = np.maximum(footprint([*turn, *lanes], r.width, atom), 1.0)
    done = times / np.maximum(instance.runs(batch.loop), 1e-9)
    waits = times / together
    cold = np.minimum(footprint([*every, *lanes], r.width, atom) / lines * done, waits)
    # What a warp comes to that another of its block has read is there as well.
    block = extents_at_work(r)
    reached = np.minimum(
        footprint([*every, *block], r.width, atom), reached_bytes(instance, r, atom) / atom + 1
    )
    cold = np.minimum(cold, reached / np.maximum(footprint([*turn, *block], r.width, atom), 1.0))
    cold = cold * np.maximum(1 - _read_before(execution, r), 0.0)
    # What L2 has kept is not waited for, unless some of the same wait was lost.
    lost, losses = _from_dram(execution, position, batch), lines
    if execution.traffic.cold:  # L2 lost whole lines of what the launch itself has brought
        losses = np.maximum(lines * (atom / LINE), 1.0)
    cold = cold * (1 - (1 - np.clip(lost, 0.0, 1.0)) ** losses)
    return np.where(access.dram_bytes > 0, cold, 0.0), lines


def _from_dram(execution: Execution, position: int, batch: Batch) -> Array:
    """Return the share of what a load reaches that comes from DRAM: no more than once."""
    r, accesses = execution.requests[position], execution.traffic.accesses
    assert r.strides is not None
    if not execution.traffic.cold:
        reached = np.maximum(reached_bytes(execution.instance, r), 1.0)
        return np.asanyarray(accesses[position].dram_bytes / reached)
    # Loads of the same lines have their parts of what one of them fetches.
    alike = [
        i
        for i in batch.members
        if _walks(execution.requests[i]) and execution.requests[i].access.buffer == r.access.buffer
    ]
    atom, own = int(execution.device.dram_access_size), [execution.requests[i] for i in alike]
    every = {v.name: v.extent * o.shares.get(v.name, 1.0) for o in own for v in o.variables}
    reached = summed(g.granules(every, atom) for g in grouped(own)) * atom
    fetched = summed(accesses[i].dram_bytes for i in alike)
    return np.asanyarray(fetched / np.maximum(reached, 1.0))


def _cold_of_several(execution: Execution, batch: Batch) -> Array | None:
    """Return the waits for lines from DRAM of a loop whose iteration waits several times.

    Each time for some of its loads, and those that come to lines of their own are waited for each.
    None for other loops.
    """
    assert batch.loop is not None
    together = _waited_together(execution, batch)
    if not np.any(together < 1):
        return None
    atom, requests = int(execution.device.dram_access_size), execution.requests
    walking = [i for i in batch.members if _walks(requests[i])]
    own = [requests[i] for i in walking]
    threads = {v.name: v.extent for r in own for v in r.variables if v.target.startswith(_PLACES)}
    lines = summed(g.granules(threads, atom) for g in grouped(own))
    every = summed(g.granules(threads, atom) for r in own for g in grouped([r]))
    cold = summed(_cold_waits(execution, i, batch, together)[0] for i in walking)
    each = cold / len(batch.members)
    waits = execution.instance.turns(batch.loop) / together
    distinct = np.minimum(lines / np.maximum(every, 1.0), 1.0)
    several: Array = np.minimum(each / together * distinct, waits)
    return several


def _read_before(execution: Execution, r: Requests) -> Array:
    """Return the share of a load's buffer that threads have read before their loops."""
    before = [
        a.l1_fill_sectors * SECTOR
        for a, o in zip(execution.traffic.accesses, execution.requests, strict=True)
        if o.access.kind == "load" and o.access.loop is None and o.access.buffer == r.access.buffer
    ]
    every = np.maximum(buffer_bytes(execution.instance, r), 1.0)
    return np.asanyarray(summed(before) / every)


def _near_latencies(batch: Batch, together: Array) -> tuple[Array, Array]:
    """Return the latency of waits that find their data in L2 or L1, and at a new sector [s]."""
    near = replace(batch.latencies, l2_miss=np.zeros(1))
    new = near
    if batch.advance is not None:
        on = np.minimum(batch.advance * together / batch.unroll, 1.0)
        near = replace(near, l1_miss=np.maximum(near.l1_miss, on * batch.new))
        new = replace(new, l1_miss=np.minimum(near.l1_miss / np.maximum(on, 1e-9), 1.0))
    return near.seconds, new.seconds


def _l1_passes(execution: Execution, batch: Batch) -> Array:
    """Return the clocks for which a warp's loads wait for their other lanes in L1, one by one."""
    clocks = np.zeros(1)
    for r in execution.requests:
        if r.access.kind == "load" and r.access.loop == batch.loop:
            passes = np.maximum(r.data_wavefronts, r.tag_wavefronts) / np.maximum(r.requests, 1.0)
            runs = execution.instance.runs(batch.loop)
            clocks = clocks + np.maximum(passes - 1, 0.0) * runs
    return np.asanyarray(clocks)


def with_traversal(found: Resources, together: Array) -> Array:
    """Return the time of all resources with the walk over common data, by `WITH_TRAVERSAL` [s]."""
    chain = found.waits.chain
    common = walk(found.execution, chain)
    if common is None:
        return together
    # Blocks that are left wait as long as all others, and compute less, as they are few.
    busy = np.maximum(found.queueing.blocks.busy_s, found.arithmetic_s)
    waits = together / np.maximum(found.latency.waves, 1.0)
    return WITH_TRAVERSAL(
        together=together,
        walk=common - chain.slowest,  # the first wait is in the start-up
        first=np.maximum(waits, busy / np.maximum(found.waits.resident_waves, 1.0)),
    )
