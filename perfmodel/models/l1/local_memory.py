"""Local memory (register spills and per-thread arrays): what it asks of L1, L2 and DRAM.

Local memory is interleaved so that the same word of a warp's 32 lanes is contiguous: one word per
lane is one request of 4 sectors. Stores write through L1 to L2; loads hit what the thread has
stored or read before, as long as it was not evicted. Threads that start later reuse the addresses
of finished ones, so the working set is that of the resident threads, in L1 per SM and in L2 for the
whole GPU.

The share of loads that a cache serves falls as a power of the working set over its capacity.
Written lines start to be evicted to DRAM where the working set of all SMs outgrows L2.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.kernels.instance import Instance
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import resident_share
from perfmodel.records import record

HIT_SHARE = Formula(
    name="hit rate of local loads in a cache",
    unit="1",
    text="min(1, (scale*c/f)**power)",
    symbols={
        "c": "capacity of the cache [B]",
        "f": "local memory of the resident threads that share it [B]",
        "scale": Coefficient("l1.local_memory.hit_scale"),
        "power": Coefficient("l1.local_memory.hit_power"),
    },
    holds="arrays that are read more than once",
    source="fitted form",
)
WRITTEN_LOW: Final = Coefficient("l1.local_memory.written_low")
WRITTEN_HIGH: Final = Coefficient("l1.local_memory.written_high")


@record
class LocalTraffic:
    """What one access to local memory asks of L2 and DRAM.

    Sectors that L2 is asked for, those of them that it has not, and DRAM bytes read and written.
    """

    fills: Array
    misses: Array
    read: Array
    written: Array


def is_local(instance: Instance, r: Requests) -> bool:
    """Say whether an access goes to local memory."""
    return instance.kernel.buffer(r.access.buffer).space == "local"


def local_traffic(accesses: GlobalAccesses, r: Requests) -> LocalTraffic:
    """Work out what an access to local memory asks of the caches."""
    device, l2_size, blocks = accesses.device, accesses.l2_size, accesses.blocks
    size = buffer_bytes(accesses.instance, r)
    on_sm = size / blocks * accesses.blocks_on_sm
    at_once = size / blocks * accesses.wave
    sectors = np.asanyarray(r.sectors, dtype=float)
    if r.access.kind == "store":
        knee = WRITTEN_LOW(device), WRITTEN_HIGH(device)
        leaves = 1 - resident_share(at_once, l2_size, knee)
        none = sectors * 0.0
        return LocalTraffic(sectors, none, none, sectors * SECTOR * leaves)
    # Where lanes read different words, the sectors' other words are read soon after.
    wanted = np.minimum(sectors, r.wanted_bytes / SECTOR)
    fills = wanted * (1 - HIT_SHARE.on(device, c=accesses.l1_size, f=np.maximum(on_sm, 1.0)))
    misses = fills * (1 - HIT_SHARE.on(device, c=l2_size, f=np.maximum(at_once, 1.0)))
    return LocalTraffic(fills, misses, misses * SECTOR, misses * 0.0)
