"""Who takes part by digits of the lane, ``i // 4`` and ``i % 4``, where guards cut warps."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.agreement import agreed
from perfmodel.models.grid.activity import RARE, Activity
from perfmodel.models.grid.affine import Variable


def in_split_lanes(
    activity: Activity, variables: Sequence[Variable], split: Sequence[Variable]
) -> Activity | None:
    """Return an activity with the lane's one digit as several, the fastest first.

    Lanes of warps that guards cut fill the digits in turn, the last of them in part: where such
    warps are rare. None where they are not, or the digits of warps differ as well.
    """
    lanes, own = ([v for v in each if v.in_lane] for each in (variables, split))
    others = [[v.name for v in each if not v.in_lane] for each in (variables, split)]
    if len(lanes) != 1 or others[0] != others[1]:
        return None
    name, extent = lanes[0].name, lanes[0].extent
    cut = summed(c.requests * (c.lanes[name] < extent) for c in activity.classes)
    if not agreed(cut <= RARE * activity.requests):
        return None
    none = {v.name: np.zeros(1) for v in own}
    classes = [
        replace(c, lanes=_filled(c.lanes[name], own), skipped=none) for c in activity.classes
    ]
    return replace(activity, classes=tuple(classes))


def _filled(lanes: Array, digits: Sequence[Variable]) -> dict[str, Array]:
    """Return how many values of each digit so many lanes fill, the fastest digit first."""
    found = {}
    for v in digits:
        found[v.name] = np.minimum(np.maximum(lanes, 1.0), v.extent)
        lanes = lanes / v.extent
    return found
