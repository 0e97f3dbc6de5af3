"""Power means: between the sum of several times and the largest of them."""

from functools import lru_cache
from typing import Any

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.derivation import is_recording
from perfmodel.models.formula import Formula


def power_mean(parts: Any, exponent: Any) -> Array:
    """Return ``sum(part**exponent)**(1/exponent)``, without overflow."""
    stacked = np.stack(np.broadcast_arrays(*parts))
    largest = np.max(stacked, axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    mean = safe * np.sum((stacked / safe) ** exponent, axis=0) ** (1 / exponent)
    return np.asanyarray(np.where(largest > 0, mean, 0.0))


def mean_time(name: str, exponent: Any, **parts: Any) -> Array:
    """Return the power mean of named times [s], in a derivation as a formula of this name.

    An exponent of 1 adds the times up; with a large one it is nearly the largest of them.
    """
    if not is_recording():
        return power_mean(tuple(parts.values()), exponent)
    return np.asanyarray(_formula(name, tuple(parts)).by(_of_named, p=exponent, **parts))


def _of_named(p: Any, **parts: Any) -> Array:
    return power_mean(tuple(parts.values()), p)


@lru_cache(maxsize=256)
def _formula(name: str, parts: tuple[str, ...]) -> Formula:
    return Formula(
        name=name,
        unit="s",
        text=f"({' + '.join(f'{part}**p' for part in parts)})**(1/p)",
        symbols={part: f"time of {part} alone [s]" for part in parts}
        | {"p": "exponent: how sharply the largest decides [1]"},
        holds="nearly the largest where one dominates, more where several are near",
        source="fitted form; the exponents are coefficients of `perfmodel.models.time`",
        module="perfmodel.models.time",
    )
