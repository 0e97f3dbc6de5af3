"""Interval: how wrong a prediction usually is, by the regime that it lies in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device

Array = npt.NDArray[Any]

# Half widths of 90% intervals, by regime, as shares of the time: the 90th percentiles of
# |predicted/measured - 1| over the H200 rows (reports/accuracy-h200-sxm.md) are 16% for launch, 12%
# for L2 and about 6% elsewhere; widened for kernels that were not measured, by the judgement that
# the validation kernels support (row-sum, whose L1 hits on lines under way are missing, excepted).
_HALF_WIDTH: Final = {
    "launch": 0.20,
    "latency": 0.20,
    "l1": 0.10,
    "l2": 0.20,
    "dram": 0.12,
    "compute": 0.15,
}
_UNMEASURED: Final = 1.5
"""Factor for a device of which we have no measurement of our own: assumed."""

_REGIMES: Final = {
    "launch": "launch",
    "ramp": "launch",
    "dispatch": "launch",
    "latency": "latency",
    "stalls": "latency",
    "l1": "l1",
    "l2": "l2",
    "dram": "dram",
}


def bottleneck(terms: Mapping[str, Any]) -> Array:
    """Return the name of the largest term, for each configuration.

    L2 yields where DRAM or another is as large: pure reads from DRAM keep both as busy.
    """
    names = np.array(list(terms))
    weighed = [np.asarray(value) * (0.999 if n == "l2" else 1.0) for n, value in terms.items()]
    return np.asarray(names[np.argmax(np.stack(np.broadcast_arrays(*weighed)), axis=0)])


def regime(largest: str) -> str:
    """Return the regime of a prediction whose largest term is `largest`."""
    return _REGIMES.get(largest, "compute")


def half_width(regime_name: str, device: Device) -> float:
    """Return the 90% half width of a regime, as a share of the predicted time."""
    ours = device.figures["dram_read_efficiency"].kind == "measured"
    return _HALF_WIDTH[regime_name] * (1.0 if ours else _UNMEASURED)
