"""Atomics together with loads and stores: what of their times overlaps.

Atomics and loads share L2, and requests that queue behind a busy slice are delayed, so their times
neither add nor overlap in full: they combine as a power mean with a fitted exponent. Misses of
atomics add to the atomics' own time as the root of the sum of squares.

Shared-memory atomics come before the global ones that add up each block's result. The two form a
pipeline of two stages over the waves of blocks: the slower stage decides, plus one wave of the
other.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.atomics.global_atomics import AtomicTime, atomic_times
from perfmodel.models.atomics.several_atomics import several_times
from perfmodel.models.atomics.shared_loops import shared_loops
from perfmodel.models.atomics.shared_swaps import shared_swaps
from perfmodel.models.atomics.tag_lookups import lookups
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.latency.block_waits import BlockWaits
from perfmodel.models.launch.waves import Balance
from perfmodel.models.mechanism import mechanism
from perfmodel.models.time.memory_times import DramTime, L2Time
from perfmodel.records import record

LOADED_TIME = Formula(
    name="time of bandwidth and atomics, lower bound",
    unit="s",
    text="(bandwidth**p + atomics**p)**(1/p)",
    symbols={
        "bandwidth": "time of the slower of L2 and DRAM, without misses of atomics [s]",
        "atomics": "time of global atomics and of their misses [s]",
        "p": "exponent: how sharply the longer of both decides [1]",
    },
    holds="requests that wait for a busy slice delay those behind them; latencies of loads overlap",
    source="fitted form: see coefficient overlap",
)
ATOMICS_OVERLAP: Final = Coefficient("time.atomic_terms.overlap")
STAGES_TIME = Formula(
    name="time of atomics in shared memory followed by global ones",
    unit="s",
    text="max(shared, l2) + min(shared, l2)/waves",
    symbols={
        "shared": "time of atomics in shared memory [s]",
        "l2": "time of global atomics [s]",
        "waves": "waves of blocks [1]",
    },
    holds="blocks of a wave progress alike; those of other waves overlap",
    source="derived: a pipeline of two stages; block-privatised sums (measurements/suite, "
    "sweeps/privatized.csv, fit rows)",
)
MISSING_TIME = Formula(
    name="time of atomics and their misses",
    unit="s",
    text="sqrt(l2**2 + dram**2)",
    symbols={
        "l2": "time of global atomics [s]",
        "dram": "DRAM's time for their misses [s]",
    },
    holds="cold tables of 16 to 256 MiB at random places within 17%",
    source="fitted form: misses delay hits, 45.5 us where all hits take 42.1 and DRAM's reads 8, "
    "15.2 where these are 12.4 and 7.6 (measurements/atomics, contended/tables.csv)",
)


@record
class GlobalAtomics:
    """All global atomics of a launch."""

    each: tuple[AtomicTime, ...]  # each on its own
    time_s: Array  # all of them [s]
    lookups_s: Array  # their lookups in L2 [s]
    missed_s: Array  # DRAM's time to read what they miss [s]
    with_misses_s: Array  # all of them, and what they miss [s]


@record
class Atomics:
    """Atomics of a launch; None for what it has not."""

    in_l2: GlobalAtomics | None
    shared_s: Array | None  # loops of atomics in shared memory [s]
    waves: Array  # waves of blocks [1]

    def beside_memory(self, dispatch_s: Array | None) -> dict[str, Array]:
        """Return the times of what works beside memory: atomics, and starting blocks [s]."""
        starting = {} if dispatch_s is None else {"dispatch": dispatch_s}
        if self.in_l2 is None:
            return starting if self.shared_s is None else {"shared": self.shared_s, **starting}
        if self.shared_s is None:
            return {"atomics": self.in_l2.with_misses_s, **starting}
        both = STAGES_TIME(
            shared=self.shared_s, l2=self.in_l2.time_s, waves=np.maximum(self.waves, 1.0)
        )
        return {**starting, "stages": np.atleast_1d(both)}


def atomics_of(
    execution: Execution, balance: Balance, dram: DramTime, waits: BlockWaits
) -> Atomics:
    """Return the time of a launch's atomics."""
    return Atomics(
        in_l2=_global_atomics(execution, balance, dram),
        shared_s=_shared_loops(execution, waits),
        waves=waits.latency.waves,
    )


def _global_atomics(execution: Execution, balance: Balance, dram: DramTime) -> GlobalAtomics | None:
    each = atomic_times(execution, balance.load)
    if not each:
        return None
    time_s, lookups_s = several_times(each, execution.requests, execution.device)
    missed = dram.time_s * execution.traffic.atomic_dram_share
    with_misses = np.atleast_1d(MISSING_TIME(l2=time_s, dram=missed))
    return GlobalAtomics(tuple(each), time_s, lookups_s, missed, with_misses)


def _shared_loops(execution: Execution, waits: BlockWaits) -> Array | None:
    """Return the time of loops of shared atomics, the compiler's and sources'; None without [s]."""
    given = (execution, waits.latency.waves, waits.concurrent)
    times = [t for t in (shared_loops(*given), shared_swaps(*given)) if t is not None]
    return np.asanyarray(sum(times)) if times else None


@mechanism(neutral=lambda *_: np.zeros(1), evidence=["atomics"])
def loaded_time(execution: Execution, atomics: GlobalAtomics, bandwidth_s: Array) -> Array:
    """Return the time of atomics beside what loads and stores move, by `LOADED_TIME` [s].

    `bandwidth_s` is the time that the slower of L2 and DRAM needs [s].
    """
    traffic = execution.traffic
    # What atomics themselves miss and leave to be written is in their own time.
    moves = traffic.l2_read_sectors + traffic.l2_write_sectors > 0
    moved = np.maximum(bandwidth_s - atomics.missed_s, 0.0) * moves
    overlap = ATOMICS_OVERLAP(execution.device)
    return LOADED_TIME(bandwidth=moved, atomics=atomics.with_misses_s, p=overlap)


def lookups_time(execution: Execution, atomics: GlobalAtomics, l2: L2Time) -> Array:
    """Return the time of L2's lookups for loads, stores and atomics, by `LOOKUPS_TIME` [s]."""
    return lookups(
        *(execution.requests, execution.traffic, atomics.each, atomics.lookups_s),
        *(l2.loads_s, l2.stores_s, execution.device),
    )
