"""Blocks that copy ahead: tiles whose next data is under way while this one is worked on.

A bulk copy needs no thread, no register and no L1: what is left is how fast an SM takes data in,
how fast it works, and what each tile costs before its first and after its last step. Nothing waits
in a loop as long as the pipeline is deep enough, so no latency is counted there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.extremes import largest
from perfmodel.models.formula import Formula
from perfmodel.models.latency.chain import Chain
from perfmodel.models.latency.latency import first_touch
from perfmodel.models.launch.waves import unevenness
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.time.launch import code_fetch
from perfmodel.models.time.memory_times import L2Streams
from perfmodel.traffic import Traffic

Array = npt.NDArray[Any]

PORT: Final = 64.0
"""Bytes that an SM takes in from L2 in a clock (NVIDIA A100 and H100 white papers: 64 B a clock and
SM; tiles of 8 x 64 to 64 x 64 on an H200 reach 50 to 90 with multicast)."""
LINE_CLOCKS: Final = 1.54
TURN: Final = 0.5e-6
STORE_RATE: Final = 110e9
DRAM_SHARE: Final = 0.87
OVERLAP: Final = 7.0
"""Clocks of an SM that a line takes, however little of it is wanted; seconds of a tile besides its
steps (the pipeline fills, sums are rounded and put out); bytes of a finished tile that an SM puts
out in a second; what tiles reach of the DRAM bandwidth of streams; exponent between tensor cores,
what comes in, L2 and DRAM.

Fitted together, with the device's ``reached_bf16_tensor`` and the kernel's issue slots a narrow
copy, to 771 products of cuBLAS marked fit, warm and cold (measurements/h200-tensor/products.csv):
5% off in the median, 16% at the ninetieth percentile, as on those marked validation.
"""

TOGETHER = Formula(
    name="steps of all tiles, together",
    unit="s",
    text="((work + between)**p + waits**p + port**p + l2**p + dram**p)**(1/p)",
    symbols={
        "work": "time of the slowest pipe [s]",
        "between": "time of tiles besides their steps, an SM's first apart: copies go on [s]",
        "waits": "time of blocks that wait at their steps [s]",
        "port": "time to take in the tiles' data [s]",
        "l2": "time of L2 [s]",
        "dram": "time of DRAM [s]",
        "p": "exponent: how sharply one decides [1]",
    },
    holds="pipelines deep enough to wait for nothing after their start, but for what they state",
    source="fitted: products by cuBLAS on an H200 (measurements/h200-tensor)",
)
ROUNDS = Formula(
    name="tiles of the busiest SM",
    unit="1",
    text="max(ceil(t/m), min(ceil(p/m), r))",
    symbols={
        "t": "tiles, a block each [1]",
        "p": "blocks up to the last that has a tile, with those that have none [1]",
        "r": "blocks that an SM holds at a time [1]",
        "m": "SMs [1]",
    },
    holds="tiles of equal work, handed out as SMs get free; a second block comes to an SM that "
    "holds one before it is known that a block elsewhere has nothing to do",
    source="definition",
)
UNEQUAL_ROUNDS = Formula(
    name="tiles of the busiest SM, in average ones",
    unit="1",
    text="max(1, t/m)*uneven",
    symbols={
        "t": "tiles, a block each [1]",
        "m": "SMs [1]",
        "uneven": "what unequal tiles add: see `perfmodel.models.launch.waves.unevenness` [1]",
    },
    holds="tiles of unequal work, handed out as SMs get free",
    source="derived: of few tiles the longest; of many what an SM has, and what one is longer",
)
TURNS = Formula(
    name="blocks of the busiest SM that follow one another",
    unit="1",
    text="ceil(rounds/r)",
    symbols={
        "rounds": "tiles of the busiest SM [1]",
        "r": "blocks that an SM holds at a time [1]",
    },
    holds="blocks of equal work",
    source="definition",
)
WAITS_TIME = Formula(
    name="time of blocks that wait at their steps",
    unit="s",
    text="turns*(waits*latency + work/rounds)",
    symbols={
        "turns": "blocks of the busiest SM that follow one another [1]",
        "waits": "steps of a block that wait for data asked for one step before [1]",
        "latency": "until such data arrives, from L2 or DRAM by their shares [s]",
        "work": "time of the slowest pipe [s]",
        "rounds": "tiles of the busiest SM [1]",
    },
    holds="pipelines of two steps through registers; none deeper",
    source="derived: a step's loads, what they wait for, and its stores to shared memory in turn",
)
BUSY_TIME = Formula(
    name="time of a unit of the busiest SM",
    unit="s",
    text="cycles/clock*rounds*m/b",
    symbols={
        "cycles": "busy clocks of the unit, averaged over SMs [clocks]",
        "clock": "SM clock [Hz]",
        "rounds": "tiles of the busiest SM [1]",
        "b": "blocks that these clocks are of [1]",
        "m": "SMs [1]",
    },
    holds="tiles of equal work: one that sticks out of the matrix takes as long as another",
    source="definition",
)
PORT_CYCLES = Formula(
    name="clocks to take in the tiles' data, an SM",
    unit="clocks",
    text="max(sectors*32/port, lines*line)/m",
    symbols={
        "sectors": "sectors that all SMs take in, multicast ones at each of them [1]",
        "port": "bytes a clock [B/clock]",
        "lines": "lines that these are in, counted by request [1]",
        "line": "clocks a line [clocks]",
        "m": "SMs [1]",
    },
    holds="bulk copies of whole rows of a tile",
    source="white papers for the port; the clocks a line fitted to rows that start off a line",
)
L2_STREAMS = Formula(
    name="time of L2",
    unit="s",
    text="reads/read + writes/write",
    symbols={
        "reads": "bytes that L2 gives out, multicast ones once [B]",
        "read": "L2 read bandwidth [B/s]",
        "writes": "bytes written, with the cost of partial lines [B]",
        "write": "L2 write bandwidth [B/s]",
    },
    holds="bulk copies",
    source="definition of bandwidth",
)
DRAM_TILES = Formula(
    name="time of DRAM, tiles",
    unit="s",
    text="streams/share",
    symbols={
        "streams": "time of the same bytes as streams [s]",
        "share": "of whose bandwidth tiles reach [1]",
    },
    holds="rows of a tile, some hundred bytes each, by one block an SM",
    source="fitted: products by cuBLAS on an H200 (measurements/h200-tensor)",
)
TILES_TIME = Formula(
    name="time of tiles besides their steps",
    unit="s",
    text="turns*turn + rounds*bytes/rate",
    symbols={
        "turns": "blocks of the busiest SM that follow one another [1]",
        "rounds": "tiles of the busiest SM [1]",
        "turn": "from a tile's start to its first step, and from its last to the stores [s]",
        "bytes": "bytes of a finished tile [B]",
        "rate": "bytes that an SM puts out a second [B/s]",
    },
    holds="blocks side by side start and end together",
    source="fitted: products by cuBLAS on an H200 (measurements/h200-tensor)",
)
PARTS_TIME = Formula(
    name="time to add up parts",
    unit="s",
    text="turn + (parts*part + result)/bandwidth",
    symbols={
        "turn": "until the second launch works [s]",
        "parts": "blocks that share a tile [1]",
        "part": "bytes of one part of all results [B]",
        "result": "bytes of the results [B]",
        "bandwidth": "L2 read bandwidth [B/s]",
    },
    holds="parts that L2 holds",
    source="fitted: products split along K by cuBLAS on an H200 (measurements/h200-tensor)",
)
PIPELINE_START = Formula(
    name="start-up of a pipeline",
    unit="s",
    text="fetch + latency + touch",
    symbols={
        "fetch": "a launch with any work, beyond an empty one [s]",
        "latency": "until the first data arrives [s]",
        "touch": "first reads of a cold launch beyond DRAM's latency [s]",
    },
    holds="always",
    source="as for any launch",
)
TILED_TIME = Formula(
    name="time",
    unit="s",
    text="launch + ramp + first + steps",
    symbols={
        "launch": "an empty kernel [s]",
        "ramp": "a block's start and its first loads [s]",
        "first": "from the first tile's start to its first step, and its stores [s]",
        "steps": "steps of all tiles, together [s]",
    },
    holds="blocks that copy ahead",
    source="definition",
)
PARTED_TIME = replace(
    TILED_TIME,
    text="launch + ramp + first + steps + parts",
    symbols={**TILED_TIME.symbols, "parts": "time to add up parts [s]"},
)
NO_CHAIN: Final = Chain({}, np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1), (), 1.0)
"""What such a block waits for one after the other: nothing."""


@dataclass(frozen=True, slots=True)
class PipelineTime:
    """Terms of launches whose blocks copy ahead; see `perfmodel.models.time.stage.TimeModel`."""

    time_s: Array
    terms_s: Mapping[str, Array]
    inputs: Mapping[str, Mapping[str, Any]]
    l2_streams: L2Streams


def pipeline_time(
    instance: Instance,
    traffic: Traffic,
    device: Device,
    floor: float,
    cycles: Mapping[str, Array],
    dram: Array,
) -> PipelineTime:
    """Return the time of launches whose blocks copy ahead, and its terms.

    Parameters
    ----------
    instance : Instance
        Of a kernel with a pipeline.
    traffic : Traffic
    device : Device
    floor : float
        An empty launch [s].
    cycles : mapping of str to array
        Clocks of issue and the pipes, averaged over SMs.
    dram : array
        Time of DRAM's bytes [s].
    """
    stated = instance.pipeline
    assert stated is not None
    blocks = np.atleast_1d(np.asanyarray(instance.blocks, dtype=float))
    sms = 1.0 * device.sm_count
    tiles = np.asanyarray(stated.tiles, dtype=float)
    tiles = np.where(tiles > 0, tiles, blocks)
    resident = np.asanyarray(stated.resident, dtype=float)
    launched = np.maximum(np.asanyarray(stated.launched, dtype=float), tiles)
    inputs: dict[str, dict[str, Any]] = {
        "rounds": {"t": tiles, "p": launched, "r": resident, "m": sms}
    }
    rounds = np.atleast_1d(ROUNDS(**inputs["rounds"]))
    uneven = unevenness(instance, sms * resident / tiles)
    inputs["unequal-rounds"] = {"t": tiles, "m": sms, "uneven": uneven}
    rounds = np.where(uneven > 1, UNEQUAL_ROUNDS(**inputs["unequal-rounds"]), rounds)
    inputs["turns"] = {"rounds": rounds, "r": resident}
    turns = np.atleast_1d(TURNS(**inputs["turns"]))
    found: dict[str, Array] = {}

    def busy(name: str, clocks: Any, blocks: Array) -> None:
        inputs[name] = {
            "cycles": clocks,
            "clock": device.sm_clock,
            "rounds": rounds,
            "b": blocks,
            "m": sms,
        }
        found[name] = np.atleast_1d(BUSY_TIME(**inputs[name]))

    worked = {name: clocks for name, clocks in cycles.items() if np.any(clocks > 0)}
    for name, clocks in worked.items():
        busy(name, clocks, blocks)
    loads = [a for a in traffic.accesses if a.kind == "load"]
    taken = {
        "sectors": sum((a.sectors for a in loads), np.zeros(1)),
        "port": PORT,
        "lines": sum((a.lines for a in loads), np.zeros(1)),
        "line": LINE_CLOCKS,
        "m": sms,
    }
    busy("port", np.atleast_1d(PORT_CYCLES(**taken)), tiles)
    inputs["port-cycles"] = taken
    inputs["l2"] = {
        "reads": np.atleast_1d(traffic.l2_read_sectors * SECTOR),
        "read": device.l2_read_bandwidth,
        "writes": np.atleast_1d(traffic.l2_write_sectors * traffic.l2_write_cost * SECTOR),
        "write": device.l2_write_bandwidth or device.l2_read_bandwidth,
    }
    found["l2"] = np.atleast_1d(L2_STREAMS(**inputs["l2"]))
    inputs["dram-tiles"] = {"streams": np.atleast_1d(dram), "share": DRAM_SHARE}
    found["dram"] = np.atleast_1d(DRAM_TILES(**inputs["dram-tiles"]))
    reads = traffic.dram_read_bytes > 0.05 * SECTOR * traffic.l2_read_sectors
    inputs["ramp"] = {
        "fetch": code_fetch(device, tiles),
        "latency": np.where(reads, device.dram_latency, device.l2_latency),
        "touch": first_touch(traffic.dram_read_bytes, traffic.l2_read_sectors, tiles, sms),
    }
    found["ramp"] = np.atleast_1d(PIPELINE_START(**inputs["ramp"]))
    waits = np.atleast_1d(np.asanyarray(stated.waits, dtype=float))
    inputs["waits"] = {
        "turns": turns,
        "waits": waits,
        "latency": _slowest_sector(device, traffic, inputs["ramp"]["touch"]),
        "work": slowest_pipe(found, tuple(worked)),
        "rounds": rounds,
    }
    if np.any(waits > 0):
        found["waits"] = np.where(waits > 0, WAITS_TIME(**inputs["waits"]), 0.0)
    inputs["tiles"] = {
        "turns": turns,
        "rounds": rounds,
        "turn": TURN,
        "bytes": traffic.global_store_sectors * SECTOR / tiles,
        "rate": STORE_RATE,
    }
    found["tiles"] = np.atleast_1d(TILES_TIME(**inputs["tiles"]))
    inputs["first-tiles"] = inputs["tiles"] | {"turns": np.ones(1), "rounds": rounds / turns}
    first = np.atleast_1d(TILES_TIME(**inputs["first-tiles"]))
    inputs["parts"] = {
        "turn": np.asanyarray(stated.parts_ns, dtype=float) * 1e-9,
        "parts": np.atleast_1d(np.asanyarray(stated.parts, dtype=float)),
        "part": np.asanyarray(stated.part_bytes, dtype=float),
        "result": np.asanyarray(stated.result_bytes, dtype=float),
        "bandwidth": device.l2_read_bandwidth,
    }
    several = inputs["parts"]["parts"] > 1
    if np.any(several):
        found["parts"] = np.where(several, PARTS_TIME(**inputs["parts"]), 0.0)
    shape = np.broadcast_shapes(*(np.shape(value) for value in found.values()))
    found = {name: np.broadcast_to(value, shape) for name, value in found.items()}
    between = np.maximum(found["tiles"] - first, 0.0)
    steps = together(found, between, tuple(worked))
    if "parts" in found:
        time = PARTED_TIME(
            launch=floor, ramp=found["ramp"], first=first, steps=steps, parts=found["parts"]
        )
    else:
        time = TILED_TIME(launch=floor, ramp=found["ramp"], first=first, steps=steps)
    l2 = inputs["l2"]
    streams = L2Streams(l2["reads"], l2["writes"], l2["read"], l2["write"])
    return PipelineTime(time, {"launch": np.zeros(shape) + floor, **found}, inputs, streams)


def _slowest_sector(device: Device, traffic: Traffic, touch: Array) -> Array:
    """Return when the last of a step's sectors arrives, from L2's far side or from DRAM [s].

    The buffer that most is read of decides whether a step has any of DRAM.
    """
    far = device.l2_far_latency or device.l2_latency
    most = largest(*(a.sectors for a in traffic.accesses if a.kind == "load"))
    share = traffic.dram_read_bytes / np.maximum(SECTOR * most, 1.0)
    late = np.maximum(device.dram_latency + touch - far, 0.0)
    return np.asanyarray(far + np.minimum(share, 1.0) * late)


def slowest_pipe(terms: Mapping[str, Any], pipes: Sequence[str]) -> Any:
    """Return the time of the slowest pipe."""
    return largest(terms["issue"], *(terms[name] for name in pipes))


def together(terms: Mapping[str, Array], between: Array, pipes: Sequence[str]) -> Array:
    """Evaluate `TOGETHER` without underflow."""
    parts = {name: terms[name] for name in ("port", "l2", "dram")}
    parts["work"] = slowest_pipe(terms, pipes)
    parts["between"] = between
    parts["waits"] = terms.get("waits", np.zeros_like(parts["work"]))
    return np.asanyarray(TOGETHER.by(_scaled_together, p=OVERLAP, **parts))


def _scaled_together(p: Any, **parts: Array) -> Array:
    most = np.maximum(largest(*parts.values()), 1e-30)
    scaled = {name: value / most for name, value in parts.items()}
    return np.asanyarray(most * TOGETHER(p=p, **scaled))
