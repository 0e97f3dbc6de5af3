"""What L2 has of loads that were followed in some blocks, as no formula gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import Device
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l2 import residency
from perfmodel.models.l2.drawn_lines import drawn_share, random_line_hits
from perfmodel.models.l2.random_tables import RANDOM_ROOM
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import resident_share, reuse_knee

_PIECE: Final = 64
"""Bytes of a line's half."""
_ZERO: Final = np.zeros(1)


def followed_misses(
    accesses: GlobalAccesses, fills: Sequence[Array]
) -> dict[int, tuple[Array, Array]]:
    """Return the sectors and pieces of 64 B that followed loads bring into L2 at most.

    While L2 holds what all blocks that run at a time touch, each brings what it asks for the first
    time; else all that it asks of L2, `fills`.
    """
    instance, requests = accesses.instance, accesses.requests
    capacity, part = np.asanyarray(accesses.l2_size), accesses.wave / accesses.blocks
    touched: dict[str, Array] = {}
    chosen = {}
    for i, r in enumerate(requests):
        counted = r.access.counted
        if counted is None or not counted.misses or r.access.kind != "load":
            continue
        chosen[i] = counted.once
        new = r.sectors * counted.once[0] * SECTOR * accesses.wave / accesses.blocks
        every = touched.get(r.access.buffer, _ZERO) + new
        touched[r.access.buffer] = np.minimum(every, buffer_bytes(instance, r))
    every = sum(touched.values(), _ZERO)
    resident = resident_share(every, capacity, reuse_knee(accesses.device))
    found = {}
    for buffer, own_bytes in touched.items():
        members = [i for i in chosen if requests[i].access.buffer == buffer]
        own = [requests[i] for i in members]
        counts = [r.access.counted for r in own]
        there = resident
        if all(c is not None and c.apart and c.jumping for c in counts):
            there = _kept_of_draws(own, own_bytes, every, capacity, part, accesses.device)
        parts = []
        for unit, share in ((SECTOR, 0), (_PIECE, 1)):
            asked = [np.minimum(requests[i].sectors * chosen[i][share], fills[i]) for i in members]
            # Together they bring no more than there is.
            most = buffer_bytes(instance, own[0]) / unit
            fits = np.minimum(1.0, most / np.maximum(sum(asked, _ZERO), 1e-9))
            parts.append([there * n * fits for n in asked])
        for i, sectors, pieces in zip(members, *parts, strict=True):
            rest = (1 - there) * fills[i]
            found[i] = (sectors + rest, pieces + rest)
    return found


def _kept_of_draws(
    own: Sequence[Requests],
    touched: Array,
    every: Array,
    capacity: Array,
    running: Array,
    device: Device,
) -> Array:
    """Return the share of what blocks ask for again that L2 has, in no order in their own parts."""
    lines = np.maximum(touched / LINE, 1.0)
    asked = sum((r.lines for r in own), _ZERO) * np.minimum(running, 1.0)
    drawn = np.maximum(asked, lines)
    room = RANDOM_ROOM(device) * capacity * touched / np.maximum(every, 1.0)
    hits, *_ = random_line_hits(touched, np.zeros(1), drawn, room, alone=1.0)
    wide = sum((r.sectors for r in own), _ZERO) * SECTOR / np.maximum(asked / running, 1.0)
    found = residency.ATOM_HITS(h=np.minimum(hits, 1 - 1e-9), a=LINE / np.clip(wide, _PIECE, LINE))
    first = lines * drawn_share(drawn / lines)
    again = np.maximum(drawn - first, 1e-9)
    return np.asanyarray(np.clip(1 - (drawn * (1 - found) - first) / again, 0.0, 1.0))
