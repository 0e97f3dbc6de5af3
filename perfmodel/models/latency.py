"""Latency: how long one warp takes from its first instruction to its last, and waves of blocks.

Little's law: an SM that holds W warps, each busy for a chain of L clocks, finishes W/L warps a
clock and no more. The chain is the loads that a thread waits for, one batch after the other, and
its instructions between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.atomics import RETURN_LATENCY
from perfmodel.models.coalescing import SECTOR
from perfmodel.models.formula import Formula
from perfmodel.models.requests import Requests
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]

CLOCKS_PER_INSTRUCTION: Final = 5.0
"""Clocks from one instruction of a lone warp to the next, loads aside.

Fitted: one warp an SM reading 256 MiB takes 759 clocks an iteration, 690 of them for DRAM, with
about 12 instructions between (measurements/h200-sxm/in-flight.csv).
"""
LOADS_IN_FLIGHT: Final = 16
"""Loads of a loop that a warp has in flight before it uses the first, unless the kernel says.

nvcc 13.0 unrolls a loop of unknown length four times and again four times; the products' machine
code issues 14 to 16 loads before it waits (cuobjdump of measurements/programs/foundation.cu).
"""
BLOCK_START: Final = 100.0
WARP_START: Final = 23.0
STORE_DRAIN: Final = 200.0
WRITE_BACK: Final = 300.0
"""Clocks to start a block; for each of its warps; until the SM forgets a block's last stores; and
how much longer that takes where every store displaces a dirty sector to DRAM.

Fitted (measurements/h200-sxm/blocks.csv and streams.csv, 4 B a lane): blocks of 512 and 1024
threads that read one float a thread live 1259 and 1628 clocks, of which 690 are DRAM's latency and
100 the 20 instructions; blocks of 256 that copy live 1290, 1452 and 1592 clocks where 4%, 72% and
98% of what they write reaches DRAM.
"""
FIRST_TOUCH: Final = 0.3e-6
"""Seconds that the first reads of a cold launch take beyond DRAM's latency [s].

Fitted: cold reads of 256 KiB to 4 MiB on an H200 last 0.3 to 0.4 us longer than floor, latency and
bandwidth explain (measurements/h200-sxm/streams.csv). Address translation is the likely cause.
"""
BLOCK_OVERHEAD = Formula(
    name="clocks of a block besides its loads and instructions",
    unit="clocks",
    text="start + warps*warp + stores*(drain + wait*out)",
    symbols={
        "start": "clocks to start a block [clocks]",
        "warps": "warps of the block [1]",
        "warp": "clocks to start each warp [clocks]",
        "drain": "clocks until stores are acknowledged [clocks]",
        "stores": "1 if the block stores anything, else 0 [1]",
        "wait": "more clocks where a store must wait for a write-back [clocks]",
        "out": "DRAM bytes written over bytes stored [1]",
    },
    holds="blocks that end with their stores",
    source="fitted: lifetimes of streaming blocks on an H200",
)
BATCH_LATENCY = Formula(
    name="latency of a batch of loads",
    unit="s",
    text="l1 + p1*(l2 - l1) + p1*p2*(dram - l2)",
    symbols={
        "l1": "latency of an L1 hit [s]",
        "l2": "latency of an L2 hit [s]",
        "dram": "latency of a DRAM read [s]",
        "p1": "probability that a load of the batch misses L1 [1]",
        "p2": "probability that such a load misses L2 too [1]",
    },
    holds="unloaded memory; queues show in the bandwidth terms",
    source="derived: the batch is as slow as its slowest load",
)
RAMP_TIME = Formula(
    name="start-up",
    unit="s",
    text="block + touch",
    symbols={
        "block": "start of a block, its first batch of loads, and the drain of its stores [s]",
        "touch": "first reads of a cold launch beyond DRAM's latency [s]",
    },
    holds="launches whose first block is like the others",
    source="fitted: streams of 256 KiB to 4 MiB on an H200",
)
LATENCY_TIME = Formula(
    name="time for latency",
    unit="s",
    text="max(0, chain*rounds - ramp)",
    symbols={
        "chain": "time of one block, from its first instruction to its last [s]",
        "ramp": "time until the first data arrives, counted apart [s]",
        "rounds": "rounds of blocks, one after the other [1]",
    },
    holds="blocks replaced as they end",
    source="Little's law",
)


@dataclass(frozen=True, slots=True)
class Batch:
    """Batches of loads that a warp issues together, then waits for.

    Attributes
    ----------
    loop : str or None
        Variable of the loop that they are in.
    count : array
        Batches, one after the other.
    filled : array
        Sectors that a block brings into L1 for one batch.
    fresh : array
        Lines of one batch that a warp had not met before.
    inputs : mapping
        What `BATCH_LATENCY` takes.
    """

    loop: str | None
    count: Array
    filled: Array
    fresh: Array
    inputs: Mapping[str, Any]

    @property
    def latency(self) -> Array:
        """Latency of one batch [s]."""
        return np.asarray(BATCH_LATENCY(**self.inputs))


@dataclass(frozen=True, slots=True)
class Chain:
    """What one block that has its SM to itself does, one thing after the other.

    Attributes
    ----------
    overhead : mapping
        What `BLOCK_OVERHEAD` takes.
    instructions : array
        Instructions of a warp.
    missing : array
        Share of the SMs' L2 reads that go to DRAM.
    batches : tuple of Batch
    clock : float
        SM clock [Hz].
    """

    overhead: Mapping[str, Any]
    instructions: Array
    missing: Array
    batches: tuple[Batch, ...]
    clock: float

    @property
    def start(self) -> Array:
        """Start and end of a block [s]."""
        return np.asarray(BLOCK_OVERHEAD(**self.overhead)) / self.clock

    @property
    def loads(self) -> Array:
        """All batches of loads [s]."""
        return np.asarray(sum((b.count * b.latency for b in self.batches), np.zeros(1)))

    @property
    def total(self) -> Array:
        """The whole chain [s]."""
        between = CLOCKS_PER_INSTRUCTION / self.clock * self.instructions
        return self.start + between + self.loads

    @property
    def ramp(self) -> Array:
        """What every launch pays once: a block's start and its slowest batch of loads [s]."""
        slowest = np.zeros(1)
        for b in self.batches:
            slowest = np.maximum(slowest, np.where(b.count > 0, b.latency, 0.0))
        return self.start + slowest


def block_chain(
    instance: Instance,
    requests: Sequence[Requests],
    traffic: Traffic,
    device: Device,
    instructions_per_warp: Any,
) -> Chain:
    """Return the chain of one block.

    Parameters
    ----------
    instance : Instance
    requests : sequence of Requests
        Of the global accesses, in the order of ``traffic.accesses``.
    traffic : Traffic
    device : Device
    instructions_per_warp : array
    """
    blocks = np.asarray(instance.blocks, dtype=float)
    warps = np.ceil(np.asarray(instance.threads_per_block, dtype=float) / WARP_SIZE) * blocks
    l2_sectors = np.maximum(traffic.l2_read_sectors, 1e-9)
    missing = np.clip((1 - traffic.l2_hit_rate) * _asked(traffic) / l2_sectors, 0, 1)
    written = (traffic.l2_write_sectors + traffic.l2_atomic_sectors) * SECTOR
    overhead = {
        "start": BLOCK_START,
        "warps": np.atleast_1d(warps / blocks),
        "warp": WARP_START,
        "drain": STORE_DRAIN,
        "stores": float(any(r.access.kind != "load" for r in requests)),
        "wait": WRITE_BACK,
        "out": np.minimum(traffic.dram_write_bytes / np.maximum(written, 1), 1.0),
    }
    loops = (None, *(loop.variable for loop in instance.kernel.loops))
    found = (_batch(instance, requests, traffic, device, missing, loop) for loop in loops)
    return Chain(
        overhead=overhead,
        instructions=np.asarray(instructions_per_warp),
        missing=missing,
        batches=tuple(b for b in found if b is not None),
        clock=device.sm_clock,
    )


def _batch(
    instance: Instance,
    requests: Sequence[Requests],
    traffic: Traffic,
    device: Device,
    missing: Array,
    loop: str | None,
) -> Batch | None:
    """Return the batches of loads of one loop (None: outside all), or None if it has no loads."""
    members = [
        i
        for i, r in enumerate(requests)
        if r.access.loop == loop and (r.access.kind == "load" or _returns(instance, r))
    ]
    if not members:
        return None
    nest = instance.kernel.loop_nest(loop)
    times = np.ones(1)
    for around in nest:
        times = times * np.asarray(instance.trips[around.variable], dtype=float)
    in_flight = instance.loads_in_flight or LOADS_IN_FLIGHT
    unroll = np.maximum(np.asarray(in_flight) / len(members), 1.0) if nest else np.ones(1)
    unroll = np.minimum(unroll, np.maximum(times, 1.0))
    count = np.ceil(times / unroll)
    blocks = np.asarray(instance.blocks, dtype=float)
    warps = np.ceil(np.asarray(instance.threads_per_block, dtype=float) / WARP_SIZE) * blocks
    sectors = sum((traffic.accesses[i].l1_fill_sectors for i in members), np.zeros(1))
    filled = np.asarray(sectors / np.maximum(count * blocks, 1))
    lines = sum((requests[i].lines * _fresh(requests[i], loop) for i in members), np.zeros(1))
    fresh = np.maximum(lines * (unroll / np.maximum(warps * times, 1)), 1.0)
    far = RETURN_LATENCY if any(requests[i].access.kind == "atomic" for i in members) else 1.0
    inputs = {
        "l1": device.l1_latency,
        "l2": device.l2_latency * far,
        "dram": max(device.dram_latency, device.l2_latency * far),
        "p1": np.atleast_1d(1 - np.exp(-filled)),
        "p2": np.atleast_1d(1 - (1 - missing) ** fresh),
    }
    return Batch(loop, count, filled, fresh, inputs)


def _returns(instance: Instance, r: Requests) -> bool:
    """Say whether threads wait for an atomic's old value."""
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    return kind is not None and bool(np.any(kind.returns)) and bool(np.any(r.requests > 0))


def _asked(traffic: Traffic) -> Array:
    return traffic.l2_read_sectors + traffic.l2_write_sectors + traffic.l2_atomic_sectors


def _fresh(request: Requests, loop: str | None) -> Array:
    """Return the share of a request's lines that the previous iteration did not touch."""
    if loop is None or request.strides is None:
        return np.ones(1)
    return np.minimum(1.0, np.abs(request.strides[loop]) / SECTOR)
