"""What moves between the levels of memory in a launch: the numbers of the flow picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.prediction.record import Prediction

BANK_ROW: Final = 128
"""Bytes that shared memory's 32 banks serve in a clock [B]."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes between two neighbouring levels.

    Attributes
    ----------
    near, far : str
        "SM", "L1", "L2" or "DRAM"; "shared" for shared memory.
    read, written, atomic : float
        Towards the SMs, away from them, and of atomics, which L2 resolves [B].
    bandwidth : float or None
        What the far side could deliver [B/s].
    """

    near: str
    far: str
    read: float
    written: float
    atomic: float
    bandwidth: float | None

    @property
    def total(self) -> float:
        """Everything that moves [B]."""
        return self.read + self.written + self.atomic


def flows(prediction: Prediction) -> tuple[Flow, ...]:
    """Return what moves between SMs and L1, L1 and L2, L2 and DRAM, and to shared memory if used.

    Sectors of 32 B up to L2; wavefronts of 128 B at shared memory, conflicts included.
    """
    traffic, device = prediction.traffic, prediction.details.device
    atomic = SECTOR * traffic["l2_atomic_sectors"]
    found = [
        Flow(
            "SM",
            "L1",
            SECTOR * traffic["global_load_sectors"],
            SECTOR * traffic["global_store_sectors"],
            atomic,
            device.l1_bandwidth,
        ),
        Flow(
            "L1",
            "L2",
            SECTOR * traffic["l2_read_sectors"],
            SECTOR * traffic["l2_write_sectors"],
            atomic,
            device.l2_read_bandwidth,
        ),
        Flow(
            "L2",
            "DRAM",
            traffic["dram_read_bytes"],
            traffic["dram_write_bytes"],
            0.0,
            device.dram_bandwidth,
        ),
    ]
    shared = BANK_ROW * traffic["shared_wavefronts"]
    if shared:
        found.append(Flow("SM", "shared", shared, 0.0, 0.0, device.shared_bandwidth))
    return tuple(found)


def kept(before: Flow, after: Flow) -> float | None:
    """Return the share of reads that the level between two flows serves itself; None without reads.

    Negative where it fetches more than it was asked for.
    """
    return 1 - after.read / before.read if before.read else None
