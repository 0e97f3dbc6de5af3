"""How re-reads of a table's lines miss that compete for L2: normal ones, and what sets cannot hold.

A table is read at random places, in order by all SMs, or in parts, each block its own; of
others, `perfmodel.models.reuse.reuse_windows` says what misses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.dram.writeback import reaching_writes
from perfmodel.models.l2 import residency
from perfmodel.models.l2.followed_loads import comes_back
from perfmodel.models.l2.followers import caught
from perfmodel.models.l2.private_sets import part_misses
from perfmodel.models.l2.random_tables import (
    OtherTable,
    RandomReads,
    Shares,
    random_draws,
    random_reads,
)
from perfmodel.models.l2.sides import near_lost
from perfmodel.models.l2.slices import slice_count, working_share
from perfmodel.models.l2.table_uses import TableLaunch, TableUse
from perfmodel.models.l2.windows import pinned
from perfmodel.models.requests.coalescing import LINE
from perfmodel.models.requests.request_record import past_l1
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import WARM_KNEE, held

Array = npt.NDArray[Any]

_INTRUDING: Final = 0.3
"""Share of the lines marked streaming that take room from the others where nothing else passes;
fitted: windows over working sets of 40 to 80 MiB on an H200 (working-set-read.csv)."""
_BEFORE_COPIES: Final = 0.5
"""Share of the lines marked streaming that leave sooner than copies on the near side.

Fitted: of 8 MiB beside a write so marked 0.13 of the copies are gone; of 16 MiB, not fitted on,
0.47 (here 0.50): l2_all_sectors, measurements/h200-sxm-suite/data-reset-out-window.csv.
"""


def _none() -> Array:
    return np.zeros(1)


@dataclass(frozen=True, slots=True)
class CompetingMisses:
    """How re-reads of a table's competing lines miss; the rest as in `Table`.

    Attributes
    ----------
    lost : array
        Share of them that miss.
    left : array
        Share of the first reads that the launch before has left in L2.
    moves : array or None
        By how many blocks a block's part is another's in the next round; None where it has none.
    drawn : RandomReads or None
        What is read at random places.
    """

    lost: Array
    scattered: Array = field(default_factory=_none)
    workings: residency.Workings = ()
    crossing: Array = field(default_factory=_none)
    met: Array = field(default_factory=_none)
    waiting: Array = field(default_factory=_none)
    meeting: residency.Workings = ()
    pinned: Array = field(default_factory=_none)
    left: Array = field(default_factory=lambda: np.ones(1))
    moves: Array | None = None
    drawn: RandomReads | None = None


def competing_misses(launch: TableLaunch, one: TableUse) -> CompetingMisses:
    """Return how re-reads of a table's competing lines miss."""
    own = [launch.requests[i] for i in one.own.members]
    if one.random:
        return _at_random(launch, one)
    if any(r.period is not None for r in own):
        return _in_order(launch, one)
    if all(is_private(launch.instance, r) for r in own):
        return _in_parts(launch, one, own)
    dram = sum((launch.misses[i] for i in one.own.members), np.zeros(1))
    again = np.maximum(one.own.loads - one.size, 1.0)
    return CompetingMisses(np.clip((dram - one.size) / again, 0.0, 1.0))


def _at_random(launch: TableLaunch, one: TableUse) -> CompetingMisses:
    drawn = random_reads(
        one.size,
        (one.read - one.size * one.streaming, one.written),
        one.passes,
        one.capacity * working_share(launch.device),
        past_l1(launch.requests, one.own.members, one.own.loads),
        one.own.members,
        launch.granule,
        Shares(one.persisting * (1 - one.spilled), one.streaming),
        one.spilled,
        one.rounds,
        _drawn_beside(launch, one),
    )
    return CompetingMisses(drawn.misses, scattered=np.ones(1), crossing=drawn.crossing, drawn=drawn)


def _drawn_beside(launch: TableLaunch, one: TableUse) -> list[OtherTable]:
    """Return the other tables that a launch draws from, by loads or atomics."""
    found = []
    for use in launch.uses.values():
        loads = [r for i in use.members if (r := launch.requests[i]).access.kind == "load"]
        drawn = [
            i
            for i in use.members
            if launch.requests[i].random and launch.requests[i].access.kind != "store"
        ]
        kinds = {launch.requests[i].access.kind for i in drawn}
        if drawn and use is not one.own and not comes_back(loads):
            size = buffer_bytes(launch.instance, launch.requests[drawn[0]])
            draws, _ = random_draws(launch.requests, drawn, launch.granule)
            found.append(OtherTable(size, draws * LINE / np.maximum(size, LINE), "load" in kinds))
    return found


def _in_order(launch: TableLaunch, one: TableUse) -> CompetingMisses:
    ways = residency.granted_ways(launch.control.set_aside, launch.device.l2_size)
    reaching = reaching_writes(launch.device, ways)
    workings = residency.normal_misses(
        one.kept,
        one.read,
        one.written * reaching,
        (one.fleeting_read, one.fleeting_written * reaching),
        one.capacity,
    )
    both = workings[-1][1]
    lost = np.asanyarray(residency.NORMAL_MISSES(**both))
    used = residency.DISTANCE(
        **residency.distance_inputs(
            residency.TABLE_WEIGHT,
            one.kept,
            one.read - _BEFORE_COPIES * one.fleeting_read,
            one.written - _BEFORE_COPIES * one.fleeting_written,
        )
    )
    kept_aside = one.persisting * (1 - one.spilled)
    in_turn = one.persisting * one.spilled + one.normal
    return CompetingMisses(
        lost,
        scattered=both["leak"] * (1 - both["knee"]) / np.maximum(lost, 1e-9),
        workings=workings,
        crossing=near_lost(used, one.capacity, kept_aside, in_turn, lost),
    )


def _in_parts(launch: TableLaunch, one: TableUse, own: Sequence[Requests]) -> CompetingMisses:
    """Return the misses of blocks that come back to their own parts while they run.

    Only what runs beside a block is in its way.
    """
    size, running, device, instance = one.size, launch.running, launch.device, launch.instance
    passing = size * one.streaming
    first_of = instance.kernel.accesses.index(own[0].access)
    moves = np.asanyarray(instance.moves[first_of]) % np.asanyarray(instance.blocks)
    workings, lost = part_misses(
        (one.kept + _INTRUDING * size * one.streaming) * running,
        ((one.read - passing) * running, one.written * running),
        (one.capacity, one.capacity * working_share(device)),
        one.passes,
        running,
        moves,
        device.sm_count,
        slice_count(device),
        launch.warm,
    )
    met = waiting = np.zeros(1)
    meeting: residency.Workings = ()
    if not agreed(moves == 0):
        met, waiting, meeting = caught(instance, own, workings, moves, one.passes, device)
    granted = residency.granted(launch.control.set_aside, launch.device.l2_size)
    stays = size * one.persisting * (1 - one.spilled * lost)
    return CompetingMisses(
        lost,
        workings=workings,
        met=met,
        waiting=waiting,
        meeting=meeting,
        pinned=pinned(size, stays, granted, one.capacity),
        # What a launch before has left has to outlast all blocks, not those beside it only.
        left=held(one.kept + one.beside, one.capacity, WARM_KNEE),
        moves=moves,
    )


def is_private(instance: Instance, request: Requests) -> bool:
    """Return whether an outer loop reads the same again, each block its own part."""
    nest = instance.kernel.loop_nest(request.access.loop)
    if not nest or request.strides is None or request.access.kind != "load":
        return False
    if agreed(request.strides[nest[0].variable] != 0):
        return False
    moves = (
        (request.strides[v.name] != 0) | (v.extent <= 1) for v in request.variables if v.is_block
    )
    return all(agreed(m) for m in moves)
