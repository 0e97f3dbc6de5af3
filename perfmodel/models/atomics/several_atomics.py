"""Several global atomics in one kernel: separate busy slices, one common network.

Atomics to different buffers with few addresses each usually have different busiest slices, so the
kernel takes as long as the slowest of them. Atomics to many addresses load all slices evenly, so
their times add. Between the two, the excess of each busiest slice over the mean combines as a power
mean, whose exponent grows with the share of transactions at the most popular 256 B.

All of them share the network, the SMs' paths to L2, and the tag lookups.
"""

from collections.abc import Sequence

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.atomics.global_atomics import OVERLAP, AtomicTime, SliceLoad
from perfmodel.models.formula import Formula
from perfmodel.models.power_mean import power_mean
from perfmodel.models.requests.warp_requests import Requests

BUSIEST_OF_SEVERAL = Formula(
    name="time of the busiest slice for atomics to several buffers",
    unit="s",
    text="even + beyond",
    symbols={
        "even": "mean time of a slice for all atomics [s]",
        "beyond": "excess of each atomic's busiest slice, as a power mean [s]",
    },
    holds="two to four arrays of 1 to 262144 words, dense or one word per 64 B",
    source="derived for one word in each array, whose slices differ, and for words all over L2",
)
APART = Formula(
    name="exponent between the busiest slices of several atomics",
    unit="1",
    text="least + popular*share",
    symbols={
        "least": Coefficient("atomics.several_atomics.least"),
        "popular": Coefficient("atomics.several_atomics.popular"),
        "share": "share of the transactions at the most popular 256 B [1]",
    },
    holds="as 'time of the busiest slice for atomics to several buffers'",
    source="fitted form: see least and popular",
)


def several_times(
    atomics: Sequence[AtomicTime], requests: Sequence[Requests], device: Device
) -> tuple[Array, Array]:
    """Return the time of all atomics of a kernel, at least one, and of their lookups [s]."""
    if len(atomics) == 1:
        return atomics[0].time_s, atomics[0].lookups_s
    # Who tries again has waits of its own.
    time = summed(a.time_s for a in atomics if a.tries is not None)
    lookups = summed(a.lookups_s for a in atomics if a.tries is not None)
    once = [a for a in atomics if a.tries is None]
    if once:
        buffers = [requests[a.position].access.buffer for a in once]
        popular = [a.popular for a in once]
        slices = _busiest([a.load for a in once], popular, buffers, device)
        network, send = summed(a.network_s for a in once), summed(a.send_s for a in once)
        time = time + power_mean((slices, network, send), OVERLAP(device))
        brief = _busiest([a.brief for a in once], popular, buffers, device)
        lookups = lookups + np.maximum(brief, summed(a.alone_s for a in once))
    return np.asanyarray(time), np.asanyarray(lookups)


def _busiest(
    loads: Sequence[SliceLoad], popular: Sequence[Array], buffers: Sequence[str], device: Device
) -> Array:
    """Return the time of the busiest slice; atomics of one buffer go to the same places."""
    beyond = [
        summed(load.most - load.even for load, own in zip(loads, buffers, strict=True) if own == b)
        for b in dict.fromkeys(buffers)
    ]
    weights = summed(load.most for load in loads)
    hot = summed(load.most * share for load, share in zip(loads, popular, strict=True))
    share = hot / np.maximum(weights, 1e-30)
    apart = APART.on(device, share=share)
    even = summed(load.even for load in loads)
    return BUSIEST_OF_SEVERAL(even=even, beyond=power_mean(beyond, apart))
