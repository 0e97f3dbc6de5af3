"""Traffic: what moves at each level of the memory hierarchy, whoever counted it.

One record with two producers, the closed forms and the simulator, so that either can feed the time
model and the two can be compared. Every number is an array over configurations.
"""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.records import record

Array = npt.NDArray[Any]


@record
class AccessTraffic:
    """One access's part of the traffic: requests and what they cost, summed over the launch.

    Attributes
    ----------
    name, buffer, kind : str
    requests, sectors, lines : array
        Warp requests; distinct sectors and lines of each, summed.
    wanted_bytes : array
        Bytes that lanes asked for, each lane counted.
    data_wavefronts, tag_wavefronts : array
        Clocks in L1's two stages.
    l1_fill_sectors, dram_bytes : array
        What came from L2 and from DRAM, as it is uncompressed (for stores: went to L2; DRAM is
        counted as a whole).
    l2_read_sectors : array or None
        What L2 was asked for, of loads: less where reads of several SMs are merged; None: all.
    alike : float or None
        Of neighbouring blocks, on the SMs of a GPC, how many ask for the same sectors, where they
        were followed; None where strides say it.
    sampled : float or None
        Share of the launch that was counted; None for a closed form.
    again_l1, again_l2 : array or float
        Of data that an earlier loop has touched, the share that L1 no longer has, and of that the
        share that L2 no longer has; 1 for other data.
    """

    name: str
    buffer: str
    kind: str
    requests: Array
    sectors: Array
    lines: Array
    wanted_bytes: Array
    data_wavefronts: Array
    tag_wavefronts: Array
    l1_fill_sectors: Array
    dram_bytes: Array
    sampled: float | None
    again_l1: Array | float = 1.0
    again_l2: Array | float = 1.0
    l2_read_sectors: Array | None = None
    alike: float | None = None

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
    """Traffic of a whole launch.

    Attributes
    ----------
    global_load_requests, global_load_sectors, global_store_requests, global_store_sectors : array
        Warp requests to global memory and their sectors, as the profiler counts them.
    global_atomic_requests, l2_atomic_sectors : array
    l1_hit_sectors : array
        Load sectors found in L1.
    l2_read_sectors, l2_write_sectors : array
        Sectors that L2 is asked for, as the profiler counts them: reads that several SMs make of
        the same at a time once.
    l2_hit_rate : array
        Share of the SMs' L2 sectors that need no DRAM read.
    dram_read_bytes, dram_write_bytes : array
    l1_data_wavefronts, l1_tag_wavefronts : array
        Clocks of L1's stages over all SMs, without fills.
    shared_requests, shared_wavefronts : array
    local_load_requests, local_load_sectors, local_store_requests, local_store_sectors : array
        The same of local memory, which the figures of global memory do not hold; those of L1, L2
        and DRAM do.
    dram_read_cost : array
        Mean cost of a DRAM read byte, relative to dense reads (1 or more).
    l2_write_cost : array
        Mean cost of a written L2 sector, relative to a sector of a full line (1 or more).
    accesses : tuple of AccessTraffic
    dram_write_cost : array
        Mean cost of a DRAM write byte, relative to dense writes (1 or more).
    l2_repeated_sectors : array
        L2 sectors read of tables, buffers that are read again and again.
    writeback_bytes, writeback_streams : array
        What write-backs lose with a set-aside, as bytes that an H200's DRAM could move, 0 without
        one; bytes of streams read from DRAM for each byte written, 1 at most.
    cold : bool
        Whether L2 was empty at the start.
    early_share, early_read_bytes : array
        Share of a launch that writes in which nothing is written back, for L2 has room; of a warm
        launch, or one that reads a set again and again, the share that finds its data in L2, and
        what is read from DRAM in it all the same.
    l2_filled_sectors : array
        Sectors that misses at random places bring into L2, where they take its time as reads do.
    compression : array
        Bytes over those that DRAM moves, as given; `dram_read_bytes` is what it moves.
    atomic_dram_share : array
        Share of DRAM's time in which it reads what atomics miss.
    scattered_bytes : array
        What DRAM keeps such misses waiting for besides their own bytes, as dense bytes.
    made_whole_bytes : array
        Of the bytes read from DRAM, those that make sectors whole which strided stores left in part
        [B].
    dram_replay_bytes : array
        What is counted as written to DRAM besides where a profiler runs a launch several times:
        what its passes have left dirty in L2.
    fetch_bytes : int
        What an L2 miss asks of DRAM [B].
    tables : tuple
        Buffers that are read again and again, as the closed forms see them; the simulator has none.
    """

    global_load_requests: Array
    global_load_sectors: Array
    global_store_requests: Array
    global_store_sectors: Array
    global_atomic_requests: Array
    l1_hit_sectors: Array
    l2_read_sectors: Array
    l2_write_sectors: Array
    l2_atomic_sectors: Array
    l2_hit_rate: Array
    dram_read_bytes: Array
    dram_write_bytes: Array
    l1_data_wavefronts: Array
    l1_tag_wavefronts: Array
    shared_requests: Array
    shared_wavefronts: Array
    dram_read_cost: Array
    l2_write_cost: Array
    accesses: tuple[AccessTraffic, ...]
    dram_write_cost: Array | float = 1.0
    l2_repeated_sectors: Array = field(default_factory=lambda: np.zeros(1))
    writeback_bytes: Array = field(default_factory=lambda: np.zeros(1))
    writeback_streams: Array = field(default_factory=lambda: np.zeros(1))
    atomic_dram_share: Array = field(default_factory=lambda: np.zeros(1))
    cold: bool = True
    early_share: Array = field(default_factory=lambda: np.zeros(1))
    early_read_bytes: Array = field(default_factory=lambda: np.zeros(1))
    l2_filled_sectors: Array = field(default_factory=lambda: np.zeros(1))
    compression: Array = field(default_factory=lambda: np.ones(1))
    scattered_bytes: Array = field(default_factory=lambda: np.zeros(1))
    made_whole_bytes: Array = field(default_factory=lambda: np.zeros(1))
    dram_replay_bytes: Array = field(default_factory=lambda: np.zeros(1))
    fetch_bytes: int = 64
    tables: tuple[Any, ...] = ()
    local_load_requests: Array = field(default_factory=lambda: np.zeros(1))
    local_load_sectors: Array = field(default_factory=lambda: np.zeros(1))
    local_store_requests: Array = field(default_factory=lambda: np.zeros(1))
    local_store_sectors: Array = field(default_factory=lambda: np.zeros(1))

    @property
    def l1_fill_sectors(self) -> Array:
        """Sectors that loads bring into L1, merged or not."""
        fills = (a.l1_fill_sectors for a in self.accesses if a.kind == "load")
        return np.asanyarray(sum(fills, np.zeros(1)))

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
