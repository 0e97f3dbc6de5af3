"""The simulator: a GPU's caches, through which launches run one after the other."""

import math
from itertools import islice
from typing import Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.l2_control import L2Control
from perfmodel.trace.addresses import Generator
from perfmodel.trace.cache import Engine, has_numba, mix
from perfmodel.trace.counts import Simulation
from perfmodel.trace.l2 import L2, UNDER_WAY, L2Shape, l2_shape
from perfmodel.trace.launch import Progress, Residency, Run
from perfmodel.trace.layout import ALIGNMENT, check_window, lay_out
from perfmodel.trace.program import batches, executions, program

BATCH: Final = 1 << 21
"""Lines worked on at a time, if requests touch as many as they can; counts do not depend on it."""

MOST_SETS: Final = 64
"""Most sets that one may stand for: of an H200's 30,720, several hundred are left."""

# Lines of warp requests a second, of whole kernels (benchmarks/simulator.py), by whether numba is
# there: 6 to 20 million with it, on two cores; more where L1 has most of them.
_RATES: Final = {True: 8.0e6, False: 0.5e6}
_LOOKED: Final = 16


class Simulator:
    """A GPU's caches, through which launches run one after the other.

    `seed`: decides which SMs are next to which L2 partition and which lines of a window are picked.
    `batch`: lines worked on at a time. `sets`: simulate one of so many sets of L2, which stands for
    the others.
    """

    def __init__(
        self,
        device: Device,
        control: L2Control | None = None,
        *,
        seed: int = 0,
        engine: Engine = "auto",
        batch: int = BATCH,
        sets: int = 1,
    ) -> None:
        if not 1 <= sets <= MOST_SETS:
            raise PerfmodelError(
                f"sets must be 1 to {MOST_SETS}, one of so many is simulated, not {sets}"
            )
        self.sets = sets
        self.device = device
        self.control = control or L2Control()
        self.seed = seed
        self.engine: Engine = engine
        self.batch = batch
        self.l2 = L2(self._l2_shape(0.0), engine)
        # Half of the SMs are next to either partition; which ones is not known.
        order = np.argsort(mix(np.arange(device.sm_count) + (seed << 20)), kind="stable")
        self.sides = np.empty(device.sm_count, dtype=np.int64)
        self.sides[order] = np.arange(device.sm_count) % device.l2_partitions

    def launch(
        self,
        instance: Instance,
        residency: Residency,
        *,
        share: float = 1.0,
        first: int = ALIGNMENT,
        progress: Progress | None = None,
    ) -> Simulation:
        """Run a launch, and return what moved.

        `instance`: one configuration. `share`: share of the launch to run, over 0 to 1; see
        `perfmodel.trace.sampling`. `first`: where its first buffer may start [B]. `progress`: told
        the share that is done.

        Raises `PerfmodelError` for a kernel without global accesses, arrays of configurations, a
        share that is not over 0 to 1, or a window that is not inside a buffer.
        """
        check_launch(instance, share)
        layout = lay_out(instance, first)
        check_window(self.control, layout)
        run = Run(self, instance, residency, layout)
        self.l2.shape = self._l2_shape(run.stores_under_way())
        return run.all(share, progress)

    def _l2_shape(self, stores_under_way: float) -> L2Shape:
        return l2_shape(
            self.device.l2_size,
            self.device.l2_partitions,
            set_aside=self.control.set_aside,
            fetch_granularity=self.control.fetch_granularity,
            epoch=UNDER_WAY * self.device.sm_count,
            one_in=self.sets,
            stores_under_way=stores_under_way,
        )


def check_launch(instance: Instance, share: float = 1.0) -> None:
    """Refuse a launch that has nothing to simulate."""
    kernel = instance.kernel
    if instance.shape:
        raise PerfmodelError(
            f"kernel {kernel.name!r} is simulated one configuration at a time, not for arrays of "
            f"shape {instance.shape}: give one value for each parameter"
        )
    if executions(program(instance)) == 0:
        raise PerfmodelError(
            f"kernel {kernel.name!r} has no addresses to simulate: it makes no access to global "
            "memory; give it one, or predict it with --traffic closed-form"
        )
    counted = [a.name for a in kernel.accesses if a.counted is not None]
    if counted:
        raise PerfmodelError(
            f"kernel {kernel.name!r} has no addresses to simulate for {', '.join(counted[:4])}: "
            "data decides them, and they were counted by emulation; use --traffic closed-form"
        )
    if not 0 < share <= 1:
        raise PerfmodelError(f"sample must be over 0 and up to 1, not {share:g}")


def warp_requests(instance: Instance) -> int:
    """Return the warp requests of a launch, if no guard holds any back."""
    threads = math.prod(int(n) for n in instance.block)
    blocks = math.prod(int(n) for n in instance.grid)
    return executions(program(instance)) * blocks * -(-threads // 32)


def lines_per_request(instance: Instance) -> float:
    """Return the lines of a launch over `warp_requests`, from some of the middle block's."""
    generator = Generator(instance, lay_out(instance))
    wave = generator.wave(np.array([generator.total_blocks // 2]))
    lines = requests = 0
    for batch in islice(batches(program(instance), _LOOKED), _LOOKED):
        for position in batch.accesses:
            for piece in range(generator.pieces(position)):
                asked = generator.requests(position, piece, wave, batch.loops, batch.iterations)
                lines += len(asked.line)
            requests += generator.warps * batch.iterations
    return lines / requests


def seconds(instance: Instance) -> float:
    """Return about how long it takes to simulate a whole launch [s]."""
    lines = max(1.0, lines_per_request(instance))
    return warp_requests(instance) * lines / _RATES[has_numba()]
