"""L2 tag lookups: the resource that loads, stores and atomics of one kernel share.

A slice looks up about 0.87 tags per clock. A load of a whole line, or of a single sector of it,
takes one lookup, an atomic one and a half; lookups of different accesses add up. Other waits
overlap between accesses: old values on their way back to the SM, and transactions that wait for the
previous one to the same sector.

Half of all lines have their home in the far L2 partition, and an atomic changes them there. The
near partition's copy of the same 64 B can then no longer be used, and the next load from the near
side has to cross again.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.atomics.global_atomics import AtomicTime
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import isolated_sector
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.traffic import Traffic

LOOKUPS_TIME = Formula(
    name="time of L2's tag lookups",
    unit="s",
    text="loads + stores + again + atomics",
    symbols={
        "loads": "time for loads and fills, without DRAM [s]",
        "stores": "time for stores [s]",
        "again": "time to reload what atomics have changed in the far partition [s]",
        "atomics": "time for atomics, without their other waits [s]",
    },
    holds="0 to 8 loads and an atomic, single sectors and whole lines, within 4%; stores not "
    "tested",
    source="derived: the profiler counts lookups in 88 to 97% of the clocks of all such mixtures",
)
CROSSING_AGAIN = Formula(
    name="loads that cross to the far L2 partition again because of atomics",
    unit="1",
    text="loads/2*2*changes/(2*changes + loads/2)",
    symbols={
        "loads": "lines that loads request from L2, beyond the first time [1]",
        "changes": "packets of atomics to the same buffer [1]",
    },
    holds="loads and atomics at random places of one buffer: 1/64 to 1 atomic per load within 2%",
    source="derived: half of the loads have their home in the far partition; among loads of 64 B "
    "from there and atomics to the same 64 B, in any order, this share has an atomic as its "
    "predecessor",
)
AGAIN_COST: Final = Coefficient("atomics.tag_lookups.again_cost")


def lookups(
    requests: Sequence[Requests],
    traffic: Traffic,
    atomics: Sequence[AtomicTime],
    looked_up_s: Array,
    loads_s: Array,
    stores_s: Array,
    device: Device,
) -> Array:
    """Return the time of all of L2's lookups [s].

    `looked_up_s` is that of all atomics together, `loads_s` and `stores_s` L2's for what loads ask
    for and misses bring in, and for what is stored.
    """
    again = np.zeros(1)
    for buffer in {requests[a.position].access.buffer for a in atomics}:
        again = again + _crossing_again(requests, traffic, buffer)
    lone = isolated_sector(device) * SECTOR / device.l2_read_bandwidth
    again_s = again * AGAIN_COST(device) * lone * (device.l2_partitions > 1)
    return LOOKUPS_TIME(loads=loads_s, stores=stores_s, again=again_s, atomics=looked_up_s)


def _crossing_again(requests: Sequence[Requests], traffic: Traffic, buffer: str) -> Array:
    """Return the loads of a buffer that cross for what atomics changed; see `CROSSING_AGAIN`."""
    loads, changes, span = np.zeros(1), np.zeros(1), np.zeros(1)
    for r, a in zip(requests, traffic.accesses, strict=True):
        if r.access.buffer != buffer:
            continue
        if a.kind == "load":
            loads = loads + a.l1_fill_sectors * a.lines / np.maximum(a.sectors, 1e-9)
        elif r.sharing is not None:
            changes = changes + r.requests * r.sharing.conflicts.packets
            span = np.maximum(span, r.sharing.addresses * np.maximum(r.sharing.pitch, 1.0))
    # What is read for the first time is on no side yet.
    loads = np.maximum(loads - span / LINE, 0.0)
    given = {"loads": loads, "changes": changes}
    some = (loads > 0) & (changes > 0)
    return np.where(some, CROSSING_AGAIN(**given) if np.any(some) else 0.0, 0.0)
