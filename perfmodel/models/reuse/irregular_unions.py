"""Loads at irregular places of one buffer: what they have in common, by following some blocks.

Where an index divides or takes remainders, no stride tells which sectors come again. But addresses
are known: of blocks that follow each other, each sector counts once, whichever load asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.models.agreement import agreed
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.distinct import distinct, distinct_pairs
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.followed_blocks import (
    MOST_LANES,
    followed_launch,
    touched_sectors,
    trips_around,
)
from perfmodel.models.reuse.reuse_windows import resident_share, reuse_knee

DRIFT: Final = Coefficient("reuse.irregular_unions.drift")
_ROWS: Final = 8
"""Rows of blocks, one for each GPC, that are compared."""


class Union(NamedTuple):
    """What loads of a buffer touch together, over the sectors that their requests ask for."""

    in_block: float  # distinct sectors of a block
    new: float  # distinct sectors of blocks in a row, as many as are followed
    new_atoms: float  # the same for DRAM's atoms
    bytes_of_block: float  # distinct sectors of a block [B]
    members: tuple[int, ...]  # positions of the loads
    # of blocks in a row, those of a GPC, how many ask for the same sector of one of the loads
    alike: float
    of_lines: float = 0.0  # share of the lines with such sectors in them that their atoms are
    # in_step and atoms_in_step: distinct sectors, and atoms, of one iteration of blocks that run
    # together, for all loads of a loop
    in_step: float = 1.0
    atoms_in_step: float = 1.0
    bytes_in_step: float = 0.0  # the sectors of such an iteration [B]
    # block_in_step and block_step_bytes: distinct sectors of one iteration of a block, and these in
    # bytes [1, B]
    block_in_step: float = 1.0
    block_step_bytes: float = 0.0

    def filled(self, capacity: Array, sharing: Array, device: Device) -> Array:
        """Return the share of the sectors asked for that comes into L1, of so many bytes."""
        knee = reuse_knee(device)
        resident = resident_share(self.bytes_of_block * sharing, capacity, knee)
        near = resident_share(DRIFT(device) * self.block_step_bytes * sharing, capacity, knee)
        return np.asanyarray(
            resident * self.in_block + (1 - resident) * (near * self.block_in_step + (1 - near))
        )

    def missing(self, capacity: Array, wave: Array, device: Device) -> tuple[Array, Array]:
        """Return the shares of sectors, and of atoms, that L2 has not when a block asks for them.

        Where it holds what the blocks that run together touch; else what they touch at a time.
        """
        bytes_of_wave = self.bytes_of_block * self.new / max(self.in_block, 1e-9) * wave
        knee = reuse_knee(device)
        resident = resident_share(bytes_of_wave, capacity, knee)
        near = resident_share(DRIFT(device) * self.bytes_in_step, capacity, knee)
        shares = ((self.new, self.in_step), (self.new_atoms, self.atoms_in_step))
        new, atoms = (
            np.asanyarray(resident * whole + (1 - resident) * (near * step + (1 - near)))
            for whole, step in shares
        )
        return new, atoms


@mechanism(neutral=lambda accesses: dict[int, Union](), evidence=[])
def irregular_unions(accesses: GlobalAccesses) -> dict[int, Union]:
    """Return the unions of loads at irregular places, by the position of the load.

    Of one configuration, and where addresses say it: loads at random places are left out.
    """
    chosen: dict[str, list[int]] = {}
    for i, r in enumerate(accesses.requests):
        if _followed(r):
            chosen.setdefault(r.access.buffer, []).append(i)
    found: dict[int, Union] = {}
    if math.prod(accesses.instance.shape) != 1:
        return found
    for positions in chosen.values():
        whole = _unions(accesses, positions, accesses.blocks_on_gpc)
        found |= _in_step(accesses, whole)
    return found


def common_fills(accesses: GlobalAccesses, fills: Sequence[Array]) -> list[Array]:
    """Return the sectors that loads bring into L1, no more of a buffer than there is for a block.

    Loads of a buffer in several loops, some of which iterate as far as an outer one has come, ask
    for the same sectors in ways that strides do not tell. Of one configuration.
    """
    requests, found = accesses.requests, list(fills)
    if math.prod(accesses.instance.shape) != 1:
        return found
    chosen: dict[str, list[int]] = {}
    for i, r in enumerate(requests):
        if r.access.kind == "load" and r.access.cache == "l1" and agreed(r.requests > 0):
            chosen.setdefault(r.access.buffer, []).append(i)
    for positions in chosen.values():
        loads = [requests[i] for i in positions]
        if any(r.access.counted is not None or r.random or r.period is not None for r in loads):
            continue
        # Guards that loops' own strides do not know of: those were counted.
        if len({r.access.loop for r in loads}) < 2 or all(r.sampled is None for r in loads):
            continue
        unions = _unions(accesses, positions, 1)
        if not unions:
            continue
        every = float(sum(np.max(fills[i]) for i in positions))
        asked = sum(float(np.max(r.sectors)) for r in loads)
        here = accesses.l1_size, accesses.blocks_on_sm, accesses.device
        most = asked * unions[positions[0]].filled(*here)
        part = np.minimum(1.0, most / max(every, 1e-9))
        for i in positions:
            found[i] = fills[i] * part
    return found


def among(unions: Mapping[int, Union]) -> list[list[int]]:
    """Return the positions of loads that share a union, buffer by buffer."""
    return [list(members) for members in {union.members for union in unions.values()}]


def _followed(r: Requests) -> bool:
    """Say whether a load's addresses are known and no strides tell what comes again."""
    access = r.access
    if r.strides is not None or r.random or r.period is not None:
        return False
    return access.kind == "load" and access.counted is None and agreed(r.requests > 0)


def _unions(
    accesses: GlobalAccesses, positions: Sequence[int], row: Array | int
) -> dict[int, Union]:
    """Return the union of some loads of a buffer, by the position of each.

    Of rows of so many blocks it is told how many ask for the same.
    """
    launch, loads = followed_launch(accesses), [accesses.requests[i] for i in positions]
    loops = [trips_around(accesses.instance, r) for r in loads]
    most = max(math.prod(trips.values()) for trips in loops) * launch.shape.warps * WARP_SIZE
    blocks = math.prod(launch.grid)
    run = min(blocks, MOST_LANES // max(most, 1))
    if run < min(blocks, 2):
        return {}
    # Those in the middle of the launch stand for all.
    numbers = np.arange(run) + (blocks - run) // 2
    found = [
        touched_sectors(launch, r, numbers, trips) for r, trips in zip(loads, loops, strict=True)
    ]
    if not any(len(sector) for _, sector in found):
        return {}
    union = _union(found, tuple(positions), run, accesses.granule)
    # Of blocks side by side the first iterations say it; whole rows of blocks.
    length = min(max(int(np.max(row)), 1), blocks)
    several = np.arange(min(_ROWS * length, blocks // length * length))
    first = [
        touched_sectors(launch, r, several, dict.fromkeys(trips, 1))
        for r, trips in zip(loads, loops, strict=True)
    ]
    # Loads that wait for later iterations are seen over all of them.
    told = [one if len(one[1]) else whole for one, whole in zip(first, found, strict=True)]
    alike = [_alike(*asked_by, length) for asked_by in told]
    return {i: union._replace(alike=a) for i, a in zip(positions, alike, strict=True)}


def _union(
    found: Sequence[tuple[Array, Array]], members: tuple[int, ...], blocks: int, atom: int
) -> Union:
    """Return the union of what loads ask for in some blocks: blocks and sectors, by load."""
    asked = float(sum(len(sector) for _, sector in found))
    of_block, sectors = (np.concatenate([part[k] for part in found]) for k in (0, 1))
    own, every = len(distinct_pairs(of_block, sectors)), distinct(sectors)
    atoms, lines = (len(distinct(every // (size // SECTOR))) for size in (atom, LINE))
    return Union(
        in_block=own / asked,
        new=len(every) / asked,
        new_atoms=atoms / asked,
        bytes_of_block=own * SECTOR / blocks,
        members=members,
        alike=1.0,
        of_lines=atoms * atom / (lines * LINE),
    )


def _in_step(accesses: GlobalAccesses, unions: Mapping[int, Union]) -> dict[int, Union]:
    """Return unions with what loads of one loop have in common in its first iteration."""
    found, launch, requests = dict(unions), followed_launch(accesses), accesses.requests
    lanes = launch.shape.warps * WARP_SIZE
    wave = min(int(np.max(accesses.wave)), math.prod(launch.grid), MOST_LANES // lanes)
    blocks, atom = np.arange(wave), accesses.granule
    for variable in {requests[i].access.loop for i in unions} - {None}:
        members = [i for i in unions if requests[i].access.loop == variable]
        nest = accesses.instance.kernel.loop_nest(variable)
        first = dict.fromkeys((o.variable for o in nest), 1)
        asked = [touched_sectors(launch, requests[i], blocks, first) for i in members]
        of_block, sectors = (np.concatenate([part[k] for part in asked]) for k in (0, 1))
        if not all(len(own) for _, own in asked):
            continue
        every, own_blocks = distinct(sectors), len(distinct_pairs(of_block, sectors))
        for i in members:
            found[i] = unions[i]._replace(
                in_step=len(every) / len(sectors),
                atoms_in_step=len(distinct(every // (atom // SECTOR))) / len(sectors),
                bytes_in_step=float(len(every) * SECTOR),
                block_in_step=own_blocks / len(sectors),
                block_step_bytes=float(own_blocks * SECTOR) / len(blocks),
            )
    return found


def _alike(block: Array, sector: Array, row: int) -> float:
    """Return how many blocks of a row ask for the same sector: a mean over what each asks for.

    Where none asks for any, each is alone.
    """
    rows = distinct_pairs(block // row, sector)
    return len(distinct_pairs(block, sector)) / len(rows) if len(rows) else 1.0
