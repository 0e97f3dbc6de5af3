"""Instruction throughput: issue slots of the warp schedulers, and the arithmetic pipes.

Each of an SM's schedulers issues one warp instruction per clock. A pipe with l lanes per SM takes
32/l clocks per warp instruction. Both assume instructions spread evenly over SMs and schedulers,
and enough independent ones; dependencies are in the latency terms.

64-bit integer products are counted as the multiplier operations that they take, special functions
and conversions share one pipe (XU), and double-precision instructions take two issue slots each.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, largest, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.kernel import PIPES, Arithmetic, Kernel
from perfmodel.models.derivation import skippable
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.records import record


class Pipe(StrEnum):
    """Issue, memory accesses, and the pipes of `perfmodel.kernels.kernel.PIPES` with own rules."""

    ISSUE = "issue"
    MEMORY = "memory"
    FMA32 = "fma32"
    FMA64 = "fma64"
    IMAD = "imad"
    WIDE = "wide"
    CONVERSION = "conversion"
    SFU = "sfu"
    TENSOR16 = "tensor16"
    LSU = "lsu"
    CONSTANT = "constant"
    SHUFFLE = "shuffle"
    MASKED = "masked"
    UNIFORM = "uniform"


ISSUE_CYCLES = Formula(
    name="issue clocks per SM",
    unit="clocks",
    text="i/(m*q)",
    symbols={
        "i": "warp instructions of the launch [1]",
        "m": "SMs [1]",
        "q": "warp schedulers per SM, one issue per clock [1/clock]",
    },
    holds="instructions spread evenly over schedulers",
    source="CUDA C++ Programming Guide, multiprocessor levels",
)
PIPE_CYCLES = Formula(
    name="pipe clocks per SM",
    unit="clocks",
    text="i*32/(m*l)",
    symbols={
        "i": "warp instructions of the pipe [1]",
        "m": "SMs [1]",
        "l": "lanes of the pipe per SM [threads/clock]",
    },
    holds="independent instructions",
    source="CUDA C++ Programming Guide, arithmetic instruction throughput table",
)

# Lanes of each pipe; one not named here, or that a device has no figure of, takes issue slots only.
_LANES: Final = {
    "fma32": "fp32_lanes",
    "int32": "int32_lanes",
    "imad": "imad_lanes",
    "wide": "imad_lanes",
    "conversion": "conversion_lanes",
    "tensor16": "tensor16_lanes",
    "fma64": "fp64_lanes",
    "sfu": "sfu_lanes",
    "lsu": "lsu_lanes",
}

WIDE_TURNS: Final = Coefficient("time.issue.wide_turns")
FP64_SLOTS: Final = Coefficient("time.issue.fp64_slots")
CONSTANT_CLOCKS: Final = Coefficient("time.issue.constant_clocks")
TENSOR_PIPES: Final = ("bf16_tensor", "fp16_tensor", "tf32_tensor", "fp8_tensor")
"""Pipes that count multiply-accumulates: one instruction makes thousands, so issue has few."""
MACS_PER_INSTRUCTION: Final = 64.0
"""Multiply-accumulates of one tensor-core instruction of a warp, divided by its lanes: m16n8k16."""


def issue_slots(pipe: str, count: Any, device: Device) -> Array:
    """Return the issue slots that `count` instructions of a pipe take.

    The tensor pipes count multiply-accumulates, of which one instruction does many; clocks of L1's
    banks are those of instructions counted elsewhere. Doubles take two slots each.
    """
    if pipe in TENSOR_PIPES or pipe in (Pipe.LSU, Pipe.CONSTANT):
        return np.zeros(np.shape(count))
    if pipe == Pipe.FMA64:
        return np.asanyarray(count, dtype=float) * FP64_SLOTS(device)
    each = MACS_PER_INSTRUCTION if pipe == Pipe.TENSOR16 else 1.0
    return np.asanyarray(count, dtype=float) / each


@record
class Turns:
    """The turns of a loop that warps take."""

    share: Array  # of all warps' turns
    ended: Array  # where a guard ends the loop; elsewhere the share is 1


def guarded_iteration_shares(kernel: Kernel, requests: Sequence[Requests]) -> dict[str, Turns]:
    """Return the share of all warps' turns of a loop that they take, for loops that a guard ends.

    A loop over strides of the grid counts the turns of the threads that have most. Where the guard
    of every access of a loop has the loop's variable and the block's number in it, warps beyond the
    end have left. Of loops within a block, counts are of whole turns, as counters were read. Warps
    that the kernel's own guard lets nobody of through come to no loop. Instructions of kernels from
    PTX are counted as an average warp's, those that leave included: their turns are whole.
    """
    done: dict[str, tuple[Array, Array]] = {}
    ended: dict[str, Array] = {}
    for r in requests:
        loop = r.access.loop
        if loop is None:
            continue
        if r.access.guard is None and kernel.guard is not None and r.access.counted is None:
            ends = np.ones(1, dtype=bool)
        else:
            ends = _ended(r, loop)
        ended[loop] = ends & ended.get(loop, ends)
        every = r.executions
        asked, possible = done.get(loop, (np.zeros(1), np.zeros(1)))
        done[loop] = (asked + np.minimum(r.requests, every), possible + every)
    return {
        loop: Turns(
            np.ones(1)
            if kernel.translated
            else np.where(ended[loop], asked / np.maximum(possible, 1e-9), 1.0),
            ended[loop],
        )
        for loop, (asked, possible) in done.items()
        if not skippable(~ended[loop])
    }


def _ended(r: Requests, loop: str) -> Array:
    """Say where an access's own guard ends a loop over strides of the grid."""
    nowhere = np.zeros(1, dtype=bool)
    if r.access.guard is None:
        return nowhere
    by_block = summed(where for name, where in r.bounded.items() if name.startswith("blockIdx"))
    return np.asanyarray(r.bounded.get(loop, nowhere) & (by_block > 0))


def warp_instructions(
    instance: Instance,
    memory_requests: Any,
    taken: Mapping[str, Turns] = MappingProxyType({}),
    guarded: bool = False,
) -> dict[str, Array]:
    """Return warp instructions of the launch by pipe, memory accesses under "memory".

    Of loops, warps run the `taken` share of iterations, by `guarded_iteration_shares`; `guarded`:
    only those of such loops, and memory accesses.
    """
    totals: dict[str, Array] = {Pipe.MEMORY: np.asanyarray(memory_requests, dtype=float)}
    warps = _warps(instance)
    for work, times in _executions(instance):
        turns = taken.get(work.loop or "")
        if turns is None and guarded:
            continue
        share: Any = 1.0
        if turns is not None:
            share = turns.share * turns.ended if guarded else turns.share
        totals[work.pipe] = totals.get(work.pipe, np.zeros(1)) + warps * (times * share)
    return totals


def _executions(instance: Instance) -> Iterator[tuple[Arithmetic, Array]]:
    """Yield the arithmetic of a kernel, and how many instructions of it a warp executes."""
    for work, count in zip(instance.kernel.arithmetic, instance.counts, strict=True):
        yield work, np.asanyarray(count, dtype=float) * instance.runs(work.loop)


def _warps(instance: Instance) -> Array:
    threads = np.asanyarray(instance.threads_per_block, dtype=float)
    return np.asanyarray(np.ceil(threads / WARP_SIZE) * np.asanyarray(instance.blocks, dtype=float))


@record
class Instructions:
    """Warp instructions of a launch by pipe, memory accesses under `Pipe.MEMORY`."""

    executed: Mapping[str, Array]  # all that its warps execute [1]
    # of these, those in loops that a guard ends, and memory accesses [1]
    guarded: Mapping[str, Array]
    # as many as there were if all warps had as much to do as those that have most [1]
    most: Mapping[str, Array]


def instructions_of(execution: Execution) -> Instructions:
    """Return the warp instructions of a launch."""
    instance, requests = execution.instance, execution.traffic.requests
    taken = guarded_iteration_shares(instance.kernel, execution.requests)
    executed = warp_instructions(instance, requests, taken)
    # The warps that have most to do decide how long a block takes.
    most = warp_instructions(instance, requests) if taken else executed
    return Instructions(executed, warp_instructions(instance, requests, taken, True), most)


def instructions_of_loops(instance: Instance) -> dict[str, Array]:
    """Return those warp instructions by pipe that no guard of an access may leave out."""
    none = Turns(np.zeros(1), np.ones(1))
    guarded = dict.fromkeys((a.loop for a in instance.kernel.accesses if a.loop), none)
    return warp_instructions(instance, np.zeros(1), guarded)


def issued(instructions: Mapping[str, Any], device: Device) -> Array:
    """Return the issue slots of all instructions of a launch, by `warp_instructions`.

    Moves of constants for the whole warp fit into the second slots of doubles: a kernel of which
    they are two fifths issues in 85% of the clocks beside a busy FP64 pipe
    (measurements/source-kernels).
    """
    slots = (issue_slots(pipe, count, device) for pipe, count in instructions.items())
    hidden = np.minimum(instructions.get(Pipe.UNIFORM, 0.0), instructions.get(Pipe.FMA64, 0.0))
    return np.asanyarray(summed(slots) - hidden)


def looped_instructions(instance: Instance, requests: Sequence[Requests], device: Device) -> Array:
    """Return warp instructions of the launch that are in loops, memory accesses included."""
    total = summed(r.requests for r in requests if r.access.loop is not None)
    for work, times in _executions(instance):
        if work.loop is not None:
            total = total + issue_slots(work.pipe, _warps(instance) * times, device)
    return np.asanyarray(total)


def _in_turns(instructions: Mapping[str, Array], device: Device) -> Mapping[str, Array]:
    """Return the same as pipes take them: products of 64 bits, special functions and conversions.

    Products of 64 bits are turns of the multipliers, alone and in all. Special functions and
    conversions, if there are both, are one pipe's (XU): 8 of each take as long as 16 of either
    (measurements/instructions, mixes).
    """
    if Pipe.SFU in instructions and Pipe.CONVERSION in instructions:
        both = np.asanyarray(instructions[Pipe.SFU]) + instructions[Pipe.CONVERSION]
        kept = {n: i for n, i in instructions.items() if n != Pipe.CONVERSION}
        instructions = {**kept, Pipe.SFU: both}
    if Pipe.WIDE not in instructions:
        return instructions
    wide = WIDE_TURNS(device) * np.asanyarray(instructions[Pipe.WIDE])
    return {**instructions, Pipe.WIDE: wide, Pipe.IMAD: instructions.get(Pipe.IMAD, 0.0) + wide}


def pipe_cycles(instructions: Mapping[str, Array], device: Device) -> dict[str, Array]:
    """Return the clocks that issue and each arithmetic pipe need, averaged over all SMs."""
    sms = 1.0 * device.sm_count
    slots, schedulers = np.atleast_1d(issued(instructions, device)), 1.0 * device.schedulers_per_sm
    cycles: dict[str, Array] = {Pipe.ISSUE: ISSUE_CYCLES(i=slots, m=sms, q=schedulers)}
    instructions = _in_turns(instructions, device)
    lanes = {pipe: getattr(device, figure) for pipe, figure in _LANES.items()}
    rates = {pipe: 1.0 * count for pipe, count in lanes.items() if count is not None}
    rates[Pipe.CONSTANT] = WARP_SIZE / CONSTANT_CLOCKS(device)
    for pipe in TENSOR_PIPES:
        if np.any(instructions.get(pipe, np.zeros(1)) > 0):
            rates[pipe] = device.tensor_rate(pipe) / (2 * device.sm_count * device.sm_clock)
    for pipe, rate in rates.items():
        if pipe in instructions:
            cycles[pipe] = PIPE_CYCLES(i=np.atleast_1d(instructions[pipe]), m=sms, l=rate)
    return cycles


def busiest_pipe(terms: Mapping[str, Array]) -> Array:
    """Return the time of issue and the arithmetic pipes of blocks that work in steps [s].

    Every arithmetic instruction was issued first: the slowest of them, not their sum.
    """
    found = [terms[name] for name in (Pipe.ISSUE, *PIPES) if name in terms]
    return np.asanyarray(largest(*found))
