"""Which parts of a launch are run: all of it, or a start and windows spread over the rest.

The start lasts until L2 is in a steady state, and is counted as it is. Of L2, all sets are
simulated, or one in some, which stands for the others: a hash spreads lines over them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.trace.l2 import L2

WINDOWS: Final = 7
"""Windows with the same distance from each other, after the start."""
LEAST: Final = 2 * WINDOWS + 2
"""Waves, or iterations, that a launch must have to be sampled."""
_PARTS: Final = 16
"""Parts of the simulated sets whose counts are compared."""
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

    `start`: waves, or iterations, that have been run and counted. `total`: all of them; a part of a
    wave counts as that. `share`: share of the launch to run, the start included.
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

    `sums`: quantities, by part. `weights`: of each part.
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


class SetSample:
    """The sets of L2 that are simulated, one in so many, and how far these differ."""

    def __init__(self, one_in: int) -> None:
        self.one_in = one_in
        self.moved = np.zeros(_PARTS)

    def chosen(self, l2: L2, line: Array) -> Array:
        """Return the places of lines that go to simulated sets."""
        return np.flatnonzero(l2.sets_of(line) % self.one_in == 0)

    def add(self, l2: L2, line: Array, sectors: Array) -> None:
        """Add sectors that moved to or from DRAM to the part of the sets that they belong to."""
        part = l2.sets_of(line) // self.one_in % _PARTS
        self.moved += np.bincount(part, weights=sectors, minlength=_PARTS)

    def error(self, other: float | None) -> float | None:
        """Return two standard errors of the DRAM bytes, together with another error."""
        if self.one_in == 1:
            return other
        total = float(self.moved.sum())
        spread = float(np.std(self.moved, ddof=1)) * math.sqrt(_PARTS)
        own = 2 * spread / total * math.sqrt(1 - 1 / self.one_in) if total else 0.0
        return math.hypot(own, other or 0.0)
