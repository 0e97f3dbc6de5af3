"""What DRAM moves for a launch, and what that costs: the record that its stage hands on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Dram:
    """What DRAM moves for a launch.

    Attributes
    ----------
    read_bytes, write_bytes : array
        As it moves them: compressed [B].
    replay_bytes : array
        What is counted as written besides where a profiler runs a launch several times [B].
    read_cost, write_cost : array
        Mean cost of a byte, relative to dense ones.
    atomic_share : array
        Share of its time in which it reads what atomics miss.
    scattered_bytes : array
        What misses and stores at random places wait besides their own bytes, as dense bytes [B].
    made_whole_bytes : array
        Of the bytes read, those that make sectors whole which strided stores left in part [B].
    writeback_bytes : array
        What write-backs lose with a set-aside, as bytes that the reference's DRAM could move [B].
    writeback_streams : array
        Bytes of streams read for each byte written, 1 at most.
    early_share : array
        Share of the launch in which nothing is written back, or that finds its data in L2.
    early_read_bytes : array
        What is read in it all the same [B].
    """

    read_bytes: Array
    write_bytes: Array
    replay_bytes: Array
    read_cost: Array
    write_cost: Array
    atomic_share: Array
    scattered_bytes: Array
    made_whole_bytes: Array
    writeback_bytes: Array
    writeback_streams: Array
    early_share: Array
    early_read_bytes: Array
