"""What L2 is asked for, and has not: the record that its stage hands on to DRAM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfmodel.arrays import Array
from perfmodel.models.atomics.atomic_memory import AtomicMemory
from perfmodel.models.l2.l2_misses import Misses
from perfmodel.models.l2.tables import Table
from perfmodel.records import record


@record
class L2:
    """What L2 is asked for by a launch, and what of it it has not."""

    misses: Misses  # by access
    reread_misses: Sequence[Array]  # share of each reread that L2 does not have, of what L1 has not
    tables: Sequence[Table]  # buffers that are read again and again
    # what atomics move that follow rules of their own, by position
    atomics: Mapping[int, AtomicMemory]
    # share of the launch's data that the same launch before has left; 0 of a cold launch
    left: Array
    # DRAM bytes that are read while most of the launch's data is found in L2 [B]
    missed_early: Array
    # read_sectors, write_sectors and atomic_sectors: sectors that L2 is asked for
    read_sectors: Array
    write_sectors: Array
    atomic_sectors: Array
    hit_rate: Array  # share of them that need no DRAM read
    write_cost: Array  # mean cost of a written sector, relative to a sector of a full line
    # sectors that misses at random places bring in, where they take its time as reads do
    filled_sectors: Array
    repeated_sectors: Array  # sectors read of tables

    @property
    def asked_sectors(self) -> Array:
        """All sectors that it is asked for."""
        return self.read_sectors + self.write_sectors + self.atomic_sectors
