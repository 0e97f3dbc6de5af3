"""Reuse between loads with irregular indices (division, remainder), by enumerating addresses.

Indices that divide, take remainders or clamp have no strides to tell which sectors are touched
again, but their addresses are known. The addresses of a few consecutive blocks from the middle of
the grid are enumerated, and each distinct sector counts once, whichever load or block asks for it.
Their ratio to all requested sectors holds for the whole launch.

A cache that holds the blocks' union fetches it once; a smaller one has at least the reuse within an
iteration. Random indices are left to `perfmodel.models.l1.l1_tables` and
`perfmodel.models.l2.random_tables`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.models.agreement import agreed
from perfmodel.models.each_launch import each_launch
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.distinct import distinct
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.patterns import Pattern
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.followed_blocks import (
    MOST_LANES,
    Asked,
    addressings_of,
    asked_in,
    followed,
    patterns_of,
    together,
)
from perfmodel.models.reuse.reuse_windows import resident_share, reuse_knee

DRIFT: Final = Coefficient("reuse.irregular_unions.drift")
_ROWS: Final = 8
"""Rows of blocks, one for each GPC, that are compared."""


class Common(NamedTuple):
    """What loads of a buffer touch together in some blocks, over what their requests ask for."""

    in_block: Array | float  # distinct sectors of a block
    new: Array | float  # distinct sectors of all the blocks
    new_atoms: Array | float  # the same for DRAM's atoms
    block_bytes: Array | float  # distinct sectors of a block [B]
    bytes: Array | float  # and of all [B]
    of_lines: Array | float  # share of the lines with such sectors in them that their atoms are
    turns: Array | float = 1.0  # iterations of a block over those that were followed


_OF_COMMON: Final = len(Common._fields)
_Loads = tuple[tuple[Pattern, ...], int]
"""What decides the addresses of some loads, and the bytes of DRAM's atoms."""


class Union(NamedTuple):
    """What loads of a buffer have in common."""

    members: tuple[int, ...]  # positions of the loads
    # of blocks in a row, those of a GPC, how many ask for the same sector of one of the loads
    alike: Array
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
        of_block = whole.block_bytes * whole.turns
        of_wave = of_block * whole.new / np.maximum(whole.in_block, 1e-9) * wave
        here = (of_wave, DRIFT(device) * step.bytes), capacity, device
        sectors = _brought(*here, whole.new, step.new)
        return sectors, _brought(*here, whole.new_atoms, step.new_atoms)


def _brought(
    sizes: tuple[Any, Any],
    capacity: Array,
    device: Device,
    whole: Array | float,
    step: Array | float,
) -> Array:
    """Return the share that comes: of all where a cache holds all, else of an iteration."""
    resident, near = (resident_share(size, capacity, reuse_knee(device)) for size in sizes)
    return np.asanyarray(resident * whole + (1 - resident) * (near * step + (1 - near)))


@mechanism(neutral=lambda accesses: dict[int, Union](), evidence=[])
def irregular_unions(accesses: GlobalAccesses) -> dict[int, Union]:
    """Return the unions of loads at irregular places, by the position of the load.

    Where addresses say it: loads at random places are left out.
    """
    chosen = accesses.by_buffer(i for i, r in enumerate(accesses.requests) if _followed(r))
    found: dict[int, Union] = {}
    for positions in chosen.values():
        found |= _in_step(accesses, _unions(accesses, positions, accesses.blocks_on_gpc))
    return found


def common_fills(accesses: GlobalAccesses, fills: Sequence[Array]) -> list[Array]:
    """Return the sectors that loads bring into L1, no more of a buffer than there is for a block.

    Loads of a buffer in several loops, some of which iterate as far as an outer one has come, ask
    for the same sectors in ways that strides do not tell.
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
        unions = _unions(accesses, positions, 1)
        if not unions:
            continue
        every = summed(fills[i] for i in positions)
        asked = summed(r.sectors for r in loads)
        here = accesses.l1_size, accesses.blocks_on_sm, accesses.device
        most = asked * unions[positions[0]].filled(*here)
        part = np.minimum(1.0, most / np.maximum(every, 1e-9))
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
    patterns, numbers = patterns_of(addressings_of(accesses, positions))
    known, *found = _together((patterns, accesses.granule), row, *numbers)
    if not agreed(known):
        return {}
    whole, alike = Common(*found[:_OF_COMMON]), found[_OF_COMMON:]
    pairs = zip(positions, alike, strict=True)
    return {i: Union(tuple(positions), each, whole) for i, each in pairs}


@each_launch
def _together(given: _Loads, numbers: tuple[int, ...]) -> Sequence[Any]:
    """Return whether loads could be followed, `Common` of them, and how many blocks are alike."""
    (patterns, atom), (row, *own) = given, numbers
    loads = followed(patterns, own)
    nothing = (False, *[0.0] * (_OF_COMMON + len(loads)))
    blocks, lanes = math.prod(loads[0].grid), patterns[0].shape.warps * WARP_SIZE
    turns = max(math.prod(load.trips) for load in loads)
    # Of long blocks some iterations of the outer loops stand for all.
    loads = [load.within(MOST_LANES // (min(blocks, 2) * lanes)) for load in loads]
    trips = max(math.prod(load.trips) for load in loads)
    run = min(blocks, MOST_LANES // max(trips * lanes, 1))
    if run < min(blocks, 2):
        return nothing
    # Those in the middle of the launch stand for all.
    found = asked_in(loads, np.arange(run) + (blocks - run) // 2)
    if not any(len(one.sector) for one in found):
        return nothing
    # Of blocks side by side the first iterations say it; whole rows of blocks.
    length = min(max(row, 1), blocks)
    several = np.arange(min(_ROWS * length, blocks // length * length))
    first = asked_in(loads, several, first=True)
    # Loads that wait for later iterations are seen over all of them.
    told = [one if len(one.sector) else every for one, every in zip(first, found, strict=True)]
    common = (*_common(together(found), run, atom), turns / max(trips, 1))
    return True, *common, *(_alike(one, length) for one in told)


def _common(asked: Asked, blocks: int, atom: int) -> Sequence[float]:
    """Return what `Common` has, but for `turns`."""
    every, own, requested = distinct(asked.sector), asked.in_rows(), len(asked.sector)
    atoms, lines = (len(distinct(every // (size // SECTOR))) for size in (atom, LINE))
    return (
        own / requested,
        len(every) / requested,
        atoms / requested,
        own * SECTOR / blocks,
        float(len(every) * SECTOR),
        atoms * atom / (lines * LINE),
    )


def _in_step(accesses: GlobalAccesses, unions: Mapping[int, Union]) -> dict[int, Union]:
    """Return unions with what loads of one loop have in common in its first iteration."""
    found, requests = dict(unions), accesses.requests
    for variable in dict.fromkeys(requests[i].access.loop for i in unions):
        members = [i for i in unions if requests[i].access.loop == variable]
        if variable is not None:
            patterns, numbers = patterns_of(addressings_of(accesses, members))
            known, *common = _first_together((patterns, accesses.granule), accesses.wave, *numbers)
            if agreed(known):
                step = Common(*common)
                found |= {i: unions[i]._replace(step=step) for i in members}
    return found


@each_launch
def _first_together(given: _Loads, numbers: tuple[int, ...]) -> Sequence[Any]:
    """Return whether all loads ask for something in a first iteration, and `Common` of them."""
    (patterns, atom), (wave, *own) = given, numbers
    loads = followed(patterns, own)
    most = MOST_LANES // (patterns[0].shape.warps * WARP_SIZE)
    blocks = min(wave, math.prod(loads[0].grid), most)
    asked = asked_in(loads, np.arange(blocks), first=True)
    if not all(len(one.sector) for one in asked):
        return (False, *[0.0] * _OF_COMMON)
    return True, *_common(together(asked), blocks, atom), 1.0


def _alike(asked: Asked, row: int) -> float:
    """Return how many blocks of a row ask for the same sector: a mean over what each asks for.

    Where none asks for any, each is alone.
    """
    rows = asked.in_rows(row)
    return asked.in_rows() / rows if rows else 1.0
