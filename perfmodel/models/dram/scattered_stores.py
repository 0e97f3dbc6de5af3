"""Scattered stores: partly written sectors are read from DRAM before they are written back.

L2 keeps byte masks for sectors of which only a part has been stored, but only for a limited number
of lines (about an eighth). When such a line is evicted, the sector is first read from DRAM to
complete it, then written: a 4 B store at a random place of a large array moves 64 B. Completed
sectors stay and can be changed again; they are written back when L2 has too many dirty lines.

The distinct lines among the last draws follow from random placement, so the reads and writes follow
from the number of lines that stores touch compared with those two limits. L2 waits for DRAM at such
sectors, which adds a time per sector on top of the bytes.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array, largest, smallest, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.dram.throughput import sparse_share
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.sampled_places import once_of_sample
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.iteration_lines import lines_kept
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.models.reuse.reuse_windows import Knee, resident_share
from perfmodel.records import record

_ONE: Final = np.ones(1)
_ZERO: Final = np.zeros(1)

LAST_SECTORS = Formula(
    name="sectors of the last distinct lines stored at random places",
    unit="B",
    text="-22.18*s*lines*log2(1 - min(0.99, room/lines))",
    symbols={
        "s": "sectors per line of a store [1]",
        "lines": "lines that all stores touch [1]",
        "room": "lines that L2 keeps with partly stored sectors, or dirty [1]",
    },
    holds="stores to random places",
    source="derived: k draws of n lines touch n*(1 - exp(-k/n)) distinct ones; 32 B per sector, "
    "natural logarithm",
)
FILLED = Formula(
    name="DRAM reads that complete partly stored sectors",
    unit="B",
    text="part*(max(0, once - last) + max(0, stored - once)*gone)",
    symbols={
        "part": "share of the sectors that are stored in part [1]",
        "once": "bytes of the distinct sectors [B]",
        "last": "of these, those that may stay incomplete in L2 [B]",
        "stored": "bytes of the sectors of all stores [B]",
        "gone": "share of the complete sectors that are evicted before they are stored to again "
        "[1]",
    },
    holds="single words and runs of 2 and 4, arrays of 1 MiB to 1 GiB, within 10% from 16 MiB on",
    source="fitted form: see part_lines",
)
WRITTEN_BACK = Formula(
    name="DRAM writes of scattered stores",
    unit="B",
    text="part*max(0, once - last) + (1 - part)*max(0, once - left)"
    " + max(0, stored - once)*max(gone, 1 - dirty/footprint, 0)",
    symbols={
        "part": "share of the sectors that are stored in part [1]",
        "once": "bytes of the distinct sectors [B]",
        "last": "of these, those that may stay incomplete in L2 [B]",
        "left": "of these, those that may stay dirty in L2 [B]",
        "stored": "bytes of the sectors of all stores [B]",
        "gone": "share of the complete sectors that are evicted before they are stored to again "
        "[1]",
        "dirty": "L2 space of dirty lines before they are written back [B]",
        "footprint": "lines that all stores touch [B]",
    },
    holds="as 'DRAM reads that complete partly stored sectors'",
    source="fitted form, as 'dirty sectors of atomics that L2 writes back': see changed_lines",
)
STORE_WAITS = Formula(
    name="time that L2 waits for DRAM at scattered stores, as dense bytes",
    unit="B",
    text="lone*(pair*filled + write*(1 - part)*max(0, once - left)*sparse)/32",
    symbols={
        "lone": "share of the sectors that are single in their line: none where there are two [1]",
        "pair": Coefficient("dram.scattered_stores.pair_wait"),
        "filled": "bytes read to complete sectors [B]",
        "write": Coefficient("dram.scattered_stores.write_wait"),
        "part": "share of the sectors that are stored in part [1]",
        "once": "bytes of the distinct sectors [B]",
        "left": "of these, those that may stay dirty in L2 [B]",
        "sparse": "share of those written that open a DRAM row of their own [1]",
    },
    holds="as 'DRAM reads that complete partly stored sectors', times: 24% low to 16% high",
    source="fitted form: this time comes after L2's own, not concurrently; see pair_wait, "
    "write_wait",
)

PART_LINES: Final = Coefficient("dram.scattered_stores.part_lines")
CHANGED_LINES: Final = Coefficient("dram.scattered_stores.changed_lines")
RANDOM_KNEE: Final = Knee("dram.scattered_stores.random_knee")
CYCLIC_KNEE: Final = Knee("dram.scattered_stores.cyclic_knee")
RANDOM_STAYS: Final = Coefficient("dram.scattered_stores.random_stays")


@record
class ScatteredStores:
    """What stores at scattered places of one buffer move between L2 and DRAM."""

    members: tuple[int, ...]  # positions of the accesses
    # filled and written: DRAM bytes read and written
    filled: Array
    written: Array
    waited: Array  # what that adds to L2's time, as dense DRAM bytes
    left: Array  # bytes of changed sectors that are still in L2 at the end


@mechanism(neutral=lambda accesses, chosen: (), evidence=["dram"])
def scattered_stores(
    accesses: GlobalAccesses, chosen: Sequence[int]
) -> tuple[ScatteredStores, ...]:
    """Return what stores without strides move, buffer by buffer, of those `chosen`."""
    requests = accesses.requests
    placed = (i for i in chosen if requests[i].strides is None and requests[i].filled is not None)
    every = (_of_buffer(accesses, found) for found in accesses.by_buffer(placed).values())
    return tuple(s for s in every if np.any(s.waited > 0))


def strided_parts(
    accesses: GlobalAccesses, chosen: Sequence[int], touched: Sequence[Array]
) -> Array:
    """Return the bytes that DRAM reads for sectors that strided stores leave in part [B].

    As of scattered stores, but for what `PART_LINES` of L2 may hold: floats that are every second
    to every sixteenth, and doubles, within 6% of what was measured.
    """
    requests = accesses.requests
    room = PART_LINES(accesses.device) * accesses.l2_size
    # What is read in the same launch is there when it is stored to.
    read = {r.access.buffer for r in requests if r.access.kind != "store"}
    filled = _ZERO
    for buffer, found in accesses.by_buffer(chosen).items():
        if buffer in read or any(requests[i].strides is None for i in found):
            continue
        # Accesses that touch the same are not told apart from such that do not: no more is read.
        once = largest(*(touched[i] for i in found))
        wanted = summed(requests[i].wanted_bytes for i in found)
        lines = summed(requests[i].lines for i in found)
        sectors = summed(requests[i].sectors for i in found)
        # Of runs that start or end inside a sector, and of lanes that leave a gap.
        ends = np.clip(2 * (1 - wanted / np.maximum(once, 1.0)), 0.0, 1.0)
        part = largest(ends, _gaps(requests, found))
        part = np.where(wanted < once, part, 0.0)
        each = np.maximum(part * sectors / np.maximum(lines, 1e-9), 1.0)
        last = np.minimum(part * once, room / LINE * each * SECTOR)
        filled = filled + np.maximum(part * once - last, 0.0)
    return np.asanyarray(filled)


def walked_parts(
    accesses: GlobalAccesses, in_parts: Array, open_lines: Array
) -> tuple[Array, Array]:
    """Return the bytes that DRAM reads for sectors that left L2 before a loop completed them.

    And what L2 waits for that, as dense bytes. `in_parts` are the bytes of such sectors, of which a
    wave has so many `open_lines`, for which `PART_LINES` of L2 are room. Measured: of 9, 17 and
    35 MB of lines on an H200 0.42, 0.83 and 0.95 of the sectors (measurements/source-kernels,
    h200-sxm/row-streams).
    """
    device = accesses.device
    kept = lines_kept(open_lines, PART_LINES(device) * accesses.l2_size, device)
    filled = in_parts * (1 - kept)
    none = dict.fromkeys(("part", "left", "sparse"), _ONE)
    waited = STORE_WAITS.on(device, lone=_ONE, filled=filled, once=_ZERO, **none)
    return filled, np.asanyarray(waited)


def _gaps(requests: Sequence[Requests], members: Sequence[int]) -> Array:
    """Return the share of sectors with a gap that neighbouring lanes leave between them."""
    most = np.zeros(1)
    for i in members:
        r = requests[i]
        assert r.strides is not None
        lanes = [np.abs(r.strides[v.name]) for v, _ in r.lanes]
        if lanes:
            most = np.maximum(most, smallest(*lanes))
    run = sum(requests[i].width for i in members)
    gap = most - run
    word = min(requests[i].width for i in members)
    inside = (gap > 0) & (gap < SECTOR)
    return np.where(inside, np.minimum((SECTOR - word + gap) / np.maximum(most, 1.0), 1.0), 0.0)


def _of_buffer(accesses: GlobalAccesses, members: Sequence[int]) -> ScatteredStores:
    """Return what scattered stores to one buffer move."""
    stores, device, capacity = (
        [accesses.requests[i] for i in members],
        accesses.device,
        accesses.l2_size,
    )
    size, random = buffer_bytes(accesses.instance, stores[0]), all(r.random for r in stores)
    # Sectors that warps of a block store to together leave as one.
    blocks = [_in_block(r) for r in stores]
    sectors, lines = (summed(b[k] for b in blocks) for k in (0, 1))
    wholes = (
        b[0] * (1.0 if r.filled is None else r.filled) for b, r in zip(blocks, stores, strict=True)
    )
    once, touched = _different(sectors, size, SECTOR, random), _different(lines, size, LINE, random)
    # A run that starts or ends inside a sector leaves two sectors in part.
    part = np.clip(2 * (1 - summed(wholes) / np.maximum(sectors, 1e-9)), 0.0, 1.0)
    gone = 1 - _stays(touched, random, capacity, device)
    each, changed = sectors / np.maximum(lines, 1e-9), CHANGED_LINES(device)
    some = {"s": each, "lines": np.maximum(touched / LINE, 1.0)}
    last, left = (
        np.minimum(LAST_SECTORS(**some, room=share * capacity / LINE), once)
        for share in (PART_LINES(device), changed)
    )
    known = {"part": part, "once": once, "last": last, "stored": sectors * SECTOR, "gone": gone}
    filled = FILLED(**known)
    room = {"dirty": changed * capacity, "footprint": touched}
    written = WRITTEN_BACK(**known, **room, left=left)
    waited = STORE_WAITS.on(
        device,
        lone=np.clip(2 * lines / np.maximum(sectors, 1e-9) - 1, 0.0, 1.0),
        filled=filled,
        part=part,
        once=once,
        left=left,
        sparse=sparse_share(touched, device),
    )
    waited = np.asanyarray(waited)
    return ScatteredStores(tuple(members), filled, written, waited, np.maximum(once - written, 0.0))


def _stays(touched: Array, random: bool, capacity: float, device: Device) -> Array:
    """Return the share of whole sectors that are still in L2 when they are stored to again."""
    knee = RANDOM_KNEE if random else CYCLIC_KNEE
    stays = resident_share(touched, np.asanyarray(capacity), knee(device))
    if random:
        stays = np.maximum(stays, np.minimum(1.0, RANDOM_STAYS(device) * capacity / touched))
    return stays


def _in_block(r: Requests) -> tuple[Array, Array]:
    """Return the sectors and lines of an access, those of a block's warps together once."""
    if r.distinct_per_block is None:
        counted = r.access.counted
        addresses = None if counted is None else counted.addresses
        each = (once_of_sample(addresses, granule) for granule in (SECTOR, LINE))
        sectors, lines = (n * part for n, part in zip((r.sectors, r.lines), each, strict=True))
        return sectors, lines
    return np.minimum(r.sectors, r.distinct_per_block[0]), np.minimum(
        r.lines, r.distinct_per_block[2]
    )


def _different(asked: Array, size: Array, granule: int, random: bool) -> Array:
    """Return the bytes of the different granules of a buffer that stores touch."""
    every = np.maximum(np.ceil(size / granule), 1.0)
    touched = -every * np.expm1(-asked / every) if random else np.minimum(asked, every)
    return np.asanyarray(np.maximum(touched, 1.0) * granule)
