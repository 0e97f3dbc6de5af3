"""The memory hierarchy of a GPU, from registers to DRAM, as one record a level."""

from typing import Literal

from perfmodel.hardware.device import Device
from perfmodel.hardware.figure import Figure
from perfmodel.records import record

Scope = Literal["thread", "block", "SM", "GPU"]
Manager = Literal["compiler", "programmer", "hardware", "allocator"]
Extent = Literal["SM", "GPU"]


@record
class Level:
    """One level of the memory hierarchy; None where the device has no such figure."""

    name: str  # ``"registers"``, ``"shared memory"``, ``"L1"``, ``"L2"`` or ``"DRAM"``
    scope: Scope  # who sees the same data there
    managed_by: Manager  # who decides what is kept there
    size_per: Extent  # what `size` counts: one SM's memory, or the whole GPU's
    # Capacity [B]. L1 and shared memory divide one pool: L1's size is the pool's.
    size: float | None
    bandwidth: float | None  # bandwidth of the whole GPU [B/s]; for DRAM the peak
    latency: float | None  # time of one dependent access [s]; for L2 a hit in the near partition
    # The same three as their sources give them.
    size_figure: Figure | None
    bandwidth_figure: Figure | None
    latency_figure: Figure | None


# Scope and management as in the table of "GPU Memory Hierarchy", which hold for every CUDA GPU;
# then the device's fields for size, bandwidth and latency.
_LEVELS: tuple[tuple[str, Scope, Manager, Extent, str, str, str], ...] = (
    (
        *("registers", "thread", "compiler", "SM"),
        *("register_file_size", "register_bandwidth", "register_latency"),
    ),
    (
        *("shared memory", "block", "programmer", "SM"),
        *("shared_per_sm", "shared_bandwidth", "shared_latency"),
    ),
    ("L1", "SM", "hardware", "SM", "l1_shared_size", "l1_bandwidth", "l1_latency"),
    ("L2", "GPU", "hardware", "GPU", "l2_size", "l2_read_bandwidth", "l2_latency"),
    ("DRAM", "GPU", "allocator", "GPU", "dram_size", "dram_bandwidth", "dram_latency"),
)


def hierarchy(device: Device) -> tuple[Level, ...]:
    """Return the five levels of `device`, nearest to the lanes first."""
    return tuple(
        Level(
            name,
            scope,
            managed_by,
            size_per,
            *(getattr(device, field) for field in fields),
            *(device.figures.get(field) for field in fields),
        )
        for name, scope, managed_by, size_per, *fields in _LEVELS
    )
