"""What a GPU says of itself, and the errors that it gives."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.errors import PerfmodelError

Memory = Any
"""Handle of an allocation; what it is concerns the layer alone."""
Function = Any
"""Handle of a compiled kernel."""


class GpuError(PerfmodelError):
    """A launch, an allocation or a compilation failed; the GPU can go on."""


class OutOfMemoryError(GpuError):
    """An allocation did not fit."""


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """What the driver says about the GPU, and what drives it."""

    # As the driver gives them; `cuda` is the version that the compiler has.
    name: str
    driver: str
    cuda: str
    compute_capability: tuple[int, int]
    sms: int
    # [B]; 0 where the GPU has none.
    l2_bytes: int
    persisting_max: int
    window_max: int
    memory_bytes: int
    # Largest clocks [MHz].
    sm_clock_mhz: float
    memory_clock_mhz: float
    bus_bits: int

    def numbers(self) -> dict[str, int]:
        """Return what the expressions of sweeps may use."""
        return {
            "sms": self.sms,
            "l2_bytes": self.l2_bytes,
            "persisting_max": self.persisting_max,
        }


def cycle(count: int) -> npt.NDArray[np.uint32]:
    """Return one random cycle over `count` places: element i holds the place after i.

    Used for pointer chases: every place is visited once before the first comes again.
    """
    order = np.random.default_rng(20261121).permutation(count).astype(np.uint32)
    following = np.empty_like(order)
    following[order] = np.roll(order, -1)
    return following
