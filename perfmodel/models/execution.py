"""Execution: a launch on a device, with all that stages before its time have found."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.kernel import Kernel
from perfmodel.models.launch.occupancy import Occupancy
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.records import record
from perfmodel.traffic import Traffic

Timing = Literal["profiler", "events", "graph"]


@record
class Execution:
    """A launch on a device, arrays over configurations."""

    instance: Instance
    requests: Sequence[Requests]  # of the global accesses, in order
    traffic: Traffic
    occupied: Occupancy
    device: Device  # with the clocks that it has under this kernel
    timing: Timing  # the kernel alone, between two events, or one of a replayed graph
    on_chip: Sequence[Requests] = ()  # of the shared accesses

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.instance.kernel

    @property
    def blocks(self) -> Array:
        """Blocks of the grid [1]."""
        return np.asanyarray(self.instance.blocks, dtype=float)

    @property
    def warps_per_block(self) -> Array:
        """Warps of a block [1]."""
        return np.ceil(np.asanyarray(self.instance.threads_per_block, dtype=float) / WARP_SIZE)

    @property
    def warps(self) -> Array:
        """Warps of the grid [1]."""
        return np.asanyarray(self.warps_per_block * self.blocks)

    @property
    def resident(self) -> Array:
        """Blocks that an SM has room for [1]."""
        return self.occupied.resident
