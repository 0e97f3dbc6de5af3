"""Power means: between the sum of several times and the largest of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def power_mean(parts: Any, exponent: Any) -> Array:
    """Return ``sum(part**exponent)**(1/exponent)``, without overflow."""
    stacked = np.stack(np.broadcast_arrays(*parts))
    largest = np.max(stacked, axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    mean = safe * np.sum((stacked / safe) ** exponent, axis=0) ** (1 / exponent)
    return np.asanyarray(np.where(largest > 0, mean, 0.0))
