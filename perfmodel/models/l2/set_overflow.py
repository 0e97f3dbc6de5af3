"""Lines that find no way left in their set of L2, read in order or at random places."""

from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.derivation import most_turns

UNEVEN: Final = Coefficient("l2.set_overflow.uneven")
UNEVEN_SHARE: Final = Coefficient("l2.set_overflow.uneven_share")


def overflow(lines: Any, picked: Any, ways: Any, device: Device) -> Array:
    """Return the share of persisting lines that lie in sets with more of them than ways.

    `lines` of the window are in a set on average, see `UNEVEN`, of which a share is picked, each
    independently; fractions of ways are interpolated.

    Derived. Lines that are read in order and do not all fit their set all miss, as under any
    least-recently-used order; so what counts is how many lines of a set were picked: binomial.
    """
    n, q, w = np.broadcast_arrays(
        *(np.asanyarray(a, dtype=float) for a in (lines, picked, np.maximum(ways, 0.0)))
    )
    n = np.maximum(n, 1e-9)
    found, lines_more, some = np.zeros(n.shape), UNEVEN(device), UNEVEN_SHARE(device)
    for uneven, share in ((-lines_more, some), (0, 1 - 2 * some), (lines_more, some)):
        here = np.maximum(n + uneven, 1e-9)
        found = found + share * here / n * _overflow(here, q, w)
    return np.asanyarray(np.clip(found, 0.0, 1.0))


def _overflow(n: Array, q: Array, w: Array) -> Array:
    """Return `overflow` of sets that differ by at most one line."""
    low = np.floor(n)
    part = n - low
    # Of all lines, those in sets of one more line than the rest.
    more = np.where(n > 0, part * (low + 1) / n, 0.0)
    found = np.zeros(n.shape)
    for others, weight in ((np.maximum(low - 1, 0.0), 1 - more), (low, more)):
        below = np.floor(w)
        share = w - below
        tail = (1 - share) * _at_least(others, q, below) + share * _at_least(others, q, below + 1)
        found = found + weight * tail
    return np.asanyarray(np.clip(found, 0.0, 1.0))


def random_overflow(lines: Any, picked: Any, ways: Any, others: Any = 0.0) -> Array:
    """Return the share of reads of persisting lines, at random places, that find no way.

    As `overflow`, of all ways set aside; `others` are lines of other kernels in a set, read as
    often.

    Derived. Of k lines in a set with w ways the w that were read last are there: at random places
    a read finds its own with w/k. So what is lost is the mean of max(0, k - w) over that of k.
    """
    n, q, w, o = np.broadcast_arrays(
        *(np.asanyarray(a, dtype=float) for a in (lines, picked, np.maximum(ways, 0.0), others))
    )
    low = np.floor(n)
    room = np.maximum(w - o, 0.0)
    lost = np.maximum(o - w, 0.0)
    for count, share in ((low, 1 - (n - low)), (low + 1, n - low)):
        lost = lost + share * (count * q - room + _left_free(count, q, room))
    return np.asanyarray(np.clip(lost / np.maximum(n * q + o, 1e-9), 0.0, 1.0))


def _left_free(lines: Array, picked: Array, room: Array) -> Array:
    """Return the ways of `room` that the picked of some lines leave free, on average."""
    free = np.zeros(lines.shape)
    for k in range(most_turns(room)):
        at = np.full(lines.shape, float(k))
        likely = _at_least(lines, picked, at) - _at_least(lines, picked, at + 1)
        free = free + np.where(at < room, likely * (room - at), 0.0)
    return free


def _at_least(trials: Array, chance: Array, least: Array) -> Array:
    """Return the probability of `least` or more successes of `trials`."""
    q = np.clip(chance, 1e-12, 1 - 1e-12)
    below = np.zeros(trials.shape)
    # Terms of the binomial distribution, each from the one before.
    term = (1 - q) ** trials
    for k in range(most_turns(least)):
        below = below + np.where(k < least, term, 0.0)
        term = term * np.maximum(trials - k, 0.0) / (k + 1) * q / (1 - q)
    found = np.where(least > trials, 0.0, 1 - below)
    return np.where(chance >= 1, (trials >= least) * 1.0, np.clip(found, 0.0, 1.0))
