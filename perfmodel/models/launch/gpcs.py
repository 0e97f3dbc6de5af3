"""Unequal load of the GPCs when only part of a grid's blocks have work.

The block scheduler fills the GPU GPC by GPC: with all blocks of a grid resident at once,
consecutive block indices go to the SMs of one GPC before the next GPC gets any. Blocks without
work, as in a grid-stride loop over less data than the grid has threads, are the ones with the
highest indices, so some GPCs have all of their blocks at work and others few.

Each GPC has a share of the bandwidth from L2 in proportion to its SMs. L2's time is therefore
longer by the blocks per SM of the fullest GPC over the mean over all SMs. Which GPC gets the first
blocks changes from launch to launch; the model takes the mean over all of them. A few SMs (8 of 132
on the H100 and H200 that were measured) get their blocks in an order of their own, before the GPCs.
Grids of more than one dimension, and GPUs whose number of GPCs is not known, are taken as evenly
loaded.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.derivation import definition
from perfmodel.models.formula import Formula
from perfmodel.models.grid.distinct import distinct_columns
from perfmodel.models.mechanism import mechanism

BUSIEST_GPC = Formula(
    name="time of L2 with unequally loaded GPCs",
    unit="s",
    text="own*load",
    symbols={
        "own": "time of L2, all GPCs alike [s]",
        "load": "blocks per SM of the fullest GPC, over the mean of all SMs [1]",
    },
    holds="loops over less data than a grid has threads for; 1 elsewhere",
    source="derived: a GPC's share of L2's bandwidth is its share of the SMs; measured: 16, 20, "
    "24 and 32 blocks that read 16 KiB each on a GPC of 16 SMs take 612, 769, 840 and 1056 "
    "clocks, 36 on one of 18 SMs 1171, whether other GPCs are busy or not (measurements/l2, "
    "partitions/grids.txt)",
)
SEPARATE: Final = Coefficient("launch.gpcs.separate")
SECOND: Final = Coefficient("launch.gpcs.second")
TURN: Final = Coefficient("launch.gpcs.turn")
SEPARATE_LOAD: Final = Coefficient("launch.gpcs.separate_load")


@mechanism(neutral=lambda *_: np.ones(1), evidence=["l2"])
def gpc_load(instance: Instance, busy: Array, held: Array, device: Device) -> Array:
    """Return `load` of `BUSIEST_GPC`; `busy` blocks of the grid are at work, `held` fit an SM."""
    if instance.kernel.block_work:
        return np.ones(1)
    one_axis = sum(np.asanyarray(extent) > 1 for extent in instance.grid) <= 1
    blocks = np.asanyarray(instance.blocks, dtype=float)
    room = np.maximum(np.asanyarray(held, dtype=float), 1.0)
    return np.where(one_axis, busiest_gpc(busy, blocks, room, device), 1.0)


def busiest_gpc(busy: Array, blocks: Array, held: Array, device: Device) -> Array:
    """Return the blocks an SM of the GPC that has most of the first `busy`, over the mean.

    1 where all are at work, an SM has room for one (`held`), not all run together, or GPCs are
    unknown.
    """
    separate = (SEPARATE(device), SECOND(device), TURN(device), SEPARATE_LOAD(device))
    return np.asanyarray(_busiest(busy, blocks, held, device.sm_count, device.gpcs or 0, *separate))


def _busiest_one(
    busy: float, blocks: float, held: float, sms: int, gpcs: int, *separate: float
) -> float:
    """Return what `_busiest` does, of one launch on plain numbers."""
    there, whole = math.ceil(busy - 1e-9), (int(separate[0]), int(separate[1]), int(separate[2]))
    known = bool(gpcs) and sms // gpcs >= whole[0]
    if not known or not (1 <= there < blocks and sms < blocks <= held * sms):
        return 1.0
    most = _most(there, -(-int(blocks) // sms), sms, gpcs, whole, separate[3])
    return max(most * sms / there, 1.0)


@definition(one=_busiest_one)
def _busiest(
    busy: Array, blocks: Array, held: Array, sms: int, gpcs: int, *separate: float
) -> Array:
    """Return the same by a GPU's counts, and by the coefficients of separate SMs."""
    there, every, room = np.broadcast_arrays(np.ceil(busy - 1e-9), blocks, held)
    whole = (int(separate[0]), int(separate[1]), int(separate[2]))
    if not gpcs or sms // gpcs < whole[0]:
        return np.ones(there.shape)
    together = (there < every) & (every > sms) & (every <= room * sms) & (there >= 1)
    load = np.ones(there.shape)
    pairs = there[together].astype(np.int64), -(-every[together].astype(np.int64) // sms)
    chosen, of = distinct_columns(np.stack(pairs))
    each = [
        _most(busy_here, rounds, sms, gpcs, whole, separate[3]) * sms / busy_here
        for busy_here, rounds in zip(*(pair[chosen].tolist() for pair in pairs), strict=True)
    ]
    load[together] = np.array(each)[of]
    return np.maximum(load, 1.0)


@lru_cache(maxsize=4096)
def _most(
    busy: int, rounds: int, sms: int, gpcs: int, separate: tuple[int, int, int], load: float
) -> float:
    """Return the blocks an SM of the GPC that has most of `busy`, of `rounds` for each SM.

    The mean over the GPCs that may be the first.
    """
    sizes = gpc_sizes(sms, gpcs, separate[0])
    found = [_most_from(start, busy, rounds, sizes, separate, load) for start in range(gpcs)]
    return sum(found) / gpcs


def _most_from(
    start: int,
    busy: int,
    rounds: int,
    sizes: tuple[int, ...],
    separate: tuple[int, int, int],
    load: float,
) -> float:
    """Return the same where a GPC is the first."""
    sms, second, turn = separate
    own = [0] * len(sizes)
    given, turns = min(busy, sms), 1
    alone, of = given, start
    while given < busy:
        if turns < rounds and given >= second + turn * (turns - 1):
            part, turns = min(busy - given, sms), turns + 1
            alone += part
        else:
            here = of % len(sizes)
            part, of = min(busy - given, sizes[here]), of + 1
            own[here] += part
        given += part
    most = max(n / size for n, size in zip(own, sizes, strict=True))
    more = max(alone / sms - 1, 0.0)
    return max(most, 1 + more * load) if more else most


def gpc_sizes(sms: int, gpcs: int, separate: int) -> tuple[int, ...]:
    """Return the SMs of each GPC, pairs of SMs dealt out evenly, less those by themselves."""
    pairs = sms // 2
    sizes = [2 * ((pairs + i) // gpcs) for i in range(gpcs)]
    return (sizes[0] - separate, *sizes[1:])
