"""Walks: loops in which blocks go over the same data together.

The first to ask for a line waits for DRAM, and the others wait for it too: however many share what
is read, each of them waits at every step, until the data was there before them. Nobody gets ahead:
who does waits for DRAM, and the others catch up. Warm launches walk alike: they wait for DRAM
for what L2 has lost, and for L2 at every sector that is new to L1, whoever of them asks first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.formula import Formula
from perfmodel.models.grid.affine import Variable
from perfmodel.models.latency.chain import BATCH_LATENCY, MOST_SPREAD, Batch, Chain
from perfmodel.models.latency.first_readers import DRAM_PAGE, at_work
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.footprint import Extent, footprint
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.placement import buffer_bytes, reached_bytes
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]

FIRST_OF_MANY: Final = 16e-9
"""Seconds by which the first of 2 SMs that ask for a line has it sooner than one alone; of 4, twice
as much: the others find it in L2.

Fitted: a warp that walks over rows of its own takes 918 clocks a wait, one that shares them with 10
others 800, with 131 others 713 (measurements/h200-walks/products.csv, fit rows): 17 and 15 ns.
"""
SOONEST: Final = 53e-9
"""Seconds by which it is sooner at most.

Measured: a step of one line that is waited for takes 725 to 738 clocks alone and 625 to 632 where
20 SMs read the same (measurements/h200-walks/walk.csv, fit rows).
"""
WALK_TIME = Formula(
    name="time of a walk over common data",
    unit="s",
    text="own + waits*near + cold*(dram - new + max(spread*log2(m) - first*log2(s), -most))",
    symbols={
        "own": "a warp's instructions, and L1's passes for its loads beyond one each [s]",
        "waits": "waits of a warp for its loads [1]",
        "near": "latency of those that find their data in L2 or L1 [s]",
        "new": "of these, of those that come to a new sector, as those for new lines do [s]",
        "cold": "waits for lines that come from DRAM [1]",
        "dram": "latency of a DRAM read [s]",
        "spread": "how much later the slowest of two DRAM reads is than one [s]",
        "m": "lines that a warp waits for together [1]",
        "first": "how much sooner the first of two readers has a line [s]",
        "s": "SMs that read the same lines [1]",
        "most": "how much sooner than one alone a line can be there [s]",
    },
    holds="blocks that start together",
    source="derived: all wait for whoever comes first; within 7% of lone warps and of blocks of 1 "
    "to 32 warps (measurements/h200-walks/products.csv)",
)
BESIDE_WALK = Formula(
    name="all of them, with the walk over common data",
    unit="s",
    text="together + max(0, walk - first)",
    symbols={
        "together": "time of all resources together [s]",
        "walk": "walk of the first round of blocks over common data, but for its first wait [s]",
        "first": "time of all resources for that round [s]",
    },
    holds="later rounds find what the first has read",
    source="measured: blocks whose work takes less than their waits take as long as these, and two "
    "an SM whose work takes as long 2 to 9% longer (measurements/h200-walks/products.csv)",
)


def walk_inputs(
    instance: Instance,
    requests: Sequence[Requests],
    traffic: Traffic,
    chain: Chain,
    device: Device,
) -> dict[str, Any] | None:
    """Return what `WALK_TIME` takes of the loop that waits longest; None where no loop walks.

    Parameters
    ----------
    instance, requests, traffic, chain, device
        A launch, its global accesses and traffic, what one of its blocks does, and where it runs.
    """
    if instance.kernel.dependent:
        return None
    found: dict[str, Any] | None = None
    for batch in chain.batches:
        if batch.loop is None or batch.ahead or batch.depth:
            continue
        for i, r in enumerate(requests):
            if r.access.kind != "load" or r.access.loop != batch.loop:
                continue
            if r.strides is None or r.period is not None:
                continue
            one = _walk(instance, i, requests, traffic, chain, batch, device)
            if found is None:
                found = one
                continue
            longer = WALK_TIME(**one) > WALK_TIME(**found)
            found = {name: np.where(longer, one[name], found[name]) for name in found}
    return found


def _walk(
    instance: Instance,
    position: int,
    requests: Sequence[Requests],
    traffic: Traffic,
    chain: Chain,
    batch: Batch,
    device: Device,
) -> dict[str, Any]:
    """Return what `WALK_TIME` takes of one load."""
    r, access = requests[position], traffic.accesses[position]
    assert r.strides is not None
    times, together = instance.turns(batch.loop), batch.unroll
    if instance.kernel.loads_a_wait is not None:
        loads = sum(o.access.kind == "load" and o.access.loop == batch.loop for o in requests)
        stated = np.asanyarray(instance.number(instance.kernel.loads_a_wait), dtype=float) / loads
        together = np.minimum(np.maximum(stated, 1.0), times)
    waits = times / together
    lanes = [Extent(r.strides[v.name], at_work(r, v)) for v in r.variables if v.in_lane]
    nest = instance.kernel.loop_nest(batch.loop)
    every = [Extent(r.strides[v.variable], np.asanyarray(instance.trips[v.variable])) for v in nest]
    turn = [Extent(r.strides[batch.loop], together)] if batch.loop else []
    atom = int(device.dram_access_size)
    lines = np.maximum(footprint([*turn, *lanes], r.width, atom), 1.0)
    done = times / np.maximum(instance.runs(batch.loop), 1e-9)
    cold = np.minimum(footprint([*every, *lanes], r.width, atom) / lines * done, waits)
    # What a warp comes to that another of its block has read is there as well.
    block = [Extent(r.strides[v.name], at_work(r, v)) for v in r.variables if _of_thread(v)]
    reached = np.minimum(
        footprint([*every, *block], r.width, atom), reached_bytes(instance, r) / atom + 1
    )
    cold = np.minimum(cold, reached / np.maximum(footprint([*turn, *block], r.width, atom), 1.0))
    # What threads took from the same data before their loop is there already.
    before = [
        traffic.accesses[j].l1_fill_sectors * SECTOR
        for j, o in enumerate(requests)
        if o.access.kind == "load" and o.access.loop is None and o.access.buffer == r.access.buffer
    ]
    there = sum(before, np.zeros(1)) / np.maximum(buffer_bytes(instance, r), 1.0)
    cold = cold * np.maximum(1 - there, 0.0)
    if (
        not traffic.cold
    ):  # what L2 has kept is not waited for, unless some of the same wait was lost
        lost = access.dram_bytes / np.maximum(reached_bytes(instance, r), 1.0)
        cold = cold * (1 - (1 - np.clip(lost, 0.0, 1.0)) ** lines)
    near = {**batch.inputs, "p2": np.zeros(1)}
    new = dict(near)
    if batch.firsts is not None:
        on = np.minimum(batch.firsts.advance * together / batch.unroll, 1.0)
        near["p1"] = np.maximum(near["p1"], on * batch.firsts.new)
        new["p1"] = np.minimum(near["p1"] / np.maximum(on, 1e-9), 1.0)
    asked = np.asanyarray(access.l1_fill_sectors * SECTOR / np.maximum(access.dram_bytes, 1.0))
    # Lanes side by side wait for one line; loads one after the other are each a line of their own.
    far = np.minimum(footprint(lanes, r.width, DRAM_PAGE), MOST_SPREAD)
    apart = np.minimum(np.maximum(together, far), lines)
    return {
        "own": np.asanyarray((chain.in_loops + _l1_turns(instance, requests, batch)) / chain.clock),
        "waits": np.asanyarray(waits),
        "near": np.asanyarray(BATCH_LATENCY(**near)),
        "new": np.asanyarray(BATCH_LATENCY(**new)),
        "cold": np.where(access.dram_bytes > 0, cold, 0.0),
        "dram": batch.inputs["dram"],
        "spread": batch.inputs["spread"],
        "m": np.maximum(apart, 1.0),
        "first": FIRST_OF_MANY,
        "most": SOONEST,
        "s": np.clip(asked, 1.0, device.sm_count),
    }


def _of_thread(v: Variable) -> bool:
    return v.target.startswith("threadIdx")


def _l1_turns(instance: Instance, requests: Sequence[Requests], batch: Batch) -> Array:
    """Return the clocks for which a warp's loads wait for their other lanes in L1, one by one."""
    clocks = np.zeros(1)
    for r in requests:
        if r.access.kind == "load" and r.access.loop == batch.loop:
            passes = np.maximum(r.data_wavefronts, r.tag_wavefronts) / np.maximum(r.requests, 1.0)
            clocks = clocks + np.maximum(passes - 1, 0.0) * instance.runs(batch.loop)
    return np.asanyarray(clocks)


def beside_walk(
    together: Array, walk: Mapping[str, Any], first_wait: Array, first: Array
) -> dict[str, Any]:
    """Return what `BESIDE_WALK` takes.

    Parameters
    ----------
    together : array
        Time of all else [s].
    walk : mapping
        What `WALK_TIME` takes.
    first_wait : array
        The first of its waits, which is in the start-up [s].
    first : array
        Of `together`, the time of the first round of blocks [s].
    """
    return {
        "together": together,
        "walk": np.asanyarray(WALK_TIME(**walk)) - first_wait,
        "first": first,
    }
