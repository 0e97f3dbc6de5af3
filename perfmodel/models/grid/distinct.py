"""Distinct values by sorting; np.unique hashes instead, which takes up to 100 times as long."""

from __future__ import annotations

import numpy as np

from perfmodel.arrays import Array


def distinct(values: Array) -> Array:
    """Return the distinct values of an array, flat and ascending."""
    ordered = np.sort(values, axis=None)
    return ordered[first_of_equals(ordered)]


def distinct_pairs(first: Array, second: Array) -> Array:
    """Return the distinct pairs of two arrays of whole numbers, each as one number, ascending.

    Equal `second` parts lie ``max(second) + 1`` apart; neither array may be negative.
    """
    return distinct(first * (np.max(second, initial=0) + 1) + second)


def first_of_equals(ordered: Array) -> Array:
    """Mark the first of each run of equal values, along the last axis."""
    new = np.ones(ordered.shape, dtype=bool)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    return new


def among_equals(ordered: Array) -> Array:
    """Return which of its run of equal values each is, from 1 on, along the last axis."""
    place = np.arange(ordered.shape[-1])
    first = np.maximum.accumulate(np.where(first_of_equals(ordered), place, 0), axis=-1)
    return np.asanyarray(place - first + 1)
