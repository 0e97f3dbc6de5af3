"""Bank conflicts of shared-memory atomics: how many passes or retries one warp's atomic takes.

Native atomics, those of 32-bit integers, serialise in the banks: lanes of a request at one bank,
whether at one word or at several, take a clock each.

Atomics without a native instruction are compiled to a loop of LDS, the operation, and
ATOMS.CAST.SPIN. In each iteration one lane per bank succeeds, whichever words of the bank the
others want, so a request needs as many iterations as the most contended bank has lanes. Elements of
8 B take two half-warps, each with one success per pair of banks. An iteration takes as long as an
attempt of a single warp, and its load one clock more for each further word in a bank
(`measurements/atomics`, shared-memory).

Lanes with evenly spaced addresses are counted by the greatest common divisor of their distance and
the 32 banks; lanes at random addresses by the expected largest number of lanes in a bank.
"""

from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.histogram import uniform
from perfmodel.models.derivation import definition
from perfmodel.models.formula import Formula
from perfmodel.models.grid.distinct import among_equals
from perfmodel.models.requests.contention import AddressSharing, random_conflicts
from perfmodel.models.requests.footprint import power_of_two_gcd
from perfmodel.models.requests.wavefronts import (
    BANK_WORD,
    BANKS,
    atomic_wavefronts,
    data_wavefronts,
)

BANK_CONFLICTS = Formula(
    name="bank-conflict clocks of a native shared atomic",
    unit="clocks",
    text="ceil(n/m)*max(1, ceil(min(m, n)*gcd/32))",
    symbols={
        "n": "active lanes of a request [1]",
        "m": "elements that these add to [1]",
        "gcd": "greatest common divisor of the elements' distance in words and 32 [1]",
    },
    holds="consecutive lanes that add to element i modulo m; within 15% with 8 warps or more",
    source="derived: lanes at one bank are served one per clock; checked against "
    "measurements/suite, sweeps/shared-atomics.csv",
)

_LOOKED: Final = 4096
"""Requests whose banks are looked at."""


class BankConflicts(NamedTuple):
    """Means of a request."""

    turns: Array  # most lanes at one bank, or at one word: iterations of a loop
    words: Array  # clocks of a load of all lanes' words
    clocks: Array  # clocks that native atomics hold the banks


def counted_turns(addresses: Array, active: Array, width: int) -> BankConflicts:
    """Return the turns of requests whose addresses are known, shape (..., 32), of `width` bytes."""
    addresses, active = (a.reshape(-1, WARP_SIZE) for a in np.broadcast_arrays(addresses, active))
    taking = np.flatnonzero(active.any(axis=-1))[:_LOOKED]
    addresses, active = addresses[taking], active[taking]
    words = data_wavefronts(addresses, width, active, shared=True)
    if width < 2 * BANK_WORD:
        turns = clocks = atomic_wavefronts(addresses, active)
    else:
        halves = (-1, 2, WARP_SIZE // 2)
        pairs = (addresses // width * BANK_WORD).reshape(halves)
        parts = atomic_wavefronts(pairs, active.reshape(halves), BANKS // 2)
        same = np.sort(np.where(active, addresses, -1 - np.arange(WARP_SIZE)), axis=-1)
        turns = np.maximum(parts.max(axis=-1), among_equals(same).max(axis=-1))
        clocks = parts.sum(axis=-1)
    return BankConflicts(*(np.atleast_1d(each.mean()) for each in (turns, words, clocks)))


def bank_conflicts(shared: AddressSharing, lanes: Array, random: bool, width: int) -> BankConflicts:
    """Return turns, words and clocks of consecutive lanes modulo the addresses, or of random ones.

    `lanes` are those of a request, `width` the bytes of an element.
    """
    parts = 2 if width >= 2 * BANK_WORD else 1
    banks = BANKS // parts
    steps = np.maximum(np.asanyarray(shared.pitch) / (BANK_WORD * parts), 1.0)
    common = power_of_two_gcd(np.full(np.shape(steps), banks), np.asanyarray(steps, dtype=np.int64))
    # Runs of lanes at an address have fewer in a warp than all there are.
    whole = np.maximum(shared.addresses, 1.0)
    runs = (shared.conflicts.most > np.ceil(lanes / whole)) & (not random)
    m = np.where(runs, np.ceil(shared.conflicts.addresses), whole)
    n = np.maximum(lanes / parts, 1.0)
    # Distinct words of a bank, were all addresses taken.
    words = np.maximum(1.0, np.ceil(np.minimum(m, n) * common / banks))
    if random:
        turns = _drawn_turns(np.minimum(m, banks // common), n)
        words = np.minimum(turns, np.maximum(1.0, m * common / banks))
    else:
        turns = BANK_CONFLICTS(n=n, m=m, gcd=common * float(parts))
    most = np.maximum(turns, shared.conflicts.most)
    return BankConflicts(*map(np.atleast_1d, (most, words * parts, turns * parts)))


@definition
def _drawn_turns(banks: Array, lanes: Array) -> Array:
    """Return the most lanes at one bank where each draws one of some."""
    each = zip(*map(np.ravel, np.broadcast_arrays(banks, lanes)), strict=True)
    found = [random_conflicts(uniform(int(m)), BANK_WORD, float(n))[0] for m, n in each]
    return np.array([float(f.most) for f in found])
