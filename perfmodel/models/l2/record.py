"""What L2 is asked for, and has not: the record that its stage hands on to DRAM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from perfmodel.models.atomics.atomic_memory import AtomicMemory
from perfmodel.models.l2.l2_misses import Misses
from perfmodel.models.l2.tables import Table

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class L2:
    """What L2 is asked for by a launch, and what of it it has not.

    Attributes
    ----------
    misses : Misses
        By access.
    reread_misses : sequence of array
        Share of each reread that L2 does not have, of what L1 has not.
    tables : sequence of Table
        Buffers that are read again and again.
    atomics : mapping of int to AtomicMemory
        What atomics move that follow rules of their own, by position.
    left : array
        Share of the launch's data that the same launch before has left; 0 of a cold launch.
    missed_early : array
        DRAM bytes that are read while most of the launch's data is found in L2 [B].
    sent_sectors : sequence of array
        Stored sectors that reach L2, by position; of other accesses those that they ask for.
    read_sectors, write_sectors, atomic_sectors : array
        Sectors that L2 is asked for.
    hit_rate : array
        Share of them that need no DRAM read.
    write_cost : array
        Mean cost of a written sector, relative to a sector of a full line.
    filled_sectors : array
        Sectors that misses at random places bring in, where they take its time as reads do.
    repeated_sectors : array
        Sectors read of tables.
    """

    misses: Misses
    reread_misses: Sequence[Array]
    tables: Sequence[Table]
    atomics: Mapping[int, AtomicMemory]
    left: Array
    missed_early: Array
    sent_sectors: Sequence[Array]
    read_sectors: Array
    write_sectors: Array
    atomic_sectors: Array
    hit_rate: Array
    write_cost: Array
    filled_sectors: Array
    repeated_sectors: Array

    @property
    def asked_sectors(self) -> Array:
        """All sectors that it is asked for."""
        return self.read_sectors + self.write_sectors + self.atomic_sectors
