"""Time: one term for each resource, and how the terms combine.

Each term is the time that one resource would need alone. Bandwidth and the waits for loads make one
time by queueing (`perfmodel.models.queueing`). The rest combines by power means, which are a
maximum where one dominates and more where several are near: soft between issue and L1 of an SM,
nearly a maximum between all else. The launch and the start-up come on top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.atomics import AtomicTime, atomic_times
from perfmodel.models.chain import Chain
from perfmodel.models.coalescing import SECTOR
from perfmodel.models.combined import FRONT_OVERLAP, beside_memory, busiest_pipe, combine
from perfmodel.models.dram import FEW, MIXED_EFFICIENCY, SKEW
from perfmodel.models.formula import Formula
from perfmodel.models.issue import (
    issued,
    looped_instructions,
    pipe_cycles,
    turns_taken,
    warp_instructions,
)
from perfmodel.models.l1 import L1_CYCLES, l1_stages
from perfmodel.models.l2 import L2_READS, L2_TIME, read_sectors, reads_beside, unpacked_bytes
from perfmodel.models.latency import (
    BLOCK_START,
    LATENCY_TIME,
    RAMP_TIME,
    block_chain,
    first_touch,
)
from perfmodel.models.launch import LAST_TIME, code_fetch, launch_floor
from perfmodel.models.occupancy import Occupancy
from perfmodel.models.pipeline import NO_CHAIN, pipeline_time
from perfmodel.models.queueing import memory_inputs
from perfmodel.models.requests import Requests
from perfmodel.models.shared_atomics import SHARED_LOOP_TIME, aggregated_clocks, loop_inputs
from perfmodel.models.sides import CROSSING_TIME, SIDES_TIME, crossing_inputs
from perfmodel.models.steps import (
    STEPS_TIME,
    rounds_of_steps,
    step_loop,
    steps_inputs,
    waits_alone,
)
from perfmodel.models.turns import TURNS_TIME, mixed_pipes, power_mean, turns_inputs
from perfmodel.models.walks import BESIDE_WALK, beside_walk, walk_inputs
from perfmodel.models.waves import (
    BALANCE,
    ROUNDS,
    balance_inputs,
    crowding,
    everywhere,
    unevenness,
)
from perfmodel.models.writeback import WRITEBACK_TIME
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]
Timing = Literal["profiler", "events"]


BYTES_TIME = Formula(
    name="time of a transfer",
    unit="s",
    text="bytes/bandwidth",
    symbols={"bytes": "bytes moved [B]", "bandwidth": "bandwidth reached [B/s]"},
    holds="enough bytes in flight; else latency dominates",
    source="definition of bandwidth",
)
SM_TIME = Formula(
    name="time of an SM's unit",
    unit="s",
    text="cycles/clock*balance",
    symbols={
        "cycles": "busy clocks of the unit, averaged over SMs [clocks]",
        "clock": "SM clock [Hz]",
        "balance": "blocks of the busiest SM over the average [1]",
    },
    holds="equal blocks",
    source="definition",
)
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
class TimeModel:
    """The terms of a prediction, arrays over configurations.

    Attributes
    ----------
    time_s : array
    terms_s : mapping of str to array
        Seconds of each resource on its own: "launch", "ramp", "issue", pipes, "l1", "l2",
        "dram", "latency", "dispatch", "atomics", "shared-loops",
        and "writeback" beside a set-aside.
    inputs : mapping of str to mapping of str to array
        What went into each term's formula.
    chain : Chain
        What one block does, one thing after the other: the parts of latency and start-up.
    clock : float
        Of the SMs: lower while tensor cores work [Hz].
    atomics : tuple of AtomicTime
        Each global atomic on its own.
    """

    time_s: Array
    terms_s: Mapping[str, Array]
    inputs: Mapping[str, Mapping[str, Any]]
    chain: Chain
    clock: float
    atomics: tuple[AtomicTime, ...] = ()


def time_model(
    instance: Instance,
    requests: list[Requests],
    traffic: Traffic,
    occupied: Occupancy,
    device: Device,
    timing: Timing,
    on_chip: Sequence[Requests] = (),
) -> TimeModel:
    """Return the predicted time and its terms.

    Parameters
    ----------
    instance, requests, traffic, occupied, device
        A launch, its requests (global accesses, in order) and traffic, and where it runs.
    timing : {"profiler", "events"}
        Whether the kernel alone is timed, or what two events around it see.
    on_chip : sequence of Requests
        Of the shared accesses.
    """
    blocks = np.asarray(instance.blocks, dtype=float)
    sms = float(device.sm_count)
    taken = turns_taken(requests)
    instructions = warp_instructions(instance, traffic.requests, taken)
    device = under_load(device, instructions)
    held = np.maximum(np.asarray(occupied.blocks_per_sm, dtype=float), 1.0)
    uneven = unevenness(instance, sms * held / blocks)
    crowded = crowding(instance, blocks, held, device.sm_count)
    tail, l1_tail, busy_blocks = balance_inputs(instance, requests, device.sm_count, held, crowded)
    balance = np.atleast_1d(BALANCE(**tail))
    l1_balance = np.atleast_1d(BALANCE(**l1_tail))
    inputs: dict[str, dict[str, Any]] = {"balance": tail, "l1-balance": l1_tail}
    terms: dict[str, Array] = {}

    def sm_unit(name: str, cycles: Any, balance: Array = balance) -> None:
        inputs[name] = {"cycles": cycles, "clock": device.sm_clock, "balance": balance}
        terms[name] = np.atleast_1d(SM_TIME(**inputs[name]))

    # What no guard is before, blocks without other work do too.
    guarded = pipe_cycles(warp_instructions(instance, traffic.requests, taken, True), device)
    alike = everywhere(tail, blocks, busy_blocks, balance)
    for pipe, cycles in pipe_cycles(instructions, device).items():
        part = guarded.get(pipe, 0.0) / np.maximum(cycles, 1e-30)
        sm_unit(pipe, cycles, np.asarray(alike + (balance - alike) * part))
    masked = instructions.get("masked", np.zeros(1))
    stages = l1_stages(instance, requests, traffic, device, traffic.requests, masked)
    sm_unit("l1", np.asarray(L1_CYCLES(**stages)), l1_balance)
    inputs["l1"] |= stages
    own = L1_CYCLES(**(stages | {"port": np.zeros(1)}))
    own_l1 = np.atleast_1d(SM_TIME(cycles=own, clock=device.sm_clock, balance=l1_balance))

    asked: dict[str, Any] = {
        "reads": np.atleast_1d(read_sectors(traffic) * SECTOR),
        "filled": np.atleast_1d(traffic.l2_filled_sectors * SECTOR),
        "unpacked": np.atleast_1d(unpacked_bytes(traffic)),
        "scattered": np.atleast_1d(traffic.scattered_bytes),
        "fetched": np.atleast_1d(traffic.dram_read_bytes * traffic.dram_read_cost),
        "dram": device.dram_read_bandwidth,
        "read": device.l2_read_bandwidth,
    }
    inputs["l2_reads"] = asked
    inputs["crossing"] = crossing_inputs(traffic, device)
    inputs["l2"] = {
        "asked": np.atleast_1d(L2_READS(**asked)),
        "hits": asked["reads"] + asked["unpacked"] - asked["fetched"],
        "writes": np.atleast_1d(traffic.l2_write_sectors * SECTOR),
        "cost": np.atleast_1d(traffic.l2_write_cost),
        "read": device.l2_read_bandwidth,
        "write": device.l2_write_bandwidth or device.l2_read_bandwidth,
        "beside": reads_beside(traffic),
    }
    inputs["sides"] = {
        "own": np.atleast_1d(L2_TIME(**inputs["l2"])),
        "crossing": np.atleast_1d(CROSSING_TIME(**inputs["crossing"])),
    }
    terms["l2"] = np.asarray(SIDES_TIME(**inputs["sides"]))
    atomics = atomic_times(instance, requests, device, balance)
    if atomics:
        terms["atomics"] = np.asarray(sum((a.time_s for a in atomics), np.zeros(1)))
    moved = traffic.dram_read_bytes + traffic.dram_write_bytes
    mixture = {
        "r": np.where(moved > 0, traffic.dram_read_bytes / np.maximum(moved, 1), 0.0),
        "read": device.dram_read_efficiency,
        "write": device.dram_write_efficiency,
        "copy": device.dram_copy_efficiency,
        "few": FEW,
        "skew": SKEW,
    }
    efficiency = np.atleast_1d(MIXED_EFFICIENCY(**mixture))
    effective = (
        traffic.dram_read_bytes * traffic.dram_read_cost
        + traffic.dram_write_bytes * traffic.dram_write_cost
    )
    inputs["dram"] = {"bytes": effective, "bandwidth": efficiency * device.dram_bandwidth}
    terms["dram"] = np.atleast_1d(BYTES_TIME(**inputs["dram"]))
    inputs["dram"] |= mixture | {"peak": device.dram_bandwidth}
    if np.any(traffic.writeback_bytes > 0):
        inputs["writeback"] = {
            "dram": terms["dram"],
            "l2": inputs["sides"]["own"],
            "bytes": np.atleast_1d(traffic.writeback_bytes),
            "bandwidth": device.dram_bandwidth,
        }
        terms["writeback"] = np.atleast_1d(WRITEBACK_TIME(**inputs["writeback"]))

    floor = launch_floor(device, timing, traffic.cold)
    if instance.pipeline is not None:
        clocks = pipe_cycles(instructions, device)
        ahead = pipeline_time(instance, traffic, device, floor, clocks, terms["dram"])
        known = {"dram": inputs["dram"], **ahead.inputs}
        return TimeModel(ahead.time_s, ahead.terms_s, known, NO_CHAIN, device.sm_clock)

    warps = np.ceil(np.asarray(instance.threads_per_block, dtype=float) / WARP_SIZE) * blocks
    # The warps that have most to do decide how long a block takes.
    most = warp_instructions(instance, traffic.requests) if taken else instructions
    per_warp = issued(most) / warps
    looped = looped_instructions(instance, [*requests, *on_chip]) / warps
    inputs["rounds"] = {"x": np.ceil(blocks / sms) / held, "uneven": uneven}
    rounds = np.atleast_1d(ROUNDS(**inputs["rounds"]))
    dram_round = terms["dram"] / rounds
    arithmetic = mixed_pipes(terms, instance.kernel.translated)
    crowd = arithmetic / np.maximum(terms["issue"], 1e-30)
    chain = block_chain(
        instance, requests, traffic, device, per_warp, looped, dram_round, crowd, rounds
    )
    beside = np.minimum(held, np.ceil(blocks / sms))
    chain = replace(chain, barriers=aggregated_clocks(instance, on_chip, beside) + chain.barriers)
    inputs["ramp"] = {
        "fetch": code_fetch(device) if instance.kernel.accesses else 0.0,
        "block": np.atleast_1d(chain.ramp),
        "touch": first_touch(traffic.dram_read_bytes, traffic.l2_read_sectors, blocks, sms),
    }
    terms["ramp"] = np.atleast_1d(RAMP_TIME(**inputs["ramp"]))
    inputs["latency"] = {
        "chain": np.atleast_1d(chain.total),
        # The floor is an empty kernel, which has the start of a block in it.
        "ramp": inputs["ramp"]["block"] + BLOCK_START / device.sm_clock,
        "rounds": rounds,
    }
    terms["latency"] = np.atleast_1d(LATENCY_TIME(**inputs["latency"]))
    last = LATENCY_TIME(**(inputs["latency"] | {"rounds": 1.0}))
    if device.block_dispatch_rate is not None:
        inputs["dispatch"] = {"b": blocks, "rate": device.block_dispatch_rate}
        terms["dispatch"] = np.atleast_1d(DISPATCH_TIME(**inputs["dispatch"]))

    looping = loop_inputs(instance, on_chip, inputs["latency"]["rounds"], beside, device.sm_clock)
    if looping is not None:
        inputs["shared-loops"] = looping
        terms["shared-loops"] = np.atleast_1d(SHARED_LOOP_TIME(**looping))
        if atomics:
            inputs["stages"] = {
                "shared": terms["shared-loops"],
                "l2": terms["atomics"],
                "rounds": np.maximum(rounds, 1.0),
            }
    inputs["stalls"] = {
        "loads": np.atleast_1d(chain.loads),
        "first": np.atleast_1d(chain.slowest),
        "rounds": inputs["latency"]["rounds"],
    }
    terms["stalls"] = np.atleast_1d(STALL_TIME(**inputs["stalls"]))
    in_steps = None
    if step_loop(instance.kernel) is not None:
        # A product is at the tensor core while it is issued.
        rest = pipe_cycles({n: i for n, i in instructions.items() if n != "tensor16"}, device)
        apart = {
            n: SM_TIME(cycles=c, clock=device.sm_clock, balance=balance) for n, c in rest.items()
        }
        inputs["steps"] = steps_inputs(
            instance,
            chain,
            busiest_pipe(apart),
            terms["l1"],
            terms.get("tensor16", np.zeros(1)),
            occupied.blocks_per_sm,
            device.sm_count,
        )
        in_steps = np.asarray(STEPS_TIME(**rounds_of_steps(inputs["steps"])))
        # What the blocks wait is part of their steps, and no batch of loads in a row beside it.
        inputs["latency"] = waits_alone(inputs["steps"])
        terms["latency"] = np.atleast_1d(LATENCY_TIME(**inputs["latency"]))
        del terms["stalls"], inputs["stalls"]
    busy = power_mean((busiest_pipe(terms), own_l1), FRONT_OVERLAP)
    inputs["memory"] = memory_inputs(instance, traffic, chain, terms, inputs, device, busy)
    inputs["memory"]["own"] = own_l1
    shared = inputs["memory"]["held"]
    inputs["turns"] = turns_inputs(arithmetic, terms["latency"], shared, inputs["rounds"]["x"])
    in_turns = np.asarray(TURNS_TIME(**inputs["turns"]))
    others = beside_memory(terms, inputs)
    together = combine(terms, inputs["memory"], arithmetic, in_turns, others, in_steps)
    walk = walk_inputs(instance, requests, traffic, chain, device) if in_steps is None else None
    if walk is not None:
        inputs["walk"] = walk
        rounds = inputs["rounds"]["x"]
        inputs["beside-walk"] = beside_walk(together, walk, chain.slowest, rounds)
        together = np.asarray(BESIDE_WALK(**inputs["beside-walk"]))
    if "dispatch" in terms and in_steps is None:  # steps end with the last block already
        inputs["last"] = {"dispatch": terms["dispatch"], "last": np.atleast_1d(last)}
        together = np.maximum(together, LAST_TIME(**inputs["last"]))
    time = floor + terms["ramp"] + together
    terms = {"launch": np.full(time.shape, floor), **terms}
    return TimeModel(time, terms, inputs, chain, device.sm_clock, tuple(atomics))


def under_load(device: Device, instructions: Mapping[str, Array]) -> Device:
    """Return the device at the clock that it has under these instructions."""
    products = np.any(instructions.get("tensor16", np.zeros(1)) > 0)
    if device.tensor_clock is None or not products:
        return device
    return replace(device, sm_clock=device.tensor_clock)
