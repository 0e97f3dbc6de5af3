"""Tables: buffers that a launch reads again and again, and what of them comes from DRAM.

A table is a buffer whose index repeats (``i % m``) or is random, or one under a window that loops
read several times. What else the launch moves passes by as streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.l2_control import L2Control
from perfmodel.models.agreement import agreed
from perfmodel.models.formula import Formula
from perfmodel.models.l2 import residency
from perfmodel.models.l2.competing_misses import (
    CompetingMisses,
    competing_misses,
    is_private,
)
from perfmodel.models.l2.followed_loads import comes_back
from perfmodel.models.l2.private_sets import settled_share
from perfmodel.models.l2.random_tables import ONE_ROUND, Rounds
from perfmodel.models.l2.table_uses import TableLaunch, buffer_uses, table_use
from perfmodel.models.l2.windows import DRAWN_IN_WAVE, IN_WAVE, fleeting_misses
from perfmodel.models.requests.drawn_places import uses_random
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.reuse_windows import Group

Array = npt.NDArray[Any]

BROUGHT_BY_DRAWS = Formula(
    name="share of what a walk through a table touches that draws have brought",
    unit="1",
    text="f*(1 - m)",
    symbols={
        "f": "share of the table that draws at random places fetch [1]",
        "m": "share of later draws that miss [1]",
    },
    holds="places that have nothing to do with where the walk is",
    source="derived: of the table's lines f are drawn at all, and of these 1 - m are still there",
)

ALONE: Final = 1.5
"""Power of the share of lines that stay with which those beside them, which do not, miss alone.

Fitted between one neighbour and both: data-reset with windows of hitRatio 1/4 to 3/4 and 8 MiB set
aside on an H200 (measurements/h200-l2/grid.csv, fit rows).
"""
_AGAIN: Final = 1.5
"""Passes over a buffer from which loops that read it under a window make it a table."""


@dataclass(frozen=True, slots=True)
class Table:
    """A buffer that is read again and again.

    Attributes
    ----------
    buffer : str
    members : tuple of int
        Positions of its loads and stores among the requests.
    random : bool
        Whether it is read at random places.
    size, first, again : array
        Bytes of it that are used; bytes that first reads fetch; and that the others would fetch
        if all of them missed.
    inputs : mapping
        What `TABLE_MISSES` takes.
    misses : array
        Share of the re-reads that miss.
    gone : array
        Share of the first reads that miss, though the same launch ran before.
    scattered : array
        Share of the misses at places that no neighbour misses at.
    workings : tuple of (Formula, mapping)
        How the misses of its normal lines were worked out.
    kept : array
        Share of its first reads that the launch before has left in L2, where it is random.
    draws, wide : array
        Of a random one: lines drawn, and bytes that a miss brings of each.
    rounds : Rounds
        Parts of a random one that are drawn from one after the other.
    crossing : array
        Share of the re-reads that hit whose line has to come from L2's other side, or might be on
        either: half of them do.
    settled, settled_misses : array
        Share of the re-reads, and what misses of them, that come when L2 decides and no longer
        DRAM; none where blocks are not in step.
    met, waiting : array
        Share of the re-reads that meet others' on the way to L2, and of those that wait for DRAM.
    meeting : tuple of (Formula, mapping)
        How these were worked out.
    pinned : array
        What a byte read takes of L2 beyond one, beside persisting lines.
    """

    buffer: str
    members: tuple[int, ...]
    random: bool
    size: Array
    first: Array
    again: Array
    inputs: Mapping[str, Array]
    misses: Array
    gone: Array
    scattered: Array
    workings: residency.Workings = ()
    kept: Array = field(default_factory=lambda: np.zeros(1))
    draws: Array = field(default_factory=lambda: np.zeros(1))
    wide: Array = field(default_factory=lambda: np.ones(1))
    rounds: Rounds = ONE_ROUND
    crossing: Array = field(default_factory=lambda: np.zeros(1))
    settled: Array = field(default_factory=lambda: np.zeros(1))
    settled_misses: Array = field(default_factory=lambda: np.zeros(1))
    met: Array = field(default_factory=lambda: np.zeros(1))
    waiting: Array = field(default_factory=lambda: np.zeros(1))
    meeting: residency.Workings = ()
    pinned: Array = field(default_factory=lambda: np.zeros(1))

    @property
    def found_by_walks(self) -> Array:
        """Share of what loads in order touch of it that draws at random places have brought."""
        return np.asanyarray(
            BROUGHT_BY_DRAWS(
                f=np.minimum(self.first / np.maximum(self.size, 1.0), 1.0), m=self.misses
            )
        )

    def read(self, warm: bool) -> Array:
        """Bytes that its loads fetch from DRAM [B]."""
        lost = (1 - self.kept if self.random else self.gone) if warm else 1.0
        return np.asanyarray(self.first * lost + self.again * self.misses)


def find_tables(
    instance: Instance,
    requests: Sequence[Requests],
    fills: Sequence[Array],
    touched: Sequence[Array],
    misses: Sequence[Array],
    device: Device,
    control: L2Control,
    claimed: float,
    running: Array,
    granule: float,
    warm: bool = False,
    full: bool = False,
    groups: Sequence[Group] = (),
) -> list[Table]:
    """Return the tables of a launch and what they miss.

    Parameters
    ----------
    instance : Instance
    requests : sequence of Requests
        Of the global accesses.
    fills : sequence of array
        Sectors that each asks of L2.
    touched : sequence of array
        Bytes that each touches at least once.
    misses : sequence of array
        DRAM bytes of each by `perfmodel.models.reuse.reuse_windows`, for what loops read again.
    device : Device
    control : L2Control
    claimed : float
        Bytes that concurrent kernels keep in the set-aside.
    running : array
        Share of the blocks that run together.
    granule : float
        Bytes that a miss fetches.
    warm : bool
        Whether the same launch ran before.
    full : bool
        Whether L2 is full of others' lines at the start, not empty. Where `warm`, what the launch
        before left of its own data is there.
    groups : sequence of Group
        Accesses among which `touched` is shared out.
    """
    launch = TableLaunch(
        *(instance, requests, misses, device, control, claimed, running, granule, warm, full),
        uses=buffer_uses(requests, fills, touched, groups),
    )
    chosen = [buffer for buffer in launch.uses if _is_table(launch, buffer)]
    return [_table(launch, buffer, chosen) for buffer in chosen]


def _is_table(launch: TableLaunch, buffer: str) -> bool:
    """Say whether a buffer's index repeats or is random, or loops read it again and again."""
    window, use = launch.control.window, launch.uses[buffer]
    every = [launch.requests[i] for i in use.members]
    own = [r for r in every if r.access.kind == "load"]
    drawn = any(r.random and _draws(launch.instance, r) for r in own)
    if (drawn or any(r.period is not None for r in own)) and not comes_back(own):
        return True
    looped = (window is not None and window.buffer == buffer) or any(
        is_private(launch.instance, r) for r in every
    )
    return looped and agreed(use.loads > _AGAIN * use.touched)


def _draws(instance: Instance, r: Requests) -> bool:
    """Say whether data decides where a load goes, not only whether it takes place."""
    return uses_random(instance.expression(r.access.index))


def _table(launch: TableLaunch, buffer: str, tables: Sequence[str]) -> Table:
    one = table_use(launch, buffer, tables)
    found = competing_misses(launch, one)
    size, running, streaming = one.size, launch.running, one.streaming
    alone = fleeting_misses(size, size * streaming, one.capacity, launch.full, launch.warm)
    spilled_lost = found.lost
    if found.drawn is None:
        together = np.maximum(running * one.own.loads, 1.0)
        passing = 1 - IN_WAVE(size=size, together=together)
    else:
        spilled_lost = found.drawn.spilled / np.maximum(one.spilled, 1e-9)
        places = np.maximum(size / found.drawn.wide, 1.0)
        at_once = np.maximum(running * found.drawn.draws / places, 1e-9)
        passing = 1 - DRAWN_IN_WAVE(x=at_once)
    fleeting_lost = np.where(one.beside > 0, passing, alone)
    inputs = {
        "persisting": np.atleast_1d(one.persisting),
        "overflow": np.atleast_1d(one.spilled),
        "spilled_miss": np.atleast_1d(spilled_lost),
        "normal": np.atleast_1d(one.normal),
        "normal_miss": np.atleast_1d(found.lost),
        "streaming": np.atleast_1d(streaming),
        "streaming_miss": np.atleast_1d(fleeting_lost),
    }
    misses = np.asanyarray(residency.TABLE_MISSES(**inputs))
    in_turn = inputs["persisting"] * one.spilled + inputs["normal"]
    competing = inputs["persisting"] * one.spilled * inputs["spilled_miss"]
    competing = competing + inputs["normal"] * inputs["normal_miss"]
    settled, settled_lost = _settled(launch, found, misses - competing, in_turn)
    # Lines that a window did not pick lie alone where it picked their neighbours.
    kept_beside = (inputs["persisting"] * (1 - one.spilled)) ** ALONE
    scattered = found.scattered * competing
    apart = scattered + kept_beside * inputs["streaming"] * inputs["streaming_miss"]
    drawn = found.drawn
    at_random = {}
    if drawn is not None:
        at_random = {"kept": drawn.kept, "draws": drawn.draws, "wide": drawn.wide}
    return Table(
        buffer=buffer,
        members=one.own.members,
        random=one.random,
        size=np.atleast_1d(size),
        first=np.atleast_1d(one.first if drawn is None else drawn.first),
        again=np.atleast_1d(one.again if drawn is None else drawn.again),
        inputs=inputs,
        misses=misses,
        gone=np.maximum(misses, np.where(running < 1, 1 - found.left, 0.0)),
        workings=found.workings,
        crossing=np.atleast_1d(found.crossing),
        settled=np.atleast_1d(settled),
        settled_misses=np.maximum(misses - in_turn * (found.lost - settled_lost), 0.0),
        scattered=np.atleast_1d(apart / np.maximum(misses, 1e-9)),
        met=np.atleast_1d(in_turn * found.met),
        waiting=np.atleast_1d(in_turn * found.waiting),
        meeting=found.meeting,
        pinned=found.pinned,
        rounds=one.rounds,
        **at_random,
    )


def _settled(
    launch: TableLaunch, found: CompetingMisses, let_pass: Array, in_turn: Array
) -> tuple[Array, Array]:
    """Return the share of the re-reads that come when L2 decides, and what misses of them.

    Of all re-reads `in_turn` compete for L2; `let_pass` is what misses of the others.
    """
    if found.moves is None:
        return np.zeros(1), np.zeros(1)
    device = launch.device
    even = device.dram_bandwidth * device.dram_read_efficiency / device.l2_read_bandwidth
    # What windows keep never misses, and what they let pass misses from first to last.
    settled, lost = settled_share(found.workings, (even - let_pass) / np.maximum(in_turn, 1e-9))
    # Blocks that move on do not stay in step: some find what others fetch at that time.
    lost = np.where(found.moves > 0, found.lost, lost)
    return np.where(launch.running < 1, 0.0, np.where(found.moves > 0, 1.0, settled)), lost
