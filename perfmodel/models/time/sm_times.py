"""Units of an SM: issue, the arithmetic pipes and L1, each as long as it would need alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.formula import Formula
from perfmodel.models.l1.throughput import L1_CYCLES, l1_stages
from perfmodel.models.launch.waves import BALANCE, balance_inputs, everywhere, side_by_side
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.time.issue import pipe_cycles, warp_instructions
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]

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


@dataclass(frozen=True, slots=True)
class SmTimes:
    """What the units of an SM need, arrays over configurations.

    Attributes
    ----------
    terms_s : mapping of str to array
        Seconds of issue, of each pipe and of L1 ("l1").
    inputs : mapping of str to mapping of str to array
        What went into each term's formula, and into "balance" and "l1-balance".
    own_l1_s : array
        L1 without the port that L2's sectors come through [s].
    balance : array
        Blocks of the busiest SM over the average [1].
    """

    terms_s: dict[str, Array]
    inputs: dict[str, dict[str, Any]]
    own_l1_s: Array
    balance: Array


def sm_times(
    instance: Instance,
    requests: list[Requests],
    traffic: Traffic,
    device: Device,
    instructions: Mapping[str, Array],
    turns: Any,
    held: Array,
    crowded: Any,
    on_chip: Sequence[Requests] = (),
) -> SmTimes:
    """Return the time of each unit of the busiest SM.

    Parameters
    ----------
    instance, requests, traffic, device
        A launch, its requests and traffic, and the device at the clock that it has.
    instructions : mapping of str to array
        Warp instructions of each pipe.
    turns
        Of the loops, as their loads count them (`turns_taken`).
    held : array
        Blocks that an SM has room for [1].
    crowded
        See `perfmodel.models.launch.waves.crowding`.
    on_chip : sequence of Requests
        Of the shared accesses.
    """
    blocks = np.asanyarray(instance.blocks, dtype=float)
    tail, l1_tail, busy_blocks = balance_inputs(
        instance, requests, device.sm_count, held, crowded, on_chip
    )
    balance = np.atleast_1d(BALANCE(**tail))
    l1_balance = np.atleast_1d(BALANCE(**l1_tail))
    inputs: dict[str, dict[str, Any]] = {"balance": tail, "l1-balance": l1_tail}
    # What no guard is before, blocks without other work do too.
    guarded = pipe_cycles(warp_instructions(instance, traffic.requests, turns, True), device)
    alike = everywhere(tail, blocks, busy_blocks, balance)
    if instance.kernel.block_work:  # in which is what all blocks do
        alike = balance
    for pipe, cycles in pipe_cycles(instructions, device).items():
        part = guarded.get(pipe, 0.0) / np.maximum(cycles, 1e-30)
        inputs[pipe] = {
            "cycles": cycles,
            "clock": device.sm_clock,
            "balance": np.asanyarray(alike + (balance - alike) * part),
        }
    passing = (instructions.get(pipe, np.zeros(1)) for pipe in ("masked", "shuffle"))
    besides = sum(passing, np.zeros(1))
    threads = np.asanyarray(instance.threads_per_block, dtype=float)
    warps = np.ceil(threads / WARP_SIZE) * side_by_side(held, blocks, device.sm_count)
    stages = l1_stages(instance, requests, traffic, device, traffic.requests, besides, warps)
    l1 = {"clock": device.sm_clock, "balance": l1_balance}
    inputs["l1"] = {"cycles": np.asanyarray(L1_CYCLES(**stages)), **l1}
    own = L1_CYCLES(**(stages | {"port": np.zeros(1)}))
    terms = {n: np.atleast_1d(SM_TIME(**i)) for n, i in inputs.items() if "cycles" in i}
    inputs["l1"] |= stages
    return SmTimes(terms, inputs, np.atleast_1d(SM_TIME(cycles=own, **l1)), balance)
