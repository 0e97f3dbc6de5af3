"""Latency and start-up: the chain of one block, its batches of loads, and rounds of blocks.

The chain is worked out again here, with the formulas of `perfmodel.models.latency`, so that its
parts can be shown; they are shown only where they give the model's number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.coalescing import SECTOR
from perfmodel.models.issue import warp_instructions
from perfmodel.models.latency import (
    BATCH_LATENCY,
    BLOCK_OVERHEAD,
    BLOCK_START,
    CLOCKS_PER_INSTRUCTION,
    LATENCY_TIME,
    LOADS_IN_FLIGHT,
    RAMP_TIME,
    STORE_DRAIN,
    WARP_START,
    WRITE_BACK,
)
from perfmodel.models.time import STALL_TIME
from perfmodel.models.waves import ROUNDS
from perfmodel.prediction.record import Details
from perfmodel.reports.step import Step, close, definition, named, scalar, step

LATENCY: Final = "Latency"
_CHAIN = definition(
    "time of one block",
    "s",
    "(overhead + each*instructions)/clock + loads",
    {
        "overhead": "clocks of a block besides loads and instructions [clocks]",
        "each": "clocks from one instruction of a warp to the next [clocks]",
        "instructions": "instructions of a warp [1]",
        "clock": "SM clock [Hz]",
        "loads": "loads of a block, one batch after the other [s]",
    },
    holds="a block that has its SM to itself",
)


def latency_steps(details: Details) -> Iterator[Step]:
    """Yield the chain of one block, the rounds of blocks, and the times that both make."""
    inputs = details.time.inputs
    overhead, batches, loads, chain = _chain(LATENCY, details)
    if close(loads.result, scalar(inputs["stalls"]["loads"])):
        yield from (*batches, loads)
    if close(chain.result, scalar(inputs["latency"]["chain"])):
        yield from (overhead, chain)
    yield step(LATENCY, ROUNDS, inputs["rounds"])
    yield step(LATENCY, named(STALL_TIME, "time of stalls"), inputs["stalls"])
    yield step(LATENCY, named(LATENCY_TIME, "time of latency"), inputs["latency"])


def ramp_steps(details: Details, derived: bool) -> Iterator[Step]:
    """Yield the start-up; `derived` tells whether `latency_steps` has given a block's loads."""
    section = "Start-up"
    given = details.time.inputs["ramp"]
    overhead, batches, _, _ = _chain(section, details)
    values = {"overhead": overhead.result, "clock": details.device.sm_clock}
    meanings = {
        "overhead": "clocks of a block besides loads and instructions [clocks]",
        "clock": "SM clock [Hz]",
    }
    if batches:
        values["batch"] = max(found.result for found in batches)
        meanings["batch"] = "latency of the slowest batch of loads [s]"
    text = "overhead/clock + batch" if batches else "overhead/clock"
    block = step(section, definition("start of a block and its loads", "s", text, meanings), values)
    if close(block.result, scalar(given["block"])):
        if not derived:
            yield from (*batches, overhead)
        yield block
    yield step(section, named(RAMP_TIME, "time of ramp"), given)


def _chain(section: str, details: Details) -> tuple[Step, list[Step], Step, Step]:
    """Return a block's overhead, each of its batches of loads, all loads, and the whole chain."""
    instance, device, traffic = details.instance, details.device, details.traffic
    warps = float(-(-int(scalar(instance.threads_per_block)) // WARP_SIZE))
    written = scalar(traffic.l2_write_sectors + traffic.l2_atomic_sectors) * SECTOR
    overhead = step(
        section,
        BLOCK_OVERHEAD,
        {
            "start": BLOCK_START,
            "warps": warps,
            "warp": WARP_START,
            "drain": STORE_DRAIN,
            "stores": float(any(r.access.kind != "load" for r in details.requests)),
            "wait": WRITE_BACK,
            "out": min(scalar(traffic.dram_write_bytes) / max(written, 1.0), 1.0),
        },
    )
    batches = list(_batch_steps(section, details))
    parts: list[str] = []
    values: dict[str, float] = {}
    meanings: dict[str, str] = {}
    for found, loop, count in batches:
        prefix = f"{loop}_" if loop else ""
        parts.append(f"{prefix}batches*{prefix}batch" if loop else "batch")
        values[f"{prefix}batch"] = found.result
        meanings[f"{prefix}batch"] = "latency of a batch of loads [s]"
        if loop:
            values[f"{prefix}batches"] = count
            meanings[f"{prefix}batches"] = f"batches of loads in loop {loop} [1]"
    formula = definition("loads of one block", "s", " + ".join(parts) or "0", meanings)
    loads = step(section, formula, values)
    memory = (
        traffic.global_load_requests
        + traffic.global_store_requests
        + traffic.global_atomic_requests
        + traffic.shared_requests
    )
    issued = sum(scalar(i) for i in warp_instructions(instance, memory).values())
    chain = step(
        section,
        _CHAIN,
        {
            "overhead": overhead.result,
            "each": CLOCKS_PER_INSTRUCTION,
            "instructions": issued / (warps * scalar(instance.blocks)),
            "clock": float(device.sm_clock),
            "loads": loads.result,
        },
    )
    return overhead, [found for found, _, _ in batches], loads, chain


def _batch_steps(section: str, details: Details) -> Iterator[tuple[Step, str, float]]:
    """Yield the latency of a batch of loads in each loop, with the loop and its batches.

    The probabilities are those of `perfmodel.models.latency`.
    """
    instance, device, traffic = details.instance, details.device, details.traffic
    asked = scalar(traffic.l2_read_sectors + traffic.l2_write_sectors + traffic.l2_atomic_sectors)
    l2_reads = max(scalar(traffic.l2_read_sectors), 1e-9)
    missing = min(1.0, max(0.0, (1 - scalar(traffic.l2_hit_rate)) * asked / l2_reads))
    blocks = scalar(instance.blocks)
    warps = -(-int(scalar(instance.threads_per_block)) // WARP_SIZE) * blocks
    for loop in (None, *(loop.variable for loop in instance.kernel.loops)):
        members = [
            i
            for i, r in enumerate(details.requests)
            if r.access.loop == loop and (r.access.kind == "load" or r.access.returns)
        ]
        if not members:
            continue
        nest = instance.kernel.loop_nest(loop)
        times = math.prod(scalar(instance.trips[around.variable]) for around in nest)
        in_flight = scalar(instance.loads_in_flight or LOADS_IN_FLIGHT)
        unroll = max(in_flight / len(members), 1.0) if nest else 1.0
        unroll = min(unroll, max(times, 1.0))
        batches = math.ceil(times / unroll)
        filled = sum(scalar(traffic.accesses[i].l1_fill_sectors) for i in members)
        filled /= max(batches * blocks, 1)
        fresh = 0.0
        for i in members:
            r = details.requests[i]
            new = 1.0
            if loop is not None and r.strides is not None:
                new = min(1.0, abs(scalar(r.strides[loop])) / SECTOR)
            fresh += scalar(r.lines) / warps / max(times, 1) * unroll * new
        found = step(
            section,
            named(BATCH_LATENCY, f"batch of loads, {f'loop {loop}' if loop else 'outside loops'}"),
            {
                "l1": device.l1_latency,
                "l2": device.l2_latency,
                "dram": device.dram_latency,
                "p1": 1 - np.exp(-filled),
                "p2": 1 - (1 - missing) ** max(fresh, 1.0),
            },
            f"sectors into L1, a block and batch: {filled:.4g}, so p1 = 1 - exp(-{filled:.4g}); "
            f"L2 reads that miss: {missing:.1%}; new lines, a warp: {max(fresh, 1.0):.3g}, so "
            f"p2 = 1 - (1 - {missing:.4g})^{max(fresh, 1.0):.3g}",
        )
        yield found, loop or "", float(batches)
