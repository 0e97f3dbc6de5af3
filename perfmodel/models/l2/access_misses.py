"""What every access misses in L2, by strides, unions and rereads, and by rules of its own.

Tables that are read again and again, and what a launch before has left, change what is found here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.atomics.atomic_memory import AtomicMemory
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.record import L1
from perfmodel.models.l2.common_buffers import brought_once
from perfmodel.models.l2.l2_misses import Misses, fitted_knees, l2_misses
from perfmodel.models.reuse.joint_traversals import new_shares
from perfmodel.models.reuse.rereads import without_rereads

_ONE: Final = np.ones(1)
_ZERO: Final = np.zeros(1)


def access_misses(accesses: GlobalAccesses, l1: L1, reread_misses: Sequence[Array]) -> Misses:
    """Return what the accesses of all configurations miss in L2.

    `reread_misses` is the share of each reread that L1 does not have, and L2 neither.
    """
    found, again = l2_misses(accesses, l1, fitted_knees(accesses.device)), l1.rereads
    sectors, dram_bytes = list(found.sectors), list(found.dram_bytes)
    for i, new in new_shares(accesses, l1, found.touched, dram_bytes).items():
        sectors[i], dram_bytes[i] = sectors[i] * new, dram_bytes[i] * new
    # DRAM's bytes were counted for all that is touched, L1 or not.
    both = [n * f for n, f in zip(l1.reread_misses, reread_misses, strict=True)]
    touched = without_rereads(again, found.touched, both)
    by_themselves = without_rereads(again, dram_bytes, both)
    return replace(
        found,
        sectors=without_rereads(again, sectors, reread_misses),
        dram_bytes=brought_once(accesses, by_themselves, touched, l1.reread_positions),
        touched=touched,
    )


def without_local(misses: Misses, l1: L1) -> Misses:
    """Return the misses where local memory touches nothing that outlasts the launch."""
    return replace(
        misses,
        touched=[_ZERO if i in l1.local else t for i, t in enumerate(misses.touched)],
        copies=[_ONE if i in l1.local else c for i, c in enumerate(misses.copies)],
    )


def with_own_rules(misses: Misses, l1: L1, atomics: Mapping[int, AtomicMemory]) -> Misses:
    """Return the misses where local memory and atomics follow their own rules."""
    sectors, dram_bytes = list(misses.sectors), list(misses.dram_bytes)
    for i, found in l1.local.items():
        sectors[i], dram_bytes[i] = found.misses, found.read
    for i, atomic in atomics.items():
        sectors[i], dram_bytes[i] = atomic.misses, atomic.read
    return replace(misses, sectors=sectors, dram_bytes=dram_bytes)


def total(values: Sequence[Any], chosen: Sequence[int]) -> Array:
    """Return the sum of the values at some positions; zero for none."""
    return np.asanyarray(sum((values[i] for i in chosen), _ZERO))
