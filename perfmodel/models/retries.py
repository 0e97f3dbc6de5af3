"""Retries: loops of compare-and-swap and locks, at any number of addresses.

A lane that loses learns the new value, and tries again. Of the lanes that want one address one wins
a round. A round is the way to L2 and back, behind the tries of all other lanes: those of its own SM
go before it, and of those at the slice a part, for some that have the new value come back sooner.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.models.formula import Formula

Array = npt.NDArray[Any]

CONTENDERS = Formula(
    name="lanes that want the most popular address",
    unit="1",
    text="mean + drawn*(sqrt(2*mean*ln) + ln/3)",
    symbols={
        "mean": "lanes at an address that is as popular [1]",
        "drawn": "1 where lanes draw their addresses at random, else 0 [1]",
        "ln": "natural logarithm of the number of such addresses [1]",
    },
    holds="the largest of many Poisson numbers within 15%",
    source="derived: Bernstein's bound",
)
LOOP_TIME = Formula(
    name="time of compare-and-swap loops",
    unit="s",
    text="all*(trip + own + wait*slice) - last*(own + wait*slice)/2",
    symbols={
        "all": "rounds that the most popular address needs: lanes of the launch that want it [1]",
        "last": "of them, those in which the last lanes leave one by one [1]",
        "trip": "an atomic's way to L2 and back, with the loop's instructions [s]",
        "own": "time of an SM for one try of each of its warps [s]",
        "slice": "time of the busiest slice for one try of each resident lane [s]",
        "wait": "share of the slice's queue that a fresh try waits for [1]",
    },
    holds="1 to 250,000 lanes at 1 to 1,000,000 addresses",
    source="derived, with the share fitted: tries counted and timed (measurements/"
    "h200-sxm-contention/retries.csv)",
)

TRIP: Final = 1.86
"""An atomic's trip in a loop over the latency of a near L2 hit: 460 to 630 clocks, as the address
lies, against 290 (retries.csv, fit rows)."""
TRY_CLOCKS: Final = 32.0
"""Clocks that an SM needs for one try of a warp: 28 where nothing else binds (atomics-cas.csv, one
compare-and-swap of consecutive lanes), about as many with a line for each lane (retries.csv)."""
WAIT: Final = 0.3
"""`wait` of `LOOP_TIME`; fitted (retries.csv, fit rows)."""


def contenders(mean: Array, random: bool, addresses: Array) -> Array:
    """Return how many lanes want the most popular address; see `CONTENDERS`."""
    ln = np.log(np.maximum(addresses, 1.0))
    return np.asarray(CONTENDERS(mean=mean, drawn=float(random), ln=ln))


def loop_inputs(
    lanes: Array, wanted: Array, together: Array, requests: Array, slices: Array, device: Device
) -> dict[str, Any]:
    """Return what `LOOP_TIME` takes.

    Parameters
    ----------
    lanes : array
        That take part in the launch.
    wanted : array
        Of them, those that want the most popular address.
    together : array
        Lanes of a warp that want one address.
    requests : array
        Warps that take part.
    slices : array
        Time of the busiest slice for one try of all lanes [s].
    device : Device
    """
    held = device.sm_count * device.max_threads_per_sm / WARP_SIZE
    waves = np.maximum(1.0, requests / held)
    # A warp that competes with itself goes on with those of its lanes that are left.
    among = wanted >= together * waves
    rounds = np.maximum(wanted, together * waves)
    per_sm = np.maximum(requests / waves / device.sm_count, 1.0)
    return {
        "all": rounds,
        "last": np.where(among, rounds / waves, 0.0),
        "trip": TRIP * device.l2_latency,
        "own": per_sm * (TRY_CLOCKS / device.sm_clock),
        "slice": slices / waves,
        "wait": WAIT,
    }
