"""L2 bandwidth: reads and writes share it, and partial or isolated sectors cost more.

L2 serves reads and writes at different rates. A kernel that does both needs nearly the sum of both
times; only part of the read hits overlaps with writes. Reads that miss at random places pass L2
twice, as a fill and as an answer, and wait for DRAM's row activations. What DRAM needs beyond L2's
time overlaps with L2's writes.

A store of part of a sector costs more than one of a whole sector (byte masks have to be kept and
merged), and so does a whole sector that is alone in its line, since L2 looks up tags by line. Loads
of a single sector per line are charged as the tag lookup that they take.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import busiest_of_table, isolated_sector
from perfmodel.traffic import Traffic

L2_READS = Formula(
    name="time of L2's reads",
    unit="s",
    text="max((reads + filled + unpacked + pinned)/read + scattered/dram, packed/dram)",
    symbols={
        "reads": "bytes that the SMs read from L2; single sectors of lines count as a tag lookup "
        "takes [B]",
        "filled": "bytes that misses at random places fill; single sectors count likewise [B]",
        "unpacked": "additional L2 time of compressed reads, as bytes [B]",
        "pinned": "additional L2 time of private reads with persisting lines set aside, as bytes "
        "[B]",
        "scattered": "additional DRAM time of such misses, as dense bytes [B]",
        "packed": "bytes that DRAM delivers compressed: writes wait for those [B]",
        "dram": "DRAM bandwidth of reads alone [B/s]",
        "read": "L2 bandwidth of reads alone [B/s]",
    },
    holds="as the time of L2",
    source="fitted form: misses at random places pass L2 twice, and wait for DRAM's rows "
    "(measurements/suite, sweeps/gather.csv). DRAM time beyond L2's overlaps with L2's writes: "
    "cold copies of every 2nd to 16th of 1 Mi floats are 1.5% rms off, and 7.7% if they waited "
    "for it (measurements/suite, sweeps/strided.csv, fit rows)",
)
L2_TIME = Formula(
    name="time of L2",
    unit="s",
    text="asked + writes*cost/write - concurrent*min(max(0, hits)/read, writes*cost/write)",
    symbols={
        "asked": "time of L2's reads [s]",
        "hits": "bytes read that hit; compressed ones as L2's time takes them [B]",
        "writes": "bytes of the sectors that the SMs write to L2 [B]",
        "cost": "cost of a written sector over a sector of a full line [1]",
        "read": "L2 bandwidth of reads alone [B/s]",
        "write": "L2 bandwidth of writes alone, full lines [B/s]",
        "concurrent": "share of L2 hits, or of writes if shorter, that overlaps [1]",
    },
    holds="copies of 4 to 48 MiB, cold and warm, within 8%",
    source="fitted form: a copy within L2 takes nearly as long as its reads and its writes one "
    "after another (measurements/suite, foundation/l2-states.csv); cold ones add the link between "
    "the partitions",
)
CONCURRENT: Final = Coefficient("l2.throughput.concurrent")
TABLES_CONCURRENT: Final = Coefficient("l2.throughput.tables_concurrent")
COMPRESSED_RATE: Final = Coefficient("l2.throughput.compressed_rate")
STORE_COST = Formula(
    name="cost of a stored sector",
    unit="1",
    text="p*(partial + line*l) + (1 - p)*(1 + isolated*max(0, 2*l - 1))",
    symbols={
        "p": "share of the sectors that are stored in part [1]",
        "l": "lines per sector: 1 for isolated sectors, 1/4 for whole lines [1]",
        "partial": Coefficient("l2.throughput.partial_store"),
        "line": Coefficient("l2.throughput.partial_store_line"),
        "isolated": Coefficient("l2.throughput.isolated_store"),
    },
    holds="within 15% for runs of 1 to 32 lanes of 4 to 16 B that stay in L2",
    source="fitted form",
)


def concurrent_reads(traffic: Traffic, device: Device) -> Array:
    """Return the share of L2's reads, where they hit, that run concurrently with its writes."""
    streams, tables = CONCURRENT(device), TABLES_CONCURRENT(device)
    repeated = traffic.l2_repeated_sectors / np.maximum(traffic.l2_read_sectors, 1e-9)
    found = streams + (tables - streams) * np.minimum(repeated, 1.0)
    return np.atleast_1d(np.where(traffic.compression > 1, tables, found))


def pinned_bytes(traffic: Traffic) -> Array:
    """Return what reads of private parts take of L2 more with persisting lines set aside [B]."""
    return summed((t.first + t.again) * t.pinned for t in traffic.tables)


def unpacked_bytes(traffic: Traffic, device: Device) -> Array:
    """Return what reads that DRAM brings compressed take of L2 beyond others [B]."""
    packed = traffic.compression > 1
    brought = traffic.dram_read_bytes * traffic.compression
    return np.asanyarray(np.where(packed, brought * (1 / COMPRESSED_RATE(device) - 1), 0.0))


def read_sectors(traffic: Traffic, device: Device) -> Array:
    """Return the sectors that loads read from L2, as many of full lines as cost the same.

    Of a small table at random places the busiest slice decides.
    """
    total = np.zeros(1)
    lone = isolated_sector(device)
    busiest = {
        i: busiest_of_table(table.size, device)
        for table in traffic.tables
        if table.random
        for i in table.members
    }
    for i, a in enumerate(traffic.accesses):
        if a.kind == "load":
            lines = a.lines / np.maximum(a.sectors, 1e-9)
            cost = np.maximum(1.0, lone * lines) * busiest.get(i, 1.0)
            asked = a.l1_fill_sectors if a.l2_read_sectors is None else a.l2_read_sectors
            total = total + asked * cost
    return np.asanyarray(total)


def mean_store_cost(
    stores: Sequence[tuple[Array, Array, Array]], sectors: Array, device: Device
) -> Array:
    """Return what L2 takes for a stored sector over one of whole lines, a mean over stores.

    Of each: sectors and lines that reach L2, and bytes that lanes store.
    """
    cost = np.zeros(1)
    for each, lines, wanted in stores:
        # A run that starts or ends inside a sector leaves two sectors in part.
        part = np.clip(2 * (1 - wanted / np.maximum(each * 32.0, 1.0)), 0.0, 1.0)
        share = np.clip(lines / np.maximum(each, 1.0), 0.25, 1.0)
        cost = cost + each * STORE_COST.on(device, p=np.atleast_1d(part), l=np.atleast_1d(share))
    return np.where(sectors > 0, cost / np.maximum(sectors, 1e-9), 1.0)
