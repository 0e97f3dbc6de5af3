"""Tiles of a matrix product: how they are distributed over the SMs, and their fixed cost.

A grid of t tiles on m SMs takes as long as the SM with most tiles, ceil(t/m) of equal ones; blocks
without a tile still take a place while they are scheduled. Tiles that extend beyond the matrix take
as long as full ones.

Besides its steps each tile costs a prologue, in which the pipeline fills, and an epilogue, in which
results are rounded and stored at an SM's output rate. The two do not overlap with the steps of the
same block.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.formula import Formula
from perfmodel.models.launch.waves import unevenness
from perfmodel.models.mechanism import mechanism
from perfmodel.records import record

TURN: Final = Coefficient("time.tiles.turn")
STORE_RATE: Final = Coefficient("time.tiles.store_rate")
WAVES = Formula(
    name="tiles of the busiest SM",
    unit="1",
    text="max(ceil(t/m), min(ceil(p/m), r))",
    symbols={
        "t": "tiles, one per block [1]",
        "p": "blocks up to the last that has a tile, including those that have none [1]",
        "r": "blocks that fit an SM [1]",
        "m": "SMs [1]",
    },
    holds="tiles of equal work, scheduled as SMs get free; a second block is placed on an SM "
    "before it is known that a block elsewhere has no tile",
    source="definition",
)
UNEQUAL_WAVES = Formula(
    name="tiles of the busiest SM, in average tiles",
    unit="1",
    text="max(1, t/m)*uneven",
    symbols={
        "t": "tiles, one per block [1]",
        "m": "SMs [1]",
        "uneven": "factor of unequal tiles: the longest over the average, less with many waves [1]",
    },
    holds="tiles of unequal work, scheduled as SMs get free",
    source="derived: of few tiles the longest decides; of many the sum on an SM and the excess of "
    "one",
)
BUSY_TIME = Formula(
    name="time of a unit of the busiest SM",
    unit="s",
    text="cycles/clock*waves*m/b",
    symbols={
        "cycles": "busy clocks of the unit, averaged over SMs [clocks]",
        "clock": "SM clock [Hz]",
        "waves": "tiles of the busiest SM [1]",
        "b": "blocks that these clocks are counted for [1]",
        "m": "SMs [1]",
    },
    holds="tiles of equal work: one that extends beyond the matrix takes as long as a full one",
    source="definition",
)
TILES_TIME = Formula(
    name="prologue and epilogue of tiles",
    unit="s",
    text="turns*turn + waves*bytes/rate",
    symbols={
        "turns": "consecutive blocks of the busiest SM [1]",
        "waves": "tiles of the busiest SM [1]",
        "turn": "from a tile's start to its first step, and from its last step to the stores [s]",
        "bytes": "bytes of a finished tile [B]",
        "rate": "bytes that an SM stores per second [B/s]",
    },
    holds="concurrent blocks start and end together",
    source="fitted: see coefficients turn and store_rate",
)


@record
class Tiles:
    """How the tiles of a launch fall on its SMs, arrays over configurations."""

    tiles: Array  # of the launch, a block each [1]
    sms: float  # SMs of the device [1]
    waves: Array  # tiles of the busiest SM [1]
    turns: Array  # blocks of the busiest SM that follow one another [1]

    def busy(self, clocks: Array, clock: float, blocks: Array) -> Array:
        """Return the time of a unit of the busiest SM, whose clocks are of `blocks` blocks [s]."""
        return BUSY_TIME(cycles=clocks, clock=clock, waves=self.waves, b=blocks, m=self.sms)


def tiles_of(instance: Instance, device: Device) -> Tiles:
    """Return how a launch's tiles fall on the SMs."""
    stated = instance.pipeline
    assert stated is not None
    sms = 1.0 * device.sm_count
    tiles = np.asanyarray(stated.tiles, dtype=float)
    tiles = np.where(tiles > 0, tiles, np.atleast_1d(np.asanyarray(instance.blocks, dtype=float)))
    resident = np.asanyarray(stated.resident, dtype=float)
    launched = np.maximum(np.asanyarray(stated.launched, dtype=float), tiles)
    waves = np.atleast_1d(WAVES(t=tiles, p=launched, r=resident, m=sms))
    uneven = unevenness(instance, sms * resident / tiles)
    waves = np.where(uneven > 1, UNEQUAL_WAVES(t=tiles, m=sms, uneven=uneven), waves)
    return Tiles(tiles, sms, waves, np.atleast_1d(np.ceil(waves / resident)))


@mechanism(
    neutral=lambda turns, waves, size, _: 0.0 * (turns + waves + size), evidence=["matrix-products"]
)
def besides_steps(turns: Array, waves: Array, size: Array, device: Device) -> Array:
    """Return the time of tiles of so many bytes besides their steps [s]."""
    rate = STORE_RATE(device)
    time = TILES_TIME(turns=turns, waves=waves, turn=TURN(device), bytes=size, rate=rate)
    return np.atleast_1d(time)
