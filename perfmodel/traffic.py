"""Traffic: what moves at each level of the memory hierarchy, whoever counted it.

One record with two producers, the closed forms and the simulator, so that either can feed the time
model and the two can be compared. Every number is an array over configurations.
"""

from dataclasses import field, fields
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.records import record


@record
class AccessTraffic:
    """One access's part of the traffic: requests and what they cost, summed over the launch."""

    name: str
    buffer: str
    kind: str
    # requests, sectors and lines: warp requests; distinct sectors and lines of each, summed
    requests: Array
    sectors: Array
    lines: Array
    wanted_bytes: Array  # bytes that lanes asked for, each lane counted
    # data_wavefronts and tag_wavefronts: clocks in L1's two stages
    data_wavefronts: Array
    tag_wavefronts: Array
    # l1_fill_sectors and dram_bytes: what came from L2 and from DRAM, as it is uncompressed (for
    # stores: went to L2; DRAM is counted as a whole)
    l1_fill_sectors: Array
    dram_bytes: Array
    sampled: float | None  # share of the launch that was counted; None for a closed form
    # again_l1 and again_l2: of data that an earlier loop has touched, the share that L1 no longer
    # has, and of that the share that L2 no longer has; 1 for other data
    again_l1: Array | float = 1.0
    again_l2: Array | float = 1.0
    # what L2 was asked for, of loads: less where reads of several SMs are merged; None: all
    l2_read_sectors: Array | None = None
    # of neighbouring blocks, on the SMs of a GPC, how many ask for the same sectors, where they
    # were followed; None where strides say it
    alike: Array | float | None = None

    @property
    def asked_sectors(self) -> Array:
        """Sectors that L2 was asked for."""
        return self.l1_fill_sectors if self.l2_read_sectors is None else self.l2_read_sectors


_NO_NUMBERS: Final = (
    *("accesses", "tables", "cold", "fetch_bytes"),
    *("early_share", "early_read_bytes"),
)


@record
class Traffic:
    """Traffic of a whole launch."""

    # global_load_requests, global_load_sectors, global_store_requests and global_store_sectors:
    # warp requests to global memory and their sectors, as the profiler counts them
    global_load_requests: Array
    global_load_sectors: Array
    global_store_requests: Array
    global_store_sectors: Array
    global_atomic_requests: Array
    l1_hit_sectors: Array  # load sectors found in L1
    # l2_read_sectors and l2_write_sectors: sectors that L2 is asked for, as the profiler counts
    # them: reads that several SMs make of the same at a time once
    l2_read_sectors: Array
    l2_write_sectors: Array
    l2_atomic_sectors: Array
    l2_hit_rate: Array  # share of the SMs' L2 sectors that need no DRAM read
    dram_read_bytes: Array
    dram_write_bytes: Array
    # l1_data_wavefronts and l1_tag_wavefronts: clocks of L1's stages over all SMs, without fills
    l1_data_wavefronts: Array
    l1_tag_wavefronts: Array
    shared_requests: Array
    shared_wavefronts: Array
    dram_read_cost: Array  # mean cost of a DRAM read byte, relative to dense reads (1 or more)
    # mean cost of a written L2 sector, relative to a sector of a full line (1 or more)
    l2_write_cost: Array
    accesses: tuple[AccessTraffic, ...]
    # mean cost of a DRAM write byte, relative to dense writes (1 or more)
    dram_write_cost: Array | float = 1.0
    # L2 sectors read of tables, buffers that are read again and again
    l2_repeated_sectors: Array = field(default_factory=lambda: np.zeros(1))
    # writeback_bytes and writeback_streams: what write-backs lose with a set-aside, as bytes that
    # an H200's DRAM could move, 0 without one; bytes of streams read from DRAM for each byte
    # written, 1 at most
    writeback_bytes: Array = field(default_factory=lambda: np.zeros(1))
    writeback_streams: Array = field(default_factory=lambda: np.zeros(1))
    # share of DRAM's time in which it reads what atomics miss
    atomic_dram_share: Array = field(default_factory=lambda: np.zeros(1))
    cold: bool = True  # whether L2 was empty at the start
    # early_share and early_read_bytes: share of a launch that writes in which nothing is written
    # back, for L2 has room; of a warm launch, or one that reads a set again and again, the share
    # that finds its data in L2, and what is read from DRAM in it all the same
    early_share: Array = field(default_factory=lambda: np.zeros(1))
    early_read_bytes: Array = field(default_factory=lambda: np.zeros(1))
    # sectors that misses at random places bring into L2, where they take its time as reads do
    l2_filled_sectors: Array = field(default_factory=lambda: np.zeros(1))
    # bytes over those that DRAM moves, as given; `dram_read_bytes` is what it moves
    compression: Array = field(default_factory=lambda: np.ones(1))
    # what misses at random places wait for DRAM besides their own bytes, as dense bytes
    scattered_bytes: Array = field(default_factory=lambda: np.zeros(1))
    # of the bytes read from DRAM, those that make sectors whole which strided stores left in part
    # [B]
    made_whole_bytes: Array = field(default_factory=lambda: np.zeros(1))
    # what is counted as written to DRAM besides where a profiler runs a launch several times: what
    # its passes have left dirty in L2
    dram_replay_bytes: Array = field(default_factory=lambda: np.zeros(1))
    fetch_bytes: int = 64  # what an L2 miss asks of DRAM [B]
    # buffers that are read again and again, as the closed forms see them; the simulator has none
    tables: tuple[Any, ...] = ()
    # local_load_requests, local_load_sectors, local_store_requests and local_store_sectors: the
    # same of local memory, which the figures of global memory do not hold; those of L1, L2 and DRAM
    # do
    local_load_requests: Array = field(default_factory=lambda: np.zeros(1))
    local_load_sectors: Array = field(default_factory=lambda: np.zeros(1))
    local_store_requests: Array = field(default_factory=lambda: np.zeros(1))
    local_store_sectors: Array = field(default_factory=lambda: np.zeros(1))

    @property
    def l1_fill_sectors(self) -> Array:
        """Sectors that loads bring into L1, merged or not."""
        return summed(a.l1_fill_sectors for a in self.accesses if a.kind == "load")

    @property
    def requests(self) -> Array:
        """Warp requests of all memory accesses."""
        return np.asanyarray(
            self.global_load_requests
            + self.global_store_requests
            + self.global_atomic_requests
            + self.shared_requests
            + self.local_load_requests
            + self.local_store_requests
        )


NUMBERS: Final = tuple(f.name for f in fields(Traffic) if f.name not in _NO_NUMBERS)
"""Names of the totals of a launch."""
