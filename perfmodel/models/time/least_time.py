"""Least time: what a launch whose blocks copy ahead takes at least, whatever memory adds.

Its instructions, its tiles and its parts alone, which a hundredth of the model tells: of the many
tiles that a library offers, this leaves a few that are worth the rest.
"""

from __future__ import annotations

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.execution import Timing
from perfmodel.models.extremes import largest
from perfmodel.models.latency.block_waits import RAMP_TIME
from perfmodel.models.time.issue import instructions_of_loops, pipe_cycles
from perfmodel.models.time.launch import code_fetch, launch_floor
from perfmodel.models.time.pipeline import OVERLAP, TILED_TIME, parts_time, together, waits_time
from perfmodel.models.time.stage import under_load
from perfmodel.models.time.tiles import besides_steps, tiles_of

_NONE = np.zeros(1)


def least_time(instance: Instance, device: Device, timing: Timing, cold: bool) -> Array:
    """Return a time that launches whose blocks copy ahead are predicted to take at least [s].

    Nothing moves: all that memory adds to the time adds to this.
    """
    instructions = instructions_of_loops(instance)
    device = under_load(device, instructions)
    tiles = tiles_of(instance, device)
    clocks, blocks = pipe_cycles(instructions, device), np.asanyarray(instance.blocks, dtype=float)
    busy = (tiles.busy(each, device.sm_clock, blocks) for each in clocks.values())
    work = largest(*busy)
    every = besides_steps(tiles.turns, tiles.waves, _NONE, device)
    first = besides_steps(np.ones(1), tiles.waves / tiles.turns, _NONE, device)
    waits = waits_time(instance, tiles, work, lambda: device.l2_far_latency or device.l2_latency)
    steps = together(
        OVERLAP(device),
        **dict.fromkeys(("port", "l2", "dram"), np.zeros_like(work)),
        work=work,
        between=np.maximum(every - first, 0.0),
        waits=np.zeros_like(work) if waits is None else waits,
    )
    ramp = RAMP_TIME(
        fetch=code_fetch(device, tiles.tiles),
        block=min(device.dram_latency, device.l2_latency),
        touch=0.0,
    )
    floor = launch_floor(device, timing, cold, works=bool(instance.kernel.accesses))
    parts = parts_time(instance, device)
    time = TILED_TIME(
        **{"launch": floor, "ramp": ramp, "first": first, "steps": steps},
        parts=0.0 if parts is None else parts,
    )
    return np.asanyarray(time)
