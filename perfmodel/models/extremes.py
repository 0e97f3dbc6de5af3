"""The largest and the smallest of several arrays, element by element."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from perfmodel.arrays import Array


def largest(*arrays: Any) -> Array:
    """Return the maximum of broadcastable arrays, at least one."""
    return np.asanyarray(reduce(np.maximum, arrays))


def smallest(*arrays: Any) -> Array:
    """Return the minimum of broadcastable arrays, at least one."""
    return np.asanyarray(reduce(np.minimum, arrays))
