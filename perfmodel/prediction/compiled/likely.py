"""Likely choices: those of each launch that take the least time at least, kept until timed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfmodel.arrays import Array


@dataclass(slots=True, repr=False)
class Likely:
    """Choices that launches may take the least time with."""

    least: Array  # what they take at least, infinity once timed, (launches, kept choices) [s]
    place: Array  # of each among all choices, in their order
    beyond: Array  # the least that any other takes [s]

    @classmethod
    def space(cls, launches: int, kept: int) -> Likely:
        """Return room for so many choices of launches."""
        place = np.empty((launches, kept), dtype=np.int32)
        return cls(np.empty((launches, kept)), place, np.full(launches, np.inf))

    def put(self, part: slice, least: Array) -> None:
        """Keep the choices of some launches that take the least, of (launches, choices) [s]."""
        kept = self.least.shape[1]
        if kept < least.shape[1]:
            order = np.argpartition(least, kept, axis=1)
            self.beyond[part] = np.take_along_axis(least, order[:, kept, None], axis=1)[:, 0]
            place = np.sort(order[:, :kept], axis=1)  # of equals the first choice is meant
            self.place[part], least = place, np.take_along_axis(least, place, axis=1)
        else:
            self.place[part] = np.arange(kept)
        self.least[part] = least

    def likeliest(self, most: Array, together: int) -> tuple[Array, Array]:
        """Return launches, and of each at most so many that take the least and may be worth it.

        Those that may take at `most` so much [s]; what is timed has infinity.
        """
        together = min(together, self.least.shape[1])
        likely = np.argpartition(self.least, together - 1, axis=1)[:, :together]
        takes = np.take_along_axis(self.least, likely, axis=1)
        launch, which = np.nonzero((takes <= most[:, None]) & np.isfinite(takes))
        return launch, likely[launch, which]
