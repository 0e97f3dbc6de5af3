"""Reads that several SMs make of the same sectors at about the same time: L2 is asked once.

Between the SMs of a GPC and L2 a read that is on its way answers others of the same sectors of a
line, up to four SMs in all (Nsight Compute calls the unit the L2 request coalescer). It is on its
way for some 65 clocks if L2 has the data, and for 400 to 500 if DRAM has to bring it. Neighbouring
blocks are on the SMs of one GPC, so what they read alike is merged while they keep in step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.extremes import largest
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import gpc_run
from perfmodel.models.l2.shared_lines import ONE_A_SM, alike, in_parts, split_by_warps
from perfmodel.models.launch.waves import side_by_side
from perfmodel.models.mechanism import mechanism
from perfmodel.models.power_mean import power_mean
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.unrolled import loop_unroll
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.traffic import AccessTraffic, Traffic

MERGED_READS = Formula(
    name="reads that L2 sees, for each of an SM",
    unit="1",
    text="1 - merged*(1 - 1/min(alike, most))",
    symbols={
        "merged": "share of the reads merged with one that is outstanding [1]",
        "alike": "SMs of a GPC whose blocks, handed out one after the other, read the same [1]",
        "most": "SMs that one read of L2 answers, at most [1]",
    },
    holds="blocks that start together",
    source="derived; measured of 1 to 16 SMs of a GPC "
    "(measurements/l2, merged-reads/merged.csv, window.csv)",
)
READS_MERGED = Formula(
    name="share of neighbours' reads merged with an outstanding one",
    unit="1",
    text="fresh*first + (1 - fresh)*min(first, step/(1 + ((n - 1)*u/drift)**2))",
    symbols={
        "fresh": "share of the reads that DRAM is bringing the data for at that time [1]",
        "first": "share of such reads that are merged: see `FILLS_SHARED` [1]",
        "step": "share of reads of blocks in step that are merged [1]",
        "n": "blocks that share an SM [1]",
        "u": "load of the SM's busiest unit [1]",
        "drift": "other blocks on a full SM that halve it [1]",
    },
    holds="as `MERGED_READS`",
    source="chosen form, constants by hand: who waits for DRAM is joined by those behind, and goes "
    "on with them; what L2 has is there so soon that only blocks in step merge",
)
FILLS_SHARED = Formula(
    name="fraction of in-flight DRAM fills shared by several SMs",
    unit="1",
    text="step - min(most, lost*(n - 1))*min(1, max(0, (u - full)/(1 - full)))",
    symbols={
        "step": "share of reads of blocks in step that are merged [1]",
        "lost": Coefficient("l2.merged_reads.lost"),
        "most": Coefficient("l2.merged_reads.most_lost"),
        "n": "blocks that share an SM, more where no barrier keeps warps in step [1]",
        "u": "load of the SM's busiest unit [1]",
        "full": Coefficient("l2.merged_reads.full"),
    },
    holds="as `MERGED_READS`",
    source="chosen as `READS_MERGED`; counts of products and of attention were in view",
)
STEP: Final = Coefficient("l2.merged_reads.step")
DRIFT: Final = Coefficient("l2.merged_reads.drift")
CHANCE: Final = Coefficient("l2.merged_reads.chance")
UNBARRED: Final = Coefficient("l2.merged_reads.unbarred")
LOAD_SHARP: Final = Coefficient("l2.merged_reads.load_sharp")


@dataclass(frozen=True, slots=True)
class _Pace:
    """How the blocks of an SM keep in step."""

    shared: Array  # blocks that share an SM
    drifting: Array  # the same, or as many as drift where no barrier keeps warps in step
    load: Array  # of the SM's busiest unit
    cold: bool  # whether DRAM brings what is read the first time


@dataclass(frozen=True, slots=True)
class _Readers:
    """The loads of a launch, and the blocks that read the same by each."""

    instance: Instance
    # requests and accesses: by position
    requests: Sequence[Requests]
    accesses: Sequence[AccessTraffic]
    run: Array  # blocks in a row that the SMs of a GPC get
    together: Array  # blocks that run at a time
    device: Device
    loads: Sequence[int]  # positions of the loads
    roots: Mapping[int, str | None]  # the outermost loop around each
    neighbours: Mapping[int, Array]  # SMs of a GPC that each reads the same for

    def same_loops(self, i: int) -> list[int]:
        """Return the loads of the same loops, a load itself among them."""
        return [j for j in self.loads if self.roots[j] == self.roots[i]]

    def reading(self, i: int) -> Array:
        """Return the blocks of those that run at a time that a load reads the same for."""
        every = alike(self.instance, self.requests[i], self.together)
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
            both = alike(self.instance, self.requests[i], self.run, self.requests[j])
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


@mechanism(
    neutral=lambda instance, requests, traffic, device, held, busy, latency: traffic,
    evidence=["l2", "l1", "suite", "source-kernels"],
)
def with_merged_reads(
    instance: Instance,
    requests: Sequence[Requests],
    traffic: Traffic,
    device: Device,
    held: Array,
    busy: Array,
    latency: Array,
) -> Traffic:
    """Return traffic with the reads that L2 sees, where SMs' reads are merged.

    `held` blocks fit an SM; its busiest unit and what blocks wait alone are in seconds.
    """
    done = any(a.l2_read_sectors is not None for a in traffic.accesses)
    if done or not device.merged_sms or not device.gpcs:
        return traffic
    blocks = np.asanyarray(instance.blocks, dtype=float)
    shared = side_by_side(held, blocks, device.sm_count)
    pace = _Pace(
        shared=shared,
        # Without barriers warps fall out of step like blocks.
        drifting=shared if instance.kernel.barriers else np.maximum(shared, UNBARRED(device)),
        load=busy / np.maximum(power_mean((busy, latency), LOAD_SHARP(device)), 1e-30),
        cold=traffic.cold,
    )
    readers = _readers(instance, requests, traffic.accesses, device, held)
    asked = seen = np.zeros(1)
    accesses = list(traffic.accesses)
    for i in readers.loads:
        fills = accesses[i].l1_fill_sectors
        share = _seen_by_l2(readers, pace, i, 1.0 * device.merged_sms)
        share = share * (1 - _caught_up(traffic, i))
        asked, seen = asked + fills, seen + fills * share
        accesses[i] = replace(accesses[i], l2_read_sectors=fills * share)
    part = np.where(asked > 0, seen / np.maximum(asked, 1e-9), 1.0)
    return _with_reads(traffic, accesses, part)


def _readers(
    instance: Instance,
    requests: Sequence[Requests],
    accesses: Sequence[AccessTraffic],
    device: Device,
    held: Array,
) -> _Readers:
    blocks = np.asanyarray(instance.blocks, dtype=float)
    sms, run = 1.0 * device.sm_count, gpc_run(blocks, device)
    loads = [i for i, a in enumerate(accesses) if a.kind == "load"]
    nests = {i: instance.kernel.loop_nest(requests[i].access.loop) for i in loads}
    return _Readers(
        instance=instance,
        requests=requests,
        accesses=accesses,
        run=run,
        together=np.minimum(blocks, sms * held),
        device=device,
        loads=loads,
        roots={i: nest[0].variable if nest else None for i, nest in nests.items()},
        neighbours={i: _neighbours(instance, requests[i], accesses[i], run) for i in loads},
    )


def _seen_by_l2(readers: _Readers, pace: _Pace, i: int, most: float) -> Array:
    """Return the share of a load's reads that L2 sees, where one answers `most` SMs at most."""
    requests, others = readers.requests, readers.same_loops(i)
    chance = CHANCE(readers.device)
    merged = _reads_merged(readers, pace, i)
    loop = requests[i].access.loop
    _, at_once = loop_unroll(readers.instance, loop, len(others))
    several = in_parts(requests, i, others) & (at_once * len(others) > 1.5)
    merged = np.where(several, np.minimum(merged, chance), merged)
    merged = np.where(split_by_warps(requests[i]), 0.0, merged)
    # Who waits for data of its own falls out of step.
    own = readers.waits_alone(i)
    merged = merged * (1 - own) + np.minimum(merged, chance) * own
    share = MERGED_READS(merged=merged, alike=readers.in_step(i), most=most)
    least = np.minimum(merged, chance)
    by_chance = MERGED_READS(merged=least, alike=readers.neighbours[i], most=most)
    return np.asanyarray(np.minimum(share, by_chance))


def _reads_merged(readers: _Readers, pace: _Pace, i: int) -> Array:
    """Evaluate `READS_MERGED` for a load."""
    access, device = readers.accesses[i], readers.device
    step = STEP(device)
    fills, every = access.l1_fill_sectors, readers.reading(i)
    # Blocks of an SM that find in L1 what others brought are one to L2.
    whole = fills > 0.99 * access.sectors
    reading = np.where(whole, every, np.minimum(every, 1.0 * device.sm_count))
    fresh = access.dram_bytes / SECTOR * reading / np.maximum(fills, 1e-9)
    # Blocks of an SM for which one of them reads ask as one.
    asking = np.minimum(every, readers.together)
    alone = access.dram_bytes / SECTOR * asking / np.maximum(fills, 1e-9)
    drifting = pace.drifting / np.clip(alone, 1.0, pace.shared)
    first = FILLS_SHARED.on(device, step=step, n=drifting, u=pace.load)
    return np.asanyarray(
        READS_MERGED(
            fresh=np.clip(fresh, 0.0, 1.0) if pace.cold else 0.0,
            first=first,
            drift=DRIFT(device),
            step=step,
            n=pace.shared,
            u=pace.load,
        )
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


def _neighbours(instance: Instance, r: Requests, access: AccessTraffic, run: Array) -> Array:
    """Return how many SMs of a GPC a load reads the same for."""
    if access.alike is not None:
        near = np.full(1, access.alike)
        if r.access.counted is None:
            return near
        return np.where(run <= ONE_A_SM, np.maximum(near * run / (near + run), 1.0), near)
    return alike(instance, r, run)
