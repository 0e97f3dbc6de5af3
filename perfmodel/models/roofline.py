"""Hierarchical roofline: ceilings of a GPU, ridge points, and intensities of a launch.

The attainable rate at a memory level is the smaller of the arithmetic peak and the level's
bandwidth times the operations per byte moved there. Bytes are those that the launch moves at L1, L2
and DRAM, so one kernel has an intensity per level. The ridge point is the intensity at which both
limits are equal.

It is an upper bound: latency, load imbalance and launch overhead are not in it.
"""

from typing import Final

from perfmodel.hardware.device import Device
from perfmodel.kernels.kernel import PRECISIONS
from perfmodel.models.formula import Formula
from perfmodel.models.requests.coalescing import SECTOR

ATTAINABLE = Formula(
    name="attainable rate",
    unit="FLOP/s",
    text="min(peak, intensity*bandwidth)",
    symbols={
        "peak": "arithmetic ceiling [FLOP/s]",
        "intensity": "operations per byte moved at this level [FLOP/B]",
        "bandwidth": "bandwidth of this level [B/s]",
    },
    holds="an upper bound",
    source="Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009; per level: Yang et al., "
    "Hierarchical Roofline Analysis for GPUs, 2020",
)
RIDGE = Formula(
    name="ridge point",
    unit="FLOP/B",
    text="peak/bandwidth",
    symbols={"peak": "arithmetic ceiling [FLOP/s]", "bandwidth": "of a memory level [B/s]"},
    holds="always",
    source="Williams, Waterman, Patterson, 2009",
)

COMPUTE: Final = {name: f"peak_{name}" for name in PRECISIONS}
"""Arithmetic ceilings by precision, and the figure of a device that holds each."""

MEMORY: Final = {
    "l1": "l1_bandwidth",
    "l2": "l2_read_bandwidth",
    "dram": "dram_bandwidth",
}
"""Memory levels from near to far, and the figure of a device that holds each bandwidth."""


def ceilings(device: Device) -> dict[str, tuple[str, float]]:
    """Return each ceiling's kind ("memory" or "compute") and value [B/s or FLOP/s], by name."""
    found: dict[str, tuple[str, float]] = {
        name: ("memory", float(getattr(device, figure))) for name, figure in MEMORY.items()
    }
    for name, figure in COMPUTE.items():
        value = getattr(device, figure)
        if value is not None:
            found[name] = ("compute", float(value))
    return found


def intensities(
    flop: float, l1_sectors: float, l2_sectors: float, dram: float
) -> dict[str, float | None]:
    """Return operations a byte at L1, L2 and DRAM; None where nothing moves or is computed."""
    moved = {"l1": l1_sectors * SECTOR, "l2": l2_sectors * SECTOR, "dram": dram}
    return {name: flop / b if b > 0 and flop > 0 else None for name, b in moved.items()}
