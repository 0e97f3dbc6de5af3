"""Least time: what a launch whose blocks copy ahead takes at least, told by what it states.

Its instructions, its tiles and parts, and the bytes that it loads, which a hundredth of the model
tells: of the many tiles that a library offers, this leaves a few that are worth the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.execution import Timing
from perfmodel.models.latency.block_waits import RAMP_TIME
from perfmodel.models.latency.cold_start import cold_start_of
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.time.issue import instructions_of_loops, pipe_cycles
from perfmodel.models.time.launch import code_fetch, launch_floor
from perfmodel.models.time.pipeline import (
    COLD_SHARE,
    DRAM_SHARE,
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

_NONE: Final = np.zeros(1)
_ONCE: Final = 0.9
"""Share of loaded buffers that DRAM is taken to be read for at least: runs may end early."""
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
    every = besides_steps(tiles.turns, tiles.waves, _NONE, device)
    first = besides_steps(np.ones(1), tiles.waves / tiles.turns, _NONE, device)
    waits = waits_time(instance, tiles, work, lambda: device.l2_far_latency or device.l2_latency)
    loaded, once = _loaded(instance), _once(instance) if cold else _NONE
    steps = together(
        OVERLAP(device),
        **_memory(loaded, once, tiles, device),
        work=work,
        between=np.maximum(every - first, 0.0),
        waits=np.zeros_like(work) if waits is None else waits,
    )
    late = (loaded > 0) & (once > COLD_SHARE(device) * _SPREAD * loaded)
    ramp = RAMP_TIME(
        fetch=code_fetch(device, tiles.tiles),
        block=np.where(late, device.dram_latency, min(device.dram_latency, device.l2_latency)),
        touch=np.where(late, cold_start_of(tiles.tiles, device), 0.0),
    )
    floor = launch_floor(device, timing, cold, works=bool(instance.kernel.accesses))
    parts = parts_time(instance, device)
    time = TILED_TIME(
        **{"launch": floor, "ramp": ramp, "first": first, "steps": steps},
        parts=0.0 if parts is None else parts,
    )
    return np.asanyarray(time)


def _loaded(instance: Instance) -> Array:
    """Return the bytes that all blocks load, as the kernel states them."""
    assert instance.pipeline is not None
    return np.asanyarray(instance.pipeline.loaded_bytes, dtype=float)


def _once(instance: Instance) -> Array:
    """Return the bytes that are read from DRAM at least: of all that is loaded, once."""
    names = dict.fromkeys(a.buffer for a in instance.kernel.accesses if a.kind == "load")
    lengths, sizes = instance.lengths, instance.element_bytes
    whole = (np.asanyarray(lengths[n], dtype=float) * np.asanyarray(sizes[n]) for n in names)
    return np.asanyarray(_ONCE * sum(whole, _NONE))


def _memory(loaded: Array, once: Array, tiles: Tiles, device: Device) -> Mapping[str, Array]:
    """Return what the port of an SM, L2 and DRAM need for these bytes at least [s]."""
    sectors = loaded / SECTOR
    port = PORT_CYCLES(sectors=sectors, port=PORT(device), lines=0.0, line=0.0, m=tiles.sms)
    most = max(
        device.dram_read_efficiency, device.dram_write_efficiency, device.dram_copy_efficiency
    )
    return {
        "port": np.atleast_1d(tiles.busy(port, device.sm_clock, tiles.tiles)),
        "l2": np.zeros_like(loaded),
        "dram": once / (device.dram_bandwidth * most * DRAM_SHARE(device)),
    }
