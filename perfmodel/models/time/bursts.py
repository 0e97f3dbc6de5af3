"""Kernels of one or two waves: all blocks request their data at once, and the last SM decides.

If all blocks are resident from the start and load once, L2 receives all requests at once. It is
idle while the blocks execute the instructions before their loads, so that time adds to L2's time
instead of overlapping with it. L2 does not serve all SMs equally: without further blocks to balance
the load, the SM that is served last determines the end.

With more waves the blocks desynchronise and the effect shrinks with their number.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism
from perfmodel.models.time.resources import Resources

SERVED_LAST: Final = Coefficient("time.bursts.served_last")
BURST_TIME = Formula(
    name="time of blocks that load once, all at the same time, lower bound",
    unit="s",
    text="outside*(max(reads + (reads*late + more)/max(1, waves), pages*together) + own)",
    symbols={
        "reads": "time of L2 for the loads, without DRAM [s]",
        "late": "additional time of the SM that is served last, relative [1]",
        "more": "time of L1 for the loads of the busiest SM beyond the mean; while L2 is busy all "
        "SMs have the same of it [s]",
        "pages": "time of the busiest SM for address translations that miss its TLB [s]",
        "own": "time of a block before and after its loads, and latencies of its loads but the "
        "longest, which is in the start-up [s]",
        "waves": "waves of blocks: in the last one SMs end at different times [1]",
        "together": "1 where all blocks are resident at once, 0 from two waves on [1]",
        "outside": "1 where all loads are outside loops, else 0 [1]",
    },
    holds="blocks whose loads are outside loops, and hit in L2",
    source="derived: L2 is idle until the first loads arrive, and a block proceeds after the last "
    "of its own; gathers of 1 to 16 waves, single floats of 2 MiB, take 1.4 us more than L2 "
    "needs for them, whatever their number (measurements/gather, tables/times.csv)",
)


@mechanism(neutral=lambda found: np.zeros(1), evidence=["latency", "gather"])
def burst_time(found: Resources) -> Array:
    """Return the time of blocks that ask for their data at once, by `BURST_TIME` [s]."""
    execution, l1, chain = found.execution, found.sm.l1, found.waits.chain
    device, streams = execution.device, found.memory.l2.streams
    waves = execution.blocks / (device.sm_count * execution.resident)
    return BURST_TIME(
        reads=streams.read_bytes / streams.read_bandwidth,
        late=SERVED_LAST(device),
        more=l1.stages.fills * np.maximum(l1.balance - 1.0, 0.0) / device.sm_clock,
        pages=l1.stages.pages * l1.balance / device.sm_clock,
        own=chain.total - chain.start - chain.slowest,
        waves=waves,
        together=np.clip(2.0 - waves, 0.0, 1.0),
        outside=(found.queueing.share >= 1) * 1.0,
    )
