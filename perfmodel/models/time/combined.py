"""Combined: the times of all resources as one, by what overlaps with what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.kernel import PIPES, Kernel
from perfmodel.models.extremes import largest
from perfmodel.models.latency.chain import Chain
from perfmodel.models.power_mean import mean_time
from perfmodel.models.time.issue import Pipe
from perfmodel.models.time.queueing import Queueing, memory_time
from perfmodel.models.time.sm_times import L1Time
from perfmodel.traffic import Traffic

FRONT_OVERLAP: Final = Coefficient("time.combined.front_overlap")
SHARED_OVERLAP: Final = Coefficient("time.combined.shared_overlap")
OVERLAP: Final = Coefficient("time.combined.overlap")


@dataclass(frozen=True, slots=True)
class Front:
    """What an SM issues and what its L1 serves, which overlap."""

    arithmetic_s: Array  # issue and the arithmetic pipes, by `mixed_pipes` [s]
    l1: L1Time
    overlap: Array | float  # exponent between both: see `front_overlap`


def combine(
    front: Front,
    memory: Queueing,
    stalls: Array,
    in_turns: Array,
    others: Mapping[str, Array],
    device: Device,
) -> Array:
    """Combine the times of all resources into one, launch and ramp apart [s].

    Warps wait `stalls` for loads, and wait and compute `in_turns`; `others` work beside memory: see
    `perfmodel.models.time.atomic_terms` [s].
    """
    arithmetic, l1, overlap = front.arithmetic_s, front.l1, front.overlap
    # Atomics use L2 beside loads; loops in shared memory wait for their turn beside all else.
    parts = {"memory": memory_time(memory), **_by_symbol(others)}
    if not memory.synchronised:  # else it is in the blocks' waits already
        # What comes through an SM's port L2 gives: a pipeline, whose slower end decides.
        parts["sm"] = mean_time("SM, busy", overlap, arithmetic=arithmetic, l1=l1.own_s)
    # The waits for loads stand in the queue too: they count once.
    busy = mean_time("SM, issue and L1", overlap, arithmetic=arithmetic, l1=l1.time_s)
    waiting = FRONT_OVERLAP(device)
    busy = mean_time("SM, waiting for loads", waiting, issue_and_l1=busy, stalls=stalls)
    together = mean_time("all resources", OVERLAP(device), **parts)
    return np.asanyarray(np.maximum(np.maximum(busy, in_turns), together))


def combine_steps(memory: Queueing, others: Mapping[str, Array], device: Device) -> Array:
    """Combine the time of blocks that work in steps with that of all other resources [s].

    Issue, L1, the waits for loads and bandwidth are in the steps; see `combine`.
    """
    parts = {"steps": memory_time(memory), **_by_symbol(others)}
    return mean_time("all resources", OVERLAP(device), **parts)


def _by_symbol(terms: Mapping[str, Array]) -> dict[str, Array]:
    """Return terms by names that a formula may use."""
    return {name.replace("-", "_"): value for name, value in terms.items()}


def front_overlap(traffic: Traffic, chain: Chain, kernel: Kernel, device: Device) -> Array | float:
    """Return the exponent between issue and L1, by the share of L1's time that is shared memory's.

    Between barriers outside of loops a block's warps go in step, which was not measured. What
    `FRONT_OVERLAP` was fitted to was not translated from PTX.
    """
    loads = FRONT_OVERLAP(device)
    if not kernel.translated:
        return loads
    shared = np.atleast_1d(traffic.shared_wavefronts)
    others = np.maximum(traffic.l1_data_wavefronts, traffic.l1_tag_wavefronts)
    part = shared / np.maximum(shared + others, 1.0)
    if kernel.barriers:
        part = part * chain.looped / np.maximum(chain.looped + chain.instructions, 1.0)
    # With as many digits as an explanation shows.
    shown: Array = np.round(loads + (SHARED_OVERLAP(device) - loads) * part, 2)
    return shown


def busiest_pipe(terms: Mapping[str, Array]) -> Array:
    """Return the time of issue and the arithmetic pipes of blocks that work in steps [s].

    Every arithmetic instruction was issued first: the slowest of them, not their sum.
    """
    found = [terms[name] for name in (Pipe.ISSUE, *PIPES) if name in terms]
    return np.asanyarray(largest(*found))
