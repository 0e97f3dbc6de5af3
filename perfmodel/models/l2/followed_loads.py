"""What caches have of loads that were followed in some blocks, as no formula gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.extremes import largest
from perfmodel.models.l1.l1_tables import table_fills
from perfmodel.models.l2 import residency
from perfmodel.models.l2.random_tables import RANDOM_ROOM, drawn_share, random_line_hits
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.placement import buffer_bytes, reached_bytes
from perfmodel.models.reuse.reuse_windows import held

Array = npt.NDArray[Any]

_ANYWHERE: Final = 0.9
"""Share of sectors that are new to their block from which on a load's places are anywhere."""
_PIECE: Final = 64
"""Bytes of a line's half."""
_ZERO: Final = np.zeros(1)


def followed_fills(
    r: Requests,
    capacity: Array,
    sharing: Array,
    blocks: Array,
    device: Device,
    instance: Instance,
) -> Array:
    """Return the sectors that a load whose addresses were followed brings into L1.

    Parameters
    ----------
    r : Requests
        Of the load; counted, with what L1 of so many lines has not.
    capacity : array
        Bytes of L1.
    sharing : array
        Blocks that share an SM.
    blocks : array
        Of the launch.
    device, instance
        For its SMs, and the buffer's size.
    """
    assert r.access.counted is not None
    misses = zip(*r.access.counted.misses, strict=True)
    lines, shares = (np.asanyarray(column, dtype=float) for column in misses)
    own = np.maximum(capacity / (LINE * sharing), 1.0)
    found = r.sectors * np.interp(np.log2(own), np.log2(lines), shares)
    # A buffer that L1 holds comes once to each SM.
    size = buffer_bytes(instance, r)
    once = np.minimum(found, np.minimum(blocks, device.sm_count) * size / SECTOR)
    kept = held(size, capacity)
    return np.asanyarray(kept * once + (1 - kept) * found)


def drawn_fills(
    instance: Instance,
    requests: Sequence[Requests],
    fills: Sequence[Array],
    sms: Array,
    capacity: Array,
) -> list[Array]:
    """Return the sectors that loads bring into L1, with those of tables that all blocks draw from.

    Blocks of an SM find what each other has drawn, and all loads of a table draw from it together
    (measurements/h200-reused, tables and lists).

    Parameters
    ----------
    instance : Instance
    requests : sequence of Requests
        Of the global accesses.
    fills : sequence of array
        What each brings otherwise, each block by itself.
    sms : array
        SMs at work.
    capacity : array
        Bytes of L1.
    """
    tables: dict[str, list[int]] = {}
    for i, r in enumerate(requests):
        if (
            r.access.kind == "load"
            and r.access.cache == "l1"
            and _table_bytes(instance, r) is not None
        ):
            tables.setdefault(r.access.buffer, []).append(i)
    found = list(fills)
    for members in tables.values():
        first = requests[members[0]]
        if len(members) == 1 and first.access.counted is None:
            continue
        sizes = [size for i in members if (size := _table_bytes(instance, requests[i])) is not None]
        table = np.minimum(buffer_bytes(instance, first), largest(*sizes))
        sectors = sum((requests[i].sectors for i in members), _ZERO)
        every = replace(
            first,
            sectors=sectors,
            lines=sum((requests[i].lines for i in members), _ZERO),
            random=True,
        )
        loads = (i for i, r in enumerate(requests) if r.access.kind == "load" and i not in members)
        beside = sum((fills[i] for i in loads), _ZERO) * SECTOR
        brought = table_fills(every, table, table, sms, beside, capacity)
        share = brought / np.maximum(sectors, 1e-9)
        for i in members:
            found[i] = np.minimum(fills[i], requests[i].sectors * share)
    return found


def _table_bytes(instance: Instance, r: Requests) -> Array | None:
    """Return the bytes of the table that a load draws from at random, or None if it does not."""
    counted = r.access.counted
    if counted is not None:
        return np.full(1, counted.drawn * LINE) if counted.drawn else None
    everywhere = r.random and r.strides is None and r.places is None
    return reached_bytes(instance, r) if everywhere else None


def drawn_table_fills(
    instance: Instance, r: Requests, sms: Array, sharing: Array, beside: Array, capacity: Array
) -> Array:
    """Return the sectors that a load at irregular or random places brings into all L1s.

    What blocks draw from that share an SM is a table by itself, and then what the next ones do.

    Parameters
    ----------
    instance : Instance
    r : Requests
    sms, sharing : array
        SMs at work, and blocks on each at a time.
    beside : array
        Bytes that the other loads bring into all L1s.
    capacity : array
        Bytes of L1.
    """
    whole = buffer_bytes(instance, r)
    if r.places is None:
        return table_fills(r, whole, reached_bytes(instance, r), sms, beside, capacity)
    blocks = np.asanyarray(instance.blocks, dtype=float)
    live, reached = (
        np.minimum(whole, r.places.of(n, sms))
        for n in (np.minimum(sharing, blocks / sms), blocks / sms)
    )
    rounds = np.maximum(reached / live, 1.0)
    one = replace(r, sectors=r.sectors / rounds, lines=r.lines / rounds)
    return rounds * table_fills(one, live, live, sms, beside / rounds, capacity)


def comes_back(loads: Sequence[Requests]) -> bool:
    """Say whether followed loads of a buffer go on from where their block was, not anywhere."""
    # Walks in order, whose strides say it, come beside.
    counts = [r.access.counted for r in loads]
    known = [c for c in counts if c is not None and c.misses and not c.drawn]
    if not known or len(known) < len(counts):
        return False
    if all(c.apart for c in known):
        return True
    every = sum(c.sectors for c in known)
    return sum(c.sectors * c.once[0] for c in known) < _ANYWHERE * every


def followed_misses(
    instance: Instance,
    requests: Sequence[Requests],
    fills: Sequence[Array],
    capacity: Array,
    wave: Array,
    blocks: Array,
) -> dict[int, tuple[Array, Array]]:
    """Return the sectors and pieces of 64 B that followed loads bring into L2 at most.

    While L2 holds what all blocks that run at a time touch, each brings what it asks for the first
    time; else all that it asks of L2.

    Parameters
    ----------
    instance : Instance
    requests : sequence of Requests
        Of the global accesses.
    fills : sequence of array
        Sectors that each asks of L2.
    capacity : array
        Bytes of L2.
    wave, blocks : array
        Blocks that run at a time, and in all.
    """
    touched: dict[str, Array] = {}
    chosen = {}
    for i, r in enumerate(requests):
        counted = r.access.counted
        if counted is None or not counted.misses or r.access.kind != "load":
            continue
        chosen[i] = counted.once
        new = r.sectors * counted.once[0] * SECTOR * wave / blocks
        every = touched.get(r.access.buffer, _ZERO) + new
        touched[r.access.buffer] = np.minimum(every, buffer_bytes(instance, r))
    every = sum(touched.values(), _ZERO)
    kept = held(every, capacity)
    found = {}
    for buffer, own_bytes in touched.items():
        members = [i for i in chosen if requests[i].access.buffer == buffer]
        parts = []
        own = [requests[i] for i in members]
        counts = [r.access.counted for r in own]
        if all(c is not None and c.apart and c.jumping for c in counts):
            there = _kept_of_draws(own, own_bytes, every, capacity, wave / blocks)
        else:
            there = kept
        for unit, share in ((SECTOR, 0), (_PIECE, 1)):
            asked = [np.minimum(requests[i].sectors * chosen[i][share], fills[i]) for i in members]
            # Together they bring no more than there is.
            most = buffer_bytes(instance, requests[members[0]]) / unit
            part = np.minimum(1.0, most / np.maximum(sum(asked, _ZERO), 1e-9))
            parts.append([there * n * part for n in asked])
        for i, sectors, pieces in zip(members, *parts, strict=True):
            rest = (1 - there) * fills[i]
            found[i] = (sectors + rest, pieces + rest)
    return found


def _kept_of_draws(
    own: Sequence[Requests], touched: Array, every: Array, capacity: Array, running: Array
) -> Array:
    """Return the share of what blocks ask for again that L2 has, each in no order in its own part.

    Parameters
    ----------
    own : sequence of Requests
        The followed loads of a buffer.
    touched, every : array
        Bytes that blocks touch that run at a time, of this buffer and of all.
    capacity : array
        Bytes of L2.
    running : array
        Share of the blocks that run at a time.
    """
    lines = np.maximum(touched / LINE, 1.0)
    asked = sum((r.lines for r in own), _ZERO) * np.minimum(running, 1.0)
    drawn = np.maximum(asked, lines)
    room = RANDOM_ROOM * capacity * touched / np.maximum(every, 1.0)
    hits, *_ = random_line_hits(touched, np.zeros(1), drawn, room, float(LINE), alone=1.0)
    wide = sum((r.sectors for r in own), _ZERO) * SECTOR / np.maximum(asked / running, 1.0)
    found = residency.ATOM_HITS(h=np.minimum(hits, 1 - 1e-9), a=LINE / np.clip(wide, _PIECE, LINE))
    first = lines * drawn_share(drawn / lines)
    again = np.maximum(drawn - first, 1e-9)
    return np.asanyarray(np.clip(1 - (drawn * (1 - found) - first) / again, 0.0, 1.0))
