"""Least time: what a launch whose blocks copy ahead takes at least, told by what it states.

Its instructions, its tiles and parts, and the bytes that it loads, which a hundredth of the model
tells: of the many tiles that a library offers, this leaves a few that are worth the rest.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.execution import Timing
from perfmodel.models.latency.block_waits import RAMP_TIME
from perfmodel.models.latency.cold_start import cold_start_of
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.time.issue import instructions_of_loops, pipe_cycles
from perfmodel.models.time.launch import code_fetch, launch_floor
from perfmodel.models.time.pipeline import (
    COLD_SHARE,
    DRAM_SHARE,
    L2_STREAMS,
    LINE_CLOCKS,
    OVERLAP,
    PORT,
    PORT_CYCLES,
    TILED_TIME,
    parts_time,
    together,
    waits_time,
)
from perfmodel.models.time.stage import under_load
from perfmodel.models.time.tiles import Tiles, besides_steps, tiles_of
from perfmodel.records import record

_NONE: Final = np.zeros(1)
_ONE: Final = np.ones(1)
_SPREAD: Final = 4.0
"""Bytes of the sectors that requests ask for over those that they want, at most."""


def least_time(instance: Instance, device: Device, timing: Timing, cold: bool) -> Array:
    """Return a time that launches whose blocks copy ahead are predicted to take at least [s]."""
    instructions = instructions_of_loops(instance)
    device = under_load(device, instructions)
    tiles = tiles_of(instance, device)
    clocks, blocks = pipe_cycles(instructions, device), np.asanyarray(instance.blocks, dtype=float)
    busy = (tiles.busy(each, device.sm_clock, blocks) for each in clocks.values())
    work = largest(*busy)
    moved = _moved(instance, cold)
    out = moved.stored / tiles.tiles
    every = besides_steps(tiles.turns, tiles.waves, out, device)
    first = besides_steps(np.ones(1), tiles.waves / tiles.turns, out, device)
    late = (moved.loaded > 0) & (moved.once > COLD_SHARE(device) * moved.asked)
    touch = np.where(late, cold_start_of(tiles.tiles, device), 0.0)
    waits = waits_time(instance, tiles, work, lambda: _latency(moved, touch, device))
    steps = together(
        OVERLAP(device),
        **_memory(moved, tiles, device),
        work=work,
        between=np.maximum(every - first, 0.0),
        waits=np.zeros_like(work) if waits is None else waits,
    )
    ramp = RAMP_TIME(
        fetch=code_fetch(device, tiles.tiles),
        block=np.where(late, device.dram_latency, min(device.dram_latency, device.l2_latency)),
        touch=touch,
    )
    floor = launch_floor(device, timing, cold, works=bool(instance.kernel.accesses))
    parts = parts_time(instance, device)
    time = TILED_TIME(
        **{"launch": floor, "ramp": ramp, "first": first, "steps": steps},
        parts=0.0 if parts is None else parts,
    )
    return np.asanyarray(time)


@record
class _Moved:
    """What launches move at least, arrays over configurations."""

    # loaded, stored and once: by all blocks, and from DRAM for what they load; asked: of sectors
    # that are asked for, at most [B]
    loaded: Array
    stored: Array
    once: Array
    asked: Array
    # sectors and lines: into all SMs; reads: sectors that L2 gives out for these [1]
    sectors: Array
    lines: Array
    reads: Array


def _moved(instance: Instance, cold: bool) -> _Moved:
    """Return what launches move at least, as the kernel states it."""
    stated = instance.pipeline
    assert stated is not None
    loaded, sectors, lines, asked, once, stored = (
        np.asanyarray(number, dtype=float)
        for number in (
            *(stated.loaded_bytes, stated.loaded_sectors, stated.loaded_lines),
            *(stated.asked_sectors, stated.distinct_bytes, stated.stored_bytes),
        )
    )
    sectors = np.maximum(sectors, loaded / SECTOR)
    return _Moved(
        loaded=loaded,
        stored=stored,
        once=once if cold else _NONE,
        asked=np.where(asked > 0, asked * SECTOR, _SPREAD * loaded),
        sectors=sectors,
        lines=np.maximum(lines, loaded / LINE),
        reads=sectors / _shared(instance),
    )


def _latency(moved: _Moved, touch: Array, device: Device) -> Array:
    """Return when the last of a step's sectors arrives at least, some of them from DRAM [s]."""
    far = device.l2_far_latency or device.l2_latency
    share = moved.once / np.maximum(moved.asked, SECTOR)
    late = np.maximum(device.dram_latency + touch - far, 0.0)
    return np.asanyarray(far + np.minimum(share, 1.0) * late)


def _shared(instance: Instance) -> Array:
    """Return the blocks that take in what L2 gives out once, at most."""
    pairs = zip(instance.kernel.accesses, instance.multicast, strict=True)
    return largest(_ONE, *(np.asanyarray(m, dtype=float) for a, m in pairs if a.kind == "load"))


def _memory(moved: _Moved, tiles: Tiles, device: Device) -> Mapping[str, Array]:
    """Return what the port of an SM, L2 and DRAM need for that [s]."""
    port = PORT_CYCLES(
        sectors=moved.sectors,
        port=PORT(device),
        lines=moved.lines,
        line=LINE_CLOCKS(device),
        m=tiles.sms,
    )
    l2 = L2_STREAMS(
        read_bytes=moved.reads * SECTOR,
        read_bandwidth=device.l2_read_bandwidth,
        written_bytes=moved.stored,
        write_bandwidth=device.l2_write_bandwidth or device.l2_read_bandwidth,
    )
    most = max(
        device.dram_read_efficiency, device.dram_write_efficiency, device.dram_copy_efficiency
    )
    return {
        "port": np.atleast_1d(tiles.busy(port, device.sm_clock, tiles.tiles)),
        "l2": np.atleast_1d(l2),
        "dram": moved.once / (device.dram_bandwidth * most * DRAM_SHARE(device)),
    }
