"""What every global access misses in L1 and in L2, by strides, unions and rereads.

Before tables that are read again and again, atomics and what a launch before has left: they follow
rules of their own, and change what is found here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.l2_control import L2Control
from perfmodel.models.grid.geometry import BlockShape
from perfmodel.models.l1.l1_fills import l1_fills
from perfmodel.models.l2.common_buffers import brought_once
from perfmodel.models.l2.l2_misses import l2_misses
from perfmodel.models.l2.merged_reads import gpc_run
from perfmodel.models.launch.occupancy import Occupancy
from perfmodel.models.launch.waves import side_by_side
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.irregular_unions import Union, common_fills, irregular_unions
from perfmodel.models.reuse.joint_walks import new_shares
from perfmodel.models.reuse.rereads import rereads, without_rereads
from perfmodel.models.reuse.reuse_windows import Group, grouped

Array = npt.NDArray[Any]

_ONE: Final = np.ones(1)
_ZERO: Final = np.zeros(1)


@dataclass(frozen=True, slots=True)
class GlobalAccesses:
    """The global accesses of a launch, and the L2 that serves them.

    Attributes
    ----------
    instance : Instance
    requests : sequence of Requests
        By position, as everywhere below.
    device : Device
    control : L2Control
    granule : int
        What DRAM brings at least [B].
    warm : bool
        Whether L2 starts as the same launch just left it.
    """

    instance: Instance
    requests: Sequence[Requests]
    device: Device
    control: L2Control
    granule: int
    warm: bool

    @property
    def l2_size(self) -> float:
        """Capacity of L2 [B]."""
        return 1.0 * self.device.l2_size

    def of(self, *kinds: str) -> list[int]:
        """Return the positions of the accesses of some kinds, kind by kind: "load", "store"."""
        return [i for k in kinds for i, r in enumerate(self.requests) if r.access.kind == k]


class Misses(NamedTuple):
    """What accesses miss, by position.

    Attributes
    ----------
    groups : sequence of Group
        Accesses that share lines.
    unions : mapping of int to Union
        What loads at irregular places have in common.
    fills : list of array
        Sectors that come into L1.
    sectors : list of array
        Sectors that L2 has not.
    dram_bytes : list of array
        Bytes read from DRAM.
    touched, copies : list of array
        Bytes touched, and how often L2 holds them.
    rewritten : array
        Bytes that stores write to DRAM again.
    again : list of tuple of two array
        Shares of what rereads ask for that L1, and L2, no longer has.
    """

    groups: Sequence[Group]
    unions: Mapping[int, Union]
    fills: list[Array]
    sectors: list[Array]
    dram_bytes: list[Array]
    touched: list[Array]
    copies: list[Array]
    rewritten: Array
    again: list[tuple[Array, Array]]


def access_misses(accesses: GlobalAccesses, shape: BlockShape, occupied: Occupancy) -> Misses:
    """Return what the accesses of all configurations miss in L1 and L2.

    Parameters
    ----------
    accesses : GlobalAccesses
    shape : BlockShape
    occupied : Occupancy
        Of the same configurations.
    """
    instance, requests, device = accesses.instance, accesses.requests, accesses.device
    groups = grouped(requests)
    resident = occupied.resident
    blocks = np.asanyarray(instance.blocks, dtype=float)
    row = gpc_run(blocks, device)
    wave = np.minimum(blocks, device.sm_count * resident)
    unions = irregular_unions(instance, requests, shape, accesses.granule, row, wave)
    fills = l1_fills(instance, requests, groups, device, occupied, resident, blocks, unions)
    again = rereads(instance, requests, groups)
    on_sm = side_by_side(resident, blocks, device.sm_count)
    capacity = np.asanyarray(occupied.l1_size, dtype=float)
    near = [
        g.missing_l1(on_sm, capacity) if requests[g.members[0]].access.cache == "l1" else _ONE
        for g in again
    ]
    # What a block has of a buffer in common is told after its rereads, or they would count twice.
    fills = common_fills(
        instance,
        requests,
        without_rereads(again, fills, near),
        shape,
        accesses.granule,
        capacity,
        on_sm,
    )
    sectors, dram_bytes, touched, rewritten = l2_misses(
        instance, requests, groups, device, resident, blocks, fills, accesses.control, unions
    )
    back = {i for g in again for i in g.members}
    for i, new in new_shares(
        *(instance, requests, groups, shape, accesses.granule, wave),
        *([t for t, _ in touched], dram_bytes, accesses.l2_size, back),
    ).items():
        sectors[i], dram_bytes[i] = sectors[i] * new, dram_bytes[i] * new
    far = [g.missing_l2(wave, accesses.l2_size, n) for g, n in zip(again, near, strict=True)]
    still = dict.fromkeys(range(len(requests)), (_ONE, _ONE))
    for reread, n, f in zip(again, near, far, strict=True):
        still |= dict.fromkeys(reread.members, (n, f))
    # DRAM's bytes were counted for all that is touched, L1 or not.
    both = [n * f for n, f in zip(near, far, strict=True)]
    touched_once = without_rereads(again, [t for t, _ in touched], both)
    return Misses(
        groups=groups,
        unions=unions,
        fills=fills,
        sectors=without_rereads(again, sectors, far),
        dram_bytes=brought_once(
            instance,
            requests,
            without_rereads(again, dram_bytes, both),
            touched_once,
            accesses.l2_size,
            back,
        ),
        touched=touched_once,
        copies=[c for _, c in touched],
        rewritten=rewritten,
        again=list(still.values()),
    )


def total(values: Sequence[Any], chosen: Sequence[int]) -> Array:
    """Return the sum of the values at some positions; zero for none."""
    return np.asanyarray(sum((values[i] for i in chosen), _ZERO))
