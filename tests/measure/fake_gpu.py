"""A GPU that is none: launches do nothing, times follow a rule, and failures are on order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perfmodel.measure.gpu import GpuError, GpuFacts, OutOfMemoryError

FACTS = GpuFacts(
    name="NVIDIA Fake",
    driver="580.0",
    cuda="13.0",
    compute_capability=(9, 0),
    sms=132,
    l2_bytes=50 << 20,
    persisting_max=31 << 20,
    window_max=128 << 20,
    memory_bytes=80 << 30,
    sm_clock_mhz=1980.0,
    memory_clock_mhz=2619.0,
    bus_bits=5120,
)


@dataclass
class FakeGpu:
    """Has the methods of `perfmodel.measure.cuda.CudaGpu`.

    `seconds` gives the time of a launch from its grid and whether it is cold; `fail` may raise.
    """

    seconds: Callable[[Any, bool], float] = lambda prepared, cold: 1e-5
    fail: Callable[[Any], None] = lambda prepared: None
    clock: Callable[[], float | None] = lambda: 1980.0
    facts: GpuFacts = FACTS
    memory_bytes: int = 80 << 30
    calls: list[str] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)

    def clock_mhz(self) -> float | None:
        return self.clock()

    def compile(self, source: str, defines: Mapping[str, str]) -> Any:
        return source, dict(defines)

    def function(self, program: Any, name: str, shared_bytes: int) -> Any:
        return name

    def allocate(self, size: int) -> int:
        if sum(self.held.values()) + size > self.memory_bytes:
            raise OutOfMemoryError("out of memory")
        handle = len(self.calls) + 1
        self.calls.append(f"allocate {size}")
        self.held[handle] = size
        return handle

    def free(self, memory: int) -> None:
        del self.held[memory]

    def fill(self, memory: int, size: int, fill: str, step: int, limit: int) -> None:
        self.calls.append(f"fill {fill}")

    def read(self, memory: int, dtype: Any, count: int) -> Any:
        return np.ones(count, dtype=dtype)

    def control_l2(self, plan: Any, window: int | None) -> None:
        self.calls.append(f"set-aside {plan.set_aside}")

    def prepare(self, function: Any, grid: Any, block: Any, shared: int, arguments: Any) -> Any:
        return function, grid, block, tuple(arguments)

    def launch(self, prepared: Any) -> None:
        self.fail(prepared)
        self.calls.append(f"launch {prepared[0]}")

    def time(self, prepared: Any, cold: bool) -> float:
        self.launch(prepared)
        return self.seconds(prepared, cold)

    def profile(self, on: bool) -> None: ...

    def recover(self) -> None:
        self.held.clear()
        self.calls.append("recover")

    def close(self) -> None:
        self.calls.append("close")


def failing(on: str) -> Callable[[Any], None]:
    """Return what makes launches of the kernel `on` fail."""

    def fail(prepared: Any) -> None:
        if prepared[0] == on:
            raise GpuError("illegal address")

    return fail
