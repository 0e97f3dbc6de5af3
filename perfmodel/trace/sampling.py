"""Which parts of a launch are run: all of it, or a start and windows spread over the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

WINDOWS: Final = 8
"""Parts of a sample: the start, and windows with the same distance from each other."""
LEAST: Final = 2 * WINDOWS
"""Waves, or iterations, that a launch must have to be sampled."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Waves, and iterations of the outermost loops, that are run one after the other.

    Attributes
    ----------
    waves : range
    loops : slice or None
        None is all iterations.
    part : int or None
        Part of the sample that counts it; None only warms the caches up.
    """

    waves: range
    loops: slice | None
    part: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Visits in order, and how much of the launch each part stands for.

    Attributes
    ----------
    visits : tuple of Visit
    weights : tuple of float
        Of each part: waves or iterations that it stands for, over those that it counts.
    counted : float
        Share of the launch that is counted.
    """

    visits: tuple[Visit, ...]
    weights: tuple[float, ...]
    counted: float


def plan(waves: int, trips: int, share: float) -> Plan:
    """Return what to run.

    The start is counted as it is, since caches fill there. Every other part stands for its stretch
    of the launch: half of its window warms the caches up, the other half counts.

    Parameters
    ----------
    waves : int
        Rounds of blocks.
    trips : int
        Iterations of the outermost loop; they are sampled where waves are too few.
    share : float
        Share of the launch to run; 1 is all of it.
    """
    whole = Plan((Visit(range(waves), None, 0),), (1.0,), 1.0)
    count = waves if waves >= LEAST else trips
    if share >= 1 or count < LEAST:
        return whole
    length = max(2, round(share * count / WINDOWS))
    if length * WINDOWS >= count:
        return whole
    starts = np.linspace(length, count - length, WINDOWS - 1).astype(int)
    edges = np.r_[length, (starts[1:] + starts[:-1] + length) // 2, count]
    half = length // 2
    windows = [(0, length, 0)]
    weights = [1.0]
    for part, start in enumerate(starts.tolist(), start=1):
        windows += [(start, start + half, None), (start + half, start + length, part)]
        weights.append(float(edges[part] - edges[part - 1]) / (length - half))
    if waves >= LEAST:
        visits = [Visit(range(a, b), None, part) for a, b, part in windows]
    else:
        visits = [
            Visit(range(w, w + 1), slice(a, b), part) for w in range(waves) for a, b, part in windows
        ]
    counted = (length + (WINDOWS - 1) * (length - half)) / count
    return Plan(tuple(visits), tuple(weights), counted)


def estimate(parts: Array, weights: tuple[float, ...]) -> Array:
    """Return the sums over a launch from those of each part, the first axis."""
    return np.asarray(np.tensordot(np.asarray(weights), parts, axes=1))


def relative_error(parts: Array, weights: tuple[float, ...]) -> float | None:
    """Return two standard errors of the estimate over it; None if everything was run."""
    if len(parts) < 3:
        return None
    stretches = np.asarray(weights)[1:] * parts[1:]
    total = float(weights[0] * parts[0] + stretches.sum())
    spread = float(np.std(stretches, ddof=1)) * np.sqrt(len(stretches))
    return 2 * spread / total if total else 0.0
