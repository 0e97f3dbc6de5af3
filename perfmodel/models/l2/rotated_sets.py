"""L2 capacity misses of a working set whose blocks move on to parts that others have read.

Blocks that re-read a set again and again, each pass another block's part, do not lose it all at
once when the set outgrows L2, as a cyclic LRU sweep would. Blocks that hit catch up with those that
miss, and run behind them in groups: the first block of a group misses, and the others hit what it
fetched. With a grid-wide barrier after each pass, all of a set that nearly fills L2 is lost.

The share of missed re-reads therefore starts on a steep curve around the capacity, and falls to a
smaller steady share after a number of re-reads that grows with the set. Blocks whose parts were
read by close neighbours keep most lines in one L2 partition; with farther neighbours more lines are
replicated in both partitions, and the capacity is reached earlier.
"""

from typing import Any, Final

import numpy as np

from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.l2.private_sets import PartedSet
from perfmodel.models.l2.residency import Streams, distance

HALF_DRIFTED = Formula(
    name="re-reads after which most blocks have caught up with others",
    unit="1",
    text="warmth*scale*max(0.02, d/c - start)**power",
    symbols={
        "d": "L2 used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
        "start": Coefficient("l2.rotated_sets.drift_from"),
        "warmth": "less than 1 where the launch before has left part of the set [1]",
        "scale": "re-reads at one L2 size beyond `start` [1]",
        "power": "exponent of its growth with the set [1]",
    },
    holds="as 'miss share of re-reads of other blocks' parts'",
    source="fitted form, together with 'miss share of re-reads of other blocks' parts'",
)
ROTATED_KNEE = Formula(
    name="miss share of re-reads of other blocks' parts",
    unit="1",
    text="(steady + (1 - steady)*young)/(1 + 2.0**min(60, (middle - d/c)/width))",
    symbols={
        "d": "L2 used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
        "young": "share of the re-reads before blocks have caught up [1]",
        "middle": "share of L2 at which half of the first re-reads miss [1]",
        "width": "share of L2 beyond that, per halving of the hits [1]",
        "steady": "share of these that still miss when all blocks have caught up [1]",
    },
    holds="sets of 0.13 to 2 times L2, two blocks per SM, read 5 to 60 times; with a grid-wide "
    "barrier after each pass, sets that take nearly all of L2 miss entirely",
    source="fitted form",
)


NEIGHBOURS: Final = Coefficient("l2.rotated_sets.neighbours")
WARM_DRIFT: Final = Coefficient("l2.rotated_sets.warm_drift")


_KNEE: Final = ("middle", "width", "steady", "scale", "power")
_NEAR: Final = [Coefficient(f"l2.rotated_sets.near_{name}") for name in _KNEE]
_FAR: Final = [Coefficient(f"l2.rotated_sets.far_{name}") for name in _KNEE]


def rotated_set(
    resident: Any,
    streams: Streams,
    capacity: float,
    passes: Any,
    near: Any,
    warm: bool,
    device: Device,
) -> PartedSet:
    """Return a set of which blocks move on to parts that others have read.

    `near` is whether close neighbours have read it, see `NEIGHBOURS`; the rest as `private_set`.
    """
    used = np.maximum(distance(1.0, resident, streams, device), 1.0)
    middle, width, steady, scale, power = (
        np.where(np.asanyarray(near), close(device), far(device))
        for close, far in zip(_NEAR, _FAR, strict=True)
    )
    half = HALF_DRIFTED.on(
        device,
        d=used,
        c=capacity,
        scale=scale,
        power=power,
        warmth=WARM_DRIFT(device) if warm else 1.0,
    )
    return PartedSet(
        used=used,
        capacity=capacity,
        again=np.maximum(np.asanyarray(passes, dtype=float) - 1, 1.0),
        before=np.zeros(()),
        half=np.asanyarray(half),
        knee=ROTATED_KNEE,
        shape={"middle": middle, "width": width, "steady": steady},
        device=device,
    )
