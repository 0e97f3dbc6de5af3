"""First DRAM reads of a cold launch: the SM that receives its data last ends last.

At the start of a cold launch all SMs read from DRAM at once, and the launch cannot end before the
slowest SM's first data has arrived. The largest of n independent latencies exceeds the mean in
proportion to log2(n). A block with many dependent reads averages over them, so per read the excess
falls: it grows with a fitted power, about the cube root, of their number.

Late blocks do no harm while other blocks are still being scheduled, so the time that scheduling the
grid takes beyond DRAM's is subtracted.
"""

from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.latency.batches import DRAM_SPREAD
from perfmodel.models.mechanism import mechanism, switched_off
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.traffic import Traffic

WAITS_POWER: Final = Coefficient("latency.cold_start.waits_power")
COLD_SHARE: Final = Coefficient("latency.cold_start.cold_share")
COLD_START = Formula(
    name="additional latency of the slowest SM's first DRAM reads",
    unit="s",
    text="max(0, spread*log2(n)*w**power - idle)",
    symbols={
        "spread": "additional latency of the slower of two DRAM reads [s]",
        "n": "SMs whose first blocks read at once [1]",
        "idle": "time to schedule all blocks beyond what DRAM needs for them, in which late first "
        "reads end; 0 where further reads follow them [s]",
        "w": "dependent DRAM reads of a block [1]",
        "power": "exponent: see coefficient waits_power [1]",
    },
    holds="launches whose blocks start together",
    source="derived for one read: the slowest of the SMs' first reads. Fitted form for many: "
    "random delays average out. `idle` derived: blocks end at the rate at which they are "
    "scheduled",
)


@mechanism(neutral=lambda *_, **__: np.zeros(1), evidence=["latency", "launch-overhead"])
def cold_start(
    traffic: Traffic, blocks: Array, device: Device, waits: Any = 1.0, idle: Any = 0.0
) -> Array:
    """Return how much later than by DRAM's latency the data of the slowest SM arrives [s].

    A warm launch has next to no reads from DRAM, or none to wait for. `waits` are the reads from
    DRAM that a block waits for, one after the other; for `idle` see `COLD_START`.
    """
    late = _late(blocks, device, waits, idle)
    fetched = traffic.dram_read_bytes
    return np.where(fetched > COLD_SHARE(device) * SECTOR * traffic.l2_read_sectors, late, 0.0)


def _late(blocks: Array, device: Device, waits: Any, idle: Any) -> Array:
    return COLD_START(
        spread=DRAM_SPREAD(device),
        n=np.maximum(np.minimum(blocks, 1.0 * device.sm_count), 1.0),
        w=np.maximum(waits, 1.0),
        power=WAITS_POWER(device),
        idle=np.where(np.asanyarray(waits) <= 1, idle, 0.0),
    )


def cold_start_of(blocks: Array, device: Device) -> Array:
    """Return the same of a launch that is known to read from DRAM, once a block [s]."""
    if "cold_start" in switched_off():
        return np.zeros(1)
    return _late(blocks, device, 1.0, 0.0)
