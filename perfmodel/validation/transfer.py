"""Transfer: what one GPU's measurements say of another, from that one's data sheet alone.

The target keeps what its data sheet and architecture fix: SMs, clock, lanes, limits, capacities,
peak rates and the DRAM's peak bandwidth. All that must be measured comes from the teacher, in the
unit in which it is expected to carry over: what happens on an SM or in L2 in clocks, what happens
in DRAM in seconds and as a share of the peak, the launch in seconds.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from perfmodel.hardware import Device, Figure

IN_CLOCKS: Final = ("shared_latency", "l1_latency", "l2_latency", "l2_far_latency")
"""Latencies that take as many SM clocks on both."""
PER_SM_CLOCK: Final = (
    "l2_read_bandwidth",
    "l2_write_bandwidth",
    "l2_crossing_bandwidth",
)
"""Bandwidths that are as many bytes a clock and SM on both."""
PER_CLOCK: Final = ("block_dispatch_rate",)
"""Rates that are as many a clock on both."""
SAME: Final = (
    "dram_read_efficiency",
    "dram_write_efficiency",
    "dram_copy_efficiency",
    "launch_floor",
    "event_floor",
)
"""Shares and times that are the same on both."""


def transferred(target: Device, teacher: Device) -> Device:
    """Return the target with everything that must be measured taken over from the teacher."""
    clocks = teacher.sm_clock / target.sm_clock
    size = (target.sm_count * target.sm_clock) / (teacher.sm_count * teacher.sm_clock)
    taught: dict[str, float] = {}
    for names, factor in (
        (IN_CLOCKS, clocks),
        (PER_SM_CLOCK, size),
        (PER_CLOCK, 1 / clocks),
        (SAME, 1.0),
    ):
        for name in names:
            value = getattr(teacher, name)
            if value is not None:
                taught[name] = value * factor
    # On the way to DRAM a load crosses L2, in clocks; DRAM itself keeps its own time.
    beyond_l2 = teacher.dram_latency - teacher.l2_latency
    taught["dram_latency"] = taught["l2_latency"] + beyond_l2
    figures = {**target.figures, **{n: _figure(n, v, teacher) for n, v in taught.items()}}
    changes: dict[str, Any] = taught
    return replace(
        target,
        title=f"{target.title}, as a {teacher.name} predicts it",
        figures=MappingProxyType(figures),
        **changes,
    )


def _figure(name: str, value: float, teacher: Device) -> Figure:
    unit = {"seconds": "s", "bytes/second": "B/s", "blocks/second": "blocks/s", "ratio": "1"}
    return Figure(
        value=value,
        unit=unit[teacher.figures[name].dimension],
        kind="derived",
        source=f"transfer from {teacher.name}",
    )
