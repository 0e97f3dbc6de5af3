"""L2, DRAM and latency: the terms beyond the SM, with their numbers put in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from perfmodel.models.atomics.hot_stores import HOT_STORES_TIME, SLOWEST_SLICE
from perfmodel.models.dram.dirty_lines import DIRTY_KEPT, DIRTY_LEFT, STREAM_KNEE
from perfmodel.models.dram.throughput import (
    MIXED_EFFICIENCY,
    OVER_FETCH,
    over_fetch,
)
from perfmodel.models.l2.residency import granted_ways
from perfmodel.models.l2.sides import CROSSING_TIME, SIDES_TIME
from perfmodel.models.l2.throughput import L2_READS, L2_TIME
from perfmodel.models.launch.gpcs import BUSIEST_GPC
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.time.memory_times import BYTES_TIME
from perfmodel.prediction.details import Details
from perfmodel.reports.explain_requests import AccessShare
from perfmodel.reports.explain_reuse import l2_reuse, reuse_steps
from perfmodel.reports.step import Step, close, definition, named, scalar, step

DRAM: Final = "DRAM"
LATENCY: Final = "Latency"


def l2_steps(details: Details) -> Iterator[Step]:
    """Yield the time of L2."""
    section = "L2"
    inputs = details.time.inputs
    yield step(section, named(L2_READS, "asked"), inputs["l2_reads"])
    crosses = bool(np.any(inputs["sides"]["crossing"] > 0))
    own = "own time of l2" if crosses else "time of l2"
    uneven = "busiest_gpc" in inputs
    yield step(section, named(L2_TIME, "all gpcs alike" if uneven else own), inputs["l2"])
    if uneven:
        yield step(section, named(BUSIEST_GPC, own), inputs["busiest_gpc"])
    if "hot_stores" in inputs:
        yield step(section, named(HOT_STORES_TIME, "hot stores"), inputs["hot_stores"])
        yield step(section, named(SLOWEST_SLICE, "slowest slice"), inputs["slowest_slice"])
    if crosses:
        yield step(section, named(CROSSING_TIME, "crossing"), inputs["crossing"])
        yield step(section, named(SIDES_TIME, "time of l2"), inputs["sides"])


def dram_steps(details: Details, shares: Sequence[AccessShare]) -> Iterator[Step]:
    """Yield DRAM's bytes by access, its efficiency and its time."""
    traffic, device, given = details.traffic, details.device, details.time.inputs["dram"]
    reuse = l2_reuse(details)
    if reuse is not None:
        asked = (
            details.traffic.accesses[i].l1_fill_sectors for g in reuse.groups for i in g.members
        )
        if reuse.happens(sum(scalar(sectors) for sectors in asked)):
            yield from reuse_steps(DRAM, reuse, "L2")
    yield from _read_steps(details, shares)
    yield from _written_steps(details)
    reads, writes = scalar(traffic.dram_read_bytes), scalar(traffic.dram_write_bytes)
    cost = scalar(traffic.dram_read_cost)
    moved = step(
        DRAM,
        definition(
            "DRAM bytes, as dense ones" if cost > 1 else "DRAM bytes",
            "B",
            "reads*cost + writes" if cost > 1 else "reads + writes",
            {
                "reads": "bytes read [B]",
                **({"cost": "of isolated atoms, relative to dense reads [1]"} if cost > 1 else {}),
                "writes": "bytes written [B]",
            },
        ),
        {"reads": reads, "writes": writes, "cost": cost},
    )
    yield moved
    yield (efficiency := step(DRAM, named(MIXED_EFFICIENCY, "DRAM efficiency"), given))
    reached = step(
        DRAM,
        definition(
            "DRAM bandwidth",
            "B/s",
            "efficiency*peak",
            {"efficiency": "share of the peak that is reached [1]", "peak": "DRAM peak [B/s]"},
        ),
        {"efficiency": efficiency.result, "peak": float(device.dram_bandwidth)},
    )
    yield reached
    given = {"bytes": moved.result, "bandwidth": reached.result}
    yield step(DRAM, named(BYTES_TIME, "time of dram"), given)


def _read_steps(details: Details, shares: Sequence[AccessShare]) -> Iterator[Step]:
    """Yield the bytes that DRAM reads, by access, and which fetch more than they ask for."""
    traffic = details.traffic
    reads, packed = scalar(traffic.dram_read_bytes), scalar(traffic.compression)
    parts: dict[str, Any] = {}
    for share in shares:
        access = traffic.accesses[share.position]
        if access.kind != "store" and scalar(access.dram_bytes) > 0:
            parts[share.symbol] = scalar(access.dram_bytes)
            if (found := over_fetch([access])) is not None:
                granule = details.setting.control.fetch_granularity
                formula = named(OVER_FETCH, f"over-fetch of {access.name}")
                yield step(DRAM, formula, found, f"a miss fetches {granule} B")
    others = reads * packed - sum(parts.values())
    meanings = {symbol: f"DRAM bytes that {symbol} reads [B]" for symbol in parts}
    if not parts or others > 1e-9 * reads * packed:
        parts["others"] = others
        meanings["others"] = "read by accesses left out [B]"
    hits = f"L2 hit rate {scalar(traffic.l2_hit_rate):.1%} of the SMs' sectors"
    every = " + ".join(parts)
    if packed > 1:
        every = f"({every})/packed" if len(parts) > 1 else f"{every}/packed"
        parts["packed"], meanings["packed"] = packed, "compression ratio, as given [1]"
    formula = definition("DRAM reads", "B", every, meanings)
    yield step(DRAM, formula, parts, hits)


def _written_steps(details: Details) -> Iterator[Step]:
    """Yield how many of the bytes written stay in L2, where the closed form gives the writes."""
    reuse = l2_reuse(details)
    written = 0.0
    if reuse is not None:
        everything = {w.name: w.stop for w in reuse.windows}
        for g in reuse.groups:
            if details.requests[g.members[0]].access.kind != "load":
                whole = scalar(g.granules({**reuse.base, **everything}, SECTOR) * SECTOR)
                written += whole
    if not written:
        return
    room = step(
        DRAM,
        DIRTY_LEFT,
        {
            "c": float(details.device.l2_size),
            "w": granted_ways(details.setting.control.set_aside, float(details.device.l2_size)),
            "reads": details.traffic.dram_read_bytes,
            "writes": written,
        },
    )
    over = written / max(room.result, 1.0)
    left = step(DRAM, DIRTY_KEPT, {"writes": written, "over": over, "p": STREAM_KNEE})
    kept = scalar(left.result)
    found = step(
        DRAM,
        definition(
            "DRAM writes",
            "B",
            "max(0, writes - left)",
            {"writes": "bytes written to L2 [B]", "left": "of them in L2 at the end [B]"},
        ),
        {"writes": written, "left": kept if written - kept >= 1 else written},
    )
    # Warm caches and indices without strides have other forms.
    # Of what is left: next to nothing written is a difference that rounding decides.
    if close(kept, written - scalar(details.traffic.dram_write_bytes)):
        yield room
        yield left
        yield found
