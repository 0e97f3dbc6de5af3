"""Spreads: how far the members of a group lie from each other, in steps of one variable."""

from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.agreement import agreed, agreed_order

_LEAST_PARTS: Final = 2
_MOST_PARTS: Final = 16
_DIGITS: Final = 6
_NEAR: Final = 0.25
"""Parts of a step by which members may be off it, such as neighbours in a row."""


class Spread(NamedTuple):
    """How far the members of a group lie from each other, in steps of one variable."""

    reach: Array  # steps from the first to the last
    copies: Array  # members at distinct steps

    def steps(self, values: Array) -> Array:
        """Return the distinct steps that members are at while a variable takes so many values."""
        # Members close to each other overlap; those far from each other are copies.
        return np.asanyarray(np.minimum(values + self.reach, values * self.copies))


def parts_of_steps(steps: Array, most: Array) -> int:
    """Return in how many parts members divide a step evenly, as rows of pools and convolutions do.

    1 where they are at whole steps, or at some of the parts only, and where `most` rows, of what
    faster variables walk over, are as long as the step: these would overlap.
    """
    if not agreed(most >= _LEAST_PARTS):
        return 1
    for parts in range(1, min(_MOST_PARTS, len(steps)) + 1):
        at = np.rint(steps * parts)
        holds = np.all(np.abs(steps * parts - at) <= _NEAR, axis=0)
        for part in range(parts if parts > 1 else 0):
            holds = holds & (np.min(np.abs(np.mod(at, parts) - part), axis=0) == 0)
        if agreed(holds):
            return parts if agreed(parts <= most) else 1
    return 1


def by_parts(steps: Array) -> list[Spread]:
    """Return how members lie from each other that are at the same part of a step, for each part."""
    own = np.round(steps - np.floor(steps), _DIGITS)  # thirds are not exact
    if not np.any(own != 0):
        return [distinct_steps(steps)]
    parts: list[list[int]] = []
    for i in agreed_order([*own]):
        if parts and agreed(own[i] == own[parts[-1][0]]):
            parts[-1].append(i)
        else:
            parts.append([i])
    return [distinct_steps(steps[members]) for members in parts]


def distinct_steps(values: Array) -> Spread:
    """Return how far some values lie from each other, and how many distinct ones there are."""
    ordered = np.sort(values, axis=0)
    several = 1.0 + np.sum(ordered[1:] != ordered[:-1], axis=0)
    return Spread(np.asanyarray(ordered[-1] - ordered[0]), np.asanyarray(several))
