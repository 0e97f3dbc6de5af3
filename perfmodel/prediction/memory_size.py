"""What a launch's buffers need of a device's memory, and whether it has as much."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.kernels import Instance

_NAMED: Final = 3
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


class TooLargeForMemoryError(PerfmodelError):
    """Buffers that a device's memory cannot hold together."""


def check_memory(instance: Instance, gpu: Device) -> None:
    """Refuse launches whose buffers in global memory together exceed a device's DRAM.

    Each buffer counts once. Of arrays of configurations, the one that needs most decides.

    Raises `TooLargeForMemoryError`, which names the largest buffers, their sum, and what the device
    has.
    """
    sizes = _sizes(instance)
    total = needed_bytes(instance)
    if not np.any(total > gpu.dram_size):
        return
    largest = int(np.argmax(total))
    each = {name: float(np.ravel(size)[largest % np.size(size)]) for name, size in sizes.items()}
    raise not_held(
        f"the buffers of {instance.kernel.name}",
        sorted(each.items(), key=lambda item: -item[1]),
        gpu,
        "make them smaller, or choose a GPU with more memory",
    )


def needed_bytes(instance: Instance) -> Array:
    """Return the bytes of a launch's buffers in global memory together, of each configuration."""
    return np.ravel(np.asanyarray(sum(_sizes(instance).values(), np.zeros(1))))


def _sizes(instance: Instance) -> dict[str, Array]:
    kept = [b.name for b in instance.kernel.buffers if b.space == "global"]
    return {
        name: np.asanyarray(instance.lengths[name], float)
        * np.asanyarray(instance.element_bytes[name])
        for name in kept
    }


def not_held(
    what: str, parts: Iterable[tuple[str, float]], gpu: Device, remedy: str
) -> TooLargeForMemoryError:
    """Return what to say of parts [B], largest first, whose sum exceeds a device's memory."""
    each = [(name, size) for name, size in parts if size > 0]
    named = " + ".join(f"{name} {capacity_text(size)}" for name, size in each[:_NAMED])
    more = f" + {len(each) - _NAMED} more" if len(each) > _NAMED else ""
    total = sum(size for _, size in each)
    return TooLargeForMemoryError(
        f"{what} need {capacity_text(total)} ({named}{more}), and {gpu.name} has "
        f"{capacity_text(gpu.dram_size)} of memory: {remedy}"
    )


def capacity_text(size: float) -> str:
    """Return a number of bytes in its largest binary unit, four digits of it: "79.25 GiB"."""
    power = 0
    while size >= 1024 and power < len(_UNITS) - 1:
        size, power = size / 1024, power + 1
    return f"{size:.4g} {_UNITS[power]}" if power else f"{size:.0f} B"
