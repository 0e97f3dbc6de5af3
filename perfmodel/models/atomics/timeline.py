"""Timeline of a few atomics: all at one address, against one at an address each."""

from __future__ import annotations

from typing import Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.hardware.device import Device
from perfmodel.models.atomics.global_atomics import AtomicTime
from perfmodel.models.l2.slices import PASS_TIME
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.records import record

REQUESTS: Final = 4
"""Requests that are drawn: half of them from the near side of L2, half from the far."""


@record
class Turn:
    """One warp's request on its way through L2, from SMs on the far side or not.

    When it arrives at the slice, its passes begin, and they are done, from its start [s].
    """

    far: bool
    arrives: float
    starts: float
    ends: float


@record
class Timeline:
    """The same requests, of so many additions each, twice.

    At one address in single file, and side by side at an address each with slices of their own.
    """

    lanes: float
    single_file: tuple[Turn, ...]
    side_by_side: tuple[Turn, ...]

    @property
    def adding(self) -> tuple[float, float]:
        """Time from the first pass to the last, in single file and side by side [s].

        Side by side it is that of one request: the others do not wait for it.
        """
        first, last = self.single_file[0], self.single_file[-1]
        alone = self.side_by_side[0]
        return last.ends - first.starts, alone.ends - alone.starts


def timeline(device: Device, requests: list[Requests], atomics: list[AtomicTime]) -> Timeline:
    """Return the timeline of a kernel's first global atomic.

    Raises
    ------
    PerfmodelError
        If the kernel has none.
    """
    if not atomics:
        raise PerfmodelError(
            "a timeline shows atomics on global memory, and this kernel has none: choose one such "
            "as atomic-add"
        )
    found = atomics[0]
    r = requests[found.position]
    lanes = float(np.ravel(r.active_lanes / np.maximum(r.requests, 1e-9))[0])
    # One address: a pass for each lane, and each waits for the one before.
    slot, turn = (float(np.ravel(x)[0]) for x in (found.slice_pass.slot, found.slice_pass.turn))
    service = lanes * float(PASS_TIME(slot=slot, turn=turn, s=1.0, again=1.0))
    near = device.l2_latency / 2
    far = (device.l2_far_latency or device.l2_latency) / 2
    ways = [(i >= REQUESTS // 2, far if i >= REQUESTS // 2 else near) for i in range(REQUESTS)]
    queue: list[Turn] = []
    for is_far, arrives in ways:
        starts = max(arrives, queue[-1].ends) if queue else arrives
        queue.append(Turn(is_far, arrives, starts, starts + service))
    apart = tuple(Turn(is_far, at, at, at + service) for is_far, at in ways)
    return Timeline(lanes, tuple(queue), apart)
