"""Least time: what a launch whose blocks copy ahead takes at least, told by what it states.

Its instructions, its tiles and parts, and the bytes that it loads, which a hundredth of the model
tells: of the many tiles that a library offers, this leaves a few that are worth the rest.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest, smallest
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


def least_times(
    instance: Instance, device: Device, timing: Timing, cold: bool
) -> tuple[Array, Array]:
    """Return times that launches whose blocks copy ahead are predicted to take at least [s].

    The second is closer; the first, never more than it, is told by what takes longest of a step.
    """
    instructions = instructions_of_loops(instance)
    device = under_load(device, instructions)
    tiles = tiles_of(instance, device)
    clocks, blocks = pipe_cycles(instructions, device), np.asanyarray(instance.blocks, dtype=float)
    busy = (tiles.busy(each, device.sm_clock, blocks) for each in clocks.values())
    work = largest(*busy)
    moved = _moved(instance, device, cold)
    out = moved.stored / tiles.tiles
    every = besides_steps(tiles.turns, tiles.waves, out, device)
    first = besides_steps(np.ones(1), tiles.waves / tiles.turns, out, device)
    late = (moved.loaded > 0) & (moved.once > COLD_SHARE(device) * moved.given)
    touch = np.where(late, cold_start_of(tiles.tiles, device), 0.0)
    waits = waits_time(instance, tiles, work, lambda: _latency(moved, touch, device))
    parts = {
        **_memory(moved, tiles, device),
        "work": work,
        "between": np.maximum(every - first, 0.0),
        "waits": np.zeros_like(work) if waits is None else waits,
    }
    ramp = RAMP_TIME(
        fetch=code_fetch(device, tiles.tiles),
        block=np.where(late, device.dram_latency, min(device.dram_latency, device.l2_latency)),
        touch=touch,
    )
    floor = launch_floor(device, timing, cold, works=bool(instance.kernel.accesses))
    added = parts_time(instance, device)
    bound, least = (
        TILED_TIME(
            **{"launch": floor, "ramp": ramp, "first": first, "steps": steps},
            parts=0.0 if added is None else added,
        )
        for steps in (largest(*parts.values()), together(OVERLAP(device), **parts))
    )
    return np.asanyarray(bound), np.asanyarray(least)


@record
class _Moved:
    """What launches move at least, arrays over configurations."""

    # loaded, stored and once: by all blocks, and from DRAM for what they load; of_one: of sectors
    # asked for of one buffer, and given: out by L2, at most [B]
    loaded: Array
    stored: Array
    once: Array
    of_one: Array
    given: Array
    # sectors and lines: into all SMs; reads: sectors that L2 gives out for these, at least [1]
    sectors: Array
    lines: Array
    reads: Array


def _moved(instance: Instance, device: Device, cold: bool) -> _Moved:
    """Return what launches move at least, as the kernel states it."""
    stated = instance.pipeline
    assert stated is not None
    loaded, sectors, lines, once, stored, *most = (
        np.asanyarray(number, dtype=float)
        for number in (
            *(stated.loaded_bytes, stated.loaded_sectors, stated.loaded_lines),
            *(stated.distinct_bytes, stated.stored_bytes),
            *(stated.asked_sectors, stated.asked_of_one),
        )
    )
    sectors = np.maximum(sectors, loaded / SECTOR)
    asked, of_one = (np.where(n > 0, n * SECTOR, _SPREAD * loaded) for n in most)
    shared = [*_shared(instance)] or [_ONE]
    return _Moved(
        loaded=loaded,
        stored=stored,
        once=once if cold else _NONE,
        of_one=of_one,
        given=asked / smallest(*shared) if device.has_clusters else asked,
        sectors=sectors,
        lines=np.maximum(lines, loaded / LINE),
        reads=sectors / largest(*shared),
    )


def _latency(moved: _Moved, touch: Array, device: Device) -> Array:
    """Return when the last of a step's sectors arrives at least, some of them from DRAM [s]."""
    far = device.l2_far_latency or device.l2_latency
    share = moved.once / np.maximum(moved.of_one, SECTOR)
    late = np.maximum(device.dram_latency + touch - far, 0.0)
    return np.asanyarray(far + np.minimum(share, 1.0) * late)


def _shared(instance: Instance) -> Iterator[Array]:
    """Yield the blocks that take in what L2 gives out once, of each load."""
    for access, shared in zip(instance.kernel.accesses, instance.multicast, strict=True):
        if access.kind == "load":
            yield np.asanyarray(shared, dtype=float)


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
