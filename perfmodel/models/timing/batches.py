"""Batches: loads of a loop that a warp waits for together, and how late the slowest of them is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.global_atomics import RETURN_LATENCY
from perfmodel.models.blocks.waves import at_work_share, taking_part
from perfmodel.models.caches.l1_tables import early_misses
from perfmodel.models.caches.table_costs import batch_misses
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.passes import PASS_CLOCKS, most_passes
from perfmodel.models.requests.unrolled import loop_unroll, loops_of
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.placement import reached_bytes
from perfmodel.models.timing.chain import MOST_SPREAD, Batch
from perfmodel.models.timing.first_passes import first_passes
from perfmodel.models.timing.first_readers import pages_at_once, reading_alike
from perfmodel.models.timing.in_phase import firsts, in_phase, in_step
from perfmodel.models.timing.joined_waits import fetched_share, neighbours_wait
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]

DRAM_SPREAD: Final = 35e-9
"""Seconds by which the slowest of 2 loads from DRAM is later than one alone; of 4, twice as much.

Fitted: loops with 1, 2 and 4 loads in flight take 0, 80 and 140 to 170 clocks more an iteration
from DRAM than from L2, besides the difference of the two latencies (in-flight.csv).
"""
WRITE_TURN: Final = 490e-9
"""Seconds that a DRAM read takes longer for the writes among what DRAM does: times their share of
its time, and times its share of a round of blocks.

Fitted, together with `CROWD_TIME`: blocks of 256 that read 1 to 4 and write 1 to 4 floats a thread,
or double 1 to 3 one after the other, 1, 2, 4 and 8 blocks an SM; 478 where the rest may be scaled
too. 3.4% rms, and 3.7% with 3 and 6 blocks (measurements/h200-l2-waits, rows marked fit). Gathers
were not fitted with it.
"""
WIDE_CLOCKS: Final = 14.0
"""Clocks that a load past L1 takes longer for each 4 B of a lane beyond the first.

Fitted: loops of one load of 16 B a lane take 42 clocks more an iteration from L2 than such of 4 B,
and 48 from DRAM (in-flight.csv, fit rows); 8 B were not measured.
"""
LINE_CLOCKS: Final = 2.6
"""Clocks that a load takes longer for each line of its warp beyond those that its width asks for.

Measured: one warp an SM waits 282, 289 and 363 clocks for 1, 8 and 32 lines from L2 on one SM, 290,
321 and 375 on all (measurements/h200-bursts/bursts.csv), and 79 to 90 more for 32 than for 1 in
h200-blocks (bursts.csv): about one a clock on its way out, and one a clock into L1.
"""


def load_batch(
    instance: Instance,
    requests: Sequence[Requests],
    traffic: Traffic,
    device: Device,
    missing: Array,
    loop: str | None,
    depth: int,
    depths: Sequence[int],
    late: Array,
    ahead: bool,
    wave: Array,
) -> Batch | None:
    """Return the batches of loads of one loop (None: outside all) that wait for `depth` others.

    Those that are copied `ahead` to shared memory, or those that are not. None if there are no such
    loads.
    """
    loops = loops_of(instance, (r.access for r in requests))
    every = [
        i
        for i, r in enumerate(requests)
        if loops[i] == loop
        and (r.access.kind == "load" or _returns(instance, r))
        and (r.access.ahead or r.access.cache == "shared") == ahead
    ]
    members = [i for i in every if depths[i] == depth]
    if not members:
        return None
    times, unroll = loop_unroll(instance, loop, len(every))
    runs = times / unroll
    count = np.where(unroll < 1, runs, np.ceil(runs - 1e-9))  # below 1: waits that some skip
    blocks = np.asarray(instance.blocks, dtype=float)
    warps = np.ceil(np.asarray(instance.threads_per_block, dtype=float) / WARP_SIZE) * blocks
    sectors = sum((traffic.accesses[i].l1_fill_sectors for i in members), np.zeros(1))
    filled = np.asarray(sectors / np.maximum(count * blocks, 1))
    lines = sum((requests[i].lines * _fresh(requests[i], loop) for i in members), np.zeros(1))
    fresh = np.maximum(lines * (unroll / np.maximum(warps * times, 1)), 1.0)
    lines = lines * (unroll / np.maximum(blocks * times, 1))
    brought = np.ones(1)
    if loop is None and all(requests[i].access.kind == "load" for i in members):
        # Of several waits of straight code some are for what L1 has from others.
        share = filled * count * blocks / np.maximum(_sum(requests, members, "sectors"), 1)
        asked = _sum(requests, members, "requests") * unroll / np.maximum(warps, 1)
        brought = np.where(unroll < 1, np.clip(asked * share, 0.0, 1.0), 1.0)
        some = fresh * np.minimum(share, 1.0) / np.maximum(brought, 1e-9)
        fresh = np.where(unroll < 1, np.maximum(some, 1.0), fresh)
    far = RETURN_LATENCY if any(requests[i].access.kind == "atomic" for i in members) else 1.0
    written = traffic.dram_write_bytes * traffic.dram_write_cost
    moved = traffic.dram_read_bytes * traffic.dram_read_cost + written
    of_first = _own_missing(traffic, requests, members, missing, wave)
    missing = _own_missing(traffic, requests, members, missing, np.ones(1))
    words = max(float(np.max(requests[i].width)) for i in members) / 4
    lines_each = (requests[i].lines / np.maximum(requests[i].requests, 1e-9) for i in members)
    far_apart = np.maximum(np.maximum.reduce(np.broadcast_arrays(*lines_each)) - words, 0.0)
    # While the lines of one load come, L1 looks up those of the next.
    passes = [requests[i].tag_wavefronts / np.maximum(requests[i].requests, 1e-9) for i in members]
    meanwhile = sum(passes, np.zeros(1)) * unroll - np.maximum.reduce(np.broadcast_arrays(*passes))
    apart_clocks = np.maximum(LINE_CLOCKS * far_apart - np.maximum(meanwhile, 0.0), 0.0)
    wide = (WIDE_CLOCKS * max(words - 1, 0.0) + apart_clocks) / device.sm_clock
    # Warps that walk over the same data in order all wait for whoever comes first.
    regular = bool(instance.kernel.paces) and all(requests[i].strides is not None for i in members)
    # No atomic is found in L1.
    regular = regular or all(requests[i].access.kind == "atomic" for i in members)
    # A warp waits for its own lines; where warps meet, or end together, for those of all of them.
    met = loop is None or any(b.loop == loop for b in instance.kernel.barriers)
    apart = sum((in_step(requests[i], warps / blocks) for i in members), np.zeros(1)) * unroll
    part = taking_part([requests[i] for i in members])  # who has no work waits for nothing
    if instance.kernel.block_work:
        part = np.minimum(part, at_work_share(instance))
    at_most = np.asarray(instance.runs(loop), dtype=float)
    done = np.where(at_most > 0, times / np.maximum(at_most, 1e-9), 1.0)
    there = {i: np.minimum(_there(requests[i], part) / done, part) for i in members}
    asked = (in_step(requests[i], warps / blocks) * there[i] for i in members)
    new = np.minimum(filled / np.maximum(sum(asked, np.zeros(1)) * unroll, 1e-9), 1.0)
    lines_at_once = apart if met else np.minimum(fresh, apart)
    some_new = 1 - (1 - new) ** lines_at_once
    # Turn by turn each warp waits for its own; of one turn, a block for the last of its warps.
    # Where places are not random, neighbours miss together.
    scattered = any(requests[i].random for i in members)
    alone = (count > 1) | (loop is None and not scattered)
    if loop is not None and all(requests[i].strides is None for i in members):
        once = sum((reached_bytes(instance, requests[i]) for i in members), np.zeros(1)) / SECTOR
        per_block = warps / blocks * unroll * len(members)
        early = early_misses(
            new, lines_at_once, scattered, per_block, blocks, once / np.maximum(apart, 1e-9), device
        )
        kept = sectors <= 1.05 * np.minimum(blocks, device.sm_count) * once
        some_new = np.where(kept, early if not scattered else np.minimum(some_new, early), some_new)
    parts = PASS_CLOCKS / device.sm_clock if instance.kernel.paces else 0.0
    inputs: dict[str, Any] = {
        "l1": device.l1_latency + parts * (most_passes([requests[i] for i in members]) - 1),
        "l2": device.l2_latency * far + wide + late,
        "dram": max(device.dram_latency, device.l2_latency * far) + wide + late,
        "spread": DRAM_SPREAD,
        "turn": WRITE_TURN,
        "out": np.atleast_1d(written / np.maximum(moved, 1)),
        "load": np.zeros(1),
        "m": np.clip(unroll * len(members) * missing, 1.0, MOST_SPREAD),
        "p1": np.minimum(np.minimum(filled, 1.0) if regular else some_new, brought),
        "p2": batch_misses(
            traffic, requests, members, missing, np.where(alone, fresh, np.maximum(fresh, lines))
        ),
    }
    if loop is not None and np.any(unroll < 1):
        own = _share_of_waits(
            *(requests, traffic, members, warps / blocks, instance.runs(loop) * blocks),
            part,
            unroll,
        )
        inputs["p1"] = np.where(unroll < 1, np.minimum(inputs["p1"], own), inputs["p1"])
    if loop is not None:
        # Bisections of 8 warps a block miss L1 in 9% of their requests, and wait in most of them.
        counts = (requests[i].access.counted for i in members)
        waiting = min((1.0 if c is None else c.met for c in counts), default=1.0)
        inputs["p1"] = np.minimum(inputs["p1"] * waiting, 1.0)
    if loop is not None and regular:
        inputs |= in_phase([requests[i] for i in members], loop, unroll, new, inputs, device)
    first_time = np.ones(1)
    # Else what a loop waits for is in the clocks of all instructions, which were fitted.
    known = any(p.loop == loop for p in instance.kernel.paces)
    if loop is not None and known and all(requests[i].strides is not None for i in members):
        each = [
            traffic.accesses[i].l1_fill_sectors / np.maximum(blocks * part, 1e-9) for i in members
        ]
        first_time = first_passes(instance, [requests[i] for i in members], each, loop)
        inputs["p1"] = np.minimum(inputs["p1"], first_time)
    # Whole iterations find what an earlier loop has touched, or do not.
    for p, shares in (
        ("p1", [traffic.accesses[i].again_l1 for i in members]),
        ("p2", [traffic.accesses[i].again_l2 for i in members]),
    ):
        inputs[p] = np.minimum(inputs[p], np.maximum.reduce(np.broadcast_arrays(*shares)))
    if scattered and not np.all(alone):  # the slowest of its places
        several = np.clip(lines * missing, 1.0, MOST_SPREAD)
        inputs["m"] = np.where(alone, inputs["m"], several)
    if loop is None and any(
        requests[i].access.name == r.access.needs for r in requests for i in members
    ):
        # Indices are read once, in order (a table is not): warps that share a line wait for it.
        once_read = [i for i in members if requests[i].period is None]
        share = fetched_share(instance, requests, traffic, once_read)
        inputs["p1"] = np.where(share > 0, 1.0, inputs["p1"])
        inputs["p2"] = np.where(share > 0, share, inputs["p2"])
    if loop is not None and not instance.kernel.paces:
        waits, fetches = neighbours_wait(instance, requests, traffic, members)
        inputs["m"] = np.where(waits > inputs["p2"], inputs["m"] * fetches, inputs["m"])
        inputs["p2"] = np.maximum(inputs["p2"], waits)
    first = None
    if loop is not None and all(requests[i].strides is not None for i in members):
        leaders = firsts(
            instance, [requests[i] for i in members], loop, unroll, filled / part, fresh
        )
        first = replace(leaders, advance=leaders.advance * first_time)
    more = np.maximum(of_first / np.maximum(missing, 1e-9), 1.0)
    apart = pages_at_once([requests[i] for i in members])
    leading = {
        "p2": np.minimum(np.asarray(inputs["p2"]) * more, 1.0),
        "m": np.maximum(apart, inputs["m"]),
    }
    # Those that are used before the loop's first loads go out are waited for by themselves.
    joins = {requests[i].access.joins for i in members}
    return Batch(
        *(loop, count, filled, fresh, unroll, inputs, depth, ahead, first, leading),
        joins=joins.pop() if len(joins) == 1 else "",
        first_time=first_time,
    )


def _share_of_waits(
    requests: Sequence[Requests],
    traffic: Traffic,
    members: Sequence[int],
    warps: Array,
    turns: Array,
    part: Array,
    unroll: Array,
) -> Array:
    """Return the share of waits in which a load misses L1, where an iteration waits several times.

    Each wait is for as many of the loads as any other; which of them is taken for chance.
    """
    misses = np.zeros(1)
    for i in members:
        r = requests[i]
        asked = np.maximum(in_step(r, warps) * turns * _there(r, part), 1e-9)
        new = np.clip(traffic.accesses[i].l1_fill_sectors / asked, 0.0, 1.0)
        lines = np.maximum(r.lines / np.maximum(r.requests, 1e-9), 1.0)
        misses = misses + (1 - (1 - new) ** lines) / len(members)
    return np.asarray(1 - (1 - misses) ** (len(members) * unroll))


def _there(r: Requests, part: Array) -> Array:
    """Return the share of warps that a load has work for; `part` is that of the blocks.

    The others wait for nothing: those that a guard of the load's own lets through take the time.
    Iterations that it keeps out are waited for by nobody, and count among the waits.
    """
    if r.access.guard is None:
        return part
    found = r.requests / np.maximum(r.executions, 1e-9)
    for v in r.variables:
        if not v.target.startswith(("threadIdx", "blockIdx")):
            found = found / np.maximum(r.warp_shares.get(v.name, 1.0), 1e-9)
    return np.asarray(np.minimum(found, part))


def _sum(requests: Sequence[Requests], members: Sequence[int], field: str) -> Array:
    return np.asarray(sum((getattr(requests[i], field) for i in members), np.zeros(1)))


def _own_missing(
    traffic: Traffic,
    requests: Sequence[Requests],
    members: Sequence[int],
    missing: Array,
    wave: Array,
) -> Array:
    """Return the share of these loads' L2 reads that wait for DRAM, from that of all loads."""
    # Neighbouring blocks that ask for the same at a time all wait for it.
    waited = {i: traffic.accesses[i].alike or reading_alike(requests[i], wave) for i in members}
    fetched = sum((traffic.accesses[i].dram_bytes * waited[i] for i in members), np.zeros(1))
    # As do blocks that have caught up with others.
    for t in traffic.tables:
        part = len({*members} & {*t.members}) / len(t.members)
        fetched = fetched + part * t.again * t.waiting
    filled = sum((traffic.accesses[i].l1_fill_sectors for i in members), np.zeros(1))
    loads = [a for a in traffic.accesses if a.kind == "load"]
    every = sum((a.dram_bytes for a in loads), np.zeros(1))
    all_filled = sum((a.l1_fill_sectors for a in loads), np.zeros(1))
    relative = fetched * all_filled / np.maximum(filled * every, 1e-9)
    return np.asarray(np.clip(missing * np.where(every > 0, relative, 1.0), 0.0, 1.0))


def depths_of(requests: Sequence[Requests]) -> list[int]:
    """Return how many loads, one after the other, each access has to wait for."""
    found: dict[str, int] = {}
    for r in requests:
        found[r.access.name] = found[r.access.needs] + 1 if r.access.needs in found else 0
    return list(found.values())


def _returns(instance: Instance, r: Requests) -> bool:
    """Say whether threads wait for an atomic's old value."""
    if r.access.kind != "atomic":
        return False
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    return kind is not None and agreed(kind.returns) and agreed(r.requests > 0)


def _fresh(request: Requests, loop: str | None) -> Array:
    """Return the share of a request's lines that the previous iteration did not touch."""
    if loop is None or request.strides is None:
        return np.ones(1)
    return np.minimum(1.0, np.abs(request.strides[loop]) / SECTOR)
