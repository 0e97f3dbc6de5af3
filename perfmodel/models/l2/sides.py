"""L2 partitions: latency and bandwidth of accesses whose home is in the far partition.

L2 consists of two partitions, each next to half of the GPCs, and half of all sectors have their
home in the far one. A read of such a sector goes through the near partition, which keeps a copy
until other data replaces it; after that the read crosses again, though L2 still holds the data.
Writes always go to the home partition.

The bytes that cross are half of what SMs read and L2 does not hold, half of what they write, and
the hits whose near copy is gone. The link between the partitions has a bandwidth of its own. Its
time overlaps with L2's own time, less so where fills and writes alternate.
"""

from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.l2.residency import knee_misses
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.traffic import Traffic

HIT_LATENCY = Formula(
    name="mean latency of an L2 hit in the near and far partition",
    unit="s",
    text="share*near + (1 - share)*far",
    symbols={
        "share": "share of the hits that the near partition serves [1]",
        "near": "latency of a hit in the near partition [s]",
        "far": "latency of a hit in the far partition [s]",
    },
    holds="dependent loads; the near partition serves all of a set that fits half of L2",
    source="derived",
)
NEAR_LOST = Formula(
    name="share of re-reads that hit, but whose copy in the near partition is gone",
    unit="1",
    text="first/2 + second/4 + third/8 + later/8",
    symbols={
        "first": "miss share of near copies of lines read from this partition one pass ago [1]",
        "second": "the same, two passes ago [1]",
        "third": "the same, three passes ago [1]",
        "later": "the same, four passes ago; some are older [1]",
    },
    holds="tables read in order by SMs of both partitions",
    source="derived: each pass is read from this partition with probability 1/2, and a copy is "
    "evicted as normal lines are, see 'miss share of re-reads for lack of room': no coefficient "
    "of its own. 0.08 rms of fit rows and 0.05 of the others, with and without windows of "
    "hitRatio 1 (l2_all_sectors of data-reset, read-persistent and stream-persistent, "
    "measurements/suite, sweeps)",
)
CROSSING_TIME = Formula(
    name="time of the link between L2's partitions",
    unit="s",
    text="(fetched + written + hits)/2/bandwidth",
    symbols={
        "fetched": "bytes that the SMs read and L2 does not hold [B]",
        "written": "bytes that the SMs write [B]",
        "hits": "bytes of tables that hit in the other partition, over both directions [B]",
        "bandwidth": "bandwidth of the link, both directions together [B/s]",
    },
    holds="GPUs whose L2 has two partitions; half of all data has its home in the far one",
    source="derived: of 1 GiB that SMs read, 397 to 519 MiB cross by the profiler's count; where "
    "DRAM does not decide, that takes the time of 2.5 TB/s (measurements/suite, "
    "sweeps/read-persistent.csv)",
)

SIDES_TIME = Formula(
    name="time of L2 with the link between its partitions",
    unit="s",
    text="(own**p + crossing**p)**(1/p)",
    symbols={
        "own": "time of L2 [s]",
        "crossing": "time of the link between its partitions [s]",
        "p": "exponent: how sharply the longer of both decides [1]",
    },
    holds="as its parts",
    source="assumed form: both work concurrently; where misses and writes alternate, each waits "
    "for the other",
)
TURNS_SHARP: Final = Coefficient("l2.sides.turns_sharp")
ALONE_SHARP: Final = Coefficient("l2.sides.alone_sharp")


def sharpness(fetched: Array, written: Array, device: Device) -> Array:
    """Return `p` of `SIDES_TIME`, of bytes fetched from DRAM and bytes written."""
    share = fetched / np.maximum(fetched + written, 1.0)
    turns, alone = TURNS_SHARP(device), ALONE_SHARP(device)
    return np.asanyarray(turns / np.maximum(4 * share * (1 - share), turns / alone))


@mechanism(
    neutral=lambda used, capacity, resident, others, missing, device: np.zeros(1),
    evidence=["suite"],
)
def near_lost(
    used: Any, capacity: float, resident: Any, others: Any, missing: Any, device: Device
) -> Array:
    """Return the share of a table's re-reads that hit, but not on the near side.

    `resident` of its lines a set-aside keeps; of the others' re-reads `missing` of their share
    miss, of lines whose copy is gone, too.
    """
    d = np.maximum(np.asanyarray(used, dtype=float), 1.0)
    first, second, third, later = (knee_misses(d * k, capacity, device) for k in (1, 2, 3, 4))
    lost = NEAR_LOST(first=first, second=second, third=third, later=later)
    found = np.maximum(resident + others * (1 - missing), 1e-9)
    return np.asanyarray((resident * lost + others * np.maximum(lost - missing, 0.0)) / found)


def crossing_inputs(traffic: Traffic, device: Device) -> dict[str, Any]:
    """Return what `CROSSING_TIME` takes; without a figure of the GPU's, nothing that takes time."""
    first = again = hits = np.zeros(1)
    for table in traffic.tables:
        first = first + table.first
        again = again + table.again * table.misses
        hits = hits + table.again * (1 - table.misses) * table.crossing
    rest = np.maximum(traffic.dram_read_bytes - first - again, 0.0)
    fetched = np.minimum(rest + first + again, traffic.l2_read_sectors * SECTOR)
    known = device.l2_crossing_bandwidth
    return {
        "fetched": np.atleast_1d(fetched),
        "written": np.atleast_1d(traffic.l2_write_sectors * SECTOR),
        "hits": np.atleast_1d(hits),
        "bandwidth": np.inf if known is None or device.l2_partitions < 2 else known,
    }
