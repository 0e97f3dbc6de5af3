"""The GPU as the runner sees it: a small protocol, and the errors that a real one gives.

`perfmodel.measure.cuda` implements it through NVIDIA's Python packages; tests have a fake.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from perfmodel.errors import PerfmodelError
from perfmodel.kernels.l2_control import L2Control

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


class Gpu(Protocol):
    """One GPU. Every method raises `GpuError` if it fails."""

    @property
    def facts(self) -> GpuFacts:
        """What the driver says about it."""

    def clock_mhz(self) -> float | None:
        """Return the SM clock now [MHz], or None where that cannot be read."""

    def compile(self, source: str, defines: Mapping[str, str]) -> Any:
        """Return a program: a source file of the package, compiled with macros."""

    def function(self, program: Any, name: str, shared_bytes: int) -> Function:
        """Return a kernel of a program, allowed so much dynamic shared memory [B]."""

    def allocate(self, size: int) -> Memory:
        """Return `size` bytes."""

    def free(self, memory: Memory) -> None:
        """Give memory back."""

    def fill(self, memory: Memory, size: int, fill: str, step: int, limit: int) -> None:
        """Write what `fill` (see `perfmodel.measure.sweep.FILLS`) means into memory."""

    def read(self, memory: Memory, dtype: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
        """Return the first `count` elements of memory."""

    def control_l2(self, control: L2Control, window: Memory | None) -> None:
        """Set set-aside, window and fetch granularity for the launches that follow."""

    def prepare(
        self,
        function: Function,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        arguments: Sequence[tuple[str, Any]],
    ) -> Any:
        """Return a launch, ready to go; the value of a "buffer" argument is its memory."""

    def launch(self, prepared: Any) -> None:
        """Launch and wait."""

    def time(self, prepared: Any, cold: bool) -> float:
        """Launch between two events; return the time between them [s].

        Cold empties L2 of everything that the launch could want.
        """

    def profile(self, on: bool) -> None:
        """Tell a profiler around this process to count from here on, or no longer."""

    def recover(self) -> None:
        """Make the GPU usable again after an error; all memory and programs are gone."""

    def close(self) -> None:
        """Give everything back."""


def cycle(count: int) -> npt.NDArray[np.uint32]:
    """Return one random cycle over `count` places: element i holds the place after i.

    Used for pointer chases: every place is visited once before the first comes again.
    """
    order = np.random.default_rng(20261121).permutation(count).astype(np.uint32)
    following = np.empty_like(order)
    following[order] = np.roll(order, -1)
    return following
