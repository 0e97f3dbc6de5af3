"""Time: one term for each resource, and how the terms combine.

Each term is the time that one resource would need alone. Bandwidth and the waits for loads make one
time by queueing (`perfmodel.models.time.queueing`). The rest combines by power means, which are a
maximum where one dominates and more where several are near: soft between issue and L1 of an SM,
nearly a maximum between all else. The launch and the start-up come on top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.global_atomics import AtomicTime, atomic_times
from perfmodel.models.atomics.hot_stores import hot_stores_inputs
from perfmodel.models.atomics.lookups import lookup_inputs
from perfmodel.models.atomics.several_atomics import several_times
from perfmodel.models.atomics.shared_loops import SHARED_LOOP_TIME, loop_inputs
from perfmodel.models.atomics.shared_swaps import SWAP_TIME, swap_inputs
from perfmodel.models.formula import Formula
from perfmodel.models.l2.merged_reads import with_merged_reads
from perfmodel.models.latency.block_waits import block_waits
from perfmodel.models.latency.chain import Chain
from perfmodel.models.latency.latency import LATENCY_TIME
from perfmodel.models.launch.gpcs import gpc_load
from perfmodel.models.launch.occupancy import Occupancy
from perfmodel.models.launch.waves import crowding, mean_turns, unevenness
from perfmodel.models.power_mean import power_mean
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.time.bursts import burst_inputs
from perfmodel.models.time.combined import (
    ATOMICS_OVERLAP,
    beside_memory,
    busiest_pipe,
    combine,
    front_overlap,
)
from perfmodel.models.time.issue import pipe_cycles, turns_taken, warp_instructions
from perfmodel.models.time.launch import last_inputs, launch_floor
from perfmodel.models.time.least_time import LeastTime, least_times
from perfmodel.models.time.memory_times import (
    L2Streams,
    dram_time,
    l2_time,
    writeback_time,
)
from perfmodel.models.time.pipeline import NO_CHAIN, pipeline_time
from perfmodel.models.time.queueing import memory_inputs, memory_time
from perfmodel.models.time.sm_times import sm_times
from perfmodel.models.time.step_queue import queue_of_steps
from perfmodel.models.time.steps import step_loop, time_in_steps
from perfmodel.models.time.turns import (
    ONCE_TIME,
    TURNS_TIME,
    in_step_inputs,
    mixed_pipes,
    once_inputs,
    once_roughly,
    turns_inputs,
)
from perfmodel.models.time.walks import walk_inputs
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]
Timing = Literal["profiler", "events"]

TOTAL_TIME = Formula(
    name="time",
    unit="s",
    text="launch + ramp + together",
    symbols={
        "launch": "an empty kernel [s]",
        "ramp": "a block's start and its first loads [s]",
        "together": "time of all resources together [s]",
    },
    holds="kernels that are launched alone",
    source="definition",
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
    traffic : Traffic
        As given, with reads of several SMs merged.
    l2_streams : L2Streams
        What L2 moves.
    atomics : tuple of AtomicTime
        Each global atomic on its own.
    least : tuple of LeastTime
        What the time of all resources together is at the least, in order.
    """

    time_s: Array
    terms_s: Mapping[str, Array]
    inputs: Mapping[str, Mapping[str, Any]]
    chain: Chain
    clock: float
    traffic: Traffic
    l2_streams: L2Streams
    atomics: tuple[AtomicTime, ...] = ()
    least: tuple[LeastTime, ...] = ()


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
    blocks = np.asanyarray(instance.blocks, dtype=float)
    turns = turns_taken(instance.kernel, requests)
    instructions = warp_instructions(instance, traffic.requests, turns)
    device = under_load(device, instructions)
    held = occupied.resident
    uneven = unevenness(instance, device.sm_count * held / blocks)
    crowded = crowding(instance, blocks, held, device.sm_count)
    units = sm_times(
        instance, requests, traffic, device, instructions, turns, held, crowded, on_chip
    )
    terms, inputs = dict(units.terms_s), dict(units.inputs)
    terms["dram"], given = dram_time(traffic, device)
    inputs |= given
    floor = launch_floor(device, timing, traffic.cold, works=bool(instance.kernel.accesses))
    if instance.pipeline is not None:
        clocks = pipe_cycles(instructions, device)
        ahead = pipeline_time(instance, traffic, device, floor, clocks, terms["dram"])
        known = {"dram": inputs["dram"], **ahead.inputs}
        clock = device.sm_clock
        return TimeModel(
            ahead.time_s, ahead.terms_s, known, NO_CHAIN, clock, traffic, ahead.l2_streams
        )

    arithmetic = mixed_pipes(terms, instance.kernel.translated)
    crowd = arithmetic / np.maximum(terms["issue"], 1e-30)
    # The warps that have most to do decide how long a block takes.
    most = warp_instructions(instance, traffic.requests) if turns else instructions
    profiled = (device.launch_warp or 0.0) if timing == "profiler" else 0.0
    waits = block_waits(
        instance,
        requests,
        on_chip,
        traffic,
        device,
        most,
        held=held,
        busiest=inputs["balance"]["busiest"],
        uneven=uneven,
        dram=terms["dram"],
        crowd=crowd,
        profiled=profiled,
        timing=timing,
    )
    chain = waits.chain
    terms |= waits.terms_s
    inputs |= waits.inputs
    atomics = atomic_times(instance, requests, device, units.balance)
    if atomics:
        several = several_times(atomics, requests)
        terms["atomics"] = several.time_s
        inputs |= {name: dict(given) for name, given in several.inputs.items()}
        missed = terms["dram"] * traffic.atomic_dram_share
        inputs["missing"] = {"l2": terms["atomics"], "dram": missed}
    rounds = inputs["latency"]["rounds"]
    on_chip_s, given = _shared_atomics(instance, on_chip, rounds, waits.beside, device.sm_clock)
    inputs |= given
    if on_chip_s is not None:
        terms["shared-loops"] = on_chip_s
        if atomics:
            inputs["stages"] = {
                "shared": on_chip_s,
                "l2": terms["atomics"],
                "rounds": np.maximum(rounds, 1.0),
            }
    in_steps = None
    least: tuple[LeastTime, ...] = ()
    if step_loop(instance.kernel) is not None:
        in_steps = time_in_steps(
            *(instance, chain, instructions, terms, inputs, occupied, device, units.balance),
            uneven,
        )
    at_work = np.maximum(arithmetic, units.own_l1_s)
    traffic = with_merged_reads(
        instance, requests, traffic, device, held, at_work, terms["latency"]
    )
    in_gpc = gpc_load(instance, inputs["balance"]["work"], held, device)
    terms["l2"], given, streams = l2_time(
        traffic, device, hot_stores_inputs(instance, requests, device), in_gpc
    )
    inputs |= given
    if atomics and in_steps is None:
        inputs["lookups"] = lookup_inputs(
            requests, traffic, atomics, several.lookups_s, inputs, device
        )
    written = writeback_time(traffic, device, terms["dram"], inputs["sides"]["own"])
    if written is not None:
        terms["writeback"], given = written
        inputs |= given
    overlap = front_overlap(traffic, chain, instance.kernel)
    busy = power_mean((busiest_pipe(terms), units.own_l1_s), overlap)
    mean = mean_turns(instance, requests)
    inputs["memory"] = memory_inputs(
        instance, requests, traffic, chain, terms, inputs, device, busy, mean
    )
    inputs["memory"]["own"] = units.own_l1_s
    if in_steps is not None:
        delay = inputs["memory"]["delay"]
        inputs["in-steps"] = {
            **inputs["memory"],
            **queue_of_steps(instance.kernel, chain, inputs["steps"], delay),
        }
        in_steps = memory_time(inputs["in-steps"])
    shared = inputs["memory"]["held"]
    drift = {"rounds": inputs["rounds"]["x"], "far": chain.far_waits}
    inputs["in-step"] = in_step_inputs(**drift)
    once = once_roughly(arithmetic, terms["latency"], shared)
    # Clocks that a kernel file states were fitted with `ROUND_OVERLAP`.
    if chain.paced is not None and instance.kernel.translated:
        computing = chain.between / chain.clock * inputs["latency"]["rounds"]
        inputs |= once_inputs(arithmetic, terms["latency"], computing, shared)
        once = np.asanyarray(ONCE_TIME(**inputs["once"]))
    inputs["turns"] = turns_inputs(arithmetic, terms["latency"], once, **drift)
    in_turns = np.asanyarray(TURNS_TIME(**inputs["turns"]))
    others = beside_memory(terms, inputs)
    together = combine(*(terms, inputs["memory"], arithmetic, in_turns, others, in_steps), overlap)
    if in_steps is None:  # steps end with the last block already
        if "atomics" in others:
            inputs["loaded"] = _loaded_inputs(traffic, inputs, others["atomics"])
        walk = walk_inputs(instance, requests, traffic, chain, device)
        if walk is not None:
            inputs["walk"] = walk
        if "dispatch" in terms:
            at_once = _at_once(instance, inputs["memory"])
            inputs["last"] = last_inputs(
                terms["dispatch"],
                device.sm_count * held / blocks,
                inputs["rounds"]["x"],
                turn=chain.total,
                last=np.atleast_1d(LATENCY_TIME(**(inputs["latency"] | {"rounds": 1.0}))),
                crowd=np.maximum(terms["issue"], units.own_l1_s) * at_once,
                held=waits.beside,
            )
        inputs["after"] = {"bandwidth": inputs["memory"]["bandwidth"], "before": chain.before}
        inputs["burst"] = burst_inputs(inputs, chain, blocks / (device.sm_count * held))
        busiest = np.maximum(busy, arithmetic)
        together, least = least_times(together, inputs, chain, busiest)
    time = np.asanyarray(TOTAL_TIME(launch=floor, ramp=terms["ramp"], together=together))
    terms = {"launch": np.zeros(time.shape) + floor, **terms}
    clock = device.sm_clock
    return TimeModel(time, terms, inputs, chain, clock, traffic, streams, tuple(atomics), least)


def _shared_atomics(
    instance: Instance, on_chip: Sequence[Requests], rounds: Array, beside: Array, clock: float
) -> tuple[Array | None, dict[str, Any]]:
    """Return the time of loops of shared atomics, the compiler's and sources'; None without."""
    looping = loop_inputs(instance, on_chip, rounds, beside, clock)
    swapping = swap_inputs(instance, on_chip, rounds, beside, clock)
    given: dict[str, Any] = {}
    if looping is None and swapping is None:
        return None, given
    time = np.zeros(1)
    if looping is not None:
        given["shared-loops"] = looping
        time = np.atleast_1d(SHARED_LOOP_TIME(**looping))
    if swapping is not None:
        given["shared-swaps"] = swapping
        time = time + np.atleast_1d(SWAP_TIME(**swapping))
    return time, given


def _loaded_inputs(
    traffic: Traffic, inputs: Mapping[str, Mapping[str, Any]], atomics: Array
) -> dict[str, Any]:
    """Return what goes into the time of atomics beside what loads and stores move."""
    # What atomics themselves miss and leave to be written is in their own time.
    beside = traffic.l2_read_sectors + traffic.l2_write_sectors > 0
    moved = np.maximum(inputs["memory"]["bandwidth"] - inputs["missing"]["dram"], 0.0) * beside
    return {"bandwidth": moved, "atomics": atomics, "p": ATOMICS_OVERLAP}


def _at_once(instance: Instance, memory: Mapping[str, Any]) -> Array:
    """Say whether blocks ask for all of their data at once, and wait for nobody else."""
    return np.asanyarray((memory["share"] >= 1) & (not instance.kernel.barriers))


def under_load(device: Device, instructions: Mapping[str, Array]) -> Device:
    """Return the device at the clock that it has under these instructions."""
    products = agreed(instructions.get("tensor16", np.zeros(1)) > 0)
    if device.tensor_clock is None or not products:
        return device
    return replace(device, sm_clock=device.tensor_clock)
