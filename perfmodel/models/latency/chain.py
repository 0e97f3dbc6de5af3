"""Chain: what one block does, one thing after the other: waits for loads, and instructions."""

from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.latency.batch import Batch
from perfmodel.records import record

ONCE_CLOCKS: Final = Coefficient("latency.chain.once_clocks")
LOOP_CLOCKS: Final = Coefficient("latency.chain.loop_clocks")
BESIDE_CLOCKS: Final = Coefficient("latency.chain.beside_clocks")


def lone_clocks(
    instance: Instance, once: Array, looped: Array, unroll: Array, device: Device
) -> tuple[Array, Array]:
    """Return the clocks of a lone warp, waits for memory apart, for what runs once and for loops.

    The kernel says, or it has `once` and `looped` instructions, in loops `unroll` side by side.
    """
    kernel = instance.kernel
    if kernel.paces:
        alone = in_loops = np.zeros(1)
        for pace in kernel.paces:
            clocks = np.asanyarray(instance.number(pace.clocks), dtype=float)
            if pace.loop is None:
                alone = alone + clocks
            else:
                in_loops = in_loops + clocks * instance.turns(pace.loop)
        return np.atleast_1d(alone), np.atleast_1d(in_loops)
    alone = ONCE_CLOCKS(device) * once
    if kernel.dependent:  # in loops too instructions wait for one another
        each = ONCE_CLOCKS(device) * np.ones(np.shape(unroll))
    else:
        each = (LOOP_CLOCKS(device) + BESIDE_CLOCKS(device) * (unroll - 1)) / unroll
    return np.asanyarray(alone), np.asanyarray(each * looped)


@record
class Chain:
    """What one block that has its SM to itself does, one thing after the other."""

    warps: Array  # of the block [1]
    start: Array  # from one block to the next [s]
    # instructions and looped: of a warp outside loops, and in them [1]
    instructions: Array
    looped: Array
    # alone and in_loops: clocks of a lone warp, waits for memory apart, for what runs once and for
    # loops; by the kernel if they are `known`
    alone: Array
    in_loops: Array
    known: bool
    barriers: Array | float  # clocks that a block's barriers take, outside of loops
    # clocks of one instruction of each warp of a scheduler's, between barriers; 0 without
    issue_clocks: Array
    batches: tuple[Batch, ...]
    clock: float  # SM clock [Hz]

    @property
    def loads(self) -> Array:
        """All batches of loads [s]."""
        return summed(b.waited * b.latency for b in self.batches)

    @property
    def waits(self) -> Array:
        """Batches of loads, one after the other [1]."""
        return summed(b.waited for b in self.batches)

    @property
    def far_waits(self) -> Array:
        """Those of them that reach DRAM [1]."""
        far = (b.waited * b.latencies.l1_miss * b.latencies.l2_miss for b in self.batches)
        return summed(far)

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
    def slowest(self) -> Array:
        """The slowest batch of loads [s]."""
        slowest: Array = np.zeros(1)
        for b in self.batches:
            slowest = np.maximum(slowest, np.where(b.count > 0, b.latency, 0.0))
        return slowest

    @property
    def before(self) -> Array:
        """Loads outside loops that wait for one another, what the ramp has of them apart [s]."""
        once = [b.waited * b.latency for b in self.batches if b.loop is None]
        longest = largest(np.zeros(1), *once)
        in_ramp = np.where(longest >= self.slowest, longest, 0.0)
        return np.asanyarray(summed(once) - in_ramp)
