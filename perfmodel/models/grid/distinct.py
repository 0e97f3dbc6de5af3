"""Distinct values by sorting; np.unique hashes instead, which takes up to 100 times as long."""

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.compiled_loops import worth_loop


def distinct(values: Array) -> Array:
    """Return the distinct values of an array, flat and ascending."""
    ordered = np.sort(values, axis=None)
    return ordered[first_of_equals(ordered)]


def distinct_pairs(first: Array, second: Array) -> Array:
    """Return the distinct pairs of two arrays of whole numbers, each as one number, ascending.

    Equal `second` parts lie ``max(second) + 1`` apart; neither array may be negative.
    """
    return distinct(first * (np.max(second, initial=0) + 1) + second)


def distinct_columns(every: Array) -> tuple[Array, Array]:
    """Return where distinct columns of a table are, and the place of each column among these."""
    if worth_loop(f"{__name__}_loop", every.shape[1]):
        from perfmodel.models.grid import distinct_loop

        chosen, place = distinct_loop.distinct_columns(every)
        return chosen, place
    order = np.lexsort(every)
    first = first_of_equals(every[:, order]).any(axis=0)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(first) - 1
    return order[first], place


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
