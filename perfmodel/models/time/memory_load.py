"""Load of L2 and DRAM: bandwidth time, latency and queueing delay of a launch's loads.

Inputs of the queueing model are worked out here: the time that the slower of L2 and DRAM needs, the
latency of the blocks with the transfer of their own data, and the queueing delay of a batch of
loads at half load. The bandwidth time has two parts, since DRAM receives no writes until L2 is full
of dirty lines, and a warm launch first reads what L2 holds.

Where a second wave of blocks starts as the first ends, its blocks all wait for their loads at the
same time, which adds up to one latency. How the inputs combine is in
`perfmodel.models.time.queueing`.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.l2.table_costs import marked_reads
from perfmodel.models.latency.barrier_phases import (
    LoadingBlocks,
    read_again,
)
from perfmodel.models.latency.block_waits import Latency
from perfmodel.models.latency.chain import Chain
from perfmodel.models.launch.waves import BALANCE, Balance, mean_turns
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.time.memory_times import MemoryTimes
from perfmodel.models.time.queueing import Queueing, queued_blocks
from perfmodel.traffic import Traffic

LOOP_QUEUE: Final = Coefficient("time.memory_load.loop_queue")
MIXED_QUEUE: Final = Coefficient("time.memory_load.mixed_queue")
L2_QUEUE: Final = Coefficient("time.memory_load.l2_queue")
DRAM_DECIDES: Final = Coefficient("time.memory_load.dram_decides")
PICKED_DECIDE: Final = Coefficient("time.memory_load.picked_decide")
LEFT_ALONE: Final = Coefficient("time.memory_load.left_alone")
BLOCK_OVERLAP: Final = Coefficient("time.memory_load.block_overlap")
MIXED_OVERLAP: Final = Coefficient("time.memory_load.mixed_overlap")
RANDOM_OVERLAP: Final = Coefficient("time.memory_load.random_overlap")
BURST: Final = Coefficient("time.memory_load.burst")
SECOND_WAVE: Final = Coefficient("time.memory_load.second_wave")

BANDWIDTH_TIME = Formula(
    name="time of the slower of L2 and DRAM, in two parts",
    unit="s",
    text="max(max(early*l2, besides) + max((1 - early)*l2, dram - besides) + held_up, sides)",
    symbols={
        "early": "share of the launch in which L2 has room for what is written, or holds what is "
        "read [1]",
        "l2": "time of L2 [s]",
        "sides": "time of L2 with the link between its partitions, whatever else is slower [s]",
        "besides": "time of DRAM in that share: reads that miss all the same [s]",
        "dram": "time of DRAM [s]",
        "held_up": "loss of write-backs next to a set-aside [s]",
    },
    holds="writes, and warm reads and copies; alternating reads and writes of a cold copy are in "
    "the time of L2",
    source="derived: DRAM is written to once L2 is full of dirty lines, and no sooner; writes of "
    "33.6 MB with 30 MiB set aside leave 14 MB in L2 and take as long as both parts one after the "
    "other (measurements/suite, sweeps/set-aside-streams.csv)",
)
BURST_WAIT = Formula(
    name="latency with the transfer of a block's own data",
    unit="s",
    text="latency + burst*share*reads/concurrent",
    symbols={
        "latency": "latency of the blocks, over all waves [s]",
        "burst": "share of a block's transfer that it waits for [1]",
        "share": "share of the data that loads outside loops request, without tables found in L2 "
        "[1]",
        "reads": "time of L2 for the loads [s]",
        "concurrent": "blocks that share an SM [1]",
    },
    holds="blocks that request their data at once",
    source="fitted form: see coefficient burst",
)

SECOND_WAIT = Formula(
    name="wait of the second wave of blocks",
    unit="s",
    text="found*stored*load*min(1, max(0, sharp*(waves - 1)))",
    symbols={
        "found": "share of the L2 reads that hit tables [1]",
        "stored": "sectors written for each read, at most 1: reads alone wait no longer [1]",
        "load": "latency of the slowest load [s]",
        "waves": "waves of blocks [1]",
        "sharp": "one over the part of a second wave that waits in full [1]",
    },
    holds="tables in L2 and writes; DRAM reads desynchronise the waves",
    source="derived: blocks that started together end together, and their successors wait for "
    "their loads with nothing else to do; measured: see coefficient second_wave",
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

    `busy_s` is the time of issue and L1 of the busiest SM, for which blocks with barriers queue
    [s].
    """
    traffic, device, dram = execution.traffic, execution.device, memory.dram
    synchronised = bool(execution.kernel.barriers)
    blocks = _loading_blocks(execution, chain, latency, memory, busy_s)
    bandwidth, share, found = blocks.bandwidth_s, _outside_loops(chain), _tables_found(traffic)
    # What waits for DRAM holds up nobody while L2 is busy all the time.
    busy_dram = np.clip(dram.time_s / np.maximum(bandwidth, 1e-30), 0.0, 1.0)
    mixed = 4 * dram.read_share * (1 - dram.read_share)  # 1 where it writes as much as it reads
    delay = _queue_clocks(execution, mixed, busy_dram) / device.sm_clock
    alone = _left_alone(execution, blocks, balance, busy_dram, memory.l2.gpc_load)
    wait = BURST_WAIT(
        latency=blocks.latency_s,
        # Loads that find tables in L2 stand in no queue of DRAM.
        burst=BURST(device) * (1 - found),
        share=share,
        reads=np.atleast_1d(traffic.l2_read_sectors * SECTOR) / device.l2_read_bandwidth,
        concurrent=blocks.concurrent,
    )
    stored = traffic.l2_write_sectors / np.maximum(traffic.l2_read_sectors, 1e-9)
    second = SECOND_WAIT(
        found=found,
        stored=np.minimum(np.atleast_1d(stored), 1.0),
        load=blocks.load_s,
        waves=blocks.waves,
        sharp=SECOND_WAVE(device),
    )
    return Queueing(
        blocks=blocks,
        wait_s=np.atleast_1d(wait),
        delay_s=np.atleast_1d(delay),
        queue_s=np.atleast_1d(delay * chain.waits * latency.waves),
        alone_s=np.atleast_1d(alone),
        second_s=second,
        share=share,
        overlap=_block_overlap(execution, memory, mixed, bandwidth, found),
        synchronised=synchronised,
        again=read_again(execution.instance, execution.requests) if synchronised else np.zeros(1),
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
    filled = summed(b.filled * b.count for b in chain.batches)
    # A loop whose loads are all in flight together is no loop to memory.
    at_once = summed(np.where(b.count <= 1, b.filled * b.count, 0.0) for b in chain.batches)
    return np.where(filled > 0, at_once / np.maximum(filled, 1e-9), 0.0)


def _bandwidth_time(traffic: Traffic, memory: MemoryTimes) -> Array:
    """Return the time that the slower of L2 and DRAM needs [s]; see `BANDWIDTH_TIME`."""
    moved = traffic.dram_read_bytes + traffic.dram_write_bytes
    dram = memory.dram.time_s
    return BANDWIDTH_TIME(
        early=np.atleast_1d(traffic.early_share),
        l2=memory.l2.own_s,
        sides=np.atleast_1d(memory.l2.time_s),
        besides=dram * traffic.early_read_bytes / np.maximum(moved, 1.0),
        dram=dram,
        held_up=memory.lost_s,
    )


def _queue_clocks(execution: Execution, mixed: Array, busy_dram: Array) -> Array:
    """Return the clocks that a batch of loads in a loop queues at half load."""
    device = execution.device
    streams, of_l2 = DRAM_DECIDES(device), L2_QUEUE(device)
    decides = streams + (PICKED_DECIDE(device) - streams) * _picked(execution.traffic)
    of_dram = LOOP_QUEUE(device) * (1 + MIXED_QUEUE(device) * mixed)
    return np.asanyarray(of_l2 + (of_dram - of_l2) * busy_dram**decides)


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
    left = LEFT_ALONE(execution.device)
    return np.asanyarray(left * idle * np.where(once, blocks.latency_s, 0.0))


def _block_overlap(
    execution: Execution, memory: MemoryTimes, mixed: Array, bandwidth: Array, found: Array
) -> Array:
    """Return the exponent between waits and bandwidth of blocks without loops."""
    traffic, device = execution.traffic, execution.device
    alike, random = BLOCK_OVERLAP(device), RANDOM_OVERLAP(device)
    apart = alike - (alike - MIXED_OVERLAP(device)) * np.atleast_1d(mixed)
    apart = apart - (apart - random) * random_share(traffic)
    p = apart + (alike - apart) * found
    if any(t.random for t in traffic.tables):
        lost = memory.lost_s / np.maximum(bandwidth, 1e-30)
        p = p - (p - random) * np.minimum(lost, 1.0)
    return np.asanyarray(p)


def random_share(traffic: Traffic) -> Array:
    """Return the share of DRAM's time in which it reads at random places."""
    read = traffic.dram_read_bytes * traffic.dram_read_cost
    all_of_it = read + traffic.dram_write_bytes * traffic.dram_write_cost
    places = {i for t in traffic.tables if t.random for i in t.members}
    fetched = (a.dram_bytes for i, a in enumerate(traffic.accesses) if i in places)
    share = summed(fetched) / np.maximum(traffic.dram_read_bytes, 1.0)
    return np.asanyarray(np.minimum(share, 1.0) * read / np.maximum(all_of_it, 1.0))


def _tables_found(traffic: Traffic) -> Array:
    """Return the share of the L2 reads that find a table there."""
    reads = np.maximum(traffic.l2_read_sectors, 1e-9)
    missing = np.minimum(1.0, traffic.dram_read_bytes / (reads * SECTOR))
    return np.asanyarray(np.minimum(traffic.l2_repeated_sectors / reads, 1.0) * (1 - missing))


def _picked(traffic: Traffic) -> Array:
    """Return the share of the DRAM reads that fetch lines that a window marks."""
    marked = summed(marked_reads(traffic.tables, not traffic.cold))
    return np.asanyarray(np.minimum(marked / np.maximum(traffic.dram_read_bytes, 1.0), 1.0))
