"""L2 latency differs between SMs: a launch ends with the SM that is farthest from its data.

The latency of an L2 hit depends on the distance between SM and slice. A launch in one wave waits
for the slowest SM, which is the largest of as many normal deviations as SMs are at work. With more
waves slow SMs are given fewer blocks, so the mean SM counts.

The standard deviation is 2% of the latency on the GPUs that were measured.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism

SLOWEST_SM = Formula(
    name="additional L2 latency of the slowest SM, relative",
    unit="1",
    text="spread*sqrt(1.386*log2(n))*(usual + (1 - usual)/waves)",
    symbols={
        "spread": "relative standard deviation of the L2 latency over SMs [1]",
        "n": "SMs at work [1]",
        "usual": "the mean SM's deviation over the slowest's [1]",
        "waves": "waves of blocks: with many, slow SMs get fewer blocks [1]",
    },
    holds="1 to 132 SMs",
    source="derived: the largest of n normal variables",
)
FAR_SMS: Final = Coefficient("latency.slowest_sm.far_sms")
USUAL_SMS: Final = Coefficient("latency.slowest_sm.usual_sms")


@mechanism(neutral=lambda *_: np.zeros(1), evidence=["suite"])
def slowest_sm(blocks: Array, waves: Array, device: Device) -> Array:
    """Return how much later data from L2 is at the slowest SM than at the first [s]."""
    far = SLOWEST_SM(
        spread=FAR_SMS(device),
        n=np.clip(blocks, 1.0, device.sm_count),
        usual=USUAL_SMS(device),
        waves=np.maximum(waves, 1.0),
    )
    return np.asanyarray(device.l2_latency * far)
