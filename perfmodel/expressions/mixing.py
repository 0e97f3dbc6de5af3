"""``random(key, n)``: the same number from 0 to n - 1 for the same key, with no visible pattern.

And ``shuffled(key, n)``, which differs for all keys below n. They stand for indices that a kernel
reads from memory. Mixing is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014); numbers and arrays
give the same values.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array

MIXED_BY: Final = 0x9E3779B97F4A7C15
ROUNDS: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_MASK: Final = 2**64 - 1
_SPREAD: Final = np.uint64(MIXED_BY)
_STEPS: Final = [(np.uint64(shift), np.uint64(factor)) for shift, factor in ROUNDS]
LAST, UPPER = 31, 2
"""Shifts after the rounds."""


def mixed(key: int, count: int) -> int:
    """Return the number of `key`, from 0 to ``count - 1``."""
    z = (key + 1) * MIXED_BY & _MASK
    for shift, factor in ROUNDS:
        z = (z ^ (z >> shift)) * factor & _MASK
    # The upper bits: what is left fits a signed integer, and a modulo of it is even enough.
    return int(((z ^ (z >> LAST)) >> UPPER) % count)


def mixed_arrays(key: Array, count: Array) -> npt.NDArray[np.int64]:
    """Return the same for arrays of integers."""
    # Of one dimension at least: arrays wrap around without a warning.
    z = (np.atleast_1d(key).astype(np.int64, copy=False) + 1).view(np.uint64)
    z *= _SPREAD
    for shift, factor in _STEPS:
        z ^= z >> shift
        z *= factor
    z ^= z >> LAST
    z >>= UPPER
    limit, z = np.asarray(count).astype(np.uint64), z.reshape(key.shape)
    # NumPy divides by one number in a third of the time that "%" takes.
    found = z - z // limit * limit if limit.ndim == 0 else z % limit
    return np.asarray(found).view(np.int64)


def shuffled_arrays(key: Array, count: Array) -> npt.NDArray[np.int64]:
    """Return numbers from 0 to ``count - 1``, each of one key below `count`; larger keys wrap.

    Numbers of as many bits as `count` takes are mixed by steps that can be undone, again and again
    until they are below it ("cycle walking", Black and Rogaway, CT-RSA 2002).
    """
    limit = np.maximum(np.asarray(count).astype(np.int64), 1)
    value = (key.astype(np.int64) % limit).astype(np.uint64)
    value, limits = (a.copy() for a in np.broadcast_arrays(value, limit.astype(np.uint64)))
    bits = np.ceil(np.log2(np.maximum(limits, 2))).astype(np.uint64)
    mask, half = (np.uint64(1) << bits) - np.uint64(1), (bits + np.uint64(1)) >> np.uint64(1)
    left = np.ones(value.shape, dtype=bool)
    while left.any():
        z, m = value[left], mask[left]
        for _, factor in (*ROUNDS, *ROUNDS):
            z = ((z + np.uint64(MIXED_BY)) * np.uint64(factor)) & m
            z = z ^ (z >> half[left])
        value[left] = z
        left[left] = z >= limits[left]
    return value.astype(np.int64)
