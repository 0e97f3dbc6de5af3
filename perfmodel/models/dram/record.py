"""What DRAM moves for a launch, and what that costs: the record that its stage hands on."""

from __future__ import annotations

from perfmodel.arrays import Array
from perfmodel.records import record


@record
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
