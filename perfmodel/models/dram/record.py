"""What DRAM moves for a launch, and what that costs: the record that its stage hands on."""

from __future__ import annotations

from dataclasses import dataclass

from perfmodel.arrays import Array


@dataclass(frozen=True, slots=True)
class Dram:
    """What DRAM moves for a launch: fields as those of `perfmodel.traffic.Traffic`."""

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
