"""Reuse between loads with irregular indices (division, remainder), by enumerating addresses.

Indices that divide, take remainders or clamp have no strides to tell which sectors are touched
again, but their addresses are known. The addresses of a few consecutive blocks from the middle of
the grid are enumerated, and each distinct sector counts once, whichever load or block asks for it.
Their ratio to all requested sectors holds for the whole launch.

A cache that holds the blocks' union fetches it once; a smaller one has at least the reuse within an
iteration. Random indices are left to `perfmodel.models.l1.l1_tables` and
`perfmodel.models.l2.residency`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.models.agreement import agreed, alone
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.distinct import distinct
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.followed_blocks import (
    MOST_LANES,
    Asked,
    asked_in,
    grid_of,
    together,
    trips_around,
)
from perfmodel.models.reuse.reuse_windows import resident_share, reuse_knee

DRIFT: Final = Coefficient("reuse.irregular_unions.drift")
_ROWS: Final = 8
"""Rows of blocks, one for each GPC, that are compared."""


class Common(NamedTuple):
    """What loads of a buffer touch together in some blocks, over what their requests ask for."""

    in_block: float  # distinct sectors of a block
    new: float  # distinct sectors of all the blocks
    new_atoms: float  # the same for DRAM's atoms
    block_bytes: float  # distinct sectors of a block [B]
    bytes: float  # and of all [B]
    of_lines: float  # share of the lines with such sectors in them that their atoms are


class Union(NamedTuple):
    """What loads of a buffer have in common."""

    members: tuple[int, ...]  # positions of the loads
    # of blocks in a row, those of a GPC, how many ask for the same sector of one of the loads
    alike: float
    whole: Common  # of blocks in a row, as many as are followed
    # of one iteration of blocks that run together, for all loads of a loop
    step: Common = Common(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)

    def filled(self, capacity: Array, sharing: Array, device: Device) -> Array:
        """Return the share of the sectors asked for that comes into L1, of so many bytes."""
        sizes = self.whole.block_bytes * sharing, DRIFT(device) * self.step.block_bytes * sharing
        return _brought(sizes, capacity, device, self.whole.in_block, self.step.in_block)

    def missing(self, capacity: Array, wave: Array, device: Device) -> tuple[Array, Array]:
        """Return the shares of sectors, and of atoms, that L2 has not when a block asks for them.

        Where it holds what the blocks that run together touch; else what they touch at a time.
        """
        whole, step = self.whole, self.step
        of_wave = whole.block_bytes * whole.new / max(whole.in_block, 1e-9) * wave
        here = (of_wave, DRIFT(device) * step.bytes), capacity, device
        sectors = _brought(*here, whole.new, step.new)
        return sectors, _brought(*here, whole.new_atoms, step.new_atoms)


def _brought(
    sizes: tuple[Array, Any], capacity: Array, device: Device, whole: float, step: float
) -> Array:
    """Return the share that comes: of all where a cache holds all, else of an iteration."""
    resident, near = (resident_share(size, capacity, reuse_knee(device)) for size in sizes)
    return np.asanyarray(resident * whole + (1 - resident) * (near * step + (1 - near)))


@mechanism(neutral=lambda accesses: dict[int, Union](), evidence=[])
def irregular_unions(accesses: GlobalAccesses) -> dict[int, Union]:
    """Return the unions of loads at irregular places, by the position of the load.

    Where addresses say it: loads at random places are left out. Loads are followed of one
    configuration at a time.
    """
    chosen = accesses.by_buffer(i for i, r in enumerate(accesses.requests) if _followed(r))
    found: dict[int, Union] = {}
    if chosen:
        alone(math.prod(accesses.instance.shape))
    for positions in chosen.values():
        found |= _in_step(accesses, _unions(accesses, positions, accesses.blocks_on_gpc))
    return found


def common_fills(accesses: GlobalAccesses, fills: Sequence[Array]) -> list[Array]:
    """Return the sectors that loads bring into L1, no more of a buffer than there is for a block.

    Loads of a buffer in several loops, some of which iterate as far as an outer one has come, ask
    for the same sectors in ways that strides do not tell. They are followed of one configuration at
    a time.
    """
    requests, found = accesses.requests, list(fills)
    cached = (i for i in accesses.of("load") if requests[i].access.cache == "l1")
    chosen = accesses.by_buffer(i for i in cached if agreed(requests[i].requests > 0))
    for positions in chosen.values():
        loads = [requests[i] for i in positions]
        if any(r.access.counted is not None or r.random or r.period is not None for r in loads):
            continue
        # Guards that loops' own strides do not know of: those were counted.
        if len({r.access.loop for r in loads}) < 2 or all(r.sampled is None for r in loads):
            continue
        alone(math.prod(accesses.instance.shape))
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
    loads = [accesses.requests[i] for i in positions]
    trips = max(math.prod(trips_around(accesses.instance, r).values()) for r in loads)
    blocks = math.prod(grid_of(accesses))
    run = min(blocks, MOST_LANES // max(trips * accesses.shape.warps * WARP_SIZE, 1))
    if run < min(blocks, 2):
        return {}
    # Those in the middle of the launch stand for all.
    found = asked_in(accesses, loads, np.arange(run) + (blocks - run) // 2)
    if not any(len(one.sector) for one in found):
        return {}
    whole = _common(together(found), run, accesses.granule)
    # Of blocks side by side the first iterations say it; whole rows of blocks.
    length = min(max(int(np.max(row)), 1), blocks)
    several = np.arange(min(_ROWS * length, blocks // length * length))
    first = asked_in(accesses, loads, several, first=True)
    # Loads that wait for later iterations are seen over all of them.
    told = [one if len(one.sector) else every for one, every in zip(first, found, strict=True)]
    return {
        i: Union(tuple(positions), _alike(one, length), whole)
        for i, one in zip(positions, told, strict=True)
    }


def _common(asked: Asked, blocks: int, atom: int) -> Common:
    every, own, requested = distinct(asked.sector), asked.in_rows(), len(asked.sector)
    atoms, lines = (len(distinct(every // (size // SECTOR))) for size in (atom, LINE))
    return Common(
        in_block=own / requested,
        new=len(every) / requested,
        new_atoms=atoms / requested,
        block_bytes=own * SECTOR / blocks,
        bytes=float(len(every) * SECTOR),
        of_lines=atoms * atom / (lines * LINE),
    )


def _in_step(accesses: GlobalAccesses, unions: Mapping[int, Union]) -> dict[int, Union]:
    """Return unions with what loads of one loop have in common in its first iteration."""
    found, requests = dict(unions), accesses.requests
    most = MOST_LANES // (accesses.shape.warps * WARP_SIZE)
    wave = min(int(np.max(accesses.wave)), math.prod(grid_of(accesses)), most)
    for variable in {requests[i].access.loop for i in unions} - {None}:
        members = [i for i in unions if requests[i].access.loop == variable]
        asked = asked_in(accesses, (requests[i] for i in members), np.arange(wave), first=True)
        if all(len(own.sector) for own in asked):
            step = _common(together(asked), wave, accesses.granule)
            found |= {i: unions[i]._replace(step=step) for i in members}
    return found


def _alike(asked: Asked, row: int) -> float:
    """Return how many blocks of a row ask for the same sector: a mean over what each asks for.

    Where none asks for any, each is alone.
    """
    rows = asked.in_rows(row)
    return asked.in_rows() / rows if rows else 1.0
