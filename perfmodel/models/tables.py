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
from perfmodel.models import residency
from perfmodel.models.agreement import agreed
from perfmodel.models.coalescing import SECTOR
from perfmodel.models.followed_loads import comes_back
from perfmodel.models.followers import caught
from perfmodel.models.placement import buffer_bytes
from perfmodel.models.private_sets import part_misses, settled_share
from perfmodel.models.random_tables import random_reads
from perfmodel.models.request_record import past_l1
from perfmodel.models.requests import Requests
from perfmodel.models.reuse import WARM_KNEE, held
from perfmodel.models.sides import near_lost
from perfmodel.models.windows import fleeting_misses, marked, pinned, spilled_share
from perfmodel.models.writeback import reaching_writes

Array = npt.NDArray[Any]

_INTRUDING: Final = 0.3
"""Share of the lines marked streaming that take room from the others where nothing else passes;
fitted: windows over working sets of 40 to 80 MiB on an H200 (working-set-read.csv)."""
_BEFORE_COPIES: Final = 0.5
"""Share of the lines marked streaming that leave sooner than copies on the near side.

Fitted: of 8 MiB beside a write so marked 0.13 of the copies are gone; of 16 MiB, not fitted on,
0.47 (here 0.50): l2_all_sectors, measurements/h200-sxm-suite/data-reset-out-window.csv.
"""
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
    crossing: Array = field(default_factory=lambda: np.zeros(1))
    settled: Array = field(default_factory=lambda: np.zeros(1))
    settled_misses: Array = field(default_factory=lambda: np.zeros(1))
    met: Array = field(default_factory=lambda: np.zeros(1))
    waiting: Array = field(default_factory=lambda: np.zeros(1))
    meeting: residency.Workings = ()
    pinned: Array = field(default_factory=lambda: np.zeros(1))

    def read(self, warm: bool) -> Array:
        """Bytes that its loads fetch from DRAM [B]."""
        lost = (1 - self.kept if self.random else self.gone) if warm else 1.0
        return np.asarray(self.first * lost + self.again * self.misses)


@dataclass(frozen=True, slots=True)
class _Use:
    """What a launch asks of one buffer: bytes that loads and stores ask of L2, bytes touched."""

    loads: Array
    stores: Array
    touched: Array


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
        DRAM bytes of each by `perfmodel.models.reuse`, for what loops read again.
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
        Whether L2 is full of others' lines at the start, not empty.
    """
    window = control.window
    uses: dict[str, _Use] = {}
    members: dict[str, list[int]] = {}
    for i, r in enumerate(requests):
        members.setdefault(r.access.buffer, []).append(i)
    for buffer, positions in members.items():
        loads = [i for i in positions if requests[i].access.kind == "load"]
        stores = [i for i in positions if requests[i].access.kind != "load"]
        uses[buffer] = _Use(
            sum((fills[i] * SECTOR for i in loads), np.zeros(1)),
            sum((requests[i].sectors * SECTOR for i in stores), np.zeros(1)),
            np.maximum.reduce(np.broadcast_arrays(*(touched[i] for i in positions))),
        )
    chosen = []
    for buffer, positions in members.items():
        own = [requests[i] for i in positions if requests[i].access.kind == "load"]
        repeats = any(r.period is not None or r.random for r in own) and not comes_back(own)
        looped = (
            (window is not None and window.buffer == buffer)
            or any(_private(instance, requests[i]) for i in positions)
        ) and agreed(uses[buffer].loads > _AGAIN * uses[buffer].touched)
        if repeats or looped:
            chosen.append(buffer)
    return [
        _table(
            buffer,
            chosen,
            members,
            uses,
            instance,
            requests,
            misses,
            device,
            control,
            claimed,
            running,
            granule,
            warm,
            full,
        )
        for buffer in chosen
    ]


def _table(
    buffer: str,
    tables: Sequence[str],
    members: Mapping[str, Sequence[int]],
    uses: Mapping[str, _Use],
    instance: Instance,
    requests: Sequence[Requests],
    misses: Sequence[Array],
    device: Device,
    control: L2Control,
    claimed: float,
    running: Array,
    granule: float,
    warm: bool,
    full: bool,
) -> Table:
    own = uses[buffer]
    left: Any = 1.0
    random = any(requests[i].random for i in members[buffer])
    size = buffer_bytes(instance, requests[members[buffer][0]]) if random else own.touched
    capacity = float(device.l2_size)
    passes = np.maximum(own.loads / np.maximum(size, 1.0), 1.0)
    persisting, streaming = marked(control, buffer, size)
    spilled = spilled_share(control, buffer, size, random, claimed, capacity)
    capacity = float(residency.room_beside(capacity, control.set_aside, claimed))
    normal = 1 - persisting - streaming
    others = {name: use for name, use in uses.items() if name != buffer}
    read, written, fleeting_read, fleeting_written = _passing(others, tables, passes, control)
    kept = _beside_tables(np.asarray(size * (1 - streaming)), others, tables, passes, control)
    beside = read + written
    read, fleeting_read = read + size * streaming, fleeting_read + size * streaming
    first = np.minimum(size, own.loads)
    again = own.loads - first
    workings: residency.Workings = ()
    crossing, settled = np.zeros(1), np.zeros(1)
    settled_lost: Any = 0.0
    moves: Any = 0
    met = waiting = np.zeros(1)
    meeting: residency.Workings = ()
    in_parts, held_back = False, np.zeros(1)
    drawn = None
    if random:
        drawn = random_reads(
            size,
            (read, written),
            passes,
            capacity,
            past_l1(requests, members[buffer], own.loads),
            members[buffer],
            granule,
        )
        first, again, lost = drawn.first, drawn.again, drawn.misses
        scattered = np.ones(1)
    elif any(requests[i].period is not None for i in members[buffer]):
        reaching = reaching_writes(device, residency.granted_ways(control.set_aside, capacity))
        harmless = (fleeting_read, fleeting_written * reaching)
        workings = residency.normal_misses(kept, read, written * reaching, harmless, capacity)
        both = workings[-1][1]
        lost = np.asarray(residency.NORMAL_MISSES(**both))
        used = residency.DISTANCE(
            **residency.distance_inputs(
                residency.TABLE_WEIGHT,
                kept,
                read - _BEFORE_COPIES * fleeting_read,
                written - _BEFORE_COPIES * fleeting_written,
            )
        )
        kept_aside = persisting * (1 - spilled)
        crossing = near_lost(used, capacity, kept_aside, persisting * spilled + normal, lost)
        scattered = both["leak"] * (1 - both["knee"]) / np.maximum(lost, 1e-9)
    elif all(_private(instance, requests[i]) for i in members[buffer]):
        # A block comes back to its own while it runs: only what runs beside it is in the way.
        own_kept = (kept + _INTRUDING * size * streaming) * running
        between = ((read - size * streaming) * running, written * running)
        first_of = instance.kernel.accesses.index(requests[members[buffer][0]].access)
        moves = np.asarray(instance.moves[first_of]) % np.asarray(instance.blocks)
        workings, lost = part_misses(
            own_kept, between, capacity, passes, running, moves, device.sm_count, warm
        )
        if not agreed(moves == 0):
            of = [requests[i] for i in members[buffer]]
            met, waiting, meeting = caught(instance, of, workings, moves, passes, device)
        in_parts = True
        granted = residency.granted(control.set_aside, capacity)
        stays = size * persisting * (1 - spilled * lost)
        held_back = pinned(size, stays, granted, capacity)
        # What a launch before has left has to outlast all blocks, not those beside it only.
        left = held(kept + beside, capacity, WARM_KNEE)
        scattered = np.zeros(1)
    else:
        dram = sum((misses[i] for i in members[buffer]), np.zeros(1))
        lost = np.clip((dram - size) / np.maximum(own.loads - size, 1.0), 0.0, 1.0)
        scattered = np.zeros(1)
    alone = fleeting_misses(size, size * streaming, capacity, full)
    together = residency.REUSE_IN_WAVE * running * own.loads
    in_wave = np.minimum(1.0, (together / np.maximum(size, 1.0)) ** 2)
    fleeting_lost = np.where(beside > 0, 1 - in_wave, alone)
    inputs = {
        "persisting": np.atleast_1d(persisting),
        "overflow": np.atleast_1d(spilled),
        "normal": np.atleast_1d(normal),
        "normal_miss": np.atleast_1d(lost),
        "streaming": np.atleast_1d(streaming),
        "streaming_miss": np.atleast_1d(fleeting_lost),
    }
    misses_of_all = np.asarray(residency.TABLE_MISSES(**inputs))
    in_turn = inputs["persisting"] * spilled + inputs["normal"]
    competing = in_turn * inputs["normal_miss"]
    if in_parts:
        even = device.dram_bandwidth * device.dram_read_efficiency / device.l2_read_bandwidth
        # What windows keep never misses, and what they let pass misses from first to last.
        even = (even - (misses_of_all - competing)) / np.maximum(in_turn, 1e-9)
        settled, settled_lost = settled_share(workings, even)
        # Blocks that move on do not stay in step: some find what others fetch at that time.
        settled_lost = np.where(moves > 0, lost, settled_lost)
        settled = np.where(running < 1, 0.0, np.where(moves > 0, 1.0, settled))
    # Lines that a window did not pick lie alone where it picked their neighbours.
    kept_beside = (inputs["persisting"] * (1 - spilled)) ** ALONE
    apart = scattered * competing + kept_beside * inputs["streaming"] * inputs["streaming_miss"]
    return Table(
        buffer=buffer,
        members=tuple(members[buffer]),
        random=random,
        size=np.atleast_1d(size),
        first=np.atleast_1d(first),
        again=np.atleast_1d(again),
        inputs=inputs,
        misses=misses_of_all,
        gone=np.maximum(misses_of_all, np.where(running < 1, 1 - left, 0.0)),
        workings=workings,
        kept=np.zeros(1) if drawn is None else drawn.kept,
        draws=np.zeros(1) if drawn is None else drawn.draws,
        wide=np.ones(1) if drawn is None else drawn.wide,
        crossing=np.atleast_1d(crossing),
        settled=np.atleast_1d(settled),
        settled_misses=np.maximum(misses_of_all - in_turn * (lost - settled_lost), 0.0),
        scattered=np.atleast_1d(apart / np.maximum(misses_of_all, 1e-9)),
        met=np.atleast_1d(in_turn * met),
        waiting=np.atleast_1d(in_turn * waiting),
        meeting=meeting,
        pinned=held_back,
    )


def _passing(
    others: Mapping[str, _Use], tables: Sequence[str], passes: Array, control: L2Control
) -> tuple[Array, Array, Array, Array]:
    """Return what other buffers read and write in one pass, and how much of both streams [B]."""
    read = written = fleeting_read = fleeting_written = np.zeros(1)
    for name, use in others.items():
        if name in tables:
            continue
        _, fleeting = marked(control, name, use.touched)
        loads = np.minimum(use.loads, use.touched) / passes
        stores = np.minimum(use.stores, use.touched) / passes
        # What is read and then written takes its lines once.
        loads = np.maximum(loads - stores, 0.0)
        read, written = read + loads, written + stores
        fleeting_read = fleeting_read + loads * fleeting
        fleeting_written = fleeting_written + stores * fleeting
    return read, written, fleeting_read, fleeting_written


def _beside_tables(
    kept: Array,
    others: Mapping[str, _Use],
    tables: Sequence[str],
    passes: Array,
    control: L2Control,
) -> Array:
    """Return the bytes that a table and the others want to keep in L2 together [B].

    Of a longer table, what is read of it in one pass over this one.
    """
    for name, use in others.items():
        if name in tables:
            _, fleeting = marked(control, name, use.touched)
            kept = kept + np.minimum(use.touched, use.loads / passes) * (1 - fleeting)
    return kept


def _private(instance: Instance, request: Requests) -> bool:
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
