"""L2 request coalescing: reads of the same sectors by several SMs of a GPC that reach L2 once.

Between the SMs of a GPC and L2, a read that is outstanding answers further reads of the same
sectors of a line, up to four SMs in all (Nsight Compute calls the unit the L2 request coalescer,
LRC). The read is outstanding for some 65 clocks if L2 has the data, and for 400 to 500 if DRAM has
to supply it. Consecutive blocks run on the SMs of one GPC, so data that they share is merged while
they execute in lockstep.

For L2 hits the window is short: blocks that share a busy SM with others drift out of it, and the
merged share falls quickly. For misses the window is long, and a block that waits for the fill stays
together with the others that wait for it. The constants are set by hand on counted requests of
matrix products and attention.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest
from perfmodel.expressions import names
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.kernels.instance import Instance
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import gpc_run
from perfmodel.models.grid.geometry import BLOCK_INDICES
from perfmodel.models.launch.placed_blocks import placed
from perfmodel.models.launch.waves import side_by_side
from perfmodel.models.mechanism import mechanism
from perfmodel.models.power_mean import power_mean
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.unrolled import loop_unroll
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.traffic import AccessTraffic, Traffic

STEP: Final = Coefficient("l2.merged_reads.step")
MERGED_READS = Formula(
    name="reads that reach L2, over those of the SMs",
    unit="1",
    text="1 - merged*(1 - 1/min(alike, most))",
    symbols={
        "merged": "share of the reads merged with one that is outstanding [1]",
        "alike": "SMs of a GPC whose consecutive blocks read the same data [1]",
        "most": "SMs that one L2 read answers, at most [1]",
    },
    holds="blocks that start together",
    source="derived; measured with 1 to 16 SMs of a GPC (measurements/l2, "
    "merged-reads/merged.csv, window.csv)",
)
READS_MERGED = Formula(
    name="share of neighbouring blocks' reads merged with an outstanding one",
    unit="1",
    text="fresh*first + (1 - fresh)*min(first, step/(1 + ((n - 1)*u/drift)**2))",
    symbols={
        "fresh": "share of the reads whose data DRAM is fetching at that time [1]",
        "first": "share of such reads that are merged [1]",
        "step": STEP,
        "n": "blocks that share an SM [1]",
        "u": "load of the SM's busiest unit [1]",
        "drift": Coefficient("l2.merged_reads.drift"),
    },
    holds="as 'reads that reach L2, over those of the SMs'",
    source="assumed form, constants set by hand: blocks that wait for DRAM are joined by those "
    "behind them, and proceed with them; L2 hits return so soon that only blocks in lockstep "
    "merge",
)
FILLS_SHARED = Formula(
    name="share of outstanding DRAM fills that several SMs share",
    unit="1",
    text="step - min(most, lost*(n - 1))*min(1, max(0, (u - full)/(1 - full)))",
    symbols={
        "step": STEP,
        "lost": Coefficient("l2.merged_reads.lost"),
        "most": Coefficient("l2.merged_reads.most_lost"),
        "n": "blocks that share an SM, counted as more where no barrier keeps warps in lockstep "
        "[1]",
        "u": "load of the SM's busiest unit [1]",
        "full": Coefficient("l2.merged_reads.full"),
    },
    holds="as 'reads that reach L2, over those of the SMs'",
    source="assumed form as 'share of neighbouring blocks' reads merged with an outstanding one'; "
    "constants set by hand on counts of matrix products and attention",
)
CHANCE: Final = Coefficient("l2.merged_reads.chance")
UNBARRED: Final = Coefficient("l2.merged_reads.unbarred")
LOAD_SHARP: Final = Coefficient("l2.merged_reads.load_sharp")
ONE_A_SM: Final = 16.0
"""Blocks of a GPC that has one on each of its SMs."""


@mechanism(
    neutral=lambda execution, busy, latency: execution,
    evidence=["l2", "l1", "suite", "source-kernels"],
)
def with_merged_reads(execution: Execution, busy: Array, latency: Array) -> Execution:
    """Return a launch with the reads that L2 sees in its traffic, where SMs' reads are merged.

    An SM's busiest unit and what blocks wait alone are in seconds.
    """
    traffic, device = execution.traffic, execution.device
    done = any(a.l2_read_sectors is not None for a in traffic.accesses)
    if done or not device.merged_sms or not device.gpcs:
        return execution
    load = busy / np.maximum(power_mean((busy, latency), LOAD_SHARP(device)), 1e-30)
    readers = _Readers(execution, load)
    asked = seen = np.zeros(1)
    accesses = list(traffic.accesses)
    for i in readers.loads:
        fills = accesses[i].l1_fill_sectors
        share = readers.seen_by_l2(i, 1.0 * device.merged_sms) * (1 - _caught_up(traffic, i))
        asked, seen = asked + fills, seen + fills * share
        accesses[i] = replace(accesses[i], l2_read_sectors=fills * share)
    part = np.where(asked > 0, seen / np.maximum(asked, 1e-9), 1.0)
    return replace(execution, traffic=_with_reads(traffic, accesses, part))


class _Readers:
    """The loads of a launch, and the blocks that read the same by each; `i` is a load's position.

    `load` is that of an SM's busiest unit [1].
    """

    def __init__(self, execution: Execution, load: Array) -> None:
        self.instance, self.requests, self.load = execution.instance, execution.requests, load
        self.accesses, self.cold = execution.traffic.accesses, execution.traffic.cold
        self.device, held, blocks = execution.device, execution.resident, execution.blocks
        self.run, self.blocks = gpc_run(blocks, self.device), blocks
        self.together = np.minimum(blocks, 1.0 * self.device.sm_count * held)
        self.shared = side_by_side(held, blocks, self.device.sm_count)
        self.loads = [i for i, a in enumerate(self.accesses) if a.kind == "load"]
        self.neighbours = {i: self._neighbours(i) for i in self.loads}

    def _neighbours(self, i: int) -> Array:
        """Return how many SMs of a GPC a load reads the same for."""
        known, run = self.accesses[i].alike, self.run
        if known is None:
            near = _alike(self.instance, self.requests[i], run)
            return np.maximum(near, self._by_turns(self.requests[i]))
        near = np.atleast_1d(np.asanyarray(known, dtype=float))
        if self.requests[i].access.counted is None:
            return near
        return np.where(run <= ONE_A_SM, np.maximum(near * run / (near + run), 1.0), near)

    def _by_turns(self, r: Requests) -> Array:
        """Return the SMs of a GPC whose blocks some way off read the same, while the GPU fills."""
        held = np.maximum(self.together / np.minimum(self.blocks, 1.0 * self.device.sm_count), 1.0)
        place = placed(
            self.instance, lambda name: ~_still(self.instance, r, name), held, self.device
        )
        more = np.maximum(self.run * place.share - 1, 0.0)
        return np.asanyarray(1 + more * self.together / self.blocks)

    def same_loops(self, i: int) -> list[int]:
        """Return the loads of the same loops, a load itself among them."""
        nests = {
            j: self.instance.kernel.loop_nest(self.requests[j].access.loop) for j in self.loads
        }
        return [j for j in self.loads if nests[j][:1] == nests[i][:1]]

    def reading(self, i: int) -> Array:
        """Return the blocks of those that run at a time that a load reads the same for."""
        every = _alike(self.instance, self.requests[i], self.together)
        return np.maximum(every, self.neighbours[i])

    def in_step(self, i: int) -> Array:
        """Return the SMs of a GPC that a load reads the same for, while blocks keep in step.

        They do by the load that most of them share.
        """
        found = self.neighbours[i]
        if self.accesses[i].alike is not None:
            return found
        others = self.same_loops(i)
        most_alike = largest(*(self.neighbours[j] for j in others))
        for j in others:
            leads = (self.neighbours[j] >= most_alike) & (self.neighbours[i] < most_alike)
            both = _alike(self.instance, self.requests[i], self.run, self.requests[j])
            found = np.where(leads, np.minimum(found, both), found)
        return found

    def waits_alone(self, i: int) -> Array:
        """Return the share of the reads that wait for data of the block's own: out of step."""
        own = np.zeros(1)
        for j in self.same_loops(i):
            access = self.accesses[j]
            waits = access.dram_bytes / SECTOR / np.maximum(access.l1_fill_sectors, 1e-9)
            alone = self.reading(j) < 1.1
            own = np.where(alone, np.maximum(own, np.minimum(waits, 1.0)), own)
        return own

    def seen_by_l2(self, i: int, most: float) -> Array:
        """Return the share of a load's reads that L2 sees, where one answers `most` SMs at most."""
        requests, others, chance = self.requests, self.same_loops(i), CHANCE(self.device)
        merged = self.merged(i)
        _, at_once = loop_unroll(self.instance, requests[i].access.loop, len(others))
        several = _in_parts(requests, i, others) & (at_once * len(others) > 1.5)
        merged = np.where(several, np.minimum(merged, chance), merged)
        merged = np.where(_split_by_warps(requests[i]), 0.0, merged)
        # Who waits for data of its own falls out of step.
        own = self.waits_alone(i)
        merged = merged * (1 - own) + np.minimum(merged, chance) * own
        share = MERGED_READS(merged=merged, alike=self.in_step(i), most=most)
        least = np.minimum(merged, chance)
        by_chance = MERGED_READS(merged=least, alike=self.neighbours[i], most=most)
        return np.asanyarray(np.minimum(share, by_chance))

    def merged(self, i: int) -> Array:
        """Evaluate `READS_MERGED` for a load."""
        access, device = self.accesses[i], self.device
        fills, every = np.maximum(access.l1_fill_sectors, 1e-9), self.reading(i)
        # Blocks of an SM that find in L1 what others brought are one to L2.
        whole = access.l1_fill_sectors > 0.99 * access.sectors
        reading = np.where(whole, every, np.minimum(every, 1.0 * device.sm_count))
        fresh = access.dram_bytes / SECTOR * reading / fills
        # Blocks of an SM for which one of them reads ask as one.
        alone = access.dram_bytes / SECTOR * np.minimum(every, self.together) / fills
        # Without barriers warps fall out of step like blocks.
        barred = self.instance.kernel.barriers
        drifting = self.shared if barred else np.maximum(self.shared, UNBARRED(device))
        drifting = drifting / np.clip(alone, 1.0, self.shared)
        return READS_MERGED.on(
            device,
            fresh=np.clip(fresh, 0.0, 1.0) if self.cold else 0.0,
            first=FILLS_SHARED.on(device, n=drifting, u=self.load),
            n=self.shared,
            u=self.load,
        )


def _with_reads(traffic: Traffic, accesses: Sequence[AccessTraffic], part: Array) -> Traffic:
    """Return traffic of which L2 sees a part of the reads."""
    other = traffic.l2_write_sectors + traffic.l2_atomic_sectors
    missed = (1 - traffic.l2_hit_rate) * (traffic.l2_read_sectors + other)
    reads = traffic.l2_read_sectors * part
    return replace(
        traffic,
        accesses=tuple(accesses),
        l2_read_sectors=np.asanyarray(reads),
        l2_repeated_sectors=np.asanyarray(traffic.l2_repeated_sectors * part),
        l2_hit_rate=np.clip(1 - missed / np.maximum(reads + other, 1.0), 0.0, 1.0),
    )


def _caught_up(traffic: Traffic, i: int) -> Array:
    """Return the share of a load's reads that blocks make which have caught up with others."""
    merged: Array = np.zeros(1)
    for t in traffic.tables:
        if i in t.members:
            merged = merged + t.merged * t.again / np.maximum(t.first + t.again, 1e-9)
    return merged


def _in_parts(requests: Sequence[Requests], i: int, others: Sequence[int]) -> Array:
    """Return whether a warp asks for a line in several requests, of other sectors each.

    Measured: bodies that all lanes read, four of 16 B at a time, are merged in one read of nine
    (measurements/l2, merged-reads/kept.csv). Of those that wait one for the other, 0.98 of
    what can be is merged (measurements/l1, reuse: walks).
    """
    own, found = requests[i], np.zeros(1, dtype=bool)
    for j in others:
        r = requests[j]
        if j == i or r.strides is None or own.strides is None:
            continue
        if r.access.buffer != own.access.buffer or r.strides.keys() != own.strides.keys():
            continue
        alike = np.ones(1, dtype=bool)
        for name, stride in r.strides.items():
            alike = alike & (stride == own.strides[name])
        same_line = r.offset // LINE == own.offset // LINE
        found = found | (alike & same_line & (r.offset // SECTOR != own.offset // SECTOR))
    return found


def _split_by_warps(r: Requests) -> Array:
    """Return whether warps of a block ask for other parts of the same lines, at the same time.

    Counted: of halves that all blocks read, 64 B a warp, no read is merged
    (measurements/source-kernels, copies: matrix loads).
    """
    found = np.zeros(1, dtype=bool)
    for v in r.variables:
        if r.strides is not None and v.name.startswith("warp."):
            stride = np.abs(r.strides[v.name])
            found = found | ((v.extent > 1) & (stride > 0) & (stride < LINE))
    return found


def _alike(instance: Instance, r: Requests, run: Array, other: Requests | None = None) -> Array:
    """Return how many blocks of a run, numbered one after the other, a load reads the same for.

    And another load as well, if one is given. Along axes that an index at irregular places depends
    on, blocks are taken to read different data.
    """
    found = np.ones(1)
    blocks = np.asanyarray(instance.blocks, dtype=float)
    both = [x for x in (r, other) if x is not None]
    left = run
    for name, extent in zip(BLOCK_INDICES, instance.grid, strict=True):
        count = np.asanyarray(extent, dtype=float)
        part = np.clip(left, 1.0, count)
        # Where GPCs get few blocks, their bounds cut through rows of blocks that read the same.
        cut = (run <= ONE_A_SM) & (count < blocks)
        part = np.where(cut, np.maximum(count * left / (count + left), 1.0), part)
        for x in both:
            part = np.where(_still(instance, x, name), part, 1.0)
        found = found * part
        left = left / count
    return np.asanyarray(found)


def _still(instance: Instance, r: Requests, name: str) -> Array:
    """Return whether a load reads the same whatever a block index is."""
    if r.strides is not None:
        return np.asanyarray(r.strides[name] == 0)
    return np.asanyarray(name not in names(instance.expression(r.access.index)))
