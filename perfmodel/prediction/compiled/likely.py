"""Likely choices: those of each launch that may take the least time, and what they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.grid.distinct import among_equals, first_of_equals


@dataclass(slots=True, repr=False)
class Likely:
    """Choices of launches, one after the other, those of a launch together unless it is joined."""

    launch: Array
    place: Array  # of each among all choices
    least: Array  # what it takes at least [s]
    time: Array  # what it takes, infinity until it is known [s]

    @classmethod
    def of(cls, least: Array, most: Array, above: Array | None = None) -> Likely:
        """Return those of (launches, choices) that take at least no more than `most` [s].

        If it is given, more than `above` [s].
        """
        few = least <= most[:, None]
        if above is not None:
            few &= least > above[:, None]
        launch, place = np.nonzero(few)
        return cls(launch, place, least[launch, place], np.full(len(launch), np.inf))

    @classmethod
    def joined(cls, parts: Sequence[Likely]) -> Likely:
        """Return those of some parts, one after the other."""
        return cls(*(np.concatenate([getattr(p, n) for p in parts]) for n in cls.__slots__))

    def only(self, some: Array) -> Likely:
        """Return some of them, in this order."""
        return Likely(self.launch[some], self.place[some], self.least[some], self.time[some])

    def in_order(self) -> Likely:
        """Return them with those of a launch that take the least first."""
        return self.only(np.lexsort((self.least, self.launch)))

    def first(self, launches: int) -> Array:
        """Return where the first of those that take the least is, of each of so many launches."""
        few = np.full(launches, np.inf)
        np.minimum.at(few, self.launch, self.least)
        some = np.flatnonzero(self.least == few[self.launch])
        return some[first_of_equals(self.launch[some])]

    def next(self, best: Array, same: Array, together: int) -> Array:
        """Return where the next so many of each launch are that may take no more than `best` [s].

        Of those that take the `same` time as another, that one. They are in order.
        """
        faster = np.isinf(self.time) & (self.least <= best[self.launch])
        some = np.flatnonzero(faster & (same == np.arange(len(same))))
        return some[among_equals(self.launch[some]) <= together]

    def best(self, launches: int) -> Array:
        """Return the least time that is known of each of so many launches [s]."""
        found = np.full(launches, np.inf)
        np.minimum.at(found, self.launch, self.time)
        return found
