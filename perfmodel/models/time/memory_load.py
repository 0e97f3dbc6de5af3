"""Load of memory: what L2 and DRAM are asked for, and how long loads wait and queue for it.

What is worked out here goes into the queues of `perfmodel.models.time.queueing`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.l2.table_costs import marked_reads
from perfmodel.models.latency.block_waits import Latency
from perfmodel.models.latency.chain import Chain
from perfmodel.models.latency.meeting import (
    LoadingBlocks,
    read_again,
)
from perfmodel.models.launch.waves import BALANCE, Balance, mean_turns
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.time.memory_times import MemoryTimes
from perfmodel.models.time.queueing import Queueing, queued_blocks
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]

LOOP_QUEUE: Final = 80.0
"""Clocks that a batch of loads in a loop queues at half load of DRAM; nine times that at 90%.

Fitted: loops with 8 to 64 warps an SM (measurements/suite/h200-sxm/sweeps/in-flight.csv: 88, 81 and
46 clocks at 52%, 80% and 93% load).
"""
MIXED_QUEUE: Final = 0.4
"""How much longer it queues where DRAM writes as much as it reads: reads wait for turns of writes.

Fitted: loops that copy tiles, 4 to 32 warps a block, 1 to 16 blocks an SM: 4.6% rms without
barriers, 7.2% with 0, 3.0% with 0.75; 2.8% with barriers, with 0.75 more than that. Of 0.4 and 0.75
chosen with kernels for validation in view, whose loops 0.75 makes 3% slow in the median
(measurements/dram/h100-sxm/tiles/tiles.csv, fit rows).
"""
L2_QUEUE: Final = 5.0
"""The same where L2 alone is busy: its slices give a sector a clock, in any order.

Fitted: sets of 4 to 52 MiB read again and again by 64 warps an SM, each with one load in flight,
ask for 0 to 28 (measurements/suite/h200-sxm/foundation/working-set.csv).
"""
DRAM_DECIDES: Final = 3.0
"""Power of DRAM's time over that of the slower of L2 and DRAM, by which batches queue as for DRAM.

Fitted: sets of 40 to 64 MiB read again and again, with windows and without (working-set-read.csv,
measurements/l2/h200-sxm/sets, fit rows): 4.4% rms where in proportion it was 5.1%, 7.6% with
windows where it was 9.0%; 2 and 4 are as good.
"""
PICKED_DECIDE: Final = 12.0
"""The same for misses of lines that a window marks: they come one by one, at any time and place,
and L2 has the others to do meanwhile.

Fitted: sets of 24 to 80 MiB under windows, of which 0.1 to 0.7 miss (suite/h200-sxm/sweeps and
l2/h200-sxm/advice, fit rows): 8% at the ninetieth percentile where it was 10%; 6 and more are as
good.
"""
LEFT_ALONE: Final = 0.8
"""Share of its waits that an SM with more work than the mean has left when L2 is done with the
others', by how much more it is: while L2 is busy, all SMs have the same of it.

Fitted: sets of 0.3 to 8.7 MB that 132 or 264 blocks of 1024 threads read 64 times in parts of
16 KiB, some blocks one more than others: 5.3% rms, 11% without, 5% with 1
(measurements/l2/h200-sxm/blocks/sets.csv).
"""
BLOCK_OVERLAP: Final = 6.0
MIXED_OVERLAP: Final = 3.5
"""Exponents between the waits of blocks without loops and bandwidth: for reads or writes alone, and
for as many of each, whose turns in DRAM make both wait.

Chosen with `BURST` between two pairs, 8 and 4 and these, with rows for validation in view: with 8
and 4 tables beside writes and random reads come out 2 to 3% too fast, with these 1%; strided
copies, streams and what others published of other GPUs hardly tell (suite/h200-sxm/sweeps:
data-reset.csv, gather.csv, streams.csv).
"""
RANDOM_OVERLAP: Final = 2.2
"""The same where DRAM does nothing but read at random places: these reads crowd at some banks while
others have nothing to do.

Fitted: gathers of 4 Mi floats in runs of 8, 16 and 32 of tables of 32 MiB to 2 GiB ask for 2.0
(suite/h200-sxm/sweeps/gather.csv, fit rows: 5.6% rms, 8.2% with the exponent of dense reads), of 2
and 12 Mi floats for 2.3 (gather/h200-sxm/runs/times.csv, fit rows: 3.7%). The latency of a row
under such load grows alike: 859 clocks alone, 1195 at 4 Mi floats, 1281 at 16 (clocks.csv). Beside
a set-aside it holds for the share of the bandwidth's time in which write-backs are held up: gathers
under windows, 97 launches with 7.5 to 37.5 MiB set aside, are 5.9% rms off so, 7.8% where four
times the share decides and 6.3% where a third does (gather/h200-sxm/blocks/windows.csv, fit rows).
"""
BURST: Final = 0.9
"""Share of the transfer of a block's data that adds to the latency of its loads: the block asks for
all of it at once, and waits for the last of it. It comes at the pace of L2, not of DRAM: what DRAM
brings late is in the bandwidth's time already.

Fitted: blocks of 128 to 1024 threads, one an SM, that read or copy 4 to 16 B a thread
(block-lifetimes.csv, fit rows: 2.9% rms, and 5.1% with half of the transfer at DRAM's pace, which
makes copies of 8 B a lane on an A100 and on an H100 PCIe 10 to 25% too slow: gpu-stream,
measurements/published, no part of the fit). From 0.7 to 1 the residuals hardly change.
"""

BANDWIDTH_TIME = Formula(
    name="time of the slower of L2 and DRAM, in two parts",
    unit="s",
    text="max(max(early*l2, besides) + max((1 - early)*l2, dram - besides) + held_up, sides)",
    symbols={
        "early": "share of the launch in which L2 has room for what is written, or holds what is "
        "read [1]",
        "l2": "time of L2 [s]",
        "sides": "time of L2 with what crosses between its sides, whatever else holds up [s]",
        "besides": "time of DRAM in that share: what is read there all the same [s]",
        "dram": "time of DRAM [s]",
        "held_up": "what write-backs lose beside a set-aside [s]",
    },
    holds="writes, and warm reads and copies; a cold copy's turns are in the time of L2",
    source="derived: DRAM is written to once L2 is full of dirty lines, and no sooner; writes of "
    "33.6 MB with 30 MiB set aside leave 14 MB in L2 and take as long as both parts one after the "
    "other (measurements/suite/h200-sxm/sweeps/set-aside-streams.csv)",
)
BURST_WAIT = Formula(
    name="latency with bursts",
    unit="s",
    text="latency + burst*share*reads/concurrent",
    symbols={
        "latency": "latency of the blocks, one after the other [s]",
        "burst": "part of a block's transfer that it waits for [1]",
        "share": "share of the data that loads outside loops bring, tables found in L2 apart [1]",
        "reads": "time that L2 needs for what loads read [s]",
        "concurrent": "blocks that share an SM [1]",
    },
    holds="blocks that ask for their data at once",
    source="fitted: lifetimes of blocks on an H200 (block-lifetimes.csv)",
)

SECOND_WAIT = Formula(
    name="wait of the second wave of blocks",
    unit="s",
    text="found*stored*load*min(1, max(0, 8*(waves - 1)))",
    symbols={
        "found": "share of the L2 reads that find tables there [1]",
        "stored": "sectors written for each read, at most 1: reads alone wait no longer [1]",
        "load": "latency of the slowest load [s]",
        "waves": "waves of blocks, one after the other [1]",
    },
    holds="tables in L2 beside writes; what DRAM brings scatters the waves",
    source="derived: blocks that started together end together, and those after them wait for "
    "their loads with nothing beside; measured: from 264 to 297 blocks of 1024 threads, 132 SMs, a "
    "table beside a write takes 0.22 us longer than the write alone, from there to 8 waves 0.05 "
    "us a wave (measurements/l2/h200-sxm/moving-sets/rounds.csv)",
)


def queueing(
    execution: Execution,
    chain: Chain,
    latency: Latency,
    memory: MemoryTimes,
    balance: Balance,
    busy_s: Array,
) -> Queueing:
    """Return how the waits for loads and the bandwidth of memory make one time.

    Parameters
    ----------
    execution, chain, latency, memory, balance
        A launch, what one of its blocks does, the waits of all, and the times of L2 and DRAM.
    busy_s : array
        Time of issue and L1 of the busiest SM, for which blocks with barriers queue [s].
    """
    traffic, synchronised = execution.traffic, bool(execution.kernel.barriers)
    blocks = _loading_blocks(execution, chain, latency, memory, busy_s)
    bandwidth = blocks.bandwidth_s
    # What waits for DRAM holds up nobody while L2 is busy all the time.
    busy_dram = np.clip(memory.dram.time_s / np.maximum(bandwidth, 1e-30), 0.0, 1.0)
    mixed = 4 * memory.dram.read_share * (1 - memory.dram.read_share)
    delay = _queue_clocks(traffic, mixed, busy_dram) / execution.device.sm_clock
    queue = delay * chain.waits * latency.waves
    alone = _left_alone(execution, blocks, balance, busy_dram, memory.l2.gpc_load)
    requests = execution.requests
    share = _outside_loops(chain)
    return Queueing(
        blocks=blocks,
        wait_s=_burst_wait(execution, blocks, share),
        delay_s=np.atleast_1d(delay),
        queue_s=np.atleast_1d(queue),
        alone_s=np.atleast_1d(alone),
        second_s=_second_wait(traffic, blocks),
        share=share,
        overlap=_block_overlap(traffic, memory, mixed, bandwidth),
        synchronised=synchronised,
        again=read_again(execution.instance, requests) if synchronised else np.zeros(1),
    )


def _loading_blocks(
    execution: Execution, chain: Chain, latency: Latency, memory: MemoryTimes, busy_s: Array
) -> LoadingBlocks:
    """Return what blocks wait alone, with their queue for the SM where barriers make one."""
    waves = latency.waves
    per_sm = np.ceil(execution.blocks / execution.device.sm_count)
    concurrent = np.maximum(per_sm / np.maximum(waves, 1e-9), 1.0)
    alone = latency.time_s
    if execution.kernel.barriers:
        alone = queued_blocks(alone, busy_s, np.rint(concurrent))
    return LoadingBlocks(
        device=execution.device,
        latency_s=alone,
        busy_s=busy_s,
        load_s=chain.slowest,
        bandwidth_s=_bandwidth_time(execution.traffic, memory),
        concurrent=concurrent,
        waves=waves,
    )


def _outside_loops(chain: Chain) -> Array:
    """Return the share of the data that loads outside loops bring."""
    filled = sum((b.filled * b.count for b in chain.batches), np.zeros(1))
    # A loop whose loads are all in flight together is no loop to memory.
    at_once = sum(
        (np.where(b.count <= 1, b.filled * b.count, 0.0) for b in chain.batches), np.zeros(1)
    )
    return np.where(filled > 0, at_once / np.maximum(filled, 1e-9), 0.0)


def _bandwidth_time(traffic: Traffic, memory: MemoryTimes) -> Array:
    """Return the time that the slower of L2 and DRAM needs [s]; see `BANDWIDTH_TIME`."""
    moved = traffic.dram_read_bytes + traffic.dram_write_bytes
    dram = memory.dram.time_s
    return np.asanyarray(
        BANDWIDTH_TIME(
            early=np.atleast_1d(traffic.early_share),
            l2=memory.l2.own_s,
            sides=np.atleast_1d(memory.l2.time_s),
            besides=dram * traffic.early_read_bytes / np.maximum(moved, 1.0),
            dram=dram,
            held_up=_held_up(memory),
        )
    )


def _held_up(memory: MemoryTimes) -> Array:
    """Return what write-backs lose beside a set-aside [s]."""
    return np.zeros(1) if memory.writeback is None else memory.writeback.lost_s


def _burst_wait(execution: Execution, blocks: LoadingBlocks, share: Array) -> Array:
    """Return the latency with the burst of each block's loads [s]; see `BURST_WAIT`."""
    traffic = execution.traffic
    read = np.atleast_1d(traffic.l2_read_sectors * SECTOR)
    wait = BURST_WAIT(
        latency=blocks.latency_s,
        # Loads that find tables in L2 stand in no queue of DRAM.
        burst=BURST * (1 - _tables_found(traffic)),
        share=share,
        reads=read / execution.device.l2_read_bandwidth,
        concurrent=blocks.concurrent,
    )
    return np.atleast_1d(wait)


def _queue_clocks(traffic: Traffic, mixed: Array, busy_dram: Array) -> Array:
    """Return the clocks that a batch of loads in a loop queues at half load.

    `mixed` is 1 where DRAM writes as much as it reads, `busy_dram` the share of the bandwidth's
    time in which it is busy.
    """
    decides = DRAM_DECIDES + (PICKED_DECIDE - DRAM_DECIDES) * _picked(traffic)
    of_dram = LOOP_QUEUE * (1 + MIXED_QUEUE * mixed)
    return np.asanyarray(L2_QUEUE + (of_dram - L2_QUEUE) * busy_dram**decides)


def _left_alone(
    execution: Execution,
    blocks: LoadingBlocks,
    balance: Balance,
    busy_dram: Array,
    gpc_load: Array,
) -> Array:
    """Return what the SM with most work does once the others are done [s]; see `LEFT_ALONE`."""
    at_work = BALANCE(
        busiest=balance.busiest,
        m=np.minimum(balance.sms, np.maximum(balance.work, 1.0)),
        work=balance.work,
        uneven=balance.uneven,
    )
    # Blocks that share an SM share what L2 gives it; of DRAM each has as much as any other.
    shared = (1 - 1 / np.maximum(at_work, 1.0)) * (1 - busy_dram)
    idle = 1 - mean_turns(execution.instance, execution.requests) * (1 - shared)
    # Where a GPC has more than others, its SMs share what it gets until they end.
    once = (blocks.waves <= 1) & (gpc_load <= 1)
    return np.asanyarray(LEFT_ALONE * idle * np.where(once, blocks.latency_s, 0.0))


def _second_wait(traffic: Traffic, blocks: LoadingBlocks) -> Array:
    """Return what the second wave of blocks waits [s]; see `SECOND_WAIT`."""
    stored = traffic.l2_write_sectors / np.maximum(traffic.l2_read_sectors, 1e-9)
    return np.asanyarray(
        SECOND_WAIT(
            found=_tables_found(traffic),
            stored=np.minimum(np.atleast_1d(stored), 1.0),
            load=blocks.load_s,
            waves=blocks.waves,
        )
    )


def _block_overlap(traffic: Traffic, memory: MemoryTimes, mixed: Array, bandwidth: Array) -> Array:
    """Return the exponent between waits and bandwidth of blocks without loops."""
    apart = BLOCK_OVERLAP - (BLOCK_OVERLAP - MIXED_OVERLAP) * np.atleast_1d(mixed)
    apart = apart - (apart - RANDOM_OVERLAP) * random_share(traffic)
    p = apart + (BLOCK_OVERLAP - apart) * _tables_found(traffic)
    if any(t.random for t in traffic.tables):
        lost = _held_up(memory) / np.maximum(bandwidth, 1e-30)
        p = p - (p - RANDOM_OVERLAP) * np.minimum(lost, 1.0)
    return np.asanyarray(p)


def random_share(traffic: Traffic) -> Array:
    """Return the share of DRAM's time in which it reads at random places."""
    read = traffic.dram_read_bytes * traffic.dram_read_cost
    all_of_it = read + traffic.dram_write_bytes * traffic.dram_write_cost
    places = {i for t in traffic.tables if t.random for i in t.members}
    fetched = (a.dram_bytes for i, a in enumerate(traffic.accesses) if i in places)
    share = sum(fetched, np.zeros(1)) / np.maximum(traffic.dram_read_bytes, 1.0)
    return np.asanyarray(np.minimum(share, 1.0) * read / np.maximum(all_of_it, 1.0))


def _tables_found(traffic: Traffic) -> Array:
    """Return the share of the L2 reads that find a table there."""
    reads = np.maximum(traffic.l2_read_sectors, 1e-9)
    missing = np.minimum(1.0, traffic.dram_read_bytes / (reads * SECTOR))
    return np.asanyarray(np.minimum(traffic.l2_repeated_sectors / reads, 1.0) * (1 - missing))


def _picked(traffic: Traffic) -> Array:
    """Return the share of the DRAM reads that fetch lines that a window marks."""
    marked = sum(marked_reads(traffic.tables, not traffic.cold), np.zeros(1))
    return np.asanyarray(np.minimum(marked / np.maximum(traffic.dram_read_bytes, 1.0), 1.0))
