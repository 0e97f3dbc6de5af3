"""Combined: the times of all resources as one, by what overlaps with what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.kernels.kernel import PIPES, Kernel
from perfmodel.models.extremes import largest
from perfmodel.models.formula import Formula
from perfmodel.models.latency.chain import Chain
from perfmodel.models.power_mean import mean_time
from perfmodel.models.time.queueing import memory_time
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]

FRONT_OVERLAP: Final = 2.0
"""Exponent between issue, L1 and the wait for loads on one SM; fitted to a product that stays in L1
(measurements/h200-sxm/gemm-resident.csv: 2.32 clocks a step, of which L1 2.02 and issue 1.14) and
to gemm.csv (2.57 to 2.98 clocks, as more of the loads come from DRAM)."""
SHARED_OVERLAP: Final = 4.4
"""The same between issue and loads from shared memory, of kernels from PTX.

Fitted: 1 to 8 multiply-adds for each load, 4 and 8 loads in flight, 16 to 64 warps an SM; 3.2% rms.
Loads from L1 give 1.7, also beside 16 to 64 warps (measurements/h200-parts/overlaps.csv).
"""
OVERLAP: Final = 8.0
"""Exponent between all else, nearly a maximum; fitted to measurements/h200-sxm/streams.csv."""
LOADED_TIME = Formula(
    name="bandwidth and atomics, at the least",
    unit="s",
    text="(bandwidth**p + atomics**p)**(1/p)",
    symbols={
        "bandwidth": "time that the slower of L2 and DRAM needs, what atomics miss apart [s]",
        "atomics": "time of global atomics, and of what they miss [s]",
        "p": "how sharply one of both decides [1]",
    },
    holds="what waits for a busy slice holds up what is behind it; waits for loads go on meanwhile",
    source="fitted: streams of 4 to 800 MB with an addition of each warp to one word, or of each "
    "lane to many, after them or among them, in 1 to 12 rounds of blocks: 11.1% rms, 12.1 with 1.4 "
    "and 13.5 with 8 (measurements/h200-beside/tails.csv, fit rows). Integers at one word, which "
    "stand close where nobody is between them, ask for less, and floats for 1.7",
)
ATOMICS_OVERLAP: Final = 1.7
"""`p` of `LOADED_TIME`."""
STAGES_TIME = Formula(
    name="atomics in shared memory, then global ones",
    unit="s",
    text="max(shared, l2) + min(shared, l2)/rounds",
    symbols={
        "shared": "time of loops in shared memory [s]",
        "l2": "time of global atomics [s]",
        "rounds": "rounds of blocks, one after the other [1]",
    },
    holds="blocks of a round are as far as one another; those of others overlap",
    source="derived: a pipeline of two stages; sums of blocks (privatized.csv, fit rows)",
)


MISSING_TIME = Formula(
    name="atomics and what they miss",
    unit="s",
    text="sqrt(l2**2 + dram**2)",
    symbols={
        "l2": "time of global atomics [s]",
        "dram": "DRAM's time to read what they miss [s]",
    },
    holds="cold tables of 16 to 256 MiB at random places within 17%",
    source="fitted form: misses hold up hits, 45.5 us where all hit in 42.1 and DRAM reads for 8, "
    "15.2 where these are 12.4 and 7.6 (measurements/h200-contended/tables.csv, fit rows)",
)


def combine(
    terms: Mapping[str, Array],
    memory: Mapping[str, Any],
    arithmetic: Array,
    in_turns: Array,
    beside: Mapping[str, Array],
    in_steps: Array | None = None,
    overlap: Array | float = FRONT_OVERLAP,
) -> Array:
    """Combine the terms of all resources into one time, launch and ramp apart [s].

    Parameters
    ----------
    terms : mapping of str to array
        Seconds of each resource.
    memory : mapping
        What `memory_time` takes, and "own": L1 without the port that L2's sectors come through [s].
    arithmetic : array
        Issue and the arithmetic pipes, by `mixed_pipes` [s].
    in_turns : array
        Time of warps that wait and compute in turn [s].
    beside : mapping of str to array
        Seconds of what works beside memory: see `beside_memory`.
    in_steps : array, optional
        Time of blocks that work in steps: issue, L1, the waits for loads and bandwidth [s].
    overlap : array or float
        Exponent between issue and L1: see `front_overlap`.
    """
    others = {name.replace("-", "_"): value for name, value in beside.items()}
    if in_steps is not None:
        return mean_time("all resources", OVERLAP, steps=in_steps, **others)
    # What comes through an SM's port L2 gives: a pipeline, whose slower end decides.
    busy = mean_time("SM, busy", overlap, arithmetic=arithmetic, l1=memory["own"])
    # Atomics use L2 beside loads; loops in shared memory wait for their turn beside all else.
    parts = {"memory": memory_time(memory), **others}
    if not memory.get("queued", False):
        parts["sm"] = busy  # else it is in the blocks' waits already
    # The waits for loads stand in the queue too: they count once.
    front = mean_time("SM, issue and L1", overlap, arithmetic=arithmetic, l1=terms["l1"])
    front = mean_time(
        "SM, waiting for loads", FRONT_OVERLAP, issue_and_l1=front, stalls=terms["stalls"]
    )
    together = mean_time("all resources", OVERLAP, **parts)
    return np.asanyarray(np.maximum(np.maximum(front, in_turns), together))


def front_overlap(traffic: Traffic, chain: Chain, kernel: Kernel) -> Array | float:
    """Return the exponent between issue and L1.

    Parameters
    ----------
    traffic : Traffic
        For the share of L1's time that is shared memory's.
    chain : Chain
        For the share of a block's instructions that are in loops: between barriers outside of loops
        its warps go in step, which was not measured.
    kernel : Kernel
        Whether it was translated from PTX: what `FRONT_OVERLAP` was fitted to was not.
    """
    if not kernel.translated:
        return FRONT_OVERLAP
    shared = np.atleast_1d(traffic.shared_wavefronts)
    others = np.maximum(traffic.l1_data_wavefronts, traffic.l1_tag_wavefronts)
    part = shared / np.maximum(shared + others, 1.0)
    if kernel.barriers:
        part = part * chain.looped / np.maximum(chain.looped + chain.instructions, 1.0)
    # With as many digits as an explanation shows.
    shown: Array = np.round(FRONT_OVERLAP + (SHARED_OVERLAP - FRONT_OVERLAP) * part, 2)
    return shown


def beside_memory(
    terms: Mapping[str, Array], inputs: Mapping[str, Mapping[str, Any]]
) -> dict[str, Array]:
    """Return the time of atomics, in shared memory and in L2, and of starting blocks, by name."""
    found = {n: terms[n] for n in ("atomics", "shared-loops", "dispatch") if n in terms}
    if "missing" in inputs:
        found["atomics"] = np.atleast_1d(MISSING_TIME(**inputs["missing"]))
    if "stages" in inputs:
        del found["atomics"], found["shared-loops"]
        found["stages"] = np.atleast_1d(STAGES_TIME(**inputs["stages"]))
    return found


def busiest_pipe(terms: Mapping[str, Array]) -> Array:
    """Return the time of issue and the arithmetic pipes of blocks that work in steps [s].

    Every arithmetic instruction was issued first: the slowest of them, not their sum.
    """
    found = [terms[name] for name in ("issue", *PIPES) if name in terms]
    return np.asanyarray(largest(*found))
