"""Software pipelines with asynchronous copies: tiles loaded ahead while one is computed.

Bulk copies (cp.async.bulk, TMA) need no threads, registers or L1 data stage, and the loads of later
steps are in flight while the tensor cores work. With enough stages no step waits for latency. The
time of all steps is then that of the slowest of tensor cores, the SM's input port, L2 and DRAM,
combined as a power mean. To it come the prologue and epilogue: the first tile's latency, and per
tile the filling of the pipeline and the stores of the result.

Pipelines of two steps through registers have latency left, one per step, which is a term of the
same mean. Split-K products add the reduction of their parts.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, largest, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.latency.block_waits import RAMP_TIME
from perfmodel.models.latency.cold_start import cold_start
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.time.launch import code_fetch
from perfmodel.models.time.memory_times import L2Streams
from perfmodel.models.time.tiles import Tiles, besides_steps, tiles_of
from perfmodel.traffic import Traffic

PORT: Final = Coefficient("time.pipeline.port")
LINE_CLOCKS: Final = Coefficient("time.pipeline.line_clocks")
DRAM_SHARE: Final = Coefficient("time.pipeline.dram_share")
OVERLAP: Final = Coefficient("time.pipeline.overlap")
COLD_SHARE: Final = Coefficient("time.pipeline.cold_share")

TOGETHER = Formula(
    name="time of the steps of all tiles",
    unit="s",
    text="((work + between)**p + waits**p + port**p + l2**p + dram**p)**(1/p)",
    symbols={
        "work": "time of the slowest pipe [s]",
        "between": "prologue and epilogue of tiles, but for an SM's first: copies continue "
        "meanwhile [s]",
        "waits": "time of blocks that wait in their steps [s]",
        "port": "time of the SM's input port [s]",
        "l2": "time of L2 [s]",
        "dram": "time of DRAM [s]",
        "p": "exponent: how sharply the longest decides [1]",
    },
    holds="pipelines with enough stages to wait for nothing after their start, but for stated "
    "waits",
    source="fitted form: see coefficient overlap",
)
WAITS_TIME = Formula(
    name="time of blocks that wait in their steps",
    unit="s",
    text="turns*(waits*latency + work/waves)",
    symbols={
        "turns": "consecutive blocks of the busiest SM [1]",
        "waits": "steps of a block that wait for data requested one step before [1]",
        "latency": "latency of such data, from L2 or DRAM by their shares [s]",
        "work": "time of the slowest pipe [s]",
        "waves": "tiles of the busiest SM [1]",
    },
    holds="pipelines of two steps through registers; none with more stages",
    source="derived: a step's loads, their latency, and its stores to shared memory, one after "
    "another",
)
PORT_CYCLES = Formula(
    name="clocks of an SM's input port for the tiles' data",
    unit="clocks",
    text="max(sectors*32/port, lines*line)/m",
    symbols={
        "sectors": "sectors that enter all SMs, multicast ones at each of them [1]",
        "port": "bytes per clock [B/clock]",
        "lines": "lines of these sectors, counted by request [1]",
        "line": "clocks per line [clocks]",
        "m": "SMs [1]",
    },
    holds="bulk copies of whole rows of a tile",
    source="published for the port, fitted for lines: see coefficients port and line_clocks",
)
L2_STREAMS = Formula(
    name="time of L2",
    unit="s",
    text="read_bytes/read_bandwidth + written_bytes/write_bandwidth",
    symbols={
        "read_bytes": "bytes that L2 delivers, multicast ones once [B]",
        "read_bandwidth": "L2 read bandwidth [B/s]",
        "written_bytes": "bytes written, with the cost of partial lines [B]",
        "write_bandwidth": "L2 write bandwidth [B/s]",
    },
    holds="bulk copies",
    source="definition of bandwidth",
)
PARTS_TIME = Formula(
    name="time to reduce the parts of split K",
    unit="s",
    text="turn + (parts*part + result)/bandwidth",
    symbols={
        "turn": "time until the second launch works [s]",
        "parts": "blocks that share a tile [1]",
        "part": "bytes of one part of all results [B]",
        "result": "bytes of the results [B]",
        "bandwidth": "L2 read bandwidth [B/s]",
    },
    holds="parts that L2 holds",
    source="derived; the kernel file states that time, fitted to products with split K",
)
TILED_TIME = Formula(
    name="time",
    unit="s",
    text="launch + ramp + first + steps + parts",
    symbols={
        "launch": "launch overhead of an empty kernel [s]",
        "ramp": "start of a block and its first loads [s]",
        "first": "from the first tile's start to its first step, and its stores [s]",
        "steps": "time of the steps of all tiles [s]",
        "parts": "time to reduce the parts of split K [s]",
    },
    holds="blocks with asynchronous copies ahead of use",
    source="definition",
)


def pipeline_time(
    execution: Execution, floor: float, clocks: Mapping[str, Array], dram: Array
) -> tuple[Array, dict[str, Array], L2Streams]:
    """Return the time of launches whose blocks copy ahead, its terms, and what L2 moves.

    An empty launch takes `floor`, and DRAM `dram` for the bytes [s]; `clocks` are those of issue
    and the pipes, averaged over SMs.
    """
    tiles = tiles_of(execution.instance, execution.device)
    traffic, device, clock = execution.traffic, execution.device, execution.device.sm_clock
    blocks = np.atleast_1d(execution.blocks)
    busy = {name: each for name, each in clocks.items() if np.any(each > 0)}
    pipes = {str(name): tiles.busy(each, clock, blocks) for name, each in busy.items()}
    streams = _l2_streams(traffic, device)
    touch = cold_start(traffic, tiles.tiles, device)
    bytes_out = traffic.global_store_sectors * SECTOR / tiles.tiles
    work = largest(*pipes.values())
    memory = {
        "port": tiles.busy(_port_clocks(traffic, tiles.sms, device), clock, tiles.tiles),
        "l2": np.atleast_1d(L2_STREAMS.of(streams)),
        "dram": np.atleast_1d(dram) / DRAM_SHARE(device),
    }
    ramp = _start(execution, tiles.tiles, touch)
    latency = partial(_slowest_sector, device, traffic, touch)
    waits = waits_time(execution.instance, tiles, work, latency)
    every = besides_steps(tiles.turns, tiles.waves, bytes_out, device)
    first = besides_steps(np.ones(1), tiles.waves / tiles.turns, bytes_out, device)
    steps = together(
        OVERLAP(device),
        **memory,
        work=work,
        between=np.maximum(every - first, 0.0),
        waits=np.zeros_like(work) if waits is None else waits,
    )
    parts = parts_time(execution.instance, device)
    time = TILED_TIME(
        **{"launch": floor, "ramp": ramp, "first": first, "steps": steps},
        parts=0.0 if parts is None else parts,
    )
    named = {**pipes, **memory, "ramp": ramp, "waits": waits, "tiles": every, "parts": parts}
    found = {name: term for name, term in named.items() if term is not None}
    shape = np.broadcast_shapes(*(np.shape(term) for term in found.values()))
    terms = {name: np.broadcast_to(term, shape) for name, term in found.items()}
    return time, {"launch": np.zeros(shape) + floor, **terms}, streams


def _port_clocks(traffic: Traffic, sms: float, device: Device) -> Array:
    """Return the clocks of one SM's port for what all take in, multicast data at each of them."""
    loads = [a for a in traffic.accesses if a.kind == "load"]
    sectors = summed(a.sectors for a in loads)
    lines = summed(a.lines for a in loads)
    clocks = PORT_CYCLES(
        sectors=sectors, port=PORT(device), lines=lines, line=LINE_CLOCKS(device), m=sms
    )
    return np.atleast_1d(clocks)


def _l2_streams(traffic: Traffic, device: Device) -> L2Streams:
    """Return what L2 gives out and takes in."""
    return L2Streams(
        read_bytes=np.atleast_1d(traffic.l2_read_sectors * SECTOR),
        written_bytes=np.atleast_1d(traffic.l2_write_sectors * traffic.l2_write_cost * SECTOR),
        read_bandwidth=device.l2_read_bandwidth,
        write_bandwidth=device.l2_write_bandwidth or device.l2_read_bandwidth,
    )


def _start(execution: Execution, tiles: Array, touch: Array) -> Array:
    """Return the start-up of a pipeline [s]."""
    traffic, device = execution.traffic, execution.device
    reads = traffic.dram_read_bytes > COLD_SHARE(device) * SECTOR * traffic.l2_read_sectors
    latency = np.where(reads, device.dram_latency, device.l2_latency)
    fetch = code_fetch(device, tiles)
    return np.atleast_1d(RAMP_TIME(fetch=fetch, block=latency, touch=touch))


def waits_time(
    instance: Instance, tiles: Tiles, work: Array, latency: Callable[[], Any]
) -> Array | None:
    """Return the time of blocks that wait at their steps, for a latency [s]; None: none does."""
    stated = instance.pipeline
    assert stated is not None
    waits = np.atleast_1d(np.asanyarray(stated.waits, dtype=float))
    if not np.any(waits > 0):
        return None
    time = WAITS_TIME(
        turns=tiles.turns,
        waits=waits,
        latency=latency(),
        work=work,
        waves=tiles.waves,
    )
    return np.where(waits > 0, time, 0.0)


def parts_time(instance: Instance, device: Device) -> Array | None:
    """Return the time to add up parts along K [s]; None where there are none."""
    stated = instance.pipeline
    assert stated is not None
    parts = np.atleast_1d(np.asanyarray(stated.parts, dtype=float))
    if not np.any(parts > 1):
        return None
    time = PARTS_TIME(
        turn=np.asanyarray(stated.parts_ns, dtype=float) * 1e-9,
        parts=parts,
        part=np.asanyarray(stated.part_bytes, dtype=float),
        result=np.asanyarray(stated.result_bytes, dtype=float),
        bandwidth=device.l2_read_bandwidth,
    )
    return np.where(parts > 1, time, 0.0)


def _slowest_sector(device: Device, traffic: Traffic, touch: Array) -> Array:
    """Return when the last of a step's sectors arrives, from L2's far side or from DRAM [s].

    The buffer that most is read of decides whether a step has any of DRAM.
    """
    far = device.l2_far_latency or device.l2_latency
    most = largest(*(a.sectors for a in traffic.accesses if a.kind == "load"))
    share = traffic.dram_read_bytes / np.maximum(SECTOR * most, 1.0)
    late = np.maximum(device.dram_latency + touch - far, 0.0)
    return np.asanyarray(far + np.minimum(share, 1.0) * late)


def together(p: Any, **parts: Array) -> Array:
    """Evaluate `TOGETHER` without underflow."""
    return np.asanyarray(TOGETHER.by(_scaled_together, p=p, **parts))


def _scaled_together(p: Any, **parts: Array) -> Array:
    most = np.maximum(largest(*parts.values()), 1e-30)
    scaled = {name: value / most for name, value in parts.items()}
    return np.asanyarray(most * TOGETHER(p=p, **scaled))
