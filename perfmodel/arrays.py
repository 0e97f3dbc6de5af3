"""The array of all models: numbers of any kind, one a configuration unless said otherwise."""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def summed(arrays: Iterable[Any]) -> Array:
    """Return the sum of broadcastable arrays; zero of none."""
    return np.asanyarray(sum(arrays, np.zeros(1)))


def largest(*arrays: Any) -> Array:
    """Return the maximum of broadcastable arrays, at least one."""
    return np.asanyarray(reduce(np.maximum, arrays))


def smallest(*arrays: Any) -> Array:
    """Return the minimum of broadcastable arrays, at least one."""
    return np.asanyarray(reduce(np.minimum, arrays))
