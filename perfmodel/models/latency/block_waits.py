"""Waits of blocks: the start-up, what they do one after the other, and how they are handed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.atomics.shared_atomics import aggregated_clocks
from perfmodel.models.formula import Formula
from perfmodel.models.latency.batch_loads import depths_of
from perfmodel.models.latency.chain import Chain
from perfmodel.models.latency.latency import (
    BLOCK_START,
    LATENCY_TIME,
    RAMP_TIME,
    block_chain,
    first_touch,
)
from perfmodel.models.launch.waves import ROUNDS, in_turn, side_by_side
from perfmodel.models.requests.passes import conflict_clocks
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.time.issue import issued, looped_instructions
from perfmodel.models.time.launch import code_fetch, constant_fetch
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]

STALL_TIME = Formula(
    name="time that warps wait for loads",
    unit="s",
    text="max(0, loads*rounds - first)",
    symbols={
        "loads": "latency of the batches of loads of one block [s]",
        "first": "the first of them, counted in the start-up [s]",
        "rounds": "rounds of blocks, one after the other [1]",
    },
    holds="blocks replaced as they end",
    source="Little's law",
)
DISPATCH_TIME = Formula(
    name="time to start all blocks",
    unit="s",
    text="b/rate",
    symbols={"b": "blocks [1]", "rate": "blocks started a second [1/s]"},
    holds="always",
    source="measured with empty kernels (launch.csv)",
)


@dataclass(frozen=True, slots=True)
class Waits:
    """What blocks wait, arrays over configurations.

    Attributes
    ----------
    chain : Chain
        What one block does, one thing after the other.
    beside : array
        Blocks that share an SM.
    terms_s : mapping of str to array
        Seconds of "ramp", "latency", "dispatch" (where the rate is known) and "stalls".
    inputs : mapping of str to mapping of str to array
        What went into each term's formula, and into "rounds".
    """

    chain: Chain
    beside: Array
    terms_s: dict[str, Array]
    inputs: dict[str, dict[str, Any]]


def block_waits(
    instance: Instance,
    requests: list[Requests],
    on_chip: Sequence[Requests],
    traffic: Traffic,
    device: Device,
    instructions: Mapping[str, Array],
    held: Array,
    busiest: Array,
    uneven: Any,
    dram: Array,
    crowd: Array,
    profiled: float = 0.0,
    timing: str = "profiler",
) -> Waits:
    """Return what blocks wait.

    Parameters
    ----------
    instance, requests, on_chip, traffic, device
        A launch, its requests in global and in shared memory, its traffic, and where it runs.
    instructions : mapping of str to array
        Warp instructions of each pipe, of the warps that have most to do.
    held : array
        Blocks that an SM has room for [1].
    busiest : array
        Work of the SM that ends last, in whole blocks: see `perfmodel.models.launch.handout` [1].
    uneven
        See `perfmodel.models.launch.waves.unevenness`.
    dram : array
        Time of DRAM [s].
    crowd : array
        Time of the arithmetic pipes over that of issue [1].
    profiled : float
        What a profiler adds to the start of each warp [s].
    timing : {"profiler", "events"}
        Whether the kernel alone is timed, or what two events around it see.
    """
    blocks = np.asanyarray(instance.blocks, dtype=float)
    sms = 1.0 * device.sm_count
    inputs: dict[str, dict[str, Any]] = {}
    terms: dict[str, Array] = {}
    warps = np.ceil(np.asanyarray(instance.threads_per_block, dtype=float) / WARP_SIZE) * blocks
    per_warp = issued(instructions) / warps
    looped = looped_instructions(instance, [*requests, *on_chip]) / warps
    inputs["rounds"] = {"x": busiest / held, "uneven": 1.0}
    if instance.kernel.block_work:
        beside = 1.0 if instance.kernel.unequal is None else uneven
        uneven = in_turn(instance, held, device.sm_count) / ROUNDS(**inputs["rounds"]) * beside
    inputs["rounds"]["uneven"] = uneven
    rounds = np.atleast_1d(ROUNDS(**inputs["rounds"]))
    floats = instructions.get("fma32", np.zeros(1)) / np.maximum(per_warp * warps, 1e-9)
    chain = block_chain(
        *(instance, requests, traffic, device, per_warp, looped, dram / rounds, crowd, rounds),
        turned=1 - floats,
    )
    beside = side_by_side(held, blocks, device.sm_count)
    slower = profiled * device.sm_clock * beside
    once, turns = conflict_clocks(instance, on_chip, depths_of(instance, on_chip))
    chain = replace(
        chain,
        once=None if chain.once is None else chain.once + once,
        paced=None if chain.paced is None else chain.paced + turns,
        barriers=aggregated_clocks(instance, on_chip, beside) + chain.barriers,
        overhead={**chain.overhead, "slower": np.atleast_1d(slower)},
    )
    inputs["rounds"]["uneven"] = _uneven(instance, uneven, chain)
    rounds = np.atleast_1d(ROUNDS(**inputs["rounds"]))
    idle: Any = 0.0
    if device.block_dispatch_rate is not None:
        inputs["dispatch"] = {"b": blocks, "rate": device.block_dispatch_rate}
        terms["dispatch"] = np.atleast_1d(DISPATCH_TIME(**inputs["dispatch"]))
        # Warps that meet hold up one another; warm launches were fitted without.
        if traffic.cold and not instance.kernel.barriers:
            idle = np.maximum(terms["dispatch"] - dram, 0.0)
    inputs["ramp"] = {
        "fetch": (code_fetch(device, blocks) if instance.kernel.accesses else 0.0)
        + constant_fetch(
            device,
            timing,
            traffic.cold,
            np.asanyarray(instance.number(instance.kernel.constants), dtype=float),
        ),
        "block": np.atleast_1d(chain.ramp),
        "touch": first_touch(
            *(traffic.dram_read_bytes, traffic.l2_read_sectors, blocks, sms, chain.far_waits),
            idle=idle,
        ),
    }
    terms["ramp"] = np.atleast_1d(RAMP_TIME(**inputs["ramp"]))
    inputs["latency"] = {
        "chain": np.atleast_1d(chain.total),
        # The floor is an empty kernel, which has the start of a block in it.
        "ramp": inputs["ramp"]["block"] + BLOCK_START / device.sm_clock,
        "rounds": rounds,
    }
    terms["latency"] = np.atleast_1d(LATENCY_TIME(**inputs["latency"]))
    inputs["stalls"] = {
        "loads": np.atleast_1d(chain.loads),
        "first": np.atleast_1d(chain.slowest),
        "rounds": rounds,
    }
    terms["stalls"] = np.atleast_1d(STALL_TIME(**inputs["stalls"]))
    return Waits(chain, beside, terms, inputs)


def _uneven(instance: Instance, uneven: Any, chain: Chain) -> Array:
    """Return how much longer unequal blocks last than average ones.

    Their instructions and their loops differ, and not their start, nor what all load once. Clocks
    between barriers are those of the warps that do most, where code is known: what they do beyond
    an average warp is in them.
    """
    if instance.kernel.block_work:  # of all that blocks do
        return np.asanyarray(uneven)
    total = np.maximum(chain.total, 1e-30)
    looped = (b.waited * b.latency for b in chain.batches if b.loop is not None)
    differs = chain.between / chain.clock + sum(looped, np.zeros(1))
    share = np.minimum(differs / total, 1.0)
    found = instance.kernel.unequal
    if found is None or chain.once is None:
        return np.asanyarray(1 + (np.asanyarray(uneven) - 1) * share)
    met = {b.loop for b in instance.kernel.barriers}
    own = sum((b.waited * b.latency for b in chain.batches if b.loop not in {None, *met}), 0.0)
    for p in instance.kernel.paces:
        if p.loop not in met:
            clocks = np.asanyarray(instance.number(p.clocks), dtype=float)
            own = own + clocks * instance.runs(p.loop) / chain.clock
    across = (np.asanyarray(uneven) - found.slowest) * share
    return np.asanyarray(1 + across + (found.slowest - 1) * np.minimum(own / total, share))
