"""What a simulation counted: by access, by buffer and over time."""

from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from perfmodel.arrays import Array

SERIES: Final = 64
"""Points of the hit rates over time."""

ELSEWHERE: Final = "(elsewhere)"
"""Buffer that stands for all that earlier launches left in L2 and that this one has none of."""

BUFFER_FIELDS: Final = ("dram_read_sectors", "dram_write_sectors", "partial_sectors")
SERIES_FIELDS: Final = ("l1_sectors", "l1_hits", "l2_sectors", "l2_hits")


@dataclass(frozen=True, slots=True)
class AccessCount:
    """One access's part; sectors of 32 B, and estimates if the launch was sampled."""

    name: str
    buffer: str
    kind: str
    # Warp requests with a lane that takes part, and these lanes.
    requests: float
    lanes: float
    # Distinct ones of each request, summed.
    sectors: float
    lines: float
    l1_hit_sectors: float
    l2_sectors: float  # asked of L2; an atomic's once, however many passes it makes through them
    l2_near_sectors: float  # of which the partition next to the SM had these
    # Of which these waited for DRAM; what was read for them, fetch granularity included.
    l2_missed_sectors: float
    dram_read_sectors: float
    # Of atomics: distinct addresses of each request, and lanes at its busiest one, summed.
    atomic_addresses: float
    atomic_busiest: float
    # Of atomics: L2 sectors as the profiler counts them, lanes at one address in turn.
    atomic_passes: float

    @property
    def l2_passes(self) -> float:
        """L2 sectors as the profiler counts them."""
        return self.atomic_passes if self.kind == "atomic" else self.l2_sectors


ACCESS_FIELDS: Final = tuple(f.name for f in fields(AccessCount))[3:]
"""What is counted of an access: all but its name, buffer and kind."""


@dataclass(frozen=True, slots=True)
class BufferCount:
    """One buffer's DRAM traffic [B]; `partial_bytes` were read to complete partly written sectors.

    They are part of `dram_read_bytes`.
    """

    name: str
    dram_read_bytes: float
    dram_write_bytes: float
    partial_bytes: float


@dataclass(frozen=True, slots=True)
class Simulation:
    """What moved in a launch."""

    accesses: tuple[AccessCount, ...]  # global ones, in the kernel's order
    buffers: tuple[BufferCount, ...]
    dirty_left_bytes: float  # written, but still in L2 when the launch ended [B]
    # Sectors and hits of L1 and L2 in equal parts of the launch, in order.
    series: dict[str, tuple[float, ...]]
    sampled: float  # share of the launch that was counted; 1 is all of it
    # Of a sample: relative error of DRAM bytes and L2 sectors, whichever is larger: two standard
    # errors, from how its parts, and its sets, differ.
    error: float | None
    interrupted: bool  # whether it ended early: the counts are those until then
    seconds: float  # what the simulation took [s]
    sets: float = 1.0  # share of L2's sets that were simulated; each stands for as many others

    def total(self, field: str, kind: str | None = None) -> float:
        """Return the sum of a field over accesses, or over those of one kind."""
        return float(
            sum(getattr(a, field) for a in self.accesses if kind is None or a.kind == kind)
        )

    @property
    def dram_read_bytes(self) -> float:
        """Bytes read from DRAM."""
        return sum(b.dram_read_bytes for b in self.buffers)

    @property
    def dram_write_bytes(self) -> float:
        """Bytes written to DRAM before the launch ended."""
        return sum(b.dram_write_bytes for b in self.buffers)

    @property
    def l2_hit_rate(self) -> float:
        """Share of the SMs' L2 sectors, as the profiler counts them, that did not wait for DRAM."""
        asked = self.total("l2_passes")
        return 1 - self.total("l2_missed_sectors") / asked if asked else 0.0


class Sums:
    """A table of sums: what they are of by row, and fields by column."""

    def __init__(self, fields: tuple[str, ...], rows: int) -> None:
        self.fields = fields
        self.sums = np.zeros((rows, len(fields)), dtype=np.int64)

    def add(self, field: str, row: Array, amount: Array) -> None:
        """Add amounts to the rows named, one by one."""
        # Weights are summed as floats, exactly: they are small integers.
        found = np.bincount(row, weights=amount, minlength=len(self.sums))
        self.sums[:, self.fields.index(field)] += found.astype(np.int64)
