"""L2 misses by what a wave of blocks touches, and DRAM bytes that stores write again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.l2_control import DEFAULT_FETCH, L2Control
from perfmodel.models.grid.geometry import AXES, alike
from perfmodel.models.l1.l1_fills import loop_windows
from perfmodel.models.l2.followed_loads import comes_back, followed_misses
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.sampled_places import once_of_sample
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.irregular_unions import Union
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import (
    KNEE,
    REWRITTEN_KNEE,
    Group,
    Window,
    fetched,
    held,
    thread_extents,
)

Array = npt.NDArray[Any]
_ONE: Final = np.ones(1)
_ZERO: Final = np.zeros(1)

REWRITTEN: Final = 1.3
"""Bytes stored over bytes touched from which on data is taken as written again; rows that start
within a sector share less than that with their neighbours."""


def fetch_granule(device: Device, control: L2Control) -> int:
    """Return the least that an L2 miss fetches [B]."""
    asked = control.fetch_granularity
    return int(device.dram_access_size) if asked == DEFAULT_FETCH else asked


def l2_misses(
    instance: Instance,
    requests: Sequence[Requests],
    groups: Sequence[Group],
    device: Device,
    resident: Array,
    blocks: Array,
    fills: Sequence[Array],
    control: L2Control,
    unions: Mapping[int, Union],
    knee: tuple[float, float] = KNEE,
    rewritten_knee: tuple[float, float] = REWRITTEN_KNEE,
) -> tuple[list[Array], list[Array], list[tuple[Array, Array]], Array]:
    """Return missing sectors, DRAM read bytes and (bytes touched, copies), by access.

    And the bytes that stores write to DRAM again, after L2 had no room to wait for them.

    Parameters
    ----------
    instance, requests, groups, device, control
        A launch, its global accesses, and where it runs.
    resident, blocks : array
        Blocks on an SM at a time, and in all.
    fills : sequence of array
        Sectors that each access asks of L2.
    unions : mapping of int to Union
        What loads at irregular places have in common.
    knee, rewritten_knee : tuple of two float
        Footprint over L2 at which reuse starts to fail, and at which none is left; the same for
        data that is written again.
    """
    wave = np.minimum(blocks, device.sm_count * resident)
    box, growth = block_windows(instance, wave)
    base = box | thread_extents(requests, groups)
    windows = [*loop_windows(instance), *growth]
    weights = [side_copies(g, requests, box, device) for g in groups]
    capacity = np.asanyarray(1.0 * device.l2_size)
    atom = fetch_granule(device, control)
    atoms = fetched(groups, base, windows, capacity, atom, weights, _ONE, knee)
    everything = {w.name: w.stop for w in windows}
    misses = [np.minimum(r.sectors * 1.0, f) for r, f in zip(requests, fills, strict=True)]
    reads = [m * float(atom) for m in misses]
    touched = [(buffer_bytes(instance, r), _ONE) for r in requests]
    for g, weight, a in zip(groups, weights, atoms, strict=True):
        whole = g.granules({**base, **everything}, SECTOR) * SECTOR
        whole = np.minimum(whole, sum(requests[i].sectors for i in g.members) * SECTOR)
        asked = np.asanyarray(sum((fills[i] for i in g.members), _ZERO))
        # No more atoms than requests ask for: guards may leave out much of what strides span.
        pieces = sum((fills[i] * _atoms_each(requests[i], atom) for i in g.members), _ZERO)
        for i in g.members:
            part = np.where(asked > 0, fills[i] / np.maximum(asked, 1), 0.0)
            # Sectors of an atom that one request asks for miss together; a later request hits.
            together = np.clip(
                requests[i].sectors / np.maximum(requests[i].lines, 1), 1, atom / SECTOR
            )
            misses[i] = np.minimum(a * together, asked) * part
            reads[i] = np.minimum(a, pieces) * float(atom) * part
            touched[i] = (whole * part, weight)
    # Several loads at irregular places of one buffer bring each of its sectors once, all together.
    among: dict[tuple[str, str], Array] = {}
    for i, r in enumerate(requests):
        if r.strides is None:
            key = (r.access.buffer, r.access.kind)
            among[key] = among.get(key, _ZERO) + np.minimum(misses[i], touched[i][0] / SECTOR)
    followed = followed_misses(instance, requests, fills, capacity, wave, blocks)
    for i, r in enumerate(requests):
        if r.strides is None:
            every = among[r.access.buffer, r.access.kind]
            misses[i], whole = irregular(misses[i], touched[i][0], float(atom), capacity, every)
            reads[i] = whole
            counted = r.access.counted if r.access.kind == "store" else None
            different = once_of_sample(None if counted is None else counted.addresses, SECTOR)
            touched[i] = (np.minimum(touched[i][0], r.sectors * different * SECTOR), _ONE)
            if i in unions:
                new, new_atoms = unions[i].missing(capacity, wave)
                misses[i] = np.minimum(misses[i], r.sectors * new)
                reads[i] = np.minimum(reads[i], r.sectors * new_atoms * float(atom))
            if i in followed:
                new, pieces = followed[i]
                # Else it may meet what other blocks have brought.
                own = comes_back([o for o in requests if o.access.buffer == r.access.buffer])
                misses[i] = new if own else np.minimum(misses[i], new)
                reads[i] = pieces * float(atom)
                reads[i] = reads[i] if own else np.minimum(whole, reads[i])
        if r.access.kind == "store":
            misses[i], reads[i] = misses[i] * 0.0, reads[i] * 0.0
    # What tables write again goes by what they miss.
    tables = {
        r.access.buffer
        for r in requests
        if r.access.kind == "load" and (r.period is not None or r.random)
    }
    first = [(g, requests[g.members[0]].access) for g in groups]
    stores = [g for g, a in first if a.kind == "store" and a.buffer not in tables]
    once = [sum((touched[i][0] for i in g.members), _ZERO) for g in stores]
    asked_of = [sum((requests[i].sectors * SECTOR for i in g.members), _ZERO) for g in stores]
    outgrown = np.asanyarray(sum(once, _ZERO)) > rewritten_knee[0] * capacity
    again = [outgrown & (a > REWRITTEN * o) for a, o in zip(asked_of, once, strict=True)]
    some = np.logical_or.reduce(np.broadcast_arrays(_ZERO > 0, *again))
    if not np.any(some):
        return misses, reads, touched, _ZERO
    written = fetched(
        stores, base, windows, capacity, SECTOR, [_ONE] * len(stores), _ONE, rewritten_knee
    )
    rewritten = sum(
        (
            np.maximum(np.minimum(sectors * SECTOR, a) - o, 0.0)
            for sectors, a, o in zip(written, asked_of, once, strict=True)
        ),
        _ZERO,
    )
    return misses, reads, touched, np.where(some, rewritten, 0.0)


def _atoms_each(r: Requests, atom: int) -> Array:
    """Return the DRAM atoms that a request asks for, for each of its sectors, at most."""
    atoms = {2 * SECTOR: r.pairs, LINE: r.lines}.get(atom)
    if atoms is None or r.strides is None:
        return _ONE
    return np.where(r.sectors > 0, np.minimum(atoms / np.maximum(r.sectors, 1e-9), 1.0), 1.0)


def irregular(
    asked: Array, buffer_bytes: Array, atom: float, capacity: Array, every: Array
) -> tuple[Array, Array]:
    """Misses of an index with no strides: each sector once if the buffer fits, else at random.

    `every` are the sectors that all such loads of the buffer would bring, each on its own.
    """
    own = np.minimum(asked, buffer_bytes / SECTOR)
    different = own * np.minimum(1.0, buffer_bytes / SECTOR / np.maximum(every, 1e-9))
    kept = held(buffer_bytes, capacity)
    misses = kept * different + (1 - kept) * asked
    # All together bring no more than the buffer, if L2 keeps it.
    whole = buffer_bytes * np.minimum(1.0, own / np.maximum(every, 1e-9))
    return misses, np.minimum(misses * atom, np.maximum(whole, misses * SECTOR))


def block_windows(instance: Instance, wave: Array) -> tuple[dict[str, Array], list[Window]]:
    """Return the box of a wave of blocks, and how the grid lengthens it, axis by axis."""
    growth, left = [], wave
    for axis, extent in zip(AXES, instance.grid, strict=True):
        count = alike(np.asanyarray(extent, dtype=float))
        growth.append(Window(f"blockIdx.{axis}", np.clip(left, 1.0, count), count))
        left = left / count
    return {w.name: w.start for w in growth}, growth


def side_copies(
    group: Group, requests: Sequence[Requests], box: dict[str, Array], device: Device
) -> Array:
    """Return how many L2 partitions hold a group's data: all of them, if many SMs read the same."""
    if requests[group.members[0]].access.kind != "load":
        return _ONE
    shared = np.zeros(1, dtype=bool)
    for name, count in box.items():
        shared = shared | ((count > 1) & (group.strides[name] == 0))
    return np.where(shared, 1.0 * device.l2_partitions, 1.0)
