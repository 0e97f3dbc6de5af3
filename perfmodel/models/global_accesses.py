"""The global accesses of a launch, and the caches that serve them: what every memory stage sees."""

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.l2_control import DEFAULT_FETCH, DRIVERS_L2, L2Control
from perfmodel.models.grid.geometry import BlockShape
from perfmodel.models.launch.occupancy import Occupancy
from perfmodel.models.launch.waves import side_by_side
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.records import record

CacheState = Literal["cold", "warm"]


@record
class L2Start:
    """How L2 is set for a launch, and what it holds when that starts."""

    control: L2Control = DRIVERS_L2
    claimed: float = 0.0  # bytes that concurrent kernels keep in the set-aside [B]
    warm: bool = False  # whether L2 starts as the same launch just left it
    # whether what the launch has not left in L2 is others' lines: only profilers empty it
    full: bool = False
    # whether these were written: in a chain of launches each writes back what the last one left
    dirty: bool = False


@record
class GlobalAccesses:
    """The accesses of a launch to global and local memory, and where they run.

    Configurations are of one block shape; requests are by position, as everywhere below.
    """

    instance: Instance
    shape: BlockShape
    requests: Sequence[Requests]
    device: Device
    occupied: Occupancy
    start: L2Start

    @property
    def control(self) -> L2Control:
        """L2 control in effect."""
        return self.start.control

    @property
    def warm(self) -> bool:
        """Whether L2 starts as the same launch just left it."""
        return self.start.warm

    @property
    def granule(self) -> int:
        """The least that an L2 miss fetches from DRAM [B]."""
        asked = self.control.fetch_granularity
        return int(self.device.dram_access_size) if asked == DEFAULT_FETCH else asked

    @property
    def l1_size(self) -> Array:
        """Capacity of an SM's L1 [B]."""
        return np.asanyarray(self.occupied.l1_size, dtype=float)

    @property
    def l2_size(self) -> float:
        """Capacity of L2 [B]."""
        return 1.0 * self.device.l2_size

    @property
    def blocks(self) -> Array:
        """Blocks of the grid."""
        return np.asanyarray(self.instance.blocks, dtype=float)

    @property
    def wave(self) -> Array:
        """Blocks that run at a time on the whole GPU."""
        return np.asanyarray(np.minimum(self.blocks, self.device.sm_count * self.occupied.resident))

    @property
    def running(self) -> Array:
        """Share of the blocks that run at a time."""
        at_once = self.device.sm_count * self.occupied.resident
        return np.asanyarray(np.minimum(1.0, at_once / self.blocks))

    @property
    def sms(self) -> Array:
        """SMs that have a block."""
        return np.asanyarray(np.minimum(self.blocks, self.device.sm_count))

    @property
    def blocks_on_sm(self) -> Array:
        """Blocks that share an SM: fewer of a small launch."""
        return side_by_side(self.occupied.resident, self.blocks, self.device.sm_count)

    @property
    def blocks_on_gpc(self) -> Array:
        """Blocks in a row that the SMs of a GPC get."""
        return gpc_run(self.blocks, self.device)

    def of(self, *kinds: str) -> list[int]:
        """Return the positions of the accesses of some kinds, kind by kind: "load", "store"."""
        return [i for k in kinds for i, r in enumerate(self.requests) if r.access.kind == k]

    def by_buffer(self, chosen: Iterable[int]) -> dict[str, list[int]]:
        """Return positions by the buffer of their accesses."""
        found: dict[str, list[int]] = {}
        for i in chosen:
            found.setdefault(self.requests[i].access.buffer, []).append(i)
        return found


def gpc_run(blocks: Array, device: Device) -> Array:
    """Return how many blocks in a row the SMs of a GPC get.

    Measured: neighbours go to one GPC, the GPCs get as many each, and an SM of each pair first
    (measurements/l2, sets/places.txt).
    """
    return np.asanyarray(np.minimum(blocks, 1.0 * device.sm_count) / (device.gpcs or 1))
