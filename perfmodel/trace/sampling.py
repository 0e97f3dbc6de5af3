"""Which parts of a launch are run: all of it, or a start and windows spread over the rest.

The start lasts until L2 is in a steady state, and is counted as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

WINDOWS: Final = 7
"""Windows with the same distance from each other, after the start."""
LEAST: Final = 2 * WINDOWS + 2
"""Waves, or iterations, that a launch must have to be sampled."""
FILLS: Final = 2.0
"""Times that L2 is filled before the start is over: from then on it is in a steady state."""


@dataclass(frozen=True, slots=True)
class Window:
    """Waves or iterations from `first` to before `last`; uncounted ones warm the caches up."""

    first: int
    last: int
    counted: bool


def windows(start: int, total: float, share: float) -> tuple[list[Window], tuple[float, ...]]:
    """Return what to run after the start, and how much of the rest each counted window stands for.

    Each window stands for its stretch of the launch: half of it warms the caches up.

    Parameters
    ----------
    start : int
        Waves, or iterations, that have been run and counted.
    total : float
        All of them; a part of a wave counts as that.
    share : float
        Share of the launch to run, the start included.
    """
    count = int(total)
    length = max(2, round((share * count - start) / WINDOWS))
    if start + length * WINDOWS >= count:
        return [Window(start, math.ceil(total), True)], (1.0,)
    starts = np.linspace(start, count - length, WINDOWS).astype(int)
    edges = np.r_[start, (starts[1:] + starts[:-1] + length) // 2, total]
    half = length // 2
    made, weights = [], []
    for first, low, high in zip(starts.tolist(), edges, edges[1:], strict=False):
        made += [Window(first, first + half, False), Window(first + half, first + length, True)]
        weights.append(float(high - low) / (length - half))
    return made, tuple(weights)


def estimate(parts: Array, weights: tuple[float, ...]) -> Array:
    """Return the sums over a launch from those of each part, the first axis."""
    return np.asarray(np.tensordot(np.asarray(weights), parts, axes=1))


def relative_error(sums: Sequence[Array], weights: tuple[float, ...]) -> float:
    """Return two standard errors of the worst estimate, over it.

    Parameters
    ----------
    sums : sequence of array
        Quantities, by part.
    weights : tuple of float
        Of each part.
    """
    if len(weights) < 3:
        return 0.0
    worst = 0.0
    for parts in sums:
        stretches = np.asarray(weights)[1:] * parts[1:]
        total = float(weights[0] * parts[0] + stretches.sum())
        spread = float(np.std(stretches, ddof=1)) * np.sqrt(len(stretches))
        worst = max(worst, float(2 * spread / total) if total else 0.0)
    return worst
