"""L2 misses by what a wave of blocks touches, and DRAM bytes that stores write again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.grid.geometry import BLOCK_INDICES, alike
from perfmodel.models.l1.l1_fills import loop_windows
from perfmodel.models.l1.stage import L1
from perfmodel.models.l2 import residency
from perfmodel.models.l2.random_lines import drawn_share, random_line_hits
from perfmodel.models.l2.random_tables import RANDOM_ROOM
from perfmodel.models.l2.table_uses import comes_back
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.sampled_places import once_of_sample
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import Group, thread_extents
from perfmodel.models.reuse.iteration_lines import Box, iterations, lines_held, stored_together
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import (
    Iteration,
    SharedCache,
    Walks,
    Window,
    fetched,
    resident_share,
    reuse_knee,
    rewritten_knee,
)
from perfmodel.records import record

_ONE: Final = np.ones(1)
_ZERO: Final = np.zeros(1)
_PIECE: Final = 64
"""Bytes of a line's half."""

REWRITTEN: Final = 1.3
"""Bytes stored over bytes touched from which on data is taken as written again; rows that start
within a sector share less than that with their neighbours."""


class Knees(NamedTuple):
    """Footprints over L2 at which reuse starts to fail, and at which none is left."""

    reuse: tuple[float, float]  # of data that is read again
    rewritten: tuple[float, float]  # of data that is written again


def fitted_knees(device: Device) -> Knees:
    """Return the knees that were fitted to hardware."""
    return Knees(reuse_knee(device), rewritten_knee(device))


@record
class Misses:
    """What accesses miss in L2, by position."""

    sectors: Sequence[Array]  # sectors asked for that L2 has not
    dram_bytes: Sequence[Array]  # bytes read from DRAM
    touched: Sequence[Array]  # bytes touched at least once
    copies: Sequence[Array]  # how often L2 holds them
    rewritten: Array  # bytes that stores write to DRAM again, after L2 had no room to wait for them
    # Of sectors that a loop stores to word by word: their bytes, and lines that are in the making.
    in_parts: Array
    open_lines: Array


def l2_misses(accesses: GlobalAccesses, l1: L1, knees: Knees) -> Misses:
    """Return what the accesses miss in L2 by what a wave of blocks touches."""
    walks = _wave_walks(accesses, l1.groups)
    found = _at_places(accesses, l1, _walked(accesses, l1, walks, knees.reuse))
    stores = accesses.of("store")
    in_parts, open_lines = _stored_in_parts(accesses, walks, found.touched)
    return replace(
        found,
        in_parts=in_parts,
        open_lines=open_lines,
        sectors=[m * 0.0 if i in stores else m for i, m in enumerate(found.sectors)],
        dram_bytes=[m * 0.0 if i in stores else m for i, m in enumerate(found.dram_bytes)],
        rewritten=_rewritten(accesses, walks, found.touched, knees.rewritten),
    )


def _wave_walks(accesses: GlobalAccesses, groups: Sequence[Group]) -> Walks:
    """Return what the blocks of a wave walk through, lengthened by loops and by other waves."""
    instance, requests = accesses.instance, accesses.requests
    box, growth = block_windows(instance, accesses.wave)
    base = box | thread_extents(requests, groups)
    copies = [side_copies(g, requests, box, accesses.device) for g in groups]
    running = Box(base, accesses.wave * accesses.shape.warps, accesses.l2_size)
    return Walks(
        groups=groups,
        base=base,
        windows=[*loop_windows(instance), *growth],
        copies=copies,
        iterations=iterations(accesses, groups, copies, running),
        sequential=[_others(instance, requests[g.members[0]].access.loop) for g in groups],
    )


def _others(instance: Instance, loop: str | None) -> list[str]:
    """Return the loops that run before or after all that is around a loop."""
    nests = {v.variable: instance.kernel.loop_nest(v.variable)[0] for v in instance.kernel.loops}
    return [name for name, outermost in nests.items() if outermost != nests.get(loop or "")]


def _walked(accesses: GlobalAccesses, l1: L1, walks: Walks, knee: tuple[float, float]) -> Misses:
    """Return what affine accesses miss; of others, all that they ask for."""
    instance, requests, fills = accesses.instance, accesses.requests, l1.fills
    atom, capacity = accesses.granule, np.asanyarray(accesses.l2_size)
    atoms = fetched(walks, SharedCache(capacity, atom, _ONE, knee))
    everything = {**walks.base, **{w.name: w.stop for w in walks.windows}}
    misses = [np.minimum(r.sectors * 1.0, f) for r, f in zip(requests, fills, strict=True)]
    reads = [m * float(atom) for m in misses]
    touched, copies = [buffer_bytes(instance, r) for r in requests], [_ONE for _ in requests]
    for g, weight, a in zip(walks.groups, walks.copies, atoms, strict=True):
        whole = g.granules(everything, SECTOR) * SECTOR
        whole = np.minimum(whole, sum(requests[i].sectors for i in g.members) * SECTOR)
        asked = summed(fills[i] for i in g.members)
        # No more atoms than requests ask for: guards may leave out much of what strides span.
        pieces = summed(fills[i] * _atoms_each(requests[i], atom) for i in g.members)
        for i in g.members:
            part = np.where(asked > 0, fills[i] / np.maximum(asked, 1), 0.0)
            # Sectors of an atom that one request asks for miss together; a later request hits.
            together = np.clip(
                requests[i].sectors / np.maximum(requests[i].lines, 1), 1, atom / SECTOR
            )
            misses[i] = np.minimum(a * together, asked) * part
            reads[i] = np.minimum(a, pieces) * float(atom) * part
            touched[i], copies[i] = whole * part, weight
    return Misses(misses, reads, touched, copies, *[_ZERO] * 3)


def _at_places(accesses: GlobalAccesses, l1: L1, walked: Misses) -> Misses:
    """Return the misses with those of accesses at places that no strides tell."""
    requests, capacity = accesses.requests, np.asanyarray(accesses.l2_size)
    sectors, dram_bytes, touched = map(list, (walked.sectors, walked.dram_bytes, walked.touched))
    placed = [i for i, r in enumerate(requests) if r.strides is None]
    # Several loads at irregular places of one buffer bring each of its sectors once, all together.
    among: dict[tuple[str, str], Array] = {}
    for i in placed:
        key = (requests[i].access.buffer, requests[i].access.kind)
        among[key] = among.get(key, _ZERO) + np.minimum(sectors[i], touched[i] / SECTOR)
    in_order: dict[str, Array] = {}
    for r, size in zip(requests, touched, strict=True):
        if r.strides is not None and r.access.kind == "load":
            in_order[r.access.buffer] = in_order.get(r.access.buffer, _ZERO) + size
    followed = _followed_misses(accesses, l1.fills, in_order)
    atom = float(accesses.granule)
    for i in placed:
        r = requests[i]
        every = among[r.access.buffer, r.access.kind]
        resident = resident_share(touched[i], capacity, reuse_knee(accesses.device))
        sectors[i], whole = irregular(sectors[i], touched[i], atom, resident, every)
        dram_bytes[i] = whole
        counted = r.access.counted if r.access.kind == "store" else None
        different = once_of_sample(None if counted is None else counted.addresses, SECTOR)
        touched[i] = np.minimum(touched[i], r.sectors * different * SECTOR)
        if i in l1.unions:
            new, new_atoms = l1.unions[i].missing(capacity, accesses.wave, accesses.device)
            sectors[i] = np.minimum(sectors[i], r.sectors * new)
            dram_bytes[i] = np.minimum(dram_bytes[i], r.sectors * new_atoms * atom)
        if i in followed:
            new, pieces = followed[i]
            # Else it may find what other blocks have brought.
            own = comes_back([o for o in requests if o.access.buffer == r.access.buffer])
            sectors[i] = new if own else np.minimum(sectors[i], new)
            dram_bytes[i] = pieces * atom if own else np.minimum(whole, pieces * atom)
    return replace(walked, sectors=sectors, dram_bytes=dram_bytes, touched=touched)


def _followed_misses(
    accesses: GlobalAccesses, fills: Sequence[Array], in_order: Mapping[str, Array]
) -> dict[int, tuple[Array, Array]]:
    """Return the sectors and pieces of 64 B that followed loads bring into L2 at most.

    While L2 holds what all blocks that run at a time touch, each brings what it asks for the first
    time; else all that it asks of L2, `fills`. `in_order` is what loads in order bring of each
    buffer [B].
    """
    instance, requests = accesses.instance, accesses.requests
    capacity, part = np.asanyarray(accesses.l2_size), accesses.wave / accesses.blocks
    touched: dict[str, Array] = {}
    chosen = []
    for i, r in enumerate(requests):
        counted = r.access.counted
        if counted is None or not counted.misses or r.access.kind != "load":
            continue
        chosen.append(i)
        new = r.sectors * counted.once[0] * SECTOR * accesses.wave / accesses.blocks
        every = touched.get(r.access.buffer, _ZERO) + new
        touched[r.access.buffer] = np.minimum(every, buffer_bytes(instance, r))
    every = summed(touched.values())
    resident = resident_share(every, capacity, reuse_knee(accesses.device))
    found: dict[int, tuple[Array, Array]] = {}
    for buffer, own_bytes in touched.items():
        members = [i for i in chosen if requests[i].access.buffer == buffer]
        own = [requests[i] for i in members]
        counts = [r.access.counted for r in own]
        there = resident
        if all(c is not None and c.apart and c.jumping for c in counts):
            there = _kept_of_draws(own, own_bytes, every, capacity, part, accesses.device)
        left = np.maximum(buffer_bytes(instance, own[0]) - in_order.get(buffer, _ZERO), 0.0)
        brought = _brought(own, [fills[i] for i in members], left, there)
        found |= dict(zip(members, brought, strict=True))
    return found


def _brought(
    loads: Sequence[Requests], fills: Sequence[Array], left: Array, there: Array
) -> list[tuple[Array, Array]]:
    """Return the sectors and pieces of 64 B that followed loads of one buffer bring into L2.

    `left` bytes of it no loads in order bring: all together bring no more, as far as L2 keeps what
    is `there`. `fills` are the sectors that they ask of it.
    """
    first, brought = [], []
    for unit, share in ((SECTOR, 0), (_PIECE, 1)):
        once = [0.0 if r.access.counted is None else r.access.counted.once[share] for r in loads]
        asked = [np.minimum(r.sectors * n, f) for r, n, f in zip(loads, once, fills, strict=True)]
        fits = np.minimum(1.0, left / unit / np.maximum(summed(asked), 1e-9))
        first.append(asked)
        brought.append([n * (there * fits + 1 - there) for n in asked])
    again = [(1 - there) * (f - n) for f, n in zip(fills, first[0], strict=True)]
    return [(s + a, p + a) for s, p, a in zip(*brought, again, strict=True)]


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
    asked = summed(r.lines for r in own) * np.minimum(running, 1.0)
    drawn = np.maximum(asked, lines)
    room = RANDOM_ROOM(device) * capacity * touched / np.maximum(every, 1.0)
    hits, *_ = random_line_hits(touched, np.zeros(1), drawn, room, alone=1.0)
    wide = summed(r.sectors for r in own) * SECTOR / np.maximum(asked / running, 1.0)
    found = residency.ATOM_HITS(h=np.minimum(hits, 1 - 1e-9), a=LINE / np.clip(wide, _PIECE, LINE))
    first = lines * drawn_share(drawn / lines)
    again = np.maximum(drawn - first, 1e-9)
    return np.asanyarray(np.clip(1 - (drawn * (1 - found) - first) / again, 0.0, 1.0))


def _at_work(accesses: GlobalAccesses, loop: str) -> Array:
    """Return the share of a wave that goes through a loop at a time: of one wave, all together.

    Blocks of later waves are anywhere, as long in each loop as it has iterations.
    """
    instance, kernel = accesses.instance, accesses.instance.kernel
    runs = {v.variable: instance.runs(v.variable) for v in kernel.loops if v.parent is None}
    own = runs[kernel.loop_nest(loop)[0].variable] / np.maximum(summed(runs.values()), 1e-9)
    together = np.minimum(accesses.wave / accesses.blocks, 1.0)
    return np.asanyarray(together + (1 - together) * own)


def _stored_in_parts(
    accesses: GlobalAccesses, walks: Walks, touched: Sequence[Array]
) -> tuple[Array, Array]:
    """Return the bytes of sectors that a loop's iterations complete, and a wave's lines of them.

    Each is in part for all but one of its stores; what is stored in a row counts as one of them.
    What is read before is whole in L2.
    """
    requests, once, lines = accesses.requests, _ZERO, _ZERO
    for g in walks.groups:
        access = requests[g.members[0]].access
        before = (r.access for r in requests[: min(g.members)])
        read = any(a.buffer == access.buffer and a.kind != "store" for a in before)
        if access.kind == "store" and access.loop is not None and not read:
            own = summed(touched[i] for i in g.members)
            asked = summed(requests[i].sectors for i in g.members) * SECTOR
            parts = asked > REWRITTEN * own
            row = stored_together(accesses, g)
            unfinished = np.maximum(1 - np.maximum(row / SECTOR, own / np.maximum(asked, 1.0)), 0.0)
            once = once + np.where(parts, own, 0.0)
            held = g.granules(walks.base, LINE) * _at_work(accesses, access.loop)
            lines = lines + np.where(parts, held * unfinished, 0.0)
    return once, lines


def _rewritten(
    accesses: GlobalAccesses, walks: Walks, touched: Sequence[Array], knee: tuple[float, float]
) -> Array:
    """Return the bytes that affine stores write to DRAM again; of tables, it goes by misses."""
    requests, capacity = accesses.requests, np.asanyarray(accesses.l2_size)
    tables = {
        r.access.buffer
        for r in requests
        if r.access.kind == "load" and (r.period is not None or r.random)
    }
    first = (requests[g.members[0]].access for g in walks.groups)
    kept = [a.kind == "store" and a.buffer not in tables for a in first]
    stores = [*compress(walks.groups, kept)]
    once = [summed(touched[i] for i in g.members) for g in stores]
    asked = [summed(requests[i].sectors * SECTOR for i in g.members) for g in stores]
    outgrown = summed(once) > knee[0] * capacity
    again = [outgrown & (a > REWRITTEN * o) for a, o in zip(asked, once, strict=True)]
    some = np.any(np.stack(np.broadcast_arrays(_ZERO > 0, *again)), axis=0)
    if not np.any(some):
        return _ZERO
    ones = [_ONE] * len(stores)
    changed = lines_held(accesses, stores, walks.base, ones)
    stays = [resident_share(n * LINE, capacity, knee) for n in changed]
    among = compress(walks.iterations, kept)
    stored = replace(
        walks,
        groups=stores,
        copies=ones,
        iterations=[
            Iteration(share if i is None else np.minimum(i.kept, share), [g], walks.base, _ONE)
            for g, i, share in zip(stores, among, stays, strict=True)
        ],
        sequential=[*compress(walks.sequential, kept)],
    )
    written = fetched(stored, SharedCache(capacity, SECTOR, _ONE, knee))
    rewritten = (
        np.maximum(np.minimum(sectors * SECTOR, a) - o, 0.0)
        for sectors, a, o in zip(written, asked, once, strict=True)
    )
    return np.where(some, summed(rewritten), 0.0)


def _atoms_each(r: Requests, atom: int) -> Array:
    """Return the DRAM atoms that a request asks for, for each of its sectors, at most."""
    atoms = {2 * SECTOR: r.pairs, LINE: r.lines}.get(atom)
    if atoms is None or r.strides is None:
        return _ONE
    return np.where(r.sectors > 0, np.minimum(atoms / np.maximum(r.sectors, 1e-9), 1.0), 1.0)


def irregular(
    asked: Array, buffer_bytes: Array, atom: float, resident: Array, every: Array
) -> tuple[Array, Array]:
    """Misses of an index with no strides: each sector once if the buffer fits, else at random.

    `resident` is the share of the buffer that L2 keeps, `every` are the sectors that all such loads
    of the buffer would bring, each on its own.
    """
    own = np.minimum(asked, buffer_bytes / SECTOR)
    different = own * np.minimum(1.0, buffer_bytes / SECTOR / np.maximum(every, 1e-9))
    misses = resident * different + (1 - resident) * asked
    # All together bring no more than the buffer, if L2 keeps it.
    whole = buffer_bytes * np.minimum(1.0, own / np.maximum(every, 1e-9))
    return misses, np.minimum(misses * atom, np.maximum(whole, misses * SECTOR))


def block_windows(instance: Instance, wave: Array) -> tuple[dict[str, Array], list[Window]]:
    """Return the box of a wave of blocks, and how the grid lengthens it, axis by axis."""
    growth, left = [], wave
    for name, extent in zip(BLOCK_INDICES, instance.grid, strict=True):
        count = alike(np.asanyarray(extent, dtype=float))
        growth.append(Window(name, np.clip(left, 1.0, count), count))
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
