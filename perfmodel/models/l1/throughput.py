"""Throughput of L1: clocks for which its data, tag, fill and port stages are busy.

Every request occupies the tag stage for its tag wavefronts and the data stage for its data
wavefronts; shared-memory accesses and shuffles use the data stage as well. A request that misses
delivers its data line by line as fills arrive, and holds the data stage for one clock per line and
one more. Further requests to a sector that is outstanding wait and are delivered the same way. A
line that a store leaves with a mask of its bytes holds the data stage for a clock more.
Sectors from L2 enter through a port of limited width, and stored sectors leave through another.

Requests add up within a stage, and the stages work concurrently: L1's time is that of its busiest
stage. Queueing between the stages is neglected.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.models.derivation import scope
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.unrolled import loop_unroll, loops_of
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.groups import grouped
from perfmodel.models.reuse.placement import buffer_bytes
from perfmodel.records import record
from perfmodel.traffic import AccessTraffic

L1_CYCLES = Formula(
    name="L1 clocks per SM",
    unit="clocks",
    text="max(data + fills, tags, lanes, port, sent, pages)",
    symbols={
        "data": "data wavefronts of stores and masks of their bytes, of loads that hit, masked "
        "accesses, shuffles [clocks]",
        "fills": "clocks for which loads that wait for L2 occupy the data stage [clocks]",
        "tags": "tag wavefronts of all requests [clocks]",
        "lanes": "clocks to accept the requests, 32 lanes each [clocks]",
        "port": "clocks for sectors from L2 to enter through the SM's port [clocks]",
        "sent": "clocks for stored sectors to leave the SM, and for masks of their bytes [clocks]",
        "pages": "clocks for address translations that the SM's TLB misses [clocks]",
    },
    holds="within 4% on pairs of patterns (measurements/suite, foundation/l1-pairs.csv)",
    source="fitted form: measured pairs of requests add within each stage, and the stages overlap",
)
HIT_PASSES = Formula(
    name="data-stage clocks of requests that hit",
    unit="clocks",
    text="passes*(1 - waiting)",
    symbols={
        "passes": "data wavefronts of all requests of the access [clocks]",
        "waiting": "share of its requests that wait for L2 [1]",
    },
    holds="as 'L1 clocks per SM'",
    source="definition",
)
MISS_PASSES = Formula(
    name="data-stage clocks of requests that miss",
    unit="clocks",
    text="first*missing",
    symbols={
        "first": "clocks if all requests missed: one per line and one more, at least coefficient "
        "miss_clocks per request, between coefficient port_clocks and one per sector [clocks]",
        "missing": "share of the requests that miss L1 [1]",
    },
    holds="as 'L1 clocks per SM'",
    source="measured: requests of 1 to 32 lines (see coefficient miss_clocks)",
)
LATE_PASSES = Formula(
    name="data-stage clocks of requests to outstanding sectors",
    unit="clocks",
    text="lines*(waiting - missing)",
    symbols={
        "lines": "lines of all requests [clocks]",
        "waiting": "share of the requests that wait for L2 [1]",
        "missing": "share of the requests that miss L1 themselves [1]",
    },
    holds="as 'L1 clocks per SM'",
    source="fitted form: loads in flight to one sector (see coefficient waiting)",
)
MASKED_LINES = Formula(
    name="lines of stores that leave with a mask of their bytes",
    unit="1",
    text="max(0, min(lines, 2*(sectors - bytes/32)))",
    symbols={
        "lines": "lines of all requests [1]",
        "sectors": "sectors of all requests [1]",
        "bytes": "bytes that lanes store [B]",
    },
    holds="lanes at one stride, or at successive addresses from any first one on",
    source="derived: a run that starts or ends within a sector has two such sectors at most; each "
    "line takes one clock more then, whatever its sectors: 61.7, 46.3 and 38.6 clocks of an SM for "
    "32 words in 32, 16 and 8 lines, one, two and four sectors of each; 15.6 for 16 sectors stored "
    "whole, in 4 lines or in 16 (measurements/l1/h100-sxm/sent-lines)",
)
MISS_CLOCKS: Final = Coefficient("l1.throughput.miss_clocks")
WAITING: Final = Coefficient("l1.throughput.waiting")
PORT_CLOCKS: Final = Coefficient("l1.throughput.port_clocks")
SENT_CLOCKS: Final = Coefficient("l1.throughput.sent_clocks")
LONE_WARP: Final = Coefficient("l1.throughput.lone_warp")
PAGE_REACH: Final = Coefficient("l1.throughput.page_reach")
PAGE_CLOCKS: Final = Coefficient("l1.throughput.page_clocks")


@record
class L1Stages:
    """Busy clocks of L1's stages, averaged over SMs: what `L1_CYCLES` takes [clocks]."""

    data: Array
    fills: Array
    tags: Array
    lanes: Array
    port: Array
    sent: Array
    pages: Array

    @property
    def clocks(self) -> Array:
        """For which L1 is busy [clocks]."""
        return L1_CYCLES.of(self)


def l1_stages(execution: Execution, besides: Any = 0.0, warps: Any = math.inf) -> L1Stages:
    """Return the busy clocks of L1's stages.

    `besides` are shuffles, and accesses issued by warps of which no thread makes them: each takes a
    pass of the data stage. `warps` share an SM.
    """
    traffic, device = execution.traffic, execution.device
    sms, port = 1.0 * device.sm_count, PORT_CLOCKS(device)
    hits, fills = np.zeros(1), np.zeros(1)
    waits = waiting_shares(execution)
    loads = zip(execution.requests, traffic.accesses, waits, strict=True)
    for r, access, (missing, waiting) in loads:
        if r.access.cache == "shared":
            # What is copied to shared memory goes there by whole rows of banks, past the registers.
            fills = fills + access.l1_fill_sectors * (SECTOR / LINE)
            continue
        if r.access.cache == "l2" and r.access.copied:
            # Copied past L1: only their stores hold it, 3.7 to 4.1 clocks for 512 B of a warp in 1
            # to 16 rows, where shared loads keep it busy
            # (measurements/instructions, pipes/copies.csv).
            continue
        passes = copied_passes(r, access) if r.access.copied else access.data_wavefronts
        with scope(r.access):
            hits = hits + HIT_PASSES(passes=passes, waiting=waiting)
            first = np.maximum(
                MISS_CLOCKS(device) * access.requests, access.lines + access.requests
            )
            first = np.minimum(np.maximum(first, port * access.sectors), access.sectors)
            fills = fills + MISS_PASSES(first=first, missing=missing)
            fills = fills + LATE_PASSES(lines=access.lines, waiting=waiting, missing=missing)
    shared = traffic.shared_wavefronts * np.maximum(LONE_WARP(device) / warps, 1.0)
    masked = _masked_lines(execution)
    return L1Stages(
        data=(hits + shared + besides + masked) / sms,
        fills=fills / sms,
        tags=traffic.l1_tag_wavefronts / sms,
        lanes=(traffic.requests + besides) * (WARP_SIZE / device.lsu_lanes) / sms,
        port=traffic.l1_fill_sectors * port / sms,
        sent=(traffic.l2_write_sectors + masked) * SENT_CLOCKS(device) / sms,
        pages=_page_misses(execution) * PAGE_CLOCKS(device) / sms,
    )


def _masked_lines(execution: Execution) -> Array:
    """Return the lines of stores that leave an SM with a mask of their bytes."""
    return summed(masked_lines(a) for a in execution.traffic.accesses if a.kind == "store")


def masked_lines(access: AccessTraffic) -> Array:
    """Return the lines of a store that leave an SM with a mask of their bytes."""
    sent = access.l1_fill_sectors / np.maximum(access.sectors, 1e-9)
    return MASKED_LINES(
        lines=access.lines * sent,
        sectors=access.l1_fill_sectors,
        bytes=access.wanted_bytes,
    )


def _page_misses(execution: Execution) -> Array:
    """Return how often loads at random places find no translation of their page in their SM."""
    requests = execution.requests
    chosen = [r for r in requests if r.random and r.access.kind == "load" and r.pages is not None]
    sizes = {r.access.buffer: buffer_bytes(execution.instance, r) for r in chosen}
    reach = PAGE_REACH(execution.device)
    missing = np.maximum(1 - reach / np.maximum(summed(sizes.values()), 1.0), 0.0)
    return summed(r.pages * missing for r in chosen)


def copied_passes(r: Requests, access: AccessTraffic) -> Array:
    """Return the clocks that copies to shared memory hold the data stage, besides their stores.

    What L1 has is read in the passes in which it is stored, each a clock, and one more a request:
    2.5, 3.6, 4.9 and 8.9 clocks for 1, 2, 4 and 8 passes, whichever side has them
    (measurements/instructions, branches/copies.csv).
    """
    stored = access.requests * max(1.0, r.width * WARP_SIZE / LINE)
    return np.asanyarray(access.requests + np.maximum(access.data_wavefronts - stored, 0.0))


def waiting_shares(execution: Execution) -> list[tuple[Array, Array]]:
    """Return the shares of each load's requests that miss L1, and that wait for L2; 0 for the rest.

    A request waits if it misses, or if another load of the same batch has just asked for its
    sector.
    """
    instance, requests = execution.instance, execution.requests
    loops = loops_of(instance, (r.access for r in requests))
    loads = Counter(at for at, r in zip(loops, requests, strict=True) if r.access.kind == "load")
    unrolled = {loop: loop_unroll(instance, loop, count)[1] for loop, count in loads.items()}
    sharing = _loads_per_sector(requests)
    return [
        _waiting(access, unrolled[loop] * sharing.get(i, 1.0), execution.device)
        if access.kind == "load"
        else (np.zeros(1), np.zeros(1))
        for i, (access, loop) in enumerate(zip(execution.traffic.accesses, loops, strict=True))
    ]


def _loads_per_sector(requests: Sequence[Requests]) -> dict[int, Array]:
    """Return the loads of an iteration per sector that a lane touches, by position of the load."""
    found: dict[int, Array] = {}
    for g in grouped(requests):
        if requests[g.members[0]].access.loop is not None:
            each = np.maximum(len(g.members) / np.maximum(g.granules({}, SECTOR), 1.0), 1.0)
            found |= dict.fromkeys(g.members, each)
    return found


def _waiting(access: AccessTraffic, in_flight: Array, device: Device) -> tuple[Array, Array]:
    missing = np.asanyarray(access.l1_fill_sectors / np.maximum(access.sectors, 1))
    reads = 1 / np.maximum(missing, 1e-9)
    at_once = np.maximum(WAITING(device) * np.minimum(in_flight, reads), 1.0)
    return missing, np.asanyarray(np.minimum(missing * at_once, 1.0))
