"""Chain: what one block does, one thing after the other: waits for loads, and instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.extremes import largest
from perfmodel.models.formula import Formula
from perfmodel.models.latency.batch import Batch

ONCE_CLOCKS: Final = Coefficient("latency.chain.once_clocks")
LOOP_CLOCKS: Final = Coefficient("latency.chain.loop_clocks")
BESIDE_CLOCKS: Final = Coefficient("latency.chain.beside_clocks")
BLOCK_OVERHEAD = Formula(
    name="clocks of a block besides its loads and instructions",
    unit="clocks",
    text="start + warps*(warp + profiler) + max(0, warps - 4)*issue",
    symbols={
        "start": "clocks from one block to the next [clocks]",
        "warps": "warps of the block [1]",
        "warp": "clocks to start each warp [clocks]",
        "profiler": "clocks that a profiler adds for each warp of all blocks of the SM [clocks]",
        "issue": "clocks by which each warp beyond the first of every scheduler is later [clocks]",
    },
    holds="blocks that follow one another on an SM",
    source="fitted form: lifetimes of empty blocks",
)


@dataclass(frozen=True, slots=True)
class BlockOverhead:
    """What a block takes besides its loads and instructions, as `BLOCK_OVERHEAD` has it."""

    warps: Array  # warps of the block [1]
    # start and warp: from one block to the next, and to start each warp [clocks]
    start: float = 0.0
    warp: float = 0.0
    profiler: Array | float = 0.0  # what a profiler adds for each warp [clocks]
    # by how much each warp beyond the first of every scheduler is later [clocks]
    issue: Array | float = 0.0

    @property
    def clocks(self) -> Array:
        """All of it [clocks]."""
        return np.asanyarray(
            BLOCK_OVERHEAD(
                start=self.start,
                warps=self.warps,
                warp=self.warp,
                profiler=self.profiler,
                issue=self.issue,
            )
        )


@dataclass(frozen=True, slots=True)
class InstructionClocks:
    """Clocks from one instruction of a lone warp to the next, loads aside."""

    # once and loop: in code that runs once, and in a loop [clocks]
    once: float
    loop: float
    beside: float  # in a loop for each further load in flight beside the first [clocks]


def instruction_clocks(device: Device) -> InstructionClocks:
    """Return the clocks from one instruction of a lone warp to the next."""
    return InstructionClocks(ONCE_CLOCKS(device), LOOP_CLOCKS(device), BESIDE_CLOCKS(device))


NO_CLOCKS: Final = InstructionClocks(0.0, 0.0, 0.0)
"""Of no instructions."""


@dataclass(frozen=True, slots=True)
class Chain:
    """What one block that has its SM to itself does, one thing after the other."""

    overhead: BlockOverhead
    instructions: Array  # instructions of a warp outside loops
    looped: Array  # instructions of a warp in loops
    unroll: Array  # loads in flight a load of the loop's text: how many iterations run side by side
    missing: Array  # share of the SMs' L2 reads that go to DRAM
    batches: tuple[Batch, ...]
    clock: float  # SM clock [Hz]
    lone: InstructionClocks  # of a lone warp, where the kernel does not say
    # whether the instructions of loops wait for one another, as those of code that runs once
    dependent: bool = False
    # schedulers that issue a block's warps between barriers; 0 where it has none
    schedulers: float = 0.0
    # once and paced: clocks of a lone warp, waits for memory apart, for what runs once and for
    # loops; None where the kernel does not say
    once: Array | None = None
    paced: Array | None = None
    barriers: Array | float = 0.0  # clocks that a block's barriers take, outside of loops
    # clocks from one instruction to the next of warps that contend for a scheduler and its pipes
    contention: Array | float = 1.0

    @property
    def start(self) -> Array:
        """From one block to the next [s]."""
        return np.asanyarray(self.overhead.clocks / self.clock)

    @property
    def clocks_in_loops(self) -> Array:
        """Clocks from one instruction of a loop to the next, a warp's other loads beside it."""
        if self.dependent:
            return np.asanyarray(self.lone.once * np.ones(np.shape(self.unroll)))
        beside = self.lone.beside * (self.unroll - 1)
        return np.asanyarray((self.lone.loop + beside) / self.unroll)

    @property
    def loads(self) -> Array:
        """All batches of loads [s]."""
        return np.asanyarray(sum((b.waited * b.latency for b in self.batches), np.zeros(1)))

    @property
    def waits(self) -> Array:
        """Batches of loads, one after the other [1]."""
        return np.asanyarray(sum((b.waited for b in self.batches), np.zeros(1)))

    @property
    def far_waits(self) -> Array:
        """Those of them that reach DRAM [1]."""
        far = (b.waited * b.latencies.l1_miss * b.latencies.l2_miss for b in self.batches)
        return np.asanyarray(sum(far, np.zeros(1)))

    @property
    def total(self) -> Array:
        """The whole chain [s]."""
        return np.asanyarray(self.start + self.between / self.clock + self.loads)

    @property
    def between(self) -> Array:
        """Clocks of the instructions between loads: a warp's own, or the turns of all of them."""
        own = self.alone + self.in_loops + self.barriers
        return np.asanyarray(np.maximum(own, self.issue_clocks * (self.instructions + self.looped)))

    @property
    def alone(self) -> Array:
        """Clocks of a lone warp for what runs once."""
        if self.once is not None:
            return self.once
        return np.asanyarray(self.lone.once * self.instructions)

    @property
    def in_loops(self) -> Array:
        """Clocks of a lone warp for its loops."""
        if self.paced is not None:
            return self.paced
        return np.asanyarray(self.clocks_in_loops * self.looped)

    @property
    def issue_clocks(self) -> Array:
        """Clocks of one instruction of each warp of a scheduler's, between barriers; 0 without."""
        one = self.schedulers or np.inf
        return np.asanyarray(self.overhead.warps / one * self.contention)

    @property
    def slowest(self) -> Array:
        """The slowest batch of loads [s]."""
        slowest: Array = np.zeros(1)
        for b in self.batches:
            slowest = np.maximum(slowest, np.where(b.count > 0, b.latency_first, 0.0))
        return slowest

    @property
    def before(self) -> Array:
        """Loads outside loops that wait for one another, what the ramp has of them apart [s]."""
        once = [b.waited * b.latency for b in self.batches if b.loop is None]
        longest = largest(np.zeros(1), *once)
        in_ramp = np.where(longest >= self.slowest, longest, 0.0)
        return np.asanyarray(sum(once, np.zeros(1)) - in_ramp)

    @property
    def ramp(self) -> Array:
        """What every launch pays once: a block's warps and its slowest batch of loads [s]."""
        warps: Array = self.overhead.warps * self.overhead.warp / self.clock
        return warps + self.slowest
