"""Reliability: what says how far the prediction of one launch is to be trusted."""

import numpy as np

from perfmodel.models.global_accesses import CacheState, GlobalAccesses, L2Start
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.ranges import Differences, differences
from perfmodel.prediction.circumstances import Circumstances
from perfmodel.prediction.details import Details
from perfmodel.records import record


@record
class Reliability:
    """What the interval and the warnings of a launch are made of, plain numbers."""

    circumstances: Circumstances
    differences: Differences
    # Standard deviation of the time from the device's figures, as a share.
    figure_spread: float


def differences_of(details: Details, cache: CacheState) -> Differences:
    """Return by how much closed form and simulator differ on evaluated launches, arrays."""
    x, y, z = (int(np.max(n)) for n in details.instance.block)
    accesses = GlobalAccesses(
        details.instance,
        block_shape((x, y, z)),
        details.requests,
        details.device,
        details.occupied,
        L2Start(details.setting.control),
    )
    return differences(accesses, details.traffic, cache == "cold")
